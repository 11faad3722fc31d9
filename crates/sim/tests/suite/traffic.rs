//! Flows between drawn pairs, and applications that answer.

use crate::common;

const CAMPAIGN: &str = r#"
    name = "drawn pairs"
    duration = "20 s"
    [network]
    kind = "adhoc"
    nodes = 20
    area = ["500 m", "500 m"]
    mobility = { model = "random-waypoint", speed = ["1 m/s", "5 m/s"] }
    routing = { protocol = "aodv" }
    [[traffic]]
    name = "voice"
    pairs = 5
    start = { uniform = ["1 s", "11 s"] }
    transport = "udp"
    application = { on-off = { on = "1 s", off = "1 s", every = "20 ms", size = "160 B" } }
    [[traffic]]
    name = "files"
    pairs = 2
    application = "ftp"
"#;

#[test]
fn runs_have_the_pairs_of_their_seeds() {
    let scenario = common::parse(CAMPAIGN);
    let runs = [1, 2].map(|seed| common::run(&scenario, seed));
    let ends = runs.each_ref().map(|run| {
        let ends = run.flows.iter().map(|flow| (flow.source, flow.destination, flow.start_s));
        ends.collect::<Vec<_>>()
    });
    assert_ne!(ends[0], ends[1]);
    let listed = scenario.flows.iter().map(|flow| {
        let driftway_scenario::Time(start) = flow.start;
        (flow.from, flow.to, start.as_secs_f64())
    });
    assert_eq!(ends[0], listed.collect::<Vec<_>>(), "seed 1 is that of the scenario");
    for run in &runs {
        let names: Vec<_> = run.flows.iter().filter_map(|flow| flow.name.as_deref()).collect();
        assert_eq!(names, [["voice"; 5].as_slice(), &["files"; 2]].concat());
        assert!(run.flows.iter().all(|flow| flow.delivered_packets > 0), "{:#?}", run.flows);
    }
    assert_eq!(common::run(&scenario, 2), runs[1]);
}

/// 500 B of request and 1000 B of response over 1 Mbit/s and 10 ms, and then half a second: each round
/// takes 0.5 s + 2 × 10 ms + 540 B and 1040 B in 4.32 and 8.32 ms = 0.532_64 s. The first response arrives
/// after the handshake of 20 ms and two headers of 40 B in 0.32 ms each: at 0.053_28 s.
#[test]
fn a_request_follows_each_response() {
    let run = common::run_text(
        r#"
        name = "requests"
        duration = "10 s"
        network = { kind = "path", hops = 1, link = { rate = "1 Mbit/s", delay = "10 ms" } }
        [[flow]]
        from = 0
        to = 1
        application = { request-response = { request = "500 B", response = "1000 B", think = "500 ms" } }
        tcp = { mss = "1000 B", timestamps = false, window_scale = false }
        "#,
        1,
    );
    let flow = &run.flows[0];
    // The n-th response arrives at 0.053_28 s + n × 0.532_64 s: n = 0 to 18 by 9.64 s.
    assert_eq!(flow.back_delivered_bytes, Some(19 * 1000));
    assert_eq!(flow.delivered_bytes, 19 * 500);
    assert_eq!((flow.sent_packets, flow.delivered_packets), (19, 19));
    assert!(flow.delay_p50_s.is_some_and(|delay| (delay - 0.014_32).abs() < 1e-9));
}
