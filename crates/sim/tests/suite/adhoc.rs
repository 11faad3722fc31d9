//! Ad hoc networks: every combination of parts, and feedback over 802.11.

use crate::common;
use driftway_sim::results::RunResult;

/// Six nodes and two flows; each test adds the rest.
fn text(network: &str, flow: &str, duration: u32) -> String {
    format!(
        r#"
        name = "six nodes"
        duration = "{duration} s"
        [network]
        kind = "adhoc"
        {network}
        [[flow]]
        from = 0
        to = 2
        application = "ftp"
        {flow}
        [[flow]]
        from = 2
        to = 0
        start = "1 s"
        transport = "udp"
        application = {{ cbr = {{ every = "0.25 s", size = "512 B" }} }}
        "#
    )
}

fn run(network: &str, flow: &str, duration: u32) -> RunResult {
    common::run(&common::parse(&text(network, flow, duration)), 1)
}

const WALK: &str = r#"nodes = 6
area = ["500 m", "300 m"]
mobility = { model = "random-waypoint", speed = ["9 m/s", "11 m/s"] }"#;

const STAY: &str = "nodes = 6\nmobility = { chain = \"150 m\" }";

/// In each combination packets are conserved and streams are intact (a run fails otherwise), some data
/// arrive, and a repeated run is identical.
#[test]
fn every_combination_of_parts_works() {
    for mac in ["dcf", "tdma"] {
        for routing in ["aodv", "dsr", "static"] {
            for compat in ["standard", "ns-2"] {
                for (arp, propagation) in [(false, "two-ray"), (true, "friis")] {
                    // DSR over TDMA would not detect a node that moves away.
                    let nodes = if (mac, routing) == ("tdma", "dsr") { STAY } else { WALK };
                    let network = format!(
                        "{nodes}\nmac = {{ kind = \"{mac}\" }}\narp = {arp}\ncompat = \"{compat}\"\n\
                         routing = {{ protocol = \"{routing}\" }}\n\
                         radio = {{ propagation = \"{propagation}\" }}"
                    );
                    let first = run(&network, "", 10);
                    assert!(first.flows[1].delivered_bytes > 0, "{network}");
                    assert_eq!(first.fingerprint, run(&network, "", 10).fingerprint);
                }
            }
        }
    }
}

/// RFC 4728 §8.3.2, §8.3.3: DSR works without a link layer that reports failures.
#[test]
fn dsr_confirms_at_the_network_layer() {
    for mac in ["dcf", "tdma"] {
        for keys in ["", ", try_passive_acks = 0", ", promiscuous = false, maint_holdoff = \"0 s\""]
        {
            for compat in ["standard", "ns-2"] {
                let network = format!(
                    "{WALK}\nmac = {{ kind = \"{mac}\" }}\ncompat = \"{compat}\"\nrouting = {{ \
                     protocol = \"dsr\", confirm = \"network-layer\", flow_state = \"none\"{keys} }}"
                );
                let first = run(&network, "", 20);
                assert!(first.flows[1].delivered_bytes > 0, "{network}");
                assert_eq!(first.fingerprint, run(&network, "", 20).fingerprint);
            }
        }
    }
}

/// A chain over TDMA whose last node moves away: the source is notified.
#[test]
fn dsr_detects_a_failed_link_over_tdma() {
    let network = |confirm: &str| {
        format!(
            r#"area = ["1000 m", "500 m"]
mac = {{ kind = "tdma" }}
routing = {{ protocol = "dsr", confirm = "{confirm}" }}
[network.mobility]
model = "constant-velocity"
positions = [["0 m", "0 m"], ["200 m", "0 m"], ["400 m", "0 m"]]
velocities = [["0 m/s", "0 m/s"], ["0 m/s", "0 m/s"], ["0 m/s", "20 m/s"]]
"#
        )
    };
    let result = run(&network("network-layer"), "", 30);
    let routing = result.routing.unwrap();
    assert!(result.flows[0].delivered_bytes > 0);
    assert!(routing.route_errors > 0 && routing.discoveries > 1, "{routing:?}");
}

