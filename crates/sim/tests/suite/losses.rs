//! Packet loss notifications of routing (yu-2004) in a whole network.

use crate::common::{example, run};
use driftway_sim::results::{RoutingResult, RunResult};

const SHORT: (&str, &str) = ("duration", "150 s");

fn run_example(example_name: &str, changes: &[(&str, &str)]) -> RunResult {
    run(&example(example_name, &[&[SHORT], changes].concat()), 1)
}

fn routing(run: &RunResult) -> RoutingResult {
    run.routing.unwrap_or_default()
}

/// Every part of the scheme acts in a run, and the run differs without any one of them.
#[test]
fn each_part_acts_and_makes_a_difference() {
    let whole = run_example("adhoc-epln", &[]);
    let counts = routing(&whole);
    for (what, count) in [
        ("loss notices", counts.loss_notices),
        ("passed on", counts.passed_notices),
        ("without a route", counts.lost_notices),
        ("acknowledgments sent again", counts.resent_acks),
        ("notices of the cache", counts.notices),
        ("salvaged", counts.salvaged),
        ("nested errors", counts.nested_errors),
    ] {
        assert!(count > 0, "{what}");
    }
    for (key, value) in [
        ("network.routing.epln", "false"),
        ("network.routing.bead", "false"),
        ("network.routing.elfn", "true"),
        ("network.routing.relay_notices", "true"),
        ("network.routing.salvage", "false"),
        ("network.routing.nest_errors", "false"),
        ("network.routing.cache", "link-max-life"),
        ("network.routing.promiscuous", "true"),
        ("flow.0.aid", "elfn"),
    ] {
        let other = run_example("adhoc-epln", &[(key, value)]);
        // EPLN also sends the notification packet of ELFN.
        assert_eq!(other.fingerprint == whole.fingerprint, key.ends_with("elfn"), "{key}");
    }
    let silent = [("network.routing.epln", "false"), ("network.routing.bead", "false")];
    let counts = routing(&run_example("adhoc-epln", &silent));
    assert_eq!((counts.loss_notices, counts.resent_acks), (0, 0));
}

#[test]
fn each_part_acts_over_aodv() {
    let whole =
        run_example("adhoc-elfn", &[("network.routing.epln", "true"), ("flow.0.aid", "epln")]);
    let counts = routing(&whole);
    assert!(counts.loss_notices > 0 && counts.resent_acks > 0, "{counts:?}");
    for changes in [
        &[("network.routing.bead", "false")][..],
        &[("network.routing.epln", "false"), ("network.routing.elfn", "false")],
    ] {
        let other = run_example("adhoc-elfn", &[&[("flow.0.aid", "epln")], changes].concat());
        assert_ne!(other.fingerprint, whole.fingerprint, "{changes:?}");
    }
}
