//! Emulated paths.

use driftway_linux::{Emulation, end_nodes};
use driftway_scenario::Scenario;

/// Two hops with `link` and additional keys of `[network]`.
pub fn scenario(link: &str, more: &str) -> Scenario {
    let text = format!(
        "name = \"f\"\nduration = \"200 s\"\n[network]\nkind = \"path\"\nhops = 2\n\
         [network.link]\n{link}\n{more}\n[[flow]]\nfrom = 0\nto = 2\napplication = \"ftp\"\n"
    );
    Scenario::parse("field", &text, &[]).expect("the scenario is valid")
}

pub fn emulation(scenario: &Scenario, seed: u64) -> Emulation {
    Emulation::new(scenario, seed, 1500, &end_nodes(scenario)).expect("the requirements are met")
}

/// A partition of the second hop, with ICMP notification by the router before it, or without.
pub fn cut(first_s: u64, lasts_s: u64, notified: bool) -> String {
    let signal = if notified { "icmp-unreachable" } else { "none" };
    format!(
        "[[network.fault]]\nkind = \"partition\"\nhop = 2\nfirst = \"{first_s} s\"\n\
         lasts = \"{lasts_s} s\"\nsignal = \"{signal}\"\n"
    )
}