#[test]
fn obstacles_and_losses_change_what_arrives() {
    let with = |radio: &str| {
        let network = format!("{WALK}\nrouting = {{ protocol = \"aodv\" }}\nradio = {radio}");
        run(&network, "", 20).flows[0].delivered_bytes
    };
    let plain = with("{ }");
    let stays = with(r#"{ propagation = "log-distance", shadowing = "6 dB" }"#);
    let changes =
        with(r#"{ propagation = "log-distance", shadowing = "6 dB", decorrelation = "20 m" }"#);
    assert!(stays != plain && changes != stays && changes != plain);
    assert!(with("{ packet_error_rate = 0.3 }") < plain);
}

/// No node receives any other: no data arrive, and all packets are accounted for.
#[test]
fn nodes_out_of_range_cause_no_error() {
    for routing in ["aodv", "dsr", "static"] {
        let network = format!(
            "nodes = 6\nmobility = {{ chain = \"2 km\" }}\nrouting.protocol = \"{routing}\""
        );
        let result = run(&network, "", 60);
        assert_eq!(result.flows[0].delivered_bytes + result.flows[1].delivered_bytes, 0);
        assert_eq!(result.routing.unwrap().false_link_failures, 0);
    }
}

/// Node 2 moves out of range at 7.5 s, turns round at 1000 m, and is in range again at 92.5 s.
fn leaves_and_returns(aid: &str, feedback: &str, duration: u32) -> RunResult {
    let network = format!(
        r#"area = ["500 m", "1000 m"]
        feedback = "{feedback}"
        routing = {{ protocol = "aodv" }}
        [network.mobility]
        model = "constant-velocity"
        positions = [["0 m", "0 m"], ["200 m", "0 m"], ["400 m", "0 m"]]
        velocities = [["0 m/s", "0 m/s"], ["0 m/s", "0 m/s"], ["0 m/s", "20 m/s"]]"#
    );
    let text = text(&network, &format!("aid = \"{aid}\""), duration);
    // One flow only: the second would also discover routes.
    let scenario = common::parse(&text[..text.rfind("[[flow]]").unwrap()]);
    common::run(&scenario, 1)
}

/// chandran-1998 §4 over a real MAC and routing: the source stops on an RFN, and resumes with the
/// route.
#[test]
fn tcp_f_resumes_as_soon_as_there_is_a_route() {
    let delivered =
        |aid, feedback, until| leaves_and_returns(aid, feedback, until).flows[0].delivered_bytes;
    let away = delivered("tcp-f", "rfn", 90);
    assert_eq!(delivered("tcp-f", "rfn", 60), away, "nothing arrives while it is away");
    assert!(delivered("tcp-f", "rfn", 96) > away + 100_000);
    // TCP alone waits for a timeout of up to a minute.
    assert_eq!(delivered("none", "none", 96), delivered("none", "none", 90));
}

/// liu-singh-2001 §III-B: when the destination is unreachable, the window is one segment and the
/// timeout is not doubled.
#[test]
fn atcp_is_notified_that_a_node_is_unreachable() {
    let alone = leaves_and_returns("none", "icmp-unreachable", 90).flows.remove(0);
    let helped = leaves_and_returns("atcp", "icmp-unreachable", 90).flows.remove(0);
    assert!(helped.timeouts < alone.timeouts, "{:?} {:?}", helped.timeouts, alone.timeouts);
    assert!(helped.probes > Some(0));
}

/// RFC 3168 over 802.11: marks instead of losses.
#[test]
fn queues_mark() {
    let with = |queue: &str| {
        let network = format!(
            "nodes = 3\nmobility = {{ chain = \"200 m\" }}\nqueue = {queue}\n\
             routing = {{ protocol = \"static\" }}"
        );
        run(&network, "tcp = { window = 40, ecn = true }", 60).flows.remove(0)
    };
    let (plain, marked) = (with("{ packets = 100 }"), with("{ packets = 100, ecn_threshold = 5 }"));
    assert!(marked.cwnd_reductions > plain.cwnd_reductions);
    assert!(marked.delay_s < plain.delay_s);
    assert_eq!(marked.retransmissions, Some(0));
}

/// Floyd & Jacobson's RED in a queue that one TCP fills: marks instead of drops (RFC 3168), to which
/// TCP reacts with a smaller window.
#[test]
fn red_marks_and_tcp_reacts() {
    let with = |red: &str| {
        let network = format!(
            "nodes = 3\nmobility = {{ chain = \"200 m\" }}\n\
             queue = {{ packets = 100, discipline = \"red\", min_threshold = 3, \
             max_threshold = 15, weight = 0.05{red} }}\nrouting = {{ protocol = \"static\" }}"
        );
        run(&network, "tcp = { window = 40, ecn = true }", 60)
    };
    let (drops, marks) = (with(""), with(", ecn = true"));
    assert!(common::drops(&drops, "red") > 10, "{:?}", drops.drops);
    assert!(drops.flows[0].retransmissions > Some(10));
    // The datagrams of the other flow are not ECN-capable.
    assert!(common::drops(&marks, "red") < common::drops(&drops, "red"), "{:?}", marks.drops);
    assert_eq!(marks.flows[0].retransmissions, Some(0));
    assert!(marks.flows[0].cwnd_reductions > Some(10), "by marks alone: nothing was lost");
}

/// CoDel in a queue that one TCP fills (RFC 8289): by drops or by marks, the standing queue goes.
#[test]
fn codel_ends_a_standing_queue() {
    let with = |queue: &str| {
        let network = format!(
            "nodes = 3\nmobility = {{ chain = \"200 m\" }}\n\
             queue = {{ packets = 100{queue} }}\nrouting = {{ protocol = \"static\" }}"
        );
        run(&network, "tcp = { window = 40, ecn = true }", 60)
    };
    let codel = ", discipline = \"codel\", target = \"20 ms\", interval = \"200 ms\"";
    let (plain, drops) = (with(""), with(codel));
    let marks = with(&format!("{codel}, ecn = true"));
    assert!(common::drops(&drops, "codel") > 10, "{:?}", drops.drops);
    assert!(common::drops(&marks, "codel") < common::drops(&drops, "codel"), "{:?}", marks.drops);
    assert_eq!(marks.flows[0].retransmissions, Some(0));
    assert!(marks.flows[0].cwnd_reductions > Some(10), "by marks alone: nothing was lost");
    for shorter in [drops, marks] {
        assert!(shorter.flows[0].delay_s.unwrap() < 0.7 * plain.flows[0].delay_s.unwrap());
    }
}

/// Only a transmitted packet takes a hop, not one that a full queue dropped: of 1000 datagrams per
/// second the channel carries a part.
#[test]
fn a_packet_dropped_by_a_full_queue_takes_no_hop() {
    let text = r#"
        name = "overload"
        duration = "5 s"
        [network]
        kind = "adhoc"
        nodes = 2
        mobility = { chain = "200 m" }
        queue = { packets = 5 }
        routing = { protocol = "static" }
        [[flow]]
        from = 0
        to = 1
        transport = "udp"
        application = { cbr = { every = "1 ms", size = "500 B" } }
    "#;
    let result = common::run_text(text, 1);
    let routing = result.routing.as_ref().unwrap();
    let lost = common::drops(&result, "queue-overflow");
    assert!(lost > 1000, "{lost}");
    // The last one's acknowledgment may be missing; five are queued, and one is in the link layer.
    let arrived = result.flows[0].delivered_bytes / 500;
    assert!((arrived - 1..=arrived).contains(&routing.data_hops), "{routing:?} {arrived}");
    let waiting = routing.data_routed - routing.data_hops - lost;
    assert!(waiting <= 6, "{waiting}: {routing:?}");
}

/// A packet that the link layer fails to send takes no hop, although it was transmitted several times.
#[test]
fn a_packet_that_the_link_layer_fails_to_send_takes_no_hop() {
    let text = r#"
        name = "out of range"
        duration = "5 s"
        [network]
        kind = "adhoc"
        area = ["10 km", "10 km"]
        mobility = { model = "constant-velocity", positions = [["0 m", "0 m"], ["200 m", "0 m"]],
            velocities = [["0 m/s", "0 m/s"], ["1000 m/s", "0 m/s"]] }
        routing = { protocol = "static" }
        [[flow]]
        from = 0
        to = 1
        start = "1 s"
        transport = "udp"
        application = { cbr = { every = "250 ms", size = "500 B" } }
    "#;
    let routing = common::run_text(text, 1).routing.unwrap();
    assert!(routing.link_failures > 5, "{routing:?}");
    assert!(routing.data_routed >= routing.link_failures, "{routing:?}");
    assert_eq!(routing.data_hops, 0);
}

/// RFC 792: a node with a full queue sends source quench messages, if the scenario asks for them.
#[test]
fn a_full_queue_quenches_its_source() {
    let with = |quench: bool| {
        let network = format!(
            "nodes = 3\nmobility = {{ chain = \"200 m\" }}\n\
             queue = {{ packets = 5, source_quench = {quench} }}\n\
             routing = {{ protocol = \"static\" }}"
        );
        run(&network, "tcp = { window = 40, source_quench = true }", 30)
    };
    let (silent, quenched) = (with(false), with(true));
    let overflows = |result: &RunResult| common::drops(result, "queue-overflow");
    assert!(overflows(&silent) > 20 && overflows(&quenched) > 20);
    // Messages to other nodes, not to local hosts. None is transmitted, because the queue is full.
    let icmp = |result: &RunResult| {
        let routing = result.routing.as_ref().unwrap();
        (routing.icmp_routed, routing.icmp_hops)
    };
    assert_eq!(icmp(&silent), (0, 0));
    assert!(icmp(&quenched).0 > 0);
    assert_eq!(icmp(&quenched).1, 0);
    assert!(quenched.flows[0].cwnd_reductions > silent.flows[0].cwnd_reductions);
}
