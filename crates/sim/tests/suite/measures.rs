//! Measures of flows and runs, against cases computed by hand and against an event log.

use std::collections::{BTreeMap, BTreeSet};

use crate::common;
use driftway_sim::log::{Entry, Event, Layer};
use driftway_sim::results::{FlowResult, NodeResult, RunResult};

fn near(found: Option<f64>, expected: f64, relative: f64) {
    let close = found.is_some_and(|found| (found - expected).abs() <= expected.abs() * relative);
    assert!(close, "{found:?} instead of {expected}");
}

/// Ten datagrams of 100 B over two hops of 1 Mbit/s and 10 ms each: 128 B take 1.024 ms to send, so that
/// each is delivered after 22.048 ms. The tenth is sent at 0.9 s, and is under way when the run ends.
#[test]
fn datagrams_over_a_path() {
    let run = common::run_text(
        r#"
        name = "two hops"
        duration = "0.91 s"
        [network]
        kind = "path"
        hops = 2
        link = { rate = "1 Mbit/s", delay = "10 ms" }
        [[flow]]
        from = 0
        to = 2
        transport = "udp"
        application = { cbr = { every = "0.1 s", size = "100 B" } }
        "#,
        1,
    );
    let flow = &run.flows[0];
    assert_eq!((flow.sent_packets, flow.delivered_packets), (10, 9));
    assert_eq!(flow.delivery_ratio, Some(0.9));
    for delay in [flow.delay_s, flow.delay_p50_s, flow.delay_p95_s, flow.delay_p99_s] {
        near(delay, 0.022_048, 1e-9);
    }
    assert_eq!((flow.jitter_rfc3550_s, flow.jitter_mean_s), (Some(0.0), Some(0.0)));
    assert_eq!((flow.mean_hops, flow.shortest_hops), (Some(2.0), Some(2.0)));
    assert_eq!((run.jain_index, run.energy_j), (Some(1.0), None));
    assert!(run.nodes.is_empty() && flow.recovery_s.is_empty());
}

/// The link is down from 2 s to 3 s and from 4 s to 5 s. A datagram leaves at each multiple of 0.7 s and
/// arrives 12.048 ms later: the first after the outages leave at 3.5 s and 5.6 s.
#[test]
fn each_outage_has_its_recovery_time() {
    let run = common::run_text(
        r#"
        name = "two outages"
        duration = "9 s"
        [network]
        kind = "path"
        hops = 1
        link = { rate = "500 kbit/s", delay = "10 ms" }
        [[network.fault]]
        kind = "partition"
        hop = 1
        first = "2 s"
        every = "2 s"
        lasts = "1 s"
        count = 2
        queue = "drop"
        [[flow]]
        from = 0
        to = 1
        transport = "udp"
        application = { cbr = { every = "0.7 s", size = "100 B" } }
        "#,
        1,
    );
    let flow = &run.flows[0];
    let recovery: Vec<f64> = flow.recovery_s.iter().flatten().copied().collect();
    assert_eq!(recovery.len(), 2, "{:?}", flow.recovery_s);
    near(Some(recovery[0]), 0.512_048, 1e-9);
    near(Some(recovery[1]), 0.612_048, 1e-9);
    // Those of 2.1, 2.8, 4.2 and 4.9 s are lost; no path was possible when they were sent.
    assert_eq!((flow.sent_packets, flow.delivered_packets), (13, 9));
    assert_eq!(flow.shortest_hops, Some(1.0));
}

/// Of a connection each segment of new data counts once, and its delay ends with its delivery in order:
/// with one segment in flight, 0.5 B/ms: 1040 B in 8.32 ms, and 10 ms of propagation.
#[test]
fn segments_of_new_data_count_once() {
    let run = common::run_text(
        r#"
        name = "a transfer"
        duration = "99 s"
        network = { kind = "path", hops = 1, link = { rate = "1 Mbit/s", delay = "10 ms" } }
        [[flow]]
        from = 0
        to = 1
        application = { transfer = "20 kB" }
        tcp = { mss = "1000 B", window = 1, timestamps = false }
        "#,
        1,
    );
    let flow = &run.flows[0];
    assert_eq!((flow.sent_packets, flow.delivered_packets), (20, 20));
    assert_eq!(flow.segments_sent, 20);
    near(flow.delay_p50_s, 0.018_32, 1e-9);
    near(flow.jitter_mean_s, 0.0, 1e-9);
}

const THREE_RADIOS: &str = r#"
    name = "three radios"
    duration = "1 s"
    [network]
    kind = "adhoc"
    mobility = { positions = [["0 m", "0 m"], ["200 m", "0 m"], ["500 m", "0 m"]] }
    mac = { kind = "dcf", rts_threshold = "2304 B" }
    routing = { protocol = "static" }
    arp = false
    radio.energy = { transmit = "2 W", receive = "1 W", idle = "500 mW" }
    [[flow]]
    from = 0
    to = 1
    start = "0.05 s"
    transport = "udp"
    application = { cbr = { every = "0.1 s", size = "512 B" } }
