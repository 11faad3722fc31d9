//! A gateway that splits connections between air and wires.

use crate::common;
use driftway_sim::results::{FlowOutcome, FlowResult, RunResult};

const PROTOCOLS: [&str; 3] = ["aodv", "dsr", "static"];

/// A host `h` behind a router `r` and a gateway `g`, and a chain of three nodes on the air, 200 m apart;
/// `more` has further keys of the network.
fn network(protocol: &str, gateway: &str, more: &str, flows: &str) -> String {
    format!(
        r#"
        name = "a splitting gateway"
        duration = "100 s"
        [network]
        kind = "mixed"
        nodes = ["h", "r", "g", "n[1-2]"]
        [[network.wire]]
        between = ["h", "r"]
        rate = "10 Mbit/s"
        delay = "5 ms"
        [[network.wire]]
        between = ["r", "g"]
        rate = "10 Mbit/s"
        delay = "5 ms"
        [network.gateway]
        node = "g"
        split = true
        {gateway}
        [network.air]
        radios = ["g", "n[1-2]"]
        mobility = {{ positions = [["0 m", "0 m"], ["200 m", "0 m"], ["400 m", "0 m"]] }}
        routing = {{ protocol = "{protocol}" }}
        {more}
        {flows}
        "#
    )
}

fn transfer(from: &str, to: &str, more: &str) -> String {
    format!(
        "[[flow]]\nfrom = \"{from}\"\nto = \"{to}\"\napplication = {{ transfer = \"200 kB\" }}\n{more}\n"
    )
}

/// Packets are conserved, and streams are intact, in each run.
fn run(text: &str) -> RunResult {
    common::run(&common::parse(text), 1)
}

fn is_complete(flow: &FlowResult) -> bool {
    flow.outcome == FlowOutcome::Complete && flow.delivered_bytes == 200_000
}

#[test]
fn connections_are_split_in_both_directions() {
    for protocol in PROTOCOLS {
        let flows = [
            transfer("n2", "h", ""),
            transfer("h", "n2", "back = { transfer = \"50 kB\" }"),
            transfer("r", "n1", "aid = \"atcp\""),
            transfer("n2", "g", ""),
            transfer("g", "h", ""),
            transfer("n1", "n2", ""),
        ];
        let result = run(&network(protocol, "wireless = { aid = \"atcp\" }", "", &flows.concat()));
        assert!(result.flows.iter().all(is_complete), "{protocol}: {:?}", result.flows);
        let split: Vec<bool> = result.flows.iter().map(|flow| flow.split).collect();
        assert_eq!(split, [true, true, true, false, false, false]);
        let gateway = result.gateway.unwrap();
        assert_eq!((gateway.connections, gateway.established, gateway.failed), (3, 3, 0));
        assert!(gateway.longest_buffer_bytes <= 64_000, "{gateway:?}");
        assert!(gateway.wired_segments > 130 && gateway.wireless_segments > 130, "{gateway:?}");
        let longest = result.flows.iter().filter_map(|flow| flow.split_buffer_bytes).max();
        assert_eq!(longest, Some(gateway.longest_buffer_bytes));
    }
}

/// The same network without the key is the one that forwards.
#[test]
fn a_gateway_that_does_not_split_forwards() {
    let text = network("aodv", "", "", &transfer("h", "n2", ""));
    let forwards = text.replace("split = true", "split = false");
    let nothing =
        forwards.replace("[network.gateway]\n        node = \"g\"\n        split = false", "");
    let (forwards, nothing) = (run(&forwards), run(&nothing));
    assert_eq!(forwards, nothing);
    assert_eq!((forwards.gateway, forwards.flows[0].split), (None, false));
    assert_ne!(run(&text).fingerprint, forwards.fingerprint);
}

#[test]
fn runs_are_reproducible() {
    let flows = [transfer("n2", "h", ""), transfer("h", "n2", "aid = \"atcp\"")].concat();
    for protocol in PROTOCOLS {
        let text = network(protocol, "wireless = { aid = \"atcp\" }", "", &flows);
        assert_eq!(run(&text), run(&text));
    }
}

/// A radio that is down for 20 s: with ATCP the wireless leg waits, and the wired leg is stopped by its
/// window.
#[test]
fn an_outage_of_the_air_stops_both_legs() {
    for protocol in PROTOCOLS {
        for aid in ["none", "atcp"] {
            for (from, to) in [("h", "n2"), ("n2", "h")] {
                let gateway = format!("buffer = \"16 kB\"\nwireless = {{ aid = \"{aid}\" }}");
                let fault = "[[network.fault]]\nkind = \"radio-down\"\nnode = \"n1\"\nfirst = \"1 s\"\nlasts = \"20 s\"";
                let flow = transfer(from, to, &format!("aid = \"{aid}\""));
                let text = network(protocol, &gateway, fault, &flow.replace("200 kB", "400 kB"));
                let result = run(&text);
                let flow = &result.flows[0];
                let gateway = result.gateway.unwrap();
                assert_eq!(flow.delivered_bytes, 400_000, "{protocol} {aid} {from}: {result:?}");
                assert!(flow.completion_s.unwrap() > 20.0, "{protocol} {aid}: {flow:?}");
                assert!(gateway.longest_buffer_bytes <= 16_000, "{gateway:?}");
                assert_eq!(gateway.wired_timeouts, 0, "{protocol} {aid} {from}: {gateway:?}");
            }
        }
    }
}

