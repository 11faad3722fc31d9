//! `compat = "ns-2"`: where ns-2.35 does otherwise than the standards say.
//!
//! As a preset does for TCP, `compat` lays its values under the keys that a scenario writes, in the
//! tree, before it is read.

mod aodv;
mod dcf;
mod dsr;

use serde::{Deserialize, Serialize};

use crate::error::{Diagnostic, Origin};
use crate::tree::{Entry, Node, Value};

/// Whose defaults hold.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case", expecting = "a word")]
pub enum Compat {
    /// Those of the standards.
    #[default]
    Standard,
    /// Those of ns-2.35.
    #[serde(rename = "ns-2")]
    Ns2,
}

/// A key whose default depends on `compat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deviation {
    /// The key, seen from `[network]`.
    pub key: &'static str,
    /// Where it is a key at all.
    pub scope: DeviationScope,
    /// Its default, as TOML; empty: it is left out.
    pub standard: &'static str,
    /// Its value in ns-2.35.
    pub ns2: &'static str,
    /// What the standard says, and where.
    pub standard_says: &'static str,
    /// What ns-2.35 does, and where.
    pub ns2_does: &'static str,
}

/// Where a key is a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviationScope {
    /// In every ad hoc network.
    Any,
    /// Where ARP is on.
    Arp,
    /// Where `mac.kind = "dcf"`.
    Dcf,
    /// Where `mac.kind = "tdma"`.
    Tdma,
    /// Where `routing.protocol` is not `"dsr"`.
    NotDsr,
    /// Where `routing.protocol = "aodv"`.
    Aodv,
    /// Where `routing.protocol = "aodv"` and `mac.kind = "tdma"`.
    AodvOverTdma,
    /// Where `routing.protocol = "dsr"`.
    Dsr,
    /// Where `routing.protocol = "static"`.
    Static,
}

/// Every key whose default depends on `compat`. Besides these, TCP flows that name no preset take
/// what they leave open from the preset `"ns-2"`.
pub fn deviations() -> impl Iterator<Item = &'static Deviation> {
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
        ns2_does: "Knows no ICMP; sources learn nothing but what the routing protocol says \
                   (aodv/aodv.cc `drop`, dsr/dsragent.cc `xmitFailed`).",
    },
    Deviation {
        key: "queue.priority",
        scope: DeviationScope::NotDsr,
        standard: r#""none""#,
        ns2: r#""routing-first""#,
        standard_says: "RFC 3561 says nothing of queues.",
        ns2_does: "Scripts use `Queue/DropTail/PriQueue`: one queue, routing packets at its head, \
                   and on overflow the packet at the tail is lost (queue/priqueue.cc).",
    },
    Deviation {
        key: "queue.priority",
        scope: DeviationScope::Dsr,
        standard: r#""none""#,
        ns2: r#""classes""#,
        standard_says: "RFC 4728 §4.1 names a network interface queue and no order in it.",
        ns2_does: "DSR runs with `CMUPriQueue` only: four queues of `packets` each, served in \
                   strict order: routing, real-time, TCP acknowledgments, the rest \
                   (queue/dsr-priqueue.cc). Acknowledgments overtake data at every hop.",
    },
    Deviation {
        key: "queue.last_place",
        scope: DeviationScope::NotDsr,
        standard: "true",
        ns2: "false",
        standard_says: "A queue of 50 packets holds 50.",
        ns2_does: "Its drop-tail queue counts the packet that arrives, too, and is full with 49 \
                   (queue/drop-tail.cc, queue/priqueue.cc); that of DSR is not.",
    },
    Deviation {
        key: "routing.tcp_padding",
        scope: DeviationScope::Static,
        standard: "0",
        ns2: "20",
        standard_says: "A packet has one IP header.",
        ns2_does: "Its nearest to static routes is a DSDV that was stopped, and DSDV's packets have \
                   a second IP header of 20 bytes; AODV's TCP packets have not \
                   (dsdv/dsdv.cc `recv`, aodv/aodv.cc `recv`).",
    },
    Deviation {
        key: "arp.hold",
        scope: DeviationScope::Arp,
        standard: "3",
        ns2: "1",
        standard_says: "RFC 1122 §2.3.2.2: at least one packet is kept for each unresolved \
                        address, and it is the latest. Linux keeps several; driftway three.",
        ns2_does: "One packet; a newer one takes its place (mac/arp.cc `arpresolve`).",
    },
    Deviation {
        key: "arp.again",
        scope: DeviationScope::Arp,
        standard: r#""1 s""#,
        ns2: r#""next-packet""#,
        standard_says: "RFC 1122 §2.3.2.1: requests go out at most once a second; what waits is \
                        given up when they have no answer.",
        ns2_does: "No timer: only the next packet for the same neighbour makes another request. \
                   The packet after the third is reported as a link failure, and the one that \
                   waited with it. Up to three packets vanish silently until then \
                   (mac/arp.cc, `ARP_MAX_REQUEST_COUNT`).",
    },
    Deviation {
        key: "arp.lifetime",
        scope: DeviationScope::Arp,
        standard: r#""20 min""#,
        ns2: r#""forever""#,
        standard_says: "RFC 1122 §2.3.2.1: there must be a way to flush addresses that are out of \
                        date; 20 minutes are BSD's.",
        ns2_does: "Addresses never expire (mac/arp.cc).",
    },
    Deviation {
        key: "arp.learn_from_all",
        scope: DeviationScope::Arp,
        standard: "false",
        ns2: "true",
        standard_says: "RFC 826, packet reception: what is known is brought up to date, but only \
                        whom a message is for keeps an address that it did not know.",
        ns2_does: "Whoever hears a request keeps the address of who asks (mac/arp.cc `arpinput`).",
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

/// Lays the values of ns-2.35 under what `[network]` writes, if it asks for them; and if it does not,
/// those of the standards where a default depends on another key.
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
        for deviation in deviations().filter(depends).filter(|deviation| applies(deviation.scope)) {
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
    for deviation in deviations().filter(|deviation| applies(deviation.scope)) {
        let keys: Vec<_> = deviation.key.split('.').collect();
        insert_default(network, &keys, deviation.ns2, origin)?;
    }
    Ok(())
}

/// Writes `value` at `keys`, unless something is written there.
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
