//! Scenarios with an ad hoc network.

mod compat;
mod files;
mod movement_names;
mod refusals;

use driftway_scenario::{Adhoc, Network, RouteProbeConfig, Scenario, Time};

/// A valid scenario.
pub(crate) const RIGHT: &str = r#"name = "a test"
duration = "900 s"

[network]
kind = "adhoc"
nodes = 50
area = ["1500 m", "1000 m"]
mobility = { model = "random-waypoint", speed = ["9 m/s", "11 m/s"], pause = "0 s" }
radio = { propagation = "two-ray", receive_range = "250 m", sense_range = "550 m" }
mac = { kind = "dcf", data_rate = "2 Mbit/s", basic_rate = "1 Mbit/s", rts_threshold = "0 B" }
queue = { packets = 50 }
routing = { protocol = "dsr", promiscuous = true }
compat = "standard"

[[flow]]
from = 0
to = 1
start = "100 s"
application = "ftp"
tcp = { recovery = "reno", mss = "1460 B", window = 8 }
"#;

/// Parses [`RIGHT`] with these overrides.
pub(crate) fn read(overrides: &[(&str, &str)]) -> Result<Scenario, String> {
    let pairs = overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let overrides: Vec<_> = pairs.collect();
    Scenario::parse("test.toml", RIGHT, &overrides).map_err(|error| error.to_string())
}

pub(crate) fn network(scenario: &Scenario) -> &Adhoc {
    match &scenario.network {
        Network::Adhoc(adhoc) => adhoc,
        Network::Path(_) | Network::Mixed(_) => panic!("it says adhoc"),
    }
}

/// Route probes exist only with RFNs, which hold sources.
#[test]
fn route_probes_have_defaults_with_rfns() {
    let route_probe = |overrides| {
        adhoc(overrides).route_probe.map(|RouteProbeConfig { every, most }| (every, most))
    };
    let two_seconds = Time::from_secs(2);
    assert_eq!(route_probe(&[]), None);
    assert_eq!(route_probe(&[("network.feedback", "rfn")]), Some((two_seconds, 10)));
    let keys = [("network.feedback", "rfn"), ("network.route_probe.most", "3")];
    assert_eq!(route_probe(&keys), Some((two_seconds, 3)));
}

/// The network of [`RIGHT`] with these overrides, which must be valid.
pub(crate) fn adhoc(overrides: &[(&str, &str)]) -> Adhoc {
    network(&read(overrides).unwrap_or_else(|error| panic!("{error}"))).clone()
}
