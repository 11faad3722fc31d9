//! Cross traffic: congestion and interference faults.

use driftway_sim::results::{Direction, RunResult};

use crate::common::{completion, drops, link, parse, run, traced};

/// A transfer at a fraction of the path's rate, so that additional traffic is visible.
fn path(link: &str, faults: &str, tcp: &str) -> driftway_scenario::Scenario {
    parse(&format!(
        r#"
        name = "a path with others on it"
        duration = "60 s"
        [network]
        kind = "path"
        hops = 4
        link = {{ rate = "256 kbit/s", delay = "5 ms", {link} }}
        {faults}
        [[flow]]
        from = 0
        to = 4
        application = {{ transfer = "800 kB" }}
        tcp = {{ mss = "500 B", window = "8 kB", {tcp} }}
        "#
    ))
}

const FLOOD: &str = "[[network.fault]]\nkind = \"congestion\"\nhop = 2\nfirst = \"5 s\"\n\
                     every = \"20 s\"\nlasts = \"4 s\"\nsize = \"250 B\"\n";

fn marks(result: &RunResult) -> u64 {
    result.links.iter().map(|link| link.marks).sum()
}

#[test]
fn congestion_fills_the_queue() {
    let calm = run(&path("queue = { packets = 30 }", "", ""), 1);
    assert!(calm.drops.is_empty(), "{:?}", calm.drops);

    let (result, trace) = traced(&path("queue = { packets = 30 }", FLOOD, ""), 1);
    assert!(completion(&result.flows[0]) > completion(&calm.flows[0]));
    let overflows = drops(&result, "queue-overflow");
    assert!(overflows > 100, "{overflows}");
    assert_eq!(link(&result, 2, Direction::Forward).drops, overflows, "at the congested hop only");
    // Cross traffic leaves the path after the hop.
    let frames = |hop| link(&result, hop, Direction::Forward).frames;
    assert!(frames(2) > frames(1) + 400 && frames(3) < frames(2) - 400);

    let marks = trace.network.iter().map(|(at, mark)| (at.as_millis(), mark.hop, mark.begins));
    let first: Vec<_> = marks.take(3).collect();
    assert_eq!(first, [(5_000, 2, true), (9_000, 2, false), (25_000, 2, true)]);
}

/// The rate is twice the hop's unless the scenario gives another: the number of packets in four
/// seconds follows.
#[test]
fn cross_traffic_has_its_rate() {
    let foreign = |rate: &str| {
        let text = format!("{}{rate}\n", FLOOD.replace("every = \"20 s\"\n", ""));
        let result = run(&path("queue = { packets = 100000 }", &text, ""), 1);
        let frames = |hop| link(&result, hop, Direction::Forward).frames;
        frames(2) - frames(1)
    };
    assert_eq!(foreign(""), 2 * 256_000 * 4 / (250 * 8));
    assert_eq!(foreign("rate = \"100 kbit/s\""), 100_000 * 4 / (250 * 8));
}

#[test]
fn a_queue_marks_ecn_capable_packets() {
    let queue = "queue = { packets = 100, ecn_threshold = 10 }";
    let with = run(&path(queue, FLOOD, "ecn = true"), 1);
    assert!(marks(&with) > 0);
    assert_eq!(link(&with, 2, Direction::Forward).marks, marks(&with));
    assert_eq!(marks(&run(&path(queue, FLOOD, "ecn = false"), 1)), 0);
    assert_eq!(marks(&run(&path(queue, "", "ecn = true"), 1)), 0);
}

/// liu-singh-2001 §V-B: congestion results in marks, in a queue without a threshold of its own.
#[test]
fn a_congestion_fault_can_mark_without_a_threshold() {
    let queue = "queue = { packets = 100 }";
    let (marking, ecn) = (format!("{FLOOD}marks = true\n"), "ecn = true");
    let result = run(&path(queue, &marking, ecn), 1);
    completion(&result.flows[0]);
    assert!(marks(&result) > 0);
    assert_eq!(
        link(&result, 2, Direction::Forward).marks,
        marks(&result),
        "at the congested hop only"
    );
    assert!(result.flows[0].cwnd_reductions > Some(0), "{:#?}", result.flows[0]);

    // No marks without the key, before the fault begins, in the other direction, or for packets that
    // are not ECN-capable.
    let other = format!("{marking}direction = \"backward\"\n");
    let late = marking.replace("first = \"5 s\"", "first = \"50 s\"");
    for (faults, tcp) in
        [(FLOOD, ecn), (late.as_str(), ecn), (other.as_str(), ecn), (marking.as_str(), "")]
    {
        assert_eq!(marks(&run(&path(queue, faults, tcp), 1)), 0, "{faults} {tcp}");
    }
    // These marks are lost with the probability of others.
    let lossy = format!("{queue}, mark_loss = 1.0");
    assert_eq!(marks(&run(&path(&lossy, &marking, ecn), 1)), 0);
}

