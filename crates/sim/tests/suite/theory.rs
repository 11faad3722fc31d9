//! Results of runs compared with closed forms.

use crate::common;
use driftway_sim::results::RunResult;

/// An IPv4 header and a UDP header (bytes).
const UDP_HEADERS: u64 = 28;
/// An IPv4 header and a TCP header without options (bytes).
const TCP_HEADERS: f64 = 40.0;

/// A single datagram in an idle network.
fn one_datagram(hops: u64, rate: &str, delay: &str, bytes: u64, from: u64, to: u64) -> RunResult {
    common::run_text(
        &format!(
            r#"
            name = "one datagram"
            duration = "200 s"
            [network]
            kind = "path"
            hops = {hops}
            link = {{ rate = "{rate}", delay = "{delay}" }}
            [[flow]]
            from = {from}
            to = {to}
            start = "1 s"
            transport = "udp"
            application = {{ cbr = {{ every = "1000 s", size = "{bytes} B" }} }}
            "#
        ),
        1,
    )
}

#[test]
fn store_and_forward_takes_each_hop_in_turn_to_the_nanosecond() {
    for (rate, bits_per_second) in [("32 kbit/s", 32_000), ("3 Mbit/s", 3_000_000)] {
        for (delay, delay_ns) in [("20 ms", 20_000_000), ("1 ns", 1)] {
            for (hops, from, to) in [(1, 0, 1), (4, 0, 4), (4, 4, 0), (7, 2, 5), (64, 64, 0)] {
                for bytes in [1, 512, 1472] {
                    let result = one_datagram(hops, rate, delay, bytes, from, to);
                    let bits = (bytes + UDP_HEADERS) * 8;
                    let serialised: u64 = (bits * 1_000_000_000).div_ceil(bits_per_second);
                    let expected = from.abs_diff(to) * (serialised + delay_ns);
                    let delay_s = result.flows[0].delay_s.unwrap();
                    assert_eq!((delay_s * 1e9).round() as u64, expected, "{rate} {delay} {hops}");
                    assert_eq!(result.flows[0].delivered_bytes, bytes);
                }
            }
        }
    }
}

/// Delayed ACKs, no losses, and a window that fills the path but not its queue.
#[test]
fn a_loss_free_tcp_takes_the_capacity_that_headers_leave() {
    for (hops, mss) in [(1, 100.0), (4, 512.0), (8, 1460.0)] {
        let result = common::run_text(
            &format!(
                r#"
                name = "a clean path"
                duration = "2000 s"
                [network]
                kind = "path"
                hops = {hops}
                link = {{ rate = "1 Mbit/s", delay = "5 ms", queue = {{ packets = 10000 }} }}
                [[flow]]
                from = 0
                to = {hops}
                application = {{ transfer = "10 MB" }}
                tcp = {{ mss = "{mss} B", window = "60 kB" }}
                "#
            ),
            1,
        );
        let flow = &result.flows[0];
        common::completion(flow);
        let expected = 1e6 * mss / (mss + TCP_HEADERS);
        let found = flow.throughput_bps.unwrap();
        assert!((found / expected - 1.0).abs() < 0.01, "mss {mss}: {found} for {expected}");
        assert_eq!(flow.retransmissions, Some(0));
    }
}

/// Padhye, Firoiu, Towsley and Kurose, "Modeling TCP Reno performance" (ToN 8(2), 2000), equation 31:
/// segments per second of a Reno sender without a window limit, with `p` the probability of a loss and
/// `b` segments per acknowledgment.
fn padhye(rtt: f64, rto: f64, p: f64, b: f64) -> f64 {
    let fast = rtt * (2.0 * b * p / 3.0).sqrt();
    let slow = rto * (3.0 * (3.0 * b * p / 8.0).sqrt()).min(1.0) * p * (1.0 + 32.0 * p * p);
    1.0 / (fast + slow)
}

