//! Defaults of the table `mac` with `phy = "erp-ofdm"`.

use driftway_base::Rate;
use driftway_radio::DcfConfig;

use super::defaults::insert_default;
use crate::error::Diagnostic;
use crate::tree::{Node, Value};
use crate::{BitRate, Time};

/// The mandatory rates of OFDM (IEEE 802.11-2007 §17.3.10.1), at which stations answer at the highest that the data
/// frame's rate permits (§9.6), in bit/s.
const MANDATORY: [u64; 3] = [24_000_000, 12_000_000, 6_000_000];

/// Inserts the values of 802.11g as defaults into the table `mac` of `network`, if its `phy` requests them.
pub(super) fn expand(network: &mut Node) -> Result<(), Diagnostic> {
    let text = |node: Option<&Node>| match node.map(|node| &node.value) {
        Some(Value::String(text)) => Some(text.clone()),
        _ => None,
    };
    let mac = network.get("mac");
    if text(mac.and_then(|mac| mac.get("phy"))).as_deref() != Some("erp-ofdm") {
        return Ok(());
    }
    let origin = mac.map_or(network.origin, |mac| mac.origin);
    let config = DcfConfig::ERP_OFDM;
    let written = text(mac.and_then(|mac| mac.get("data_rate")));
    let rate = written.and_then(|rate| rate.parse::<BitRate>().ok());
    let rate = rate.unwrap_or(BitRate(config.data_rate)).0.as_bps();
    let basic = MANDATORY.into_iter().find(|basic| *basic <= rate).unwrap_or(MANDATORY[2]);
    for (key, value) in [
        ("data_rate", format!("\"{}\"", BitRate(config.data_rate))),
        ("basic_rate", format!("\"{}\"", BitRate(Rate::from_bps(basic)))),
        ("preamble", format!("\"{}\"", Time(config.preamble))),
        ("slot", format!("\"{}\"", Time(config.slot))),
        ("cw_min", config.cw_min.to_string()),
    ] {
        insert_default(network, &["mac", key], &value, origin)?;
    }
    Ok(())
}
