//! "Effect of lost messages" (liu-singh-2001 §III-A): lost ECN marks and ICMP messages delay ATCP's
//! reaction. More of them follow, and one arrives.

use crate::common;
use driftway_sim::results::RunResult;
use driftway_sim::trace::Trace;

const LOSSES: [f64; 3] = [0.2, 0.5, 0.8];
const SEEDS: [u64; 3] = [1, 2, 3];

/// A queue before a slow hop, which marks packets that find more than a few others in it.
fn congested(mark_loss: f64) -> String {
    format!(
        r#"
        name = "marks are lost"
        duration = "600 s"
        [network]
        kind = "path"
        hops = 3
        link = {{ rate = "1 Mbit/s", delay = "10 ms" }}
        [[network.override]]
        hop = 2
        rate = "128 kbit/s"
        queue = {{ packets = 200, ecn_threshold = 4 }}
        mark_loss = {mark_loss:?}
        [[flow]]
        from = 0
        to = 3
        application = {{ transfer = "500 kB" }}
        tcp = {{ mss = "500 B", window = "32 kB", ecn = true }}
        aid = "atcp"
        "#
    )
}

/// Partitions longer than the sender's retransmission timeout.
fn partitioned(signal_loss: f64) -> String {
    format!(
        r#"
        name = "unreachables are lost"
        duration = "600 s"
        [network]
        kind = "path"
        hops = 3
        link = {{ rate = "128 kbit/s", delay = "10 ms" }}
        [[network.fault]]
        kind = "partition"
        hop = 2
        first = "5 s"
        every = "40 s"
        lasts = "15 s"
        signal_loss = {signal_loss:?}
        [[flow]]
        from = 0
        to = 3
        application = {{ transfer = "500 kB" }}
        tcp = {{ recovery = "reno", mss = "500 B", window = "8 kB" }}
        aid = "atcp"
        "#
    )
}

fn runs(text: &str) -> Vec<(RunResult, Trace)> {
    SEEDS.map(|seed| common::traced(&common::parse(text), seed)).into()
}

fn was_in(trace: &Trace, state: &str) -> bool {
    common::aid_states(&trace.flows[0]).iter().any(|(_, been)| been == state)
}

#[test]
fn a_mark_arrives() {
    for loss in LOSSES {
        for (result, trace) in runs(&congested(loss)) {
            common::completion(&result.flows[0]);
            assert!(
                was_in(&trace, "congested"),
                "{loss}: {:?}",
                common::aid_states(&trace.flows[0])
            );
        }
    }
}

#[test]
fn without_any_mark_congestion_is_not_detected() {
    for (result, trace) in runs(&congested(1.0)) {
        common::completion(&result.flows[0]);
        assert!(!was_in(&trace, "congested"));
        assert_eq!(result.links.iter().map(|link| link.marks).sum::<u64>(), 0);
    }
}

#[test]
fn the_share_of_lost_marks_is_that_of_the_scenario() {
    let marks = |loss| {
        let runs = runs(&congested(loss));
        runs.iter().flat_map(|(run, _)| &run.links).map(|link| link.marks).sum::<u64>()
    };
    let [few, some, many] = LOSSES.map(marks);
    assert!(few > some && some > many && many > 0, "{few} {some} {many}");
}

#[test]
fn an_unreachable_message_arrives() {
    for loss in LOSSES {
        for (result, trace) in runs(&partitioned(loss)) {
            common::completion(&result.flows[0]);
            let states = common::aid_states(&trace.flows[0]);
            assert!(was_in(&trace, "disconnected"), "{loss}: {states:?}");
            assert!(common::drops(&result, "signal-loss") > 0, "{:?}", result.drops);
        }
    }
}

#[test]
fn without_any_unreachable_message_the_partition_is_not_detected() {
    for (result, trace) in runs(&partitioned(1.0)) {
        common::completion(&result.flows[0]);
        assert!(!was_in(&trace, "disconnected"));
        let refused = common::drops(&result, "unreachable");
        assert_eq!(common::drops(&result, "signal-loss"), refused, "one message per packet");
    }
}

/// liu-singh-2001 §III-A: without a notification the sender takes a partition for loss and keeps
/// retransmitting.
#[test]
fn the_fewer_arrive_the_later_the_first() {
    let first = |loss| {
        let began = |trace: &Trace| {
            let states = common::aid_states(&trace.flows[0]);
            states.iter().find(|(_, state)| state == "disconnected").map(|(at, _)| *at)
        };
        runs(&partitioned(loss)).iter().map(|(_, t)| began(t).unwrap()).sum::<f64>()
    };
    assert!(first(0.0) < first(0.8), "{} {}", first(0.0), first(0.8));
}