/// Mathis, Semke, Mahdavi and Ott, "The macroscopic behavior of the TCP congestion avoidance
/// algorithm" (CCR 27(3), 1997): the same without timeouts.
fn mathis(rtt: f64, p: f64, b: f64) -> f64 {
    (3.0 / (2.0 * b * p)).sqrt() / rtt
}

#[test]
fn a_reno_that_loses_one_in_a_hundred_is_as_fast_as_padhye_says() {
    let (mss, p, rto) = (1000.0, 0.01, 1.0);
    for (delayed, b) in [("true", 2.0), ("false", 1.0)] {
        let runs = (1..=3).map(|seed| {
            common::run_text(
                &format!(
                    r#"
                    name = "a fat link that loses"
                    duration = "600 s"
                    [network]
                    kind = "path"
                    hops = 2
                    link = {{ rate = "1 Gbit/s", delay = "25 ms", queue = {{ packets = 1000 }} }}
                    [[network.override]]
                    hop = 1
                    packet_error_rate = {p}
                    [[flow]]
                    from = 0
                    to = 2
                    application = "ftp"
                    [flow.tcp]
                    recovery = "reno"
                    mss = "{mss} B"
                    window = "1 MB"
                    delayed_ack = {delayed}
                    min_rto = "{rto} s"
                    "#
                ),
                seed,
            )
        });
        let flows: Vec<_> = runs.map(|run| run.flows[0].clone()).collect();
        let mean = |value: fn(&driftway_sim::results::FlowResult) -> f64| {
            flows.iter().map(value).sum::<f64>() / flows.len() as f64
        };
        let found = mean(|flow| flow.throughput_bps.unwrap()) / (mss * 8.0);
        let rtt = mean(|flow| flow.rtt_s.unwrap());
        let expected = padhye(rtt, rto, p, b);
        let bound = mathis(rtt, p, b);
        assert!((found / expected - 1.0).abs() < 0.25, "b {b}: {found} for {expected}, rtt {rtt}");
        assert!(found < bound * 1.25 && found > bound / 4.0, "b {b}: {found} for {bound}");
    }
}

/// A TDMA slot holds preamble, packet and header, and the propagation delay to the end of the
/// carrier-sense range. A round has a slot for each node, and one in which nodes announce their
/// transmissions if the scenario asks for that. A node sends one packet in each round, and all nodes
/// forward a packet towards higher numbers in the same round.
#[test]
fn tdma_carries_a_slot_of_each_node_in_a_round() {
    for (nodes, announced, payload) in [(5, false, 1472), (5, true, 1472), (2, false, 100)] {
        let to = nodes - 1;
        let changes = [
            ("network.nodes", nodes.to_string()),
            ("network.mac.announced", announced.to_string()),
            ("flow.0.to", to.to_string()),
            ("flow.0.application.cbr.size", format!("{payload} B")),
        ];
        let changes: Vec<_> = changes.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let result = common::run(&common::example("adhoc-tdma", &changes), 1);
        // 1 ns separates the end of a slot from the beginning of the next.
        let slot_s = 192e-6 + (1500.0 + 36.0) * 8.0 / 2e6 + 550.0 / 299_792_458.0 + 1e-9;
        let round_s = slot_s * f64::from(nodes + i32::from(announced));
        let datagrams = result.flows[0].delivered_bytes / payload;
        // An announced packet is sent in the next round, and packets that the last rounds brought to
        // queues on the route have not arrived yet.
        let on_the_way = if announced { f64::from(nodes) } else { 1.0 };
        let (rounds, arrived) = (59.0 / round_s, datagrams as f64);
        assert!(
            (rounds - 1.0 - on_the_way..=rounds + 1.0).contains(&arrived),
            "{arrived} datagrams in {rounds} rounds of {nodes} nodes"
        );
        assert_eq!(result.flows[0].duplicates, Some(0));
    }
}
