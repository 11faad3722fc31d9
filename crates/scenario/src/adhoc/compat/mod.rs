//! `compat = "ns-2"`: the deviations of ns-2.35 from the standards.
//!
//! Like a TCP preset, `compat` inserts its values as defaults into the tree of the file before the
//! file is deserialized; written keys take precedence.

use std::borrow::Cow;

use driftway_link::ArpConfig;
use driftway_radio::{DcfConfig, RadioConfig, TdmaConfig};
use driftway_route::{AodvConfig, DsrConfig};
use serde::{Deserialize, Serialize};

use super::aodv::{Aodv, OVER_TDMA};
use super::arp::ArpOptions;
use super::defaults::insert_default;
use super::dsr::Dsr;
use super::mac::{Dcf, Tdma};
use super::radio::Radio;
use super::{phy, routing};
use crate::deviation::{Deviation, DeviationScope, in_table};
use crate::error::Diagnostic;
use crate::tree::{Node, Value};
use crate::{node_names, queue};

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
    /// ns-2.1b: ns-2.35 with the frame times of the versions before 2003.
    #[serde(rename = "ns-2.1b")]
    Ns21b,
}

/// The value of `compat` for ns-2.1b.
const NS2_1B: &str = "ns-2.1b";

/// Keys of `mac` in which ns-2.1b, the versions from 1998 to 2002, differs from ns-2.35. It counted the 24 bytes
/// of the PLCP preamble and header as a part of the frame, and all frames had the rate `bandwidth_`:
/// 192 bits at 2 Mbit/s.
const OLD_FRAME_TIMES: [(&str, &str); 2] =
    [("basic_rate", "\"2 Mbit/s\""), ("preamble", "\"96 us\"")];

/// Returns whether a value of `compat` is a version of ns-2.
pub(crate) fn is_ns2(compat: &str) -> bool {
    ["ns-2", NS2_1B].contains(&compat)
}

/// Deviation of ns-2.35 in the key `feedback`.
const FEEDBACK: &[Deviation] = &[Deviation {
    key: Cow::Borrowed("feedback"),
    scope: DeviationScope::Any,
    standard: Cow::Borrowed(r#""icmp-unreachable""#),
    ns2: Cow::Borrowed(r#""none""#),
    standard_says: "RFC 1812 §4.3.3.1: a router that cannot deliver a packet sends its source \
                        an ICMP host unreachable.",
    ns2_does: "No ICMP; sources are notified only by messages of the routing protocol \
                   (aodv/aodv.cc `drop`, dsr/dsragent.cc `xmitFailed`).",
}];

/// All keys whose defaults depend on `compat`. In addition, TCP flows without a preset take the
/// keys that they leave out from the preset `"ns-2"`.
pub fn ns2_deviations() -> Vec<Deviation> {
    let mut all = [FEEDBACK, queue::NS2, routing::NS2].concat();
    all.extend(in_table::<Radio, _>(DeviationScope::Any, "radio", RadioConfig::NS2));
    all.push(OVER_TDMA);
    all.extend(in_table::<ArpOptions, _>(DeviationScope::Arp, "arp", ArpConfig::NS2));
    all.extend(in_table::<Dcf, _>(DeviationScope::Dcf, "mac", DcfConfig::NS2));
    all.extend(in_table::<Tdma, _>(DeviationScope::Tdma, "mac", TdmaConfig::NS2));
    all.extend(in_table::<Aodv, _>(DeviationScope::Aodv, "routing", AodvConfig::NS2));
    all.extend(in_table::<Dsr, _>(DeviationScope::Dsr, "routing", DsrConfig::NS2));
    all
}

/// Inserts the values of ns-2.35 as defaults into `[network]`, or `[network.air]`, if `compat` requests them; otherwise
/// inserts the standard's values of those keys whose default depends on another key.
pub(crate) fn expand(tree: &mut Node) -> Result<(), Diagnostic> {
    node_names::radio_tables(tree).iter_mut().try_for_each(expand_table)
}

fn expand_table(network: &mut Node) -> Result<(), Diagnostic> {
    phy::expand(network)?;
    let text = |keys: &[&str], default: &'static str| -> String {
        match keys.iter().try_fold(&*network, |node, key| node.get(key)).map(|node| &node.value) {
            Some(Value::String(text)) => text.clone(),
            Some(_) => String::new(),
            None => default.to_owned(),
        }
    };
    let ns2 = match network.get("compat") {
        Some(Node { origin, value: Value::String(compat) }) if is_ns2(compat) => Some(*origin),
        _ => None,
    };
    let is_old = text(&["compat"], "") == NS2_1B;
    let (mac, protocol) = (text(&["mac", "kind"], "dcf"), text(&["routing", "protocol"], ""));
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
        if applies(OVER_TDMA.scope) {
            let keys: Vec<_> = OVER_TDMA.key.split('.').collect();
            insert_default(network, &keys, &OVER_TDMA.standard, origin)?;
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
    if is_old && mac == "dcf" {
        for (key, value) in OLD_FRAME_TIMES {
            insert_default(network, &["mac", key], value, origin)?;
        }
    }
    for deviation in ns2_deviations().iter().filter(|deviation| applies(deviation.scope)) {
        let keys: Vec<_> = deviation.key.split('.').collect();
        insert_default(network, &keys, &deviation.ns2, origin)?;
    }
    Ok(())
}
