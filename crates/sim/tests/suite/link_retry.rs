//! Link retry: a packet that was not acknowledged is sent again as long as the neighbour seems to be
//! in range.

use std::path::Path;

use crate::common::{logged, run, run_text};
use driftway_scenario::Scenario;
use driftway_sim::log::Event;
use driftway_sim::results::{RoutingResult, RunResult};

/// Two static nodes, whose link fails because both are busy.
fn one_hop(changes: &[(&str, &str)]) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers/westin-2003/one-hop.toml");
    let changes = [("duration", "40 s")].iter().chain(changes);
    let changes: Vec<_> =
        changes.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::load(path, &changes).unwrap_or_else(|error| panic!("{error}"))
}

fn with_retry(retry: &str) -> Scenario {
    one_hop(&[("network.link_retry", retry)])
}

/// Node 2 moves away from node 1 at 25 m/s, out of its range at 6 s.
fn driving_away(retry: &str) -> RunResult {
    run_text(
        &format!(
            r#"
            name = "driving away"
            duration = "20 s"
            [network]
            kind = "adhoc"
            area = ["1000 m", "300 m"]
            {retry}
            routing = {{ protocol = "aodv" }}
            [network.mobility]
            model = "constant-velocity"
            positions = [["0 m", "0 m"], ["200 m", "0 m"], ["300 m", "0 m"]]
            velocities = [["0 m/s", "0 m/s"], ["0 m/s", "0 m/s"], ["25 m/s", "0 m/s"]]
            [[flow]]
            from = 0
            to = 2
            application = "ftp"
            aid = "atcp"
            "#
        ),
        1,
    )
}

fn routing(result: &RunResult) -> RoutingResult {
    result.routing.unwrap()
}

#[test]
fn a_busy_neighbour_is_reached_by_a_second_try() {
    let without = run(&one_hop(&[]), 1);
    let (with, rows) = logged(&with_retry("{ most = 1 }"), 1);
    let [without, counted] = [&without, &with].map(routing);
    assert!(without.link_failures > 10 && without.false_link_failures == without.link_failures);
    assert!(counted.link_failures * 5 < without.link_failures, "{counted:?}");
    let retries = rows.iter().filter(|row| row.event == Event::LinkRetry);
    let reasons: Vec<_> = retries.map(|row| row.reason.as_ref()).collect();
    assert_eq!(reasons.len() as u64, counted.link_retries);
    assert!(reasons.iter().all(|reason| *reason == "in-range") && counted.vain_link_retries == 0);
    assert_eq!(counted.link_retries, counted.link_retries_sent + counted.link_failures);
    assert_eq!(run(&with_retry("{ most = 1 }"), 1), with, "inspection changes nothing");
}

/// Each node has received frames of the other all the time.
#[test]
fn a_neighbour_heard_recently_counts_as_in_range() {
    let blind = run(&with_retry("{ most = 1 }"), 1);
    for condition in ["heard_within = \"1 s\"", "strength = true"] {
        let retry = format!("{{ most = 1, {condition} }}");
        assert_eq!(routing(&run(&with_retry(&retry), 1)), routing(&blind), "{condition}");
    }
    let never = run(&with_retry("{ most = 1, heard_within = \"1 ns\" }"), 1);
    assert_eq!(routing(&never), routing(&run(&one_hop(&[]), 1)));
}

#[test]
fn a_lost_neighbour_is_retried_in_vain_unless_its_signal_is_checked() {
    let blind = routing(&driving_away("link_retry = { most = 3 }"));
    assert!(blind.vain_link_retries >= 3, "{blind:?}");
    let seeing = routing(&driving_away("link_retry = { most = 3, strength = true }"));
    assert_eq!(seeing.vain_link_retries, 0, "{seeing:?}");
}

/// The loss of a neighbour disconnects ATCP rightly; at one hop a busy neighbour disconnects it
/// falsely.
#[test]
fn time_disconnected_is_false_where_the_link_was_in_range() {
    let flow = &driving_away("").flows[0];
    assert!(flow.disconnected_s.unwrap() > 5.0, "{flow:?}");
    assert_eq!(flow.falsely_disconnected_s, Some(0.0));
    let aodv = "{ protocol = \"aodv\" }";
    let icmp = "icmp-unreachable";
    let changes = [("flow.0.aid", "atcp"), ("network.routing", aodv), ("network.feedback", icmp)];
    let flow = &run(&one_hop(&changes), 1).flows[0];
    assert!(flow.disconnected_s.unwrap() > 1.0, "{flow:?}");
    assert_eq!(flow.falsely_disconnected_s, flow.disconnected_s, "no node moves");
}