"#;

/// A datagram of 512 B is a frame of 512 + 28 + 8 + 28 = 576 B: 192 µs of preamble and 2304 µs at
/// 2 Mbit/s. Its ACK of 14 B takes 192 + 112 µs at 1 Mbit/s. Node 2 decodes neither, but senses both, at
/// 500 m and 300 m. Ten datagrams leave within the run, the last at 0.95 s.
#[test]
fn energy_is_drawn_by_state() {
    let run = common::run_text(THREE_RADIOS, 1);
    assert_eq!((run.flows[0].sent_packets, run.flows[0].delivered_packets), (10, 10));
    let (data, ack) = (2496e-6 * 10.0, 304e-6 * 10.0);
    let times = [(data, ack), (ack, data), (0.0, data + ack)];
    assert_eq!(run.nodes.len(), 3);
    for (number, (node, (transmit, receive))) in run.nodes.iter().zip(times).enumerate() {
        let idle = 1.0 - transmit - receive;
        assert_eq!(node.node, number as u32);
        near(Some(node.transmit_s), transmit, 1e-9);
        near(Some(node.receive_s), receive, 1e-9);
        near(Some(node.idle_s), idle, 1e-9);
        near(Some(node.energy_j), 2.0 * transmit + receive + 0.5 * idle, 1e-9);
    }
    near(run.energy_j, run.nodes.iter().map(|node| node.energy_j).sum(), 1e-12);
    // Airtime over a second, and one ACK for each datagram delivered.
    let mac = run.mac.unwrap();
    near(mac.airtime_ratio, data + ack, 1e-9);
    assert_eq!((mac.normalised_load, mac.control_data), (Some(1.0), 0));
    assert_eq!(run.routing.unwrap().normalised_load, Some(0.0));
}

/// Measuring energy changes nothing else.
#[test]
fn energy_changes_no_run() {
    let text = THREE_RADIOS.replace("radio.energy", "# ");
    let (with, without) = (common::run_text(THREE_RADIOS, 1), common::run_text(&text, 1));
    assert_eq!(with.fingerprint, without.fingerprint);
    assert_eq!((without.energy_j, without.nodes.len()), (None, 0));
}

/// TDMA has no ACKs: a frame takes 192 µs and 576 − 28 + 36 − 8 = 576 B at 2 Mbit/s here, too. A radio that is
/// off for a third of the run neither transmits nor receives then.
#[test]
fn energy_of_tdma_and_of_radios_that_are_off() {
    let text = THREE_RADIOS.replace(
        r#"mac = { kind = "dcf", rts_threshold = "2304 B" }"#,
        r#"mac = { kind = "tdma" }"#,
    );
    let run = common::run_text(&text, 1);
    let airtime = run.mac.unwrap().airtime_us as f64 / 1e6;
    assert!(airtime > 0.02, "{airtime}");
    for (node, (transmit, receive)) in
        run.nodes.iter().zip([(airtime, 0.0), (0.0, airtime), (0.0, airtime)])
    {
        near(Some(node.transmit_s), transmit, 1e-9);
        near(Some(node.receive_s), receive, 1e-9);
    }
    let fault = "[[network.fault]]\nkind = \"radio-down\"\nnode = 2\nfirst = \"0.3 s\"\nlasts = \
                 \"0.4 s\"\nevery = \"9 s\"\n[[flow]]";
    for text in [text, THREE_RADIOS.to_owned()] {
        let run = common::run_text(&text.replace("[[flow]]", fault), 1);
        let NodeResult { receive_s, idle_s, off_s, energy_j, .. } = run.nodes[2];
        assert_eq!(off_s, 0.4);
        // Six of ten datagrams, those of 0.05 to 0.25 s and 0.75 to 0.95 s (of TDMA the slots may be later).
        near(Some(receive_s), run.nodes[1].receive_s * 0.6 + run.nodes[1].transmit_s * 0.6, 1e-9);
        near(Some(energy_j), receive_s + 0.5 * idle_s, 1e-9);
    }
}

