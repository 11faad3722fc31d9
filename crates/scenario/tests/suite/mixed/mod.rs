//! Scenarios with a mixed network.

mod files;
mod gateway;
mod properties;
mod refusals;

use driftway_scenario::{Mixed, Network, Scenario};

/// A valid scenario.
pub(crate) const RIGHT: &str = r#"name = "a test"
duration = "100 s"

[network]
kind = "mixed"
nodes = ["server", "router", "base", "m[1-3]"]

[[network.wire]]
between = ["server", "router"]
rate = "10 Mbit/s"
delay = "5 ms"

[[network.wire]]
between = ["router", "base"]
rate = "2 Mbit/s"
delay = "20 ms"

[network.air]
radios = ["base", "m[1-3]"]
mobility = { chain = "100 m" }
mac = { kind = "dcf" }
routing = { protocol = "aodv" }

[[network.fault]]
kind = "partition"
hop = 1
every = "30 s"
lasts = "6 s"

[[network.fault]]
kind = "radio-down"
node = "m2"
every = "30 s"
lasts = "6 s"

[[flow]]
from = "server"
to = "m1"
application = "ftp"
"#;

/// Parses `text` with these overrides.
pub(crate) fn parse(text: &str, overrides: &[(&str, &str)]) -> Result<Scenario, String> {
    let pairs = overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let overrides: Vec<_> = pairs.collect();
    Scenario::parse("test.toml", text, &overrides).map_err(|error| error.to_string())
}

/// Parses [`RIGHT`] with these overrides, which must be valid.
pub(crate) fn read(overrides: &[(&str, &str)]) -> Scenario {
    parse(RIGHT, overrides).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn network(scenario: &Scenario) -> &Mixed {
    match &scenario.network {
        Network::Mixed(mixed) => mixed,
        other => panic!("{other:?}"),
    }
}
