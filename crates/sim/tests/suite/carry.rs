//! The shim's aid `carry` above the simulator's TCP: a link with losses and partitions, and routers
//! that mark. In every run packets are conserved, and no byte is acknowledged before its receiver has
//! it.

use crate::common;
use driftway_sim::results::FlowResult;

fn flow(changes: &[(&str, &str)]) -> FlowResult {
    flow_of(changes, 1)
}

fn flow_of(changes: &[(&str, &str)], seed: u64) -> FlowResult {
    let changes = [&[("duration", "40 s")], changes].concat();
    common::run(&common::example("carry", &changes), seed).flows.remove(0)
}

#[test]
fn losses_and_cuts_cost_no_window() {
    let plain = flow(&[("flow.0.aid", "none")]);
    let carried = flow(&[]);
    let bytes = [plain.delivered_bytes, carried.delivered_bytes];
    assert!(bytes[1] >= 2 * bytes[0], "{bytes:?}");
    assert!(plain.timeouts > Some(0), "{plain:?}");
    assert_eq!(carried.timeouts, Some(0), "{carried:?}");
}

/// Without ECN congestion is indistinguishable from other losses: only the outages are bridged, which
/// does not help on a link with so many losses, and costs little: without a timeout CUBIC remembers its
/// low maximum.
#[test]
fn without_ecn_only_outages_are_survived() {
    let [plain, carried] = [("flow.0.aid", "none"), ("flow.0.tcp.ecn", "false")];
    let bytes = [&[plain, carried][..], &[carried], &[]]
        .map(|changes| (1..=8).map(|seed| flow_of(changes, seed).delivered_bytes).sum::<u64>());
    assert!(bytes[1] * 20 >= bytes[0] * 19 && bytes[1] * 2 <= bytes[2], "{bytes:?}");
}

/// Twenty transfers over 300 kbit/s with these aids: the bytes that the first ten and the other ten
/// deliver, and the share of packets dropped; three seeds together.
fn congested(aids: [&str; 2]) -> ([u64; 2], f64) {
    let changes = [("flow.0.aid", aids[0]), ("flow.1.aid", aids[1])];
    let scenario = common::example("congested", &changes);
    let (mut bytes, mut dropped, mut sent) = ([0; 2], 0, 0);
    for seed in 1..=3 {
        let run = common::run(&scenario, seed);
        for (n, flow) in run.flows.iter().enumerate() {
            bytes[n / 10] += flow.delivered_bytes;
            sent += flow.segments_sent + flow.probes.unwrap();
        }
        dropped += run.drops.values().sum::<u64>();
    }
    (bytes, dropped as f64 / sent as f64)
}

/// Silence under congestion is not an outage: losses and throughput are within a tenth of those of TCP
/// alone.
#[test]
fn congestion_is_not_taken_for_an_outage() {
    let carry = "{ name = \"carry\", suspect_after = 2 }";
    let plain = congested(["none", "none"]);
    let [mixed, all] = [["none", carry], [carry, carry]].map(congested);
    let sum = |(bytes, _): ([u64; 2], f64)| bytes.iter().sum::<u64>();
    for with in [mixed, all] {
        assert!(with.1 <= plain.1 * 1.1, "{plain:?}, {with:?}");
        assert!(sum(with) * 100 >= sum(plain) * 95, "{plain:?}, {with:?}");
    }
    assert!(mixed.0[0] * 100 >= plain.0[0] * 90, "neighbours: {plain:?}, {mixed:?}");
}

/// The cost of partitions of 4 to 9 s, as the time in which the link carries as much. Their cost to
/// TCP alone depends on how long after their end its next timeout comes, from nothing to half of the
/// partition.
#[test]
fn a_silent_cut_costs_little_more_than_it_lasts() {
    let delivered = |changes: &[(&str, &str)]| {
        common::run(&common::example("silent-cut", changes), 1).flows[0].delivered_bytes as f64
    };
    let uncut = delivered(&[("network.fault.0.lasts", "1 ms"), ("flow.0.aid", "none")]);
    let costs = |bytes: f64| (uncut - bytes) / (uncut / 40.0);
    let mut gain = 0.0;
    for seconds in 4..10 {
        let lasts = ("network.fault.0.lasts", &*format!("{seconds} s"));
        let [plain, carried] =
            [delivered(&[lasts, ("flow.0.aid", "none")]), delivered(&[lasts])].map(costs);
        assert!(carried <= f64::from(seconds) + 0.75, "{seconds} s: {carried} s");
        assert!(plain >= carried, "{seconds} s: {plain} s and {carried} s");
        gain += plain - carried;
    }
    assert!(gain >= 6.0 * 0.75, "{gain} s");
}
