//! Several concurrent flows: directions, transports, applications, with and without aids.

use driftway_sim::results::RunResult;

use crate::common::{completion, parse, run, run_text};

fn flow(from: u32, to: u32, application: &str, more: &str) -> String {
    format!("[[flow]]\nfrom = {from}\nto = {to}\napplication = {application}\n{more}\n")
}

/// Four hops with rare losses, and `flows` over them.
fn text(duration: &str, flows: &[String]) -> String {
    format!(
        r#"
        name = "several flows"
        duration = "{duration}"
        [network]
        kind = "path"
        hops = 4
        link = {{ rate = "256 kbit/s", delay = {{ mean = "10 ms", spread = 0.5 }} }}
        [[network.override]]
        hop = 3
        packet_error_rate = 0.01
        {}
        "#,
        flows.concat()
    )
}

fn run_flows(duration: &str, flows: &[String]) -> RunResult {
    run_text(&text(duration, flows), 1)
}

const RENO: &str = "tcp = { recovery = \"reno\", mss = \"500 B\", window = \"16 kB\" }";
const TRANSFER: &str = "{ transfer = \"150 kB\" }";

#[test]
fn flows_in_both_directions_with_and_without_aid_complete() {
    let aids = [
        "",
        "aid = \"atcp\"",
        "receiver_aid = \"atcp\"",
        "aid = \"atcp\"\nreceiver_aid = \"atcp\"",
    ];
    let flows: Vec<String> = aids
        .iter()
        .flat_map(|aid| {
            [(0, 4), (4, 0)].map(|(from, to)| flow(from, to, TRANSFER, &format!("{RENO}\n{aid}")))
        })
        .collect();
    let result = run_flows("400 s", &flows);
    for flow in &result.flows {
        completion(flow);
        assert_eq!(flow.delivered_bytes, 150_000);
    }
    assert_eq!(result.flows.iter().filter(|flow| flow.aid.as_deref() == Some("atcp")).count(), 4);
}

/// The run ends with its last transfer.
#[test]
fn a_run_of_transfers_ends_when_all_are_complete() {
    let flows = [flow(0, 4, TRANSFER, RENO), flow(1, 2, TRANSFER, "start = \"3 s\"")];
    let result = run_flows("400 s", &flows);
    let ends: Vec<f64> = result.flows.iter().map(|flow| flow.end_s).collect();
    assert_eq!(result.duration_s, ends[0].max(ends[1]));
    assert!(result.duration_s < 100.0);
}

#[test]
fn intermediate_nodes_can_be_endpoints() {
    let pairs = [(1, 3), (3, 1), (2, 4), (2, 0), (1, 2), (3, 2)];
    let result = run_flows("400 s", &pairs.map(|(from, to)| flow(from, to, TRANSFER, RENO)));
    for (flow, (from, to)) in result.flows.iter().zip(pairs) {
        assert_eq!((flow.source, flow.destination), (from, to));
        completion(flow);
    }
    // No packets pass through hops that are not between the two ends.
    let only = run_flows("400 s", &[flow(1, 3, TRANSFER, RENO)]);
    let used: Vec<u32> = only.links.iter().filter(|l| l.frames > 0).map(|l| l.hop).collect();
    assert_eq!(used, [2, 2, 3, 3]);
}

#[test]
fn every_recovery_and_growth_completes_beside_the_others() {
    let mut flows = Vec::new();
    for (recovery, growth) in driftway_tcp::recovery_control_pairs() {
        let (recovery, growth) = (recovery.name(), growth.name());
        let tcp = format!(
            "tcp = {{ recovery = \"{recovery}\", growth = \"{growth}\", mss = \"500 B\" }}"
        );
        flows.push(flow(0, 4, TRANSFER, &tcp));
    }
    let result = run_flows("400 s", &flows);
    for flow in &result.flows {
        completion(flow);
    }
    assert_eq!(result.flows.len(), driftway_tcp::recovery_control_pairs().count());
    assert!(result.flows.len() >= 8);
}

#[test]
fn ftp_continues_until_the_end() {
    let result = run_flows("60 s", &[flow(0, 4, "\"ftp\"", RENO), flow(4, 0, TRANSFER, RENO)]);
    let ftp = &result.flows[0];
    assert_eq!((result.duration_s, ftp.end_s, ftp.completion_s), (60.0, 60.0, None));
    assert!(ftp.delivered_bytes > 500_000, "{}", ftp.delivered_bytes);
    assert!(ftp.goodput_ratio < Some(1.0), "one in a hundred is lost");
    completion(&result.flows[1]);
}

/// 50 s at four packets a second: lost packets stay lost over UDP, and arrive late over TCP.
#[test]
fn constant_bit_rate_over_udp_and_tcp() {
    let cbr = "{ cbr = { every = \"0.25 s\", size = \"400 B\" } }";
    let flows = [
        flow(0, 4, cbr, "transport = \"udp\"\nstart = \"10.1 s\""),
        flow(0, 4, cbr, "tcp = { mss = \"500 B\" }\nstart = \"10.1 s\""),
    ];
    let result = run_flows("60 s", &flows);
    let [udp, tcp] = &result.flows[..] else { panic!() };
    assert_eq!(udp.segments_sent, 200);
    assert_eq!((udp.tcp.as_deref(), udp.retransmissions, udp.timeouts), (None, None, None));
    assert!(udp.delivered_bytes < 200 * 400 && udp.delivered_bytes > 190 * 400);
    assert_eq!(udp.delivered_bytes % 400, 0);
    // All but the data in transit at the end.
    assert!(tcp.delivered_bytes >= 198 * 400, "{tcp:#?}");
    assert!(tcp.delay_s > udp.delay_s, "{:?} {:?}", tcp.delay_s, udp.delay_s);
}

/// Adding a flow or an aid changes no other random stream: the first datagram's delay on the first hop
/// is the same.
#[test]
fn an_added_flow_changes_no_other_random_stream() {
    let cbr = "{ cbr = { every = \"1000 s\", size = \"400 B\" } }";
    let alone = run_flows("10 s", &[flow(0, 4, cbr, "transport = \"udp\"")]);
    let beside = run_flows(
        "10 s",
        &[
            flow(0, 4, cbr, "transport = \"udp\""),
            flow(0, 4, TRANSFER, &format!("{RENO}\nstart = \"5 s\"\naid = \"atcp\"")),
        ],
    );
    assert_eq!(alone.flows[0].delay_s, beside.flows[0].delay_s);
    assert!(alone.flows[0].delay_s.is_some());
}

/// The completion time counts from the start of the flow.
#[test]
fn completion_counts_from_the_start() {
    let scenario = |start: &str| {
        let mut scenario =
            parse(&text("400 s", &[flow(0, 4, TRANSFER, &format!("{RENO}\nstart = \"{start}\""))]));
        let driftway_scenario::Network::Path(path) = &mut scenario.network else { panic!() };
        path.overrides.clear();
        let delay = driftway_scenario::Time::from_millis(10);
        path.link.delay = Some(driftway_scenario::LinkDelay::Fixed(delay));
        scenario.flows[0].tcp.as_mut().unwrap().tick.phase =
            driftway_scenario::Phase::At(driftway_scenario::Time::from_millis(0));
        scenario
    };
    let [now, later] = ["0 s", "50 s"].map(|start| run(&scenario(start), 1));
    let difference = completion(&now.flows[0]) - completion(&later.flows[0]);
    assert!(difference.abs() < 1e-9, "{difference}");
    assert_eq!(later.flows[0].start_s, 50.0);
}
