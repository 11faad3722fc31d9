//! Signals of an unreachable destination at given times (westin-2003 §4.8).

mod common;

use common::{aid_states, parse, traced};

fn signalled(flow: &str) -> String {
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
fn an_aid_gets_the_signal_and_goes_on_with_what_arrives() {
    let times = "aid = \"atcp-partial\"\nunreachable_at = [\"0.5 s\", \"5 s\", \"8 s\"]";
    let (_, trace) = traced(&parse(&signalled(times)), 1);
    let states = aid_states(&trace.flows[0]);
    let disconnected = states.iter().filter(|(_, state)| state == "disconnected");
    let when: Vec<_> = disconnected.map(|(at, _)| *at).collect();
    assert_eq!(when, [5.0, 8.0], "nothing is outstanding at 0.5 s");
    // What was on its way arrives within a round trip.
    for at in when {
        let next = states.iter().find(|(later, _)| *later > at).unwrap();
        assert!(next.1 == "normal" && next.0 < at + 0.1, "{states:?}");
    }
}

#[test]
fn without_an_aid_nothing_comes_of_it() {
    let run = |flow| common::run(&parse(&signalled(flow)), 1).flows[0].clone();
    assert_eq!(run("unreachable_at = [\"5 s\", \"8 s\"]"), run(""));
}

#[test]
fn each_variant_of_the_thesis_changes_the_run() {
    let run = |options: &str| {
        let aid =
            format!("aid = {{ name = \"atcp-partial\"{options} }}\nunreachable_at = [\"5 s\"]");
        common::run(&parse(&signalled(&aid)), 1).flows[0].clone()
    };
    let plain = run("");
    assert!(plain.retransmissions > Some(0), "all that was outstanding goes again");
    assert_eq!(run(", step_back = false").retransmissions, Some(0));
    assert_eq!(run(", step_back = false, retransmit = true").retransmissions, Some(1));
}
