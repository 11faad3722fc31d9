//! The maximum route length of routing protocols, and their detection of lost neighbours.

use crate::common;
use driftway_scenario::Scenario;
use driftway_sim::log::{Entry, Event};
use driftway_sim::results::RunResult;

/// Node 2 is a neighbour of node 1 for 7.5 s, and then moves away.
fn walks_away(mac: &str, routing: &str) -> Scenario {
    common::parse(&format!(
        r#"
        name = "one walks away"
        duration = "30 s"
        [network]
        kind = "adhoc"
        area = ["500 m", "1000 m"]
        feedback = "none"
        mac = {{ {mac} }}
        routing = {{ {routing} }}
        [network.mobility]
        model = "constant-velocity"
        positions = [["0 m", "0 m"], ["200 m", "0 m"], ["400 m", "0 m"]]
        velocities = [["0 m/s", "0 m/s"], ["0 m/s", "0 m/s"], ["0 m/s", "20 m/s"]]
        [[flow]]
        from = 0
        to = 2
        start = "1 s"
        transport = "udp"
        application = {{ cbr = {{ every = "0.1 s", size = "500 B" }} }}
        "#
    ))
}

/// The time at which the source first lost its route to node 2 (s).
fn route_lost_at(rows: &[Entry]) -> Option<f64> {
    let lost =
        |row: &&Entry| (row.event, row.node, row.destination) == (Event::RouteLost, 0, Some(2));
    rows.iter().find(lost).map(|row| row.time_s.as_secs_f64())
}

/// RFC 3561 §6.9: a neighbour that has sent hello messages and is not heard for ALLOWED_HELLO_LOSS ×
/// HELLO_INTERVAL is lost. The last hello comes in the second before it goes out of range.
#[test]
fn hello_detects_what_the_link_layer_does_not() {
    let hello = r#"protocol = "aodv", local_repair = "off""#;
    let deaf =
        r#"protocol = "aodv", local_repair = "off", hello = {}, link_layer_detection = false"#;
    for (mac, routing) in [(r#"kind = "tdma""#, hello), (r#"kind = "dcf""#, deaf)] {
        for (hello, (from, to)) in [("", (8.4, 9.6)), ("{ interval = \"0.5 s\" }", (7.9, 8.6))] {
            let mut scenario = walks_away(mac, routing);
            if !hello.is_empty() {
                let text = routing.replace(", hello = {}", "");
                scenario = walks_away(mac, &format!("{text}, hello = {hello}"));
            }
            for seed in 1..6 {
                let (_, rows) = common::logged(&scenario, seed);
                let at = route_lost_at(&rows);
                assert!(at.is_some_and(|at| (from..to).contains(&at)), "{mac} {hello}: {at:?}");
            }
        }
    }
}

/// TDMA has no acknowledgments: without hello messages the source sends in vain to the end.
#[test]
fn without_hello_a_lost_neighbour_is_not_detected_over_tdma() {
    let scenario = walks_away(r#"kind = "tdma""#, r#"protocol = "aodv", hello = "none""#);
    let (result, rows) = common::logged(&scenario, 1);
    assert_eq!(route_lost_at(&rows), None);
    assert_eq!(result.routing.unwrap().discoveries, 1);
}

/// A chain of nodes under DSR, with datagrams from one end to the other.
fn chain(nodes: u32) -> (RunResult, Vec<Entry>) {
    let scenario = common::parse(&format!(
        r#"
        name = "a long chain"
        duration = "60 s"
        [network]
        kind = "adhoc"
        nodes = {nodes}
        mobility = {{ chain = "200 m" }}
        routing = {{ protocol = "dsr" }}
        [[flow]]
        from = 0
        to = {}
        start = "1 s"
        transport = "udp"
        application = {{ cbr = {{ every = "2 s", size = "100 B" }} }}
        "#,
        nodes - 1
    ));
    common::logged(&scenario, 1)
}

/// A route has at most 17 nodes (`max_nodes`), the length of the address lists of DSR headers here.
#[test]
fn dsr_reports_the_maximum_route_length() {
    let (reached, _) = chain(17);
    assert!(reached.flows[0].delivered_bytes > 2000, "{:?}", reached.flows[0]);
    assert_eq!(common::drops(&reached, "route-too-long"), 0);

    let (result, rows) = chain(18);
    assert_eq!(result.flows[0].delivered_bytes, 0);
    assert!(common::drops(&result, "route-too-long") > 3, "{:?}", result.drops);
    assert!(common::drops(&result, "send-buffer-timeout") > 0, "{:?}", result.drops);
    // One discovery continues as long as packets wait for it: it has not ended.
    let routing = result.routing.as_ref().unwrap();
    assert_eq!((routing.discoveries, routing.failed_discoveries), (1, 0));
    let too_long = |row: &&Entry| row.reason == "route-too-long";
    let where_it_ends = rows.iter().find(too_long).unwrap();
    assert_eq!((where_it_ends.node, where_it_ends.kind.as_ref()), (17, "dsr-rreq"));
}