fn interference(more: &str) -> String {
    format!(
        "[[network.fault]]\nkind = \"interference\"\nevery = \"40 ms\"\nsize = \"320 B\"\n{more}\n"
    )
}

/// Cross-traffic frames of each hop and direction: the difference to the same run without them.
fn foreign(more: &str) -> (RunResult, Vec<(i64, i64)>) {
    let frames = |result: &RunResult| {
        let of = |hop, direction| link(result, hop, direction).frames as i64;
        (1..=4).map(|h| (of(h, Direction::Forward), of(h, Direction::Backward))).collect::<Vec<_>>()
    };
    let queue = "queue = { packets = 1000 }";
    let mut calm = path(queue, "", "");
    let mut busy = path(queue, &interference(more), "");
    for scenario in [&mut calm, &mut busy] {
        scenario.flows[0].application = parse(
            r#"
            name = "little"
            duration = "1 s"
            network = { kind = "path", hops = 1, link = { rate = "1 bit/s", delay = "1 s" } }
            [[flow]]
            from = 0
            to = 1
            application = { cbr = { every = "20 s", size = "1 B" } }
            "#,
        )
        .flows[0]
            .application;
    }
    let result = run(&busy, 1);
    let calm = frames(&run(&calm, 1));
    let more = frames(&result).into_iter().zip(calm);
    let more = more.map(|((f, b), (calm_f, calm_b))| (f - calm_f, b - calm_b)).collect();
    (result, more)
}

/// 60 s with a packet every 40 ms are 1500 packets, one more or less for where they begin and end.
fn is_constant(n: i64) -> bool {
    (1498..=1501).contains(&n)
}

#[test]
fn interference_affects_the_given_hops_and_directions() {
    let (result, frames) = foreign("hop = 3\ndirection = \"forward\"");
    assert!(is_constant(frames[2].0), "{frames:?}");
    assert!([0, 1, 3].iter().all(|&hop| frames[hop] == (0, 0)) && frames[2].1 == 0, "{frames:?}");
    // 320 bytes every 40 ms are 64 kbit/s: a quarter of the hop.
    let utilisation = link(&result, 3, Direction::Forward).utilisation.unwrap();
    assert!((utilisation - 0.25).abs() < 0.002, "{utilisation}");

    let (_, frames) = foreign("hop = 3\ndirection = \"backward\"");
    assert!(is_constant(frames[2].1) && frames[2].0 == 0, "{frames:?}");
    let (_, frames) = foreign("hop = 1\ndirection = \"both\"");
    assert!(is_constant(frames[0].0) && is_constant(frames[0].1), "{frames:?}");
    assert!(frames[1..].iter().all(|frames| *frames == (0, 0)), "{frames:?}");
}

/// liu-singh-2001 §V-E: each hop between intermediate nodes; transmissions of the two ends are not
/// affected.
#[test]
fn interference_at_intermediate_hops_does_not_affect_the_ends() {
    let (_, frames) = foreign("hop = \"intermediate\"\ndirection = \"both\"");
    let forward: Vec<_> = frames.iter().map(|(f, _)| is_constant(*f)).collect();
    let backward: Vec<_> = frames.iter().map(|(_, b)| is_constant(*b)).collect();
    assert_eq!(forward, [false, true, true, true], "{frames:?}");
    assert_eq!(backward, [true, true, true, false], "{frames:?}");
    assert_eq!((frames[0].0, frames[3].1), (0, 0));
}

/// A Poisson stream has the same mean, but not exactly the same number; √1500 is 39.
#[test]
fn poisson_interference_has_its_mean() {
    let (_, frames) = foreign("hop = 2\nspacing = \"poisson\"");
    let (found, back) = frames[1];
    assert!((found - 1500).abs() < 4 * 39 && !is_constant(found), "{found}");
    assert_eq!(back, 0);
}

#[test]
fn interference_slows_a_transfer() {
    let calm = completion(&run(&path("duplex = \"shared\"", "", ""), 1).flows[0]);
    let more = "hop = \"intermediate\"\ndirection = \"both\"";
    let busy = run(&path("duplex = \"shared\"", &interference(more), ""), 1);
    assert!(completion(&busy.flows[0]) > calm * 1.2, "{calm}");
}
