//! Signals of an unreachable destination at given times, and at link failures (westin-2003 §4.8).

use crate::common;
use crate::common::{aid_states, logged, parse, traced};
use driftway_sim::log::{Entry, Event};

fn one_hop_path(flow: &str) -> String {
    format!(
        r#"
        name = "signalled"
        duration = "20 s"
        [network]
        kind = "path"
        hops = 1
        link = {{ rate = "1 Mbit/s", delay = "20 ms", queue = {{ packets = 50 }} }}
        [[flow]]
        from = 0
        to = 1
        start = "1 s"
        application = "ftp"
        tcp = {{ recovery = "tahoe", window = 20 }}
        {flow}
        "#
    )
}

#[test]
fn an_aid_gets_the_signal_and_recovers_with_new_acknowledgments() {
    let times = "aid = \"atcp-partial\"\nunreachable_at = [\"0.5 s\", \"5 s\", \"8 s\"]";
    let (_, trace) = traced(&parse(&one_hop_path(times)), 1);
    let states = aid_states(&trace.flows[0]);
    let disconnected = states.iter().filter(|(_, state)| state == "disconnected");
    let when: Vec<_> = disconnected.map(|(at, _)| *at).collect();
    assert_eq!(when, [5.0, 8.0], "nothing is outstanding at 0.5 s");
    // Segments in transit arrive within a round trip.
    for at in when {
        let next = states.iter().find(|(later, _)| *later > at).unwrap();
        assert!(next.1 == "normal" && next.0 < at + 0.1, "{states:?}");
    }
}

#[test]
fn without_an_aid_the_signal_has_no_effect() {
    let run = |flow| common::run(&parse(&one_hop_path(flow)), 1).flows[0].clone();
    assert_eq!(run("unreachable_at = [\"5 s\", \"8 s\"]"), run(""));
}

#[test]
fn each_variant_of_the_thesis_changes_the_run() {
    let run = |options: &str| {
        let aid =
            format!("aid = {{ name = \"atcp-partial\"{options} }}\nunreachable_at = [\"5 s\"]");
        common::run(&parse(&one_hop_path(&aid)), 1).flows[0].clone()
    };
    let plain = run("");
    assert!(plain.retransmissions > Some(0), "all outstanding data are retransmitted");
    assert_eq!(run(", step_back = false").retransmissions, Some(0));
    assert_eq!(run(", step_back = false, retransmit = true").retransmissions, Some(1));
}

/// Two neighbours whose MAC layer fails to send packets under load (westin-2003 §4.2).
fn one_hop(routing: &str, options: &str, signals: &str) -> String {
    format!(
        r#"
        name = "one hop"
        duration = "5 s"
        [network]
        kind = "adhoc"
        nodes = 2
        area = ["200 m", "100 m"]
        mobility = {{ positions = [["0 m", "0 m"], ["100 m", "0 m"]] }}
        mac = {{ kind = "dcf", cts_resets_short_count = false }}
        routing = {{ protocol = "{routing}" }}
        compat = "ns-2"
        [[flow]]
        from = 0
        to = 1
        start = "1 s"
        application = "ftp"
        tcp = {{ preset = "ns-2", recovery = "tahoe", mss = "1000 B", window = 20 }}
        aid = {{ name = "atcp-partial"{options} }}
        {signals}
        "#
    )
}

/// The first failure of the sender's link after `past` and before `end` (ns).
fn next_failure(rows: &[Entry], past: u64, end: u64) -> Option<u64> {
    let failed = rows.iter().filter(|row| {
        matches!(row.event, Event::LinkFailure | Event::FalseLinkFailure)
            && (row.node, row.destination) == (0, Some(1))
    });
    failed.map(|row| row.time_s.as_nanos()).find(|at| past < *at && *at < end)
}

#[test]
fn signals_at_link_failures_are_what_repeated_runs_find() {
    for (routing, options) in
        [("dsr", ""), ("dsr", ", step_back = false"), ("aodv", ""), ("aodv", ", retransmit = true")]
    {
        let direct = one_hop(routing, options, "unreachable_until = \"4 s\"");
        let (direct, rows) = logged(&parse(&direct), 3);
        let mut times: Vec<u64> = Vec::new();
        // Section 4.8: find the first sign of a route failure, signal it, run again, find the next.
        let (repeated, again) = loop {
            let list: Vec<_> = times.iter().map(|at| format!("\"{at} ns\"")).collect();
            let signals = format!("unreachable_at = [{}]", list.join(", "));
            let (result, rows) = logged(&parse(&one_hop(routing, options, &signals)), 3);
            let past = times.last().copied().unwrap_or(0);
            match next_failure(&rows, past, 4_000_000_000) {
                Some(at) => times.push(at),
                None => break (result, rows),
            }
        };
        assert!(times.len() > 1, "{routing}{options}: {times:?}");
        assert_eq!(repeated.fingerprint, direct.fingerprint, "{routing}{options}");
        assert_eq!(again, rows, "{routing}{options}");
        let signalled = rows.iter().filter(|row| row.event == Event::Unreachable);
        let signalled: Vec<_> = signalled.map(|row| row.time_s.as_nanos()).collect();
        assert!(!signalled.is_empty() && signalled.iter().all(|at| times.contains(at)));
    }
}
