//! TCP presets, `tcp = "linux"`. A preset is inserted under the written keys in the tree of the
//! file before the file is deserialized: it provides defaults only, and its values are parsed and
//! checked like written ones.

use crate::adhoc::compat::is_ns2;
use crate::error::{Diagnostic, unknown_word};
use crate::node_names;
use crate::tree::{Entry, Node, Value};

/// The key of a preset.
pub(crate) const PRESET_KEY: &str = "preset";

/// A named TCP configuration. All presets set the same keys, so that they are interchangeable; the
/// keys that none of them sets (`mss`, `window`, `ecn`, `nagle`, `keep_alive`, `msl`) keep the
/// scenario's values.
struct Preset {
    name: &'static str,
    /// Its keys, in the syntax of a scenario.
    keys: &'static [&'static str],
}

const PRESETS: &[Preset] = &[
    Preset { name: "tahoe-1988", keys: &[r#"recovery = "tahoe""#, BSD, NO_EXTENSIONS] },
    Preset { name: "reno-bsd", keys: &[r#"recovery = "reno""#, BSD, NO_EXTENSIONS] },
    Preset { name: "newreno", keys: &[r#"recovery = "newreno""#, RFC, NO_EXTENSIONS] },
    Preset { name: "sack", keys: &[r#"recovery = "sack""#, RFC, NO_EXTENSIONS] },
    Preset { name: "linux", keys: &[r#"recovery = "rack-tlp""#, LINUX] },
    Preset { name: "linux-bbr", keys: &["recovery = \"rack-tlp\"\ngrowth = \"bbr\"", LINUX] },
    Preset { name: "bbr3", keys: &["recovery = \"rack-tlp\"\ngrowth = \"bbr3\"", LINUX] },
    Preset { name: "ns-2", keys: &[r#"recovery = "reno""#, NS2, NO_EXTENSIONS] },
];

/// Timers of 4.4BSD (netinet/tcp_timer.h, tcp_subr.c). Before the first measurement its timeout is
/// ((TCPTV_SRTTBASE >> 2) + (TCPTV_SRTTDFLT << 2)) >> 1, which is 6 s. It aborts a connection
/// attempt after 75 s (TCPTV_KEEP_INIT): by then the third retransmission of the SYN has been sent;
/// the fourth is never sent.
const BSD: &str = r#"
growth = "reno"
tick = { rtt = "500 ms", timer = "500 ms", wheel = false }
delayed_ack = true
delayed_ack_timeout = "200 ms"
timestamps = false
window_scale = false
limited_transmit = false
window_validation = false
initial_window = 1
initial_rto = "6 s"
min_rto = "1 s"
max_rto = "64 s"
persist_min = "5 s"
persist_max = "60 s"
max_retries = 12
max_syn_retries = 3
syn_linear_timeouts = 0
source_quench = true
local_drops = false
challenge_old_acks = true
clear_srtt_after = 4
"#;

/// Recommendations of the current RFCs, without optional extensions.
const RFC: &str = r#"
growth = "reno"
tick = { rtt = "1 ms", timer = "1 ms", wheel = false }
delayed_ack = true
delayed_ack_timeout = "200 ms"
timestamps = false
window_scale = false
limited_transmit = true
window_validation = true
initial_window = 10
initial_rto = "1 s"
min_rto = "1 s"
max_rto = "64 s"
persist_min = "1 s"
persist_max = "60 s"
max_retries = 15
max_syn_retries = 6
syn_linear_timeouts = 0
source_quench = false
local_drops = false
challenge_old_acks = true
"#;

/// One-way TCP and sink of ns-2.35 (tcl/lib/ns-default.tcl): `windowInit_` 2, `tcpTick_` 10 ms,
/// `minrto_` 200 ms, `rtxcur_init_` 3 s, `singledup_` on; every segment is acknowledged, SRTT is
/// cleared when the backoff exceeds eight (tcp/tcp.cc `rtt_backoff`), old acknowledgments are not
/// answered, the congestion window is not validated (tcp/tcp.cc `opencwnd`; `QOption_` off), and
/// connections are never aborted.
const NS2: &str = r#"
growth = "reno"
tick = { rtt = "10 ms", timer = "10 ms", wheel = false }
delayed_ack = false
delayed_ack_timeout = "200 ms"
timestamps = false
window_scale = false
limited_transmit = true
window_validation = false
initial_window = 2
initial_rto = "3 s"
min_rto = "200 ms"
max_rto = "60 s"
persist_min = "1 s"
persist_max = "60 s"
max_retries = 1000000
max_syn_retries = 1000000
syn_linear_timeouts = 0
source_quench = false
local_drops = false
challenge_old_acks = false
clear_srtt_after = 4
"#;

/// No extension of loss recovery later than SACK, and no behaviour specific to Linux.
const NO_EXTENSIONS: &str = r#"
hystart = "none"
linux_growth = false
linux_persist = false
pacing = false
quick_acks = false
slow_start_by_bytes = false
ssthresh_from_cwnd = false
recovery_keeps_ssthresh = false
linux_rto = false
rearm_with_head = false
f_rto_again = false
disordered_acks = false
prr = false
dsack = false
eifel = false
f_rto = false
lcd = false
"#;

/// Linux 6 with its default settings.
const LINUX: &str = r#"
growth = "cubic"
hystart = "linux"
linux_growth = true
linux_persist = true
pacing = false
quick_acks = true
tick = { rtt = "1 ms", timer = "4 ms", wheel = true }
delayed_ack = true
delayed_ack_timeout = "40 ms"
timestamps = true
window_scale = true
limited_transmit = true
window_validation = true
slow_start_by_bytes = true
ssthresh_from_cwnd = true
recovery_keeps_ssthresh = true
linux_rto = true
rearm_with_head = true
f_rto_again = true
disordered_acks = true
prr = true
dsack = true
eifel = true
f_rto = true
lcd = true
initial_window = 10
initial_rto = "1 s"
min_rto = "200 ms"
max_rto = "120 s"
persist_min = "200 ms"
persist_max = "120 s"
max_retries = 15
max_syn_retries = 6
syn_linear_timeouts = 4
source_quench = false
local_drops = true
challenge_old_acks = true
"#;

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
        let mut keys = Node::parse(&format!("[tcp]\n{NS2}"))?;
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
    for keys in preset.keys {
        let mut keys = Node::parse(keys)?;
        keys.set_origin(origin);
        if let Value::Table(keys) = keys.value {
            merge(written, keys);
        }
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
