//! Packets out of order: reordering faults, links that do not keep order, and parallel routes.

use driftway_sim::results::{Direction, RunResult};

use crate::common::{completion, drops, link, parse, run, run_text};

fn reordered(faults: &str, recovery: &str) -> RunResult {
    run_text(
        &format!(
            r#"
            name = "packets that jump the queue"
            duration = "400 s"
            [network]
            kind = "path"
            hops = 3
            link = {{ rate = "128 kbit/s", delay = "10 ms" }}
            [[network.override]]
            hop = 2
            rate = "64 kbit/s"
            {faults}
            [[flow]]
            from = 0
            to = 3
            application = {{ transfer = "300 kB" }}
            tcp = {{ recovery = "{recovery}", mss = "500 B", window = "16 kB" }}
            "#
        ),
        1,
    )
}

/// No packet is lost, yet Reno takes duplicate ACKs for losses. The receiver gets all data in order,
/// or the run would fail.
#[test]
fn reordering_looks_like_loss() {
    let fault =
        "[[network.fault]]\nkind = \"reordering\"\nhop = 2\nfirst = \"5 s\"\nevery = \"5 s\"\n";
    for recovery in ["tahoe", "reno", "newreno"] {
        let calm = reordered("", recovery);
        assert_eq!(calm.flows[0].fast_retransmits, Some(0));
        let result = reordered(&format!("{fault}packets = 4"), recovery);
        completion(&result.flows[0]);
        assert!(result.flows[0].fast_retransmits > Some(1), "{recovery}: {:#?}", result.flows[0]);
        assert!(result.drops.is_empty(), "{:?}", result.drops);
        assert_eq!(result.flows[0].delivered_bytes, 300_000);
    }
    // The last of two packets moved to the front comes two packets early: there is no third duplicate.
    let two = reordered(&format!("{fault}packets = 1"), "reno");
    assert!(two.drops.is_empty());
}

/// Held-back packets arrive in the end, whatever ends the wait: here all of them have come, no more
/// come, the hop is partitioned, or the fault occurs again. Packets are conserved, or the run would
/// fail.
#[test]
fn packets_sent_in_reverse_order_are_not_lost() {
    let fault = |more: &str| {
        format!("[[network.fault]]\nkind = \"reordering\"\nhop = 2\nhow = \"reverse\"\n{more}\n")
    };
    let every = fault("first = \"5 s\"\nevery = \"5 s\"");
    let cut = "[[network.fault]]\nkind = \"partition\"\nhop = 2\nfirst = \"6 s\"\n\
               lasts = \"2 s\"\nsignal = \"none\"\n";
    let (calm, wait) = (reordered("", "reno"), "at_most = \"700 ms\"");
    for (faults, lost) in [
        (every.clone(), false),
        (fault("first = \"5 s\"\npackets = 1000"), false),
        (fault(&format!("first = \"5 s\"\nevery = \"5 s\"\npackets = 1000\n{wait}")), false),
        (fault("first = \"5 s\"\nevery = \"300 ms\"\npackets = 1000"), false),
        (fault("first = \"5 s\"\npackets = 1000\nat_most = \"1000 s\"") + cut, true),
        (fault("first = \"5 s\"\ndirection = \"both\"\npackets = 7"), false),
    ] {
        let result = reordered(&faults, "reno");
        completion(&result.flows[0]);
        assert_eq!(result.flows[0].delivered_bytes, 300_000);
        assert_eq!(!result.drops.is_empty(), lost, "{faults}\n{:?}", result.drops);
        assert_ne!(result.fingerprint, calm.fingerprint, "{faults}");
    }
    let result = reordered(&every, "reno");
    assert!(result.flows[0].fast_retransmits > Some(1), "{:#?}", result.flows[0]);
    let front = reordered(&every.replace("how = \"reverse\"\n", ""), "reno");
    assert_ne!(result.fingerprint, front.fingerprint);
}

