//! The MTU of the devices of an emulation.

use driftway_scenario::{Scenario, Size};

/// MTU of the devices if no flow has a segment size (bytes).
const MTU: u64 = 1500;
/// IPv4 and TCP headers without options (bytes).
const TCP_IP_HEADERS: u64 = 40;
/// Smallest and largest MTU of an interface (bytes).
const MTU_RANGE: (u64, u64) = (68, 65_535);

/// MTU for the flows' largest segment without TCP options (bytes).
pub fn mtu(scenario: &Scenario) -> u16 {
    let segments = scenario.flows.iter().filter_map(|flow| flow.tcp.as_ref());
    let largest = segments
        .map(|tcp| {
            let Size(mss) = tcp.mss;
            mss + TCP_IP_HEADERS
        })
        .max();
    largest.unwrap_or(MTU).clamp(MTU_RANGE.0, MTU_RANGE.1) as u16
}