/// A destination that moves away is reported to the wireless leg, and not to the host.
#[test]
fn errors_about_a_wireless_leg_stay_at_the_gateway() {
    for protocol in PROTOCOLS {
        let positions =
            "positions = [[\"0 m\", \"0 m\"], [\"200 m\", \"0 m\"], [\"400 m\", \"0 m\"]]";
        let moving = format!(
            "model = \"constant-velocity\", {positions}, velocities = [[\"0 m/s\", \"0 m/s\"], \
             [\"0 m/s\", \"0 m/s\"], [\"7 m/s\", \"0 m/s\"]]"
        );
        let flow = transfer("h", "n2", "aid = \"atcp\"").replace("200 kB", "5 MB");
        let gateway = "wireless = { aid = \"atcp\" }";
        let text = network(protocol, gateway, "area = [\"1500 m\", \"10 m\"]", &flow);
        let result = run(&text.replace(positions, &moving));
        let flow = &result.flows[0];
        assert!(flow.delivered_bytes > 100_000, "{protocol}: {flow:?}");
        assert_eq!(flow.disconnected_s, Some(0.0), "{protocol}: {flow:?}");
        assert_eq!((flow.timeouts, flow.outcome), (Some(0), FlowOutcome::Running), "{flow:?}");
    }
}

/// If the wireless leg gives up, the host is reset, whatever it has been acknowledged.
#[test]
fn a_leg_that_times_out_fails_the_flow() {
    for protocol in PROTOCOLS {
        let few = "wireless = { tcp = { max_retries = 2 } }\nbuffer = \"64 kB\"";
        let fault = "[[network.fault]]\nkind = \"radio-down\"\nnode = \"n2\"\nfirst = \"1 s\"\nlasts = \"90 s\"";
        let result =
            run(&network(protocol, few, fault, &transfer("h", "n2", "").replace("200 kB", "1 MB")));
        let flow = &result.flows[0];
        assert_eq!(flow.outcome, FlowOutcome::TimedOut, "{protocol}: {flow:?}");
        assert!(flow.end_s < 60.0, "{protocol}: {flow:?}");
        assert_eq!(result.gateway.unwrap().failed, 1);
    }
}

/// A host that does not answer: the SYN is not answered by the gateway either.
#[test]
fn a_host_out_of_reach_is_not_connected() {
    let fault =
        "[[network.fault]]\nkind = \"partition\"\nhop = 1\nfirst = \"0 s\"\nlasts = \"99 s\"";
    let few = "wired = { tcp = { max_syn_retries = 1 } }";
    let result = run(&network("aodv", few, fault, &transfer("n2", "h", "")));
    let gateway = result.gateway.unwrap();
    assert_eq!((gateway.connections >= 1, gateway.established), (true, 0), "{gateway:?}");
    assert_eq!(result.flows[0].delivered_bytes, 0);
    assert_ne!(result.flows[0].outcome, FlowOutcome::Running);
}

/// Congestion behind the gateway: with ECN it is signalled by marks, else by losses; with a split only
/// the wired leg reacts.
#[test]
fn each_leg_has_its_own_ecn() {
    let run = |split: bool, wired_ecn: bool| {
        let queue = "delay = \"5 ms\"\nqueue = { packets = 20, ecn_threshold = 5 }";
        let tcp = format!("wired = {{ tcp = {{ ecn = {wired_ecn} }} }}");
        let flow = transfer("n2", "h", "tcp = { ecn = true }").replace("200 kB", "500 kB");
        let text = network("static", &tcp, "", &flow)
            .replace(
                "rate = \"10 Mbit/s\"\n        delay = \"5 ms\"\n        [network.gateway]",
                &format!("rate = \"200 kbit/s\"\n{queue}\n[network.gateway]"),
            )
            .replace("split = true", &format!("split = {split}"));
        let result = common::run(&common::parse(&text), 1);
        let marks: u64 = result.links.iter().map(|link| link.marks).sum();
        let flow = result.flows[0].clone();
        assert!(flow.outcome == FlowOutcome::Complete, "{split} {wired_ecn}: {flow:?}");
        (marks, result)
    };
    // Without a split, the marks reach the sender.
    let (marks, unsplit) = run(false, false);
    assert!(marks > 0 && unsplit.flows[0].cwnd_reductions > Some(0), "{unsplit:?}");
    let (marks, split) = run(true, true);
    assert!(marks > 0, "{split:?}");
    // The wired leg without ECN: the same queue drops.
    let (marks, lossy) = run(true, false);
    let gateway = lossy.gateway.unwrap();
    assert_eq!(marks, 0);
    assert!(gateway.wired_retransmissions > 0, "{gateway:?}");
    assert!(gateway.wired_retransmissions > split.gateway.unwrap().wired_retransmissions);
}

/// TDMA, ARP, a queue with priorities: what is below does not matter.
#[test]
fn other_media_carry_split_connections() {
    let flows = [transfer("n2", "h", ""), transfer("h", "n2", "")].concat();
    for more in [
        "mac = { kind = \"tdma\" }",
        "arp = true",
        "queue = { packets = 20, priority = \"classes\" }",
        "feedback = \"rfn\"",
        "link_signals = { lead = \"1 s\" }",
    ] {
        for aid in ["atcp", "tcp-f", "carry"] {
            let gateway = format!("wireless = {{ aid = \"{aid}\" }}");
            let text = network("aodv", &gateway, more, &flows);
            let result = run(&text);
            assert!(result.flows.iter().all(is_complete), "{more} {aid}: {:?}", result.flows);
        }
    }
}

/// A capture and an event log of a run with a split do not disturb it.
#[test]
fn observers_do_not_disturb_a_split() {
    let flows = [transfer("n2", "h", ""), transfer("h", "n2", "")].concat();
    let scenario = common::parse(&network("dsr", "", "", &flows));
    let plain = common::run(&scenario, 1);
    let (logged, log) = common::logged(&scenario, 1);
    let (traced, _) = common::traced(&scenario, 1);
    assert_eq!((&plain, &plain), (&logged, &traced));
    assert!(log.len() > 1000);
}
