//! TCP presets, `tcp = "linux"`. A preset is inserted under the written keys in the tree of the
//! file before the file is deserialized: it provides defaults only, and its values are parsed and
//! checked like written ones.

use crate::adhoc::compat::is_ns2;
use crate::error::{Diagnostic, unknown_word};
use crate::node_names;
use crate::tree::{Entry, Node, Value};

/// The key of a preset.
pub(crate) const PRESET_KEY: &str = "preset";

/// A named TCP configuration: a column of [`VALUES`], with its loss recovery, and its congestion control if it has
/// another one than the column.
struct Preset {
    name: &'static str,
    recovery: &'static str,
    growth: Option<&'static str>,
    column: Column,
}

const PRESETS: &[Preset] = &[
    preset("tahoe-1988", "tahoe", None, Column::Bsd),
    preset("reno-bsd", "reno", None, Column::Bsd),
    preset("newreno", "newreno", None, Column::Rfc),
    preset("sack", "sack", None, Column::Rfc),
    preset("linux", "rack-tlp", None, Column::Linux),
    preset("linux-bbr", "rack-tlp", Some("bbr"), Column::Linux),
    preset("bbr3", "rack-tlp", Some("bbr3"), Column::Linux),
    NS2,
];

const NS2: Preset = preset("ns-2", "reno", None, Column::Ns2);

const fn preset(
    name: &'static str,
    recovery: &'static str,
    growth: Option<&'static str>,
    column: Column,
) -> Preset {
    Preset { name, recovery, growth, column }
}

/// The columns of [`VALUES`]. The first three have no extension of loss recovery later than SACK, and no behaviour
/// specific to Linux.
#[derive(Clone, Copy)]
enum Column {
    /// Timers of 4.4BSD (netinet/tcp_timer.h, tcp_subr.c). Before the first measurement its timeout is
    /// ((TCPTV_SRTTBASE >> 2) + (TCPTV_SRTTDFLT << 2)) >> 1, which is 6 s. It aborts a connection
    /// attempt after 75 s (TCPTV_KEEP_INIT): by then the third retransmission of the SYN has been sent;
    /// the fourth is never sent.
    Bsd,
    /// Recommendations of the current RFCs, without optional extensions.
    Rfc,
    /// One-way TCP and sink of ns-2.35 (tcl/lib/ns-default.tcl): `windowInit_` 2, `tcpTick_` 10 ms,
    /// `minrto_` 200 ms, `rtxcur_init_` 3 s, `singledup_` on; every segment is acknowledged, SRTT is
    /// cleared when the backoff exceeds eight (tcp/tcp.cc `rtt_backoff`), old acknowledgments are not
    /// answered, the congestion window is not validated (tcp/tcp.cc `opencwnd`; `QOption_` off), and
    /// connections are never aborted.
    Ns2,
    /// Linux 6 with its default settings.
    Linux,
}

/// The values of the presets, in the syntax of a scenario: 4.4BSD, the RFCs, ns-2.35, Linux. All presets set the same
/// keys, so that they are interchangeable, but for one that Linux and the RFCs do not have; the keys that none of them
/// sets (`mss`, `window`, `ecn`, `nagle`, `keep_alive`, `msl`) keep the scenario's values.
const VALUES: &str = r#"
growth                  | "reno"   | "reno"   | "reno"   | "cubic"
hystart                 | "none"   | "none"   | "none"   | "linux"
linux_growth            | false    | false    | false    | true
linux_persist           | false    | false    | false    | true
pacing                  | false    | false    | false    | false
quick_acks              | false    | false    | false    | true
tick.rtt                | "500 ms" | "1 ms"   | "10 ms"  | "1 ms"
tick.timer              | "500 ms" | "1 ms"   | "10 ms"  | "4 ms"
tick.wheel              | false    | false    | false    | true
delayed_ack             | true     | true     | false    | true
delayed_ack_timeout     | "200 ms" | "200 ms" | "200 ms" | "40 ms"
timestamps              | false    | false    | false    | true
window_scale            | false    | false    | false    | true
limited_transmit        | false    | true     | true     | true
window_validation       | false    | true     | false    | true
slow_start_by_bytes     | false    | false    | false    | true
ssthresh_from_cwnd      | false    | false    | false    | true
recovery_keeps_ssthresh | false    | false    | false    | true
linux_rto               | false    | false    | false    | true
rearm_with_head         | false    | false    | false    | true
f_rto_again             | false    | false    | false    | true
disordered_acks         | false    | false    | false    | true
prr                     | false    | false    | false    | true
dsack                   | false    | false    | false    | true
eifel                   | false    | false    | false    | true
f_rto                   | false    | false    | false    | true
lcd                     | false    | false    | false    | true
initial_window          | 1        | 10       | 2        | 10
initial_rto             | "6 s"    | "1 s"    | "3 s"    | "1 s"
min_rto                 | "1 s"    | "1 s"    | "200 ms" | "200 ms"
max_rto                 | "64 s"   | "64 s"   | "60 s"   | "120 s"
persist_min             | "5 s"    | "1 s"    | "1 s"    | "200 ms"
persist_max             | "60 s"   | "60 s"   | "60 s"   | "120 s"
max_retries             | 12       | 15       | 1000000  | 15
max_syn_retries         | 3        | 6        | 1000000  | 6
syn_linear_timeouts     | 0        | 0        | 0        | 4
source_quench           | true     | false    | false    | false
local_drops             | false    | false    | false    | true
challenge_old_acks      | true     | true     | false    | true
clear_srtt_after        | 4        |          | 4        |
"#;