/// Node 1 moves away from node 0 at 50 m/s from 150 m on: in range until 2 s, and then over node 2, which
/// is at (200 m, 0 m). Datagrams of 1 s apart: at 0, 1 and 2 s one hop is possible, at 3 and 4 s two.
#[test]
fn shortest_hops_are_those_at_the_time_of_sending() {
    let text = r#"
        name = "moving away"
        duration = "4.5 s"
        measures = { shortest_hops = true }
        [network]
        kind = "adhoc"
        area = ["2000 m", "100 m"]
        mobility = { model = "constant-velocity", positions = [["0 m", "0 m"], ["149 m", "0 m"], ["200 m", "0 m"]], velocities = [["0 m/s", "0 m/s"], ["50 m/s", "0 m/s"], ["0 m/s", "0 m/s"]] }
        routing = { protocol = "aodv" }
        [[flow]]
        from = 0
        to = 1
        transport = "udp"
        application = { cbr = { every = "1 s", size = "100 B" } }
    "#;
    let run = common::run_text(text, 1);
    let flow = &run.flows[0];
    assert_eq!((flow.sent_packets, flow.delivered_packets), (5, 5));
    assert_eq!(flow.shortest_hops, Some(7.0 / 5.0));
    assert!(flow.mean_hops >= flow.shortest_hops, "{:?}", flow.mean_hops);
    let without = common::run_text(&text.replace("= true", "= false"), 1);
    assert_eq!(without.fingerprint, run.fingerprint);
    assert_eq!(without.flows[0].shortest_hops, None);
}

/// The delay, the jitter and the loads of a run among fifty nodes, recomputed from its event log by the
/// definitions of the literature.
#[test]
fn an_event_log_gives_the_same_measures() {
    let scenario = common::short_example("adhoc-cbr");
    let (run, rows) = common::logged(&scenario, 1);
    let analysis = Analysis::of(&rows);
    for (number, flow) in run.flows.iter().enumerate() {
        compare_flow(flow, &analysis.flows[&(number as u32)]);
    }
    let delivered: usize = analysis.flows.values().map(|flow| flow.delays.len()).sum();
    let load = |packets: u64| packets as f64 / delivered as f64;
    compare_loads(&run, load(analysis.routing_hops), load(analysis.mac_overhead));
}

fn compare_loads(run: &RunResult, routing_load: f64, mac_load: f64) {
    let (routing, mac) = (run.routing.unwrap(), run.mac.unwrap());
    // A control packet that waits in a queue at the end has been sent by routing, but by no radio.
    near(routing.normalised_load, routing_load, 0.01);
    near(mac.normalised_load, mac_load, 1e-3);
}

fn compare_flow(flow: &FlowResult, found: &FlowAnalysis) {
    assert_eq!(flow.sent_packets, found.sent.len() as u64);
    assert_eq!(flow.delivered_packets, found.delays.len() as u64);
    let mut sorted = found.delays.clone();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    for (found, percent) in [(flow.delay_p50_s, 50), (flow.delay_p95_s, 95), (flow.delay_p99_s, 99)]
    {
        near(found, sorted[(n * percent).div_ceil(100) - 1], 1.0 / 256.0);
    }
    let differences: Vec<f64> = found.delays.windows(2).map(|d| (d[1] - d[0]).abs()).collect();
    near(flow.jitter_mean_s, differences.iter().sum::<f64>() / (n - 1) as f64, 1e-6);
    let jitter = differences.iter().fold(0.0, |j, d| j + (d - j) / 16.0);
    near(flow.jitter_rfc3550_s, jitter, 1e-6);
    near(flow.mean_hops, found.hops as f64 / n as f64, 1e-12);
}

/// Counts and times of a run by its event log.
#[derive(Default)]
struct Analysis {
    flows: BTreeMap<u32, FlowAnalysis>,
    routing_hops: u64,
    mac_overhead: u64,
}

#[derive(Default)]
struct FlowAnalysis {
    /// The time of each datagram, by its offset.
    sent: BTreeMap<u64, f64>,
    /// The offsets of those that have arrived.
    arrived: BTreeSet<u64>,
    /// Their delays, in order of arrival.
    delays: Vec<f64>,
    hops: u64,
}

impl Analysis {
    fn of(rows: &[Entry]) -> Self {
        let mut analysis = Self::default();
        // The last packet that reached its destination in the network layer.
        let mut last_hops = 0;
        for row in rows {
            let is_routing = row.kind.starts_with("aodv");
            match (row.layer, row.event) {
                (Layer::Air, Event::Sent | Event::Retransmitted) => {
                    let control = ["rts", "cts", "ack", "arp"].contains(&&*row.kind);
                    analysis.mac_overhead += u64::from(control || is_routing);
                }
                (Layer::Queue, Event::Enqueued) => analysis.routing_hops += u64::from(is_routing),
                (Layer::Routing, Event::Delivered) => last_hops = row.hops.unwrap(),
                (Layer::Udp, event) => {
                    let flow = analysis.flows.entry(row.flow.unwrap()).or_default();
                    let (offset, at) = (row.offset_bytes.unwrap(), row.time_s.as_secs_f64());
                    if event == Event::Sent {
                        flow.sent.insert(offset, at);
                    } else if flow.arrived.insert(offset) {
                        flow.delays.push(at - flow.sent[&offset]);
                        flow.hops += u64::from(last_hops);
                    }
                }
                _ => {}
            }
        }
        analysis
    }
}
