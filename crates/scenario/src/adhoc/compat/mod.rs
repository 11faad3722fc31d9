//! `compat = "ns-2"`: the deviations of ns-2.35 from the standards.
//!
//! Like a TCP preset, `compat` inserts its values as defaults into the tree of the file before the
//! file is deserialized; written keys take precedence.

mod aodv;
mod dcf;
mod dsr;

use serde::{Deserialize, Serialize};

use crate::error::{Diagnostic, Origin};
use crate::tree::{Entry, Node, Value};

/// Source of the defaults.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case", expecting = "a word")]
pub enum Compat {
    /// The standards.
    #[default]
    Standard,
    /// ns-2.35.
    #[serde(rename = "ns-2")]
    Ns2,
}

/// A key whose default depends on `compat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deviation {
    /// Dotted key, relative to `[network]`.
    pub key: &'static str,
    /// Networks in which the key exists.
    pub scope: DeviationScope,
    /// Default by the standard, as TOML; empty: the key is absent.
    pub standard: &'static str,
    /// Value in ns-2.35, as TOML.
    pub ns2: &'static str,
    /// Rule of the standard, with its section.
    pub standard_says: &'static str,
    /// Behaviour of ns-2.35, with its source file.
    pub ns2_does: &'static str,
}

/// Networks in which a key exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviationScope {
    /// Every ad hoc network.
    Any,
    /// Networks with ARP.
    Arp,
    /// `mac.kind = "dcf"`.
    Dcf,
    /// `mac.kind = "tdma"`.
    Tdma,
    /// Every `routing.protocol` but `"dsr"`.
    NotDsr,
    /// `routing.protocol = "aodv"`.
    Aodv,
    /// `routing.protocol = "aodv"` and `mac.kind = "tdma"`.
    AodvOverTdma,
    /// `routing.protocol = "dsr"`.
    Dsr,
    /// `routing.protocol = "static"`.
    Static,
}

/// All keys whose defaults depend on `compat`. In addition, TCP flows without a preset take the
/// keys that they leave out from the preset `"ns-2"`.
pub fn ns2_deviations() -> impl Iterator<Item = &'static Deviation> {
    let macs = dcf::DCF.iter().chain(dcf::TDMA);
    GENERAL.iter().chain(macs).chain(aodv::AODV).chain(aodv::OVER_TDMA).chain(dsr::DSR)
}

const GENERAL: &[Deviation] = &[
    Deviation {
        key: "feedback",
        scope: DeviationScope::Any,
        standard: r#""icmp-unreachable""#,
        ns2: r#""none""#,
        standard_says: "RFC 1812 §4.3.3.1: a router that cannot deliver a packet sends its source \
                        an ICMP host unreachable.",
        ns2_does: "No ICMP; sources are notified only by messages of the routing protocol \
                   (aodv/aodv.cc `drop`, dsr/dsragent.cc `xmitFailed`).",
    },
    Deviation {
        key: "queue.priority",
        scope: DeviationScope::NotDsr,
        standard: r#""none""#,
        ns2: r#""routing-first""#,
        standard_says: "RFC 3561 does not specify queues.",
        ns2_does: "Scripts use `Queue/DropTail/PriQueue`: one queue with routing packets at its \
                   head; on overflow the packet at the tail is dropped (queue/priqueue.cc).",
    },
    Deviation {
        key: "queue.priority",
        scope: DeviationScope::Dsr,
        standard: r#""none""#,
        ns2: r#""classes""#,
        standard_says: "RFC 4728 §4.1 mentions a network interface queue without an order.",
        ns2_does: "DSR runs with `CMUPriQueue` only: four queues of `packets` each with strict \
                   priority: routing, real-time, TCP acknowledgments, others \
                   (queue/dsr-priqueue.cc). Acknowledgments overtake data at every hop.",
    },
    Deviation {
        key: "queue.last_place",
        scope: DeviationScope::NotDsr,
        standard: "true",
        ns2: "false",
        standard_says: "A queue of 50 packets holds 50.",
        ns2_does: "Its drop-tail queue also counts the arriving packet, and is full with 49 \
                   (queue/drop-tail.cc, queue/priqueue.cc); that of DSR is not.",
    },
    Deviation {
        key: "routing.tcp_padding",
        scope: DeviationScope::Static,
        standard: "0",
        ns2: "20",
        standard_says: "A packet has one IP header.",
        ns2_does: "Its closest equivalent of static routes is a stopped DSDV, whose packets have \
                   a second IP header of 20 bytes; TCP packets under AODV do not (dsdv/dsdv.cc \
                   `recv`, aodv/aodv.cc `recv`).",
    },
    Deviation {
        key: "arp.hold",
        scope: DeviationScope::Arp,
        standard: "3",
        ns2: "1",
        standard_says: "RFC 1122 §2.3.2.2: at least the latest packet is kept for each \
                        unresolved address. Linux keeps several; driftway keeps three.",
        ns2_does: "One packet, which a newer one replaces (mac/arp.cc `arpresolve`).",
    },
    Deviation {
        key: "arp.again",
        scope: DeviationScope::Arp,
        standard: r#""1 s""#,
        ns2: r#""next-packet""#,
        standard_says: "RFC 1122 §2.3.2.1: requests are sent at most once per second; the \
                        waiting packets are dropped if there is no reply.",
        ns2_does: "No timer: only the next packet for the same neighbour triggers another \
                   request. The packet after the third request is reported as a link failure, \
                   together with the one that waited. Until then up to three packets are dropped \
                   silently (mac/arp.cc, `ARP_MAX_REQUEST_COUNT`).",
    },
    Deviation {
        key: "arp.lifetime",
        scope: DeviationScope::Arp,
        standard: r#""20 min""#,
        ns2: r#""forever""#,
        standard_says: "RFC 1122 §2.3.2.1: there must be a mechanism to flush out-of-date \
                        addresses; 20 minutes is the value of BSD.",
        ns2_does: "Addresses never expire (mac/arp.cc).",
    },
    Deviation {
        key: "arp.learn_from_all",
        scope: DeviationScope::Arp,
        standard: "false",
        ns2: "true",
        standard_says: "RFC 826, packet reception: known addresses are updated, but only the \
                        target of a message adds an unknown one.",
        ns2_does: "Every node that receives a request adds the address of its sender (mac/arp.cc \
                   `arpinput`).",
    },
    Deviation {
        key: "radio.light_speed",
        scope: DeviationScope::Any,
        standard: r#""299792458 m/s""#,
        ns2: r#""300000000 m/s""#,
        standard_says: "The speed of light.",
        ns2_does: "300,000 km/s: wavelength and crossover distance are 0.07 % larger.",
    },
];