impl Preset {
    /// Its keys and values as lines of a scenario, but for the loss recovery.
    fn keys(&self) -> String {
        let line = |row: &str| {
            let (key, values) = row.split_once('|')?;
            let (key, value) = (key.trim(), values.split('|').nth(self.column as usize)?.trim());
            match (key, self.growth) {
                ("growth", Some(growth)) => Some(format!("growth = \"{growth}\"\n")),
                _ => (!value.is_empty()).then(|| format!("{key} = {value}\n")),
            }
        };
        VALUES.lines().filter_map(line).collect()
    }
}

/// Names of all presets.
pub fn preset_names() -> Vec<&'static str> {
    PRESETS.iter().map(|preset| preset.name).collect()
}

/// Inserts the presets of the flows, of traffic and of a gateway under their written keys. In a network with `compat = "ns-2"` or `"ns-2.1b"`,
/// flows without a preset get the values of ns-2.35.
pub(crate) fn expand(tree: &mut Node) -> Result<(), Diagnostic> {
    let is_ns2 = |network: &Node| {
        let compat = network.get("compat").map(|compat| &compat.value);
        matches!(compat, Some(Value::String(compat)) if is_ns2(compat))
    };
    let of_ns2 = node_names::radio_tables(tree).iter().any(is_ns2);
    for leg in ["wireless", "wired"] {
        let gateway = tree.get_mut("network").and_then(|network| network.get_mut("gateway"));
        if let Some(tcp) = gateway.and_then(|of| of.get_mut(leg)).and_then(|leg| leg.get_mut("tcp"))
        {
            apply_preset(tcp)?;
        }
    }
    for table in ["flow", "traffic"] {
        if let Some(Value::Array(flows)) = tree.get_mut(table).map(|flows| &mut flows.value) {
            flows.iter_mut().try_for_each(|flow| expand_flow(flow, of_ns2))?;
        }
    }
    Ok(())
}

/// Inserts the preset of a flow, or of traffic.
fn expand_flow(flow: &mut Node, of_ns2: bool) -> Result<(), Diagnostic> {
    if let Some(tcp) = flow.get_mut("tcp") {
        apply_preset(tcp)?;
    }
    let named = flow.get("tcp").is_some_and(|tcp| tcp.get(PRESET_KEY).is_some());
    let udp =
        flow.get("transport").is_some_and(|t| matches!(&t.value, Value::String(s) if s == "udp"));
    if of_ns2 && !named && !udp {
        let mut keys = Node::parse(&format!("[tcp]\n{}", NS2.keys()))?;
        keys.set_origin(flow.origin);
        if let (Value::Table(written), Value::Table(keys)) = (&mut flow.value, keys.value) {
            merge(written, keys);
        }
    }
    Ok(())
}

fn apply_preset(tcp: &mut Node) -> Result<(), Diagnostic> {
    if let Value::String(_) = tcp.value {
        tcp.expand_to_table(PRESET_KEY);
    }
    let Some(preset) = tcp.get(PRESET_KEY) else { return Ok(()) };
    let origin = preset.origin;
    let Value::String(name) = &preset.value else {
        let help = format!("presets are {}", preset_names().join(", "));
        return Err(
            Diagnostic::new(&format!("this is not the name of a preset\n{help}")).at(origin)
        );
    };
    let Some(preset) = PRESETS.iter().find(|preset| preset.name == name) else {
        return Err(Diagnostic::new(&unknown_word(name, &preset_names())).at(origin));
    };
    let Value::Table(written) = &mut tcp.value else { return Ok(()) };
    let keys = format!("recovery = \"{}\"\n{}", preset.recovery, preset.keys());
    let mut keys = Node::parse(&keys)?;
    keys.set_origin(origin);
    if let Value::Table(keys) = keys.value {
        merge(written, keys);
    }
    Ok(())
}

/// Adds the entries of `preset` that are not in `written`. A preset from the command line takes
/// precedence over the values in the file.
fn merge(written: &mut Vec<Entry>, preset: Vec<Entry>) {
    for entry in preset {
        match written.iter_mut().find(|other| other.key == entry.key) {
            None => written.push(entry),
            Some(other) => match (&mut other.node.value, entry.node.value) {
                (Value::Table(written), Value::Table(preset)) => merge(written, preset),
                (_, value) if other.node.origin.is_text() && !entry.origin.is_text() => {
                    other.node = Node { origin: entry.origin, value };
                }
                _ => {}
            },
        }
    }
}