/// A run that ends while packets are held back finds them in the queue.
#[test]
fn packets_held_back_at_the_end_are_accounted_for() {
    let fault = "[[network.fault]]\nkind = \"reordering\"\nhop = 2\nfirst = \"5 s\"\n\
                 how = \"reverse\"\npackets = 1000\nat_most = \"1000 s\"\n";
    let result = reordered(fault, "reno");
    assert_eq!((result.duration_s, result.flows[0].completion_s), (400.0, None));
    assert!(result.drops.is_empty(), "{:?}", result.drops);
}

#[test]
fn a_link_that_does_not_keep_order_reorders() {
    let text = |order: &str| {
        format!(
            r#"
            name = "a link without order"
            duration = "100 s"
            [network]
            kind = "path"
            hops = 1
            link = {{ rate = "1 Mbit/s", delay = {{ uniform = ["1 ms", "60 ms"] }}, order = "{order}" }}
            [[flow]]
            from = 0
            to = 1
            application = {{ transfer = "500 kB" }}
            tcp = {{ mss = "500 B", window = "16 kB" }}
            "#
        )
    };
    let fifo = run_text(&text("fifo"), 1);
    let free = run_text(&text("free"), 1);
    assert_eq!(fifo.flows[0].retransmissions, Some(0));
    assert!(free.flows[0].retransmissions > Some(0), "{:#?}", free.flows[0]);
    assert!(fifo.drops.is_empty() && free.drops.is_empty());
}

/// Two routes between the ends: the chain of three hops, and one of two hops with another delay per
/// hop.
fn routes(multipath: &str, delay: &str) -> driftway_scenario::Scenario {
    parse(&format!(
        r#"
        name = "two routes"
        duration = "200 s"
        [network]
        kind = "path"
        hops = 3
        multipath = "{multipath}"
        link = {{ rate = "512 kbit/s", delay = "10 ms" }}
        [[network.parallel]]
        from = 0
        to = 3
        hops = 2
        delay = "{delay}"
        [[flow]]
        from = 0
        to = 3
        application = {{ transfer = "500 kB" }}
        tcp = {{ recovery = "reno", mss = "500 B" }}
        "#
    ))
}

/// Frames at the first hop of each route: hops of further routes are numbered after those of the
/// chain.
fn first_hops(result: &RunResult, direction: Direction) -> (u64, u64) {
    let (chain, beside) = match direction {
        Direction::Forward => (1, 4),
        Direction::Backward => (3, 5),
    };
    (link(result, chain, direction).frames, link(result, beside, direction).frames)
}

#[test]
fn routes_are_used_round_robin() {
    let result = run(&routes("round-robin", "15 ms"), 1);
    completion(&result.flows[0]);
    for direction in [Direction::Forward, Direction::Backward] {
        let (chain, beside) = first_hops(&result, direction);
        assert!(chain.abs_diff(beside) <= 1 && chain > 100, "{direction:?}: {chain} {beside}");
    }
    // Packets that enter a route at one end leave it at the other.
    for (first, last) in [(1, 3), (4, 5)] {
        let frames = |hop| link(&result, hop, Direction::Forward).frames;
        assert!(frames(first).abs_diff(frames(last)) <= 1, "hop {first}");
    }
}

#[test]
fn routes_are_used_at_random() {
    let result = run(&routes("random", "15 ms"), 1);
    completion(&result.flows[0]);
    let (chain, beside) = first_hops(&result, Direction::Forward);
    // At least 1000 segments: half of them on each route, plus or minus four times √n/2.
    let (n, off) = ((chain + beside) as f64, chain.abs_diff(beside) as f64);
    assert!(n > 1000.0 && off > 1.0 && off < 4.0 * n.sqrt(), "{chain} {beside}");
}

#[test]
fn routes_of_unequal_delay_reorder_without_loss() {
    for multipath in ["round-robin", "random"] {
        let result = run(&routes(multipath, "80 ms"), 1);
        completion(&result.flows[0]);
        assert!(result.drops.is_empty(), "{multipath}: {:?}", result.drops);
        assert!(result.flows[0].fast_retransmits > Some(0), "{multipath}: {:#?}", result.flows[0]);
        assert_eq!(drops(&result, "queue-overflow"), 0);
    }
}