/// Inserts the values of ns-2.35 as defaults into `[network]` if `compat` requests them; otherwise
/// inserts the standard's values of those keys whose default depends on another key.
pub(crate) fn expand(tree: &mut Node) -> Result<(), Diagnostic> {
    let Some(network) = tree.get_mut("network") else { return Ok(()) };
    let text = |keys: [&str; 2], default: &'static str| -> String {
        match keys.iter().try_fold(&*network, |node, key| node.get(key)).map(|node| &node.value) {
            Some(Value::String(text)) => text.clone(),
            Some(_) => String::new(),
            None => default.to_owned(),
        }
    };
    let ns2 = match network.get("compat") {
        Some(Node { origin, value: Value::String(compat) }) if compat == "ns-2" => Some(*origin),
        _ => None,
    };
    let (mac, protocol) = (text(["mac", "kind"], "dcf"), text(["routing", "protocol"], ""));
    let arp = network.get("arp").is_some_and(|arp| !matches!(arp.value, Value::Boolean(false)));
    let applies = |part: DeviationScope| match part {
        DeviationScope::Any => true,
        DeviationScope::Arp => arp,
        DeviationScope::Dcf => mac == "dcf",
        DeviationScope::Tdma => mac == "tdma",
        DeviationScope::NotDsr => protocol != "dsr",
        DeviationScope::Aodv => protocol == "aodv",
        DeviationScope::AodvOverTdma => protocol == "aodv" && mac == "tdma",
        DeviationScope::Dsr => protocol == "dsr",
        DeviationScope::Static => protocol == "static",
    };
    let Some(origin) = ns2 else {
        let origin = network.get("mac").map_or(network.origin, |mac| mac.origin);
        let depends = |deviation: &&Deviation| deviation.scope == DeviationScope::AodvOverTdma;
        for deviation in
            ns2_deviations().filter(depends).filter(|deviation| applies(deviation.scope))
        {
            let keys: Vec<_> = deviation.key.split('.').collect();
            insert_default(network, &keys, deviation.standard, origin)?;
        }
        return Ok(());
    };
    if let Some(arp) = network.get_mut("arp")
        && matches!(arp.value, Value::Boolean(true))
    {
        arp.value = Value::Table(Vec::new());
    }
    if network.get("mac").is_none() {
        insert_default(network, &["mac", "kind"], "\"dcf\"", origin)?;
    }
    for deviation in ns2_deviations().filter(|deviation| applies(deviation.scope)) {
        let keys: Vec<_> = deviation.key.split('.').collect();
        insert_default(network, &keys, deviation.ns2, origin)?;
    }
    Ok(())
}

/// Inserts `value` at `keys`, unless a value is written there.
fn insert_default(
    node: &mut Node,
    keys: &[&str],
    value: &str,
    origin: Origin,
) -> Result<(), Diagnostic> {
    let (Some((first, rest)), Value::Table(entries)) = (keys.split_first(), &mut node.value) else {
        return Ok(());
    };
    let place = match entries.iter().position(|entry| entry.key == *first) {
        Some(_) if rest.is_empty() => return Ok(()),
        Some(place) => place,
        None => {
            let mut node = match rest {
                [] => Node::parse_value(value)?,
                _ => Node { origin, value: Value::Table(Vec::new()) },
            };
            node.set_origin(origin);
            entries.push(Entry { key: (*first).to_owned(), origin, node });
            entries.len() - 1
        }
    };
    match entries.get_mut(place) {
        Some(entry) if !rest.is_empty() => insert_default(&mut entry.node, rest, value, origin),
        _ => Ok(()),
    }
}
