//! Nodes with radios on several airs.

use crate::common;
use driftway_base::{Instant, NodeId};
use driftway_sim::Simulation;
use driftway_sim::log::{Event, Layer};
use driftway_sim::results::FlowOutcome;

/// Two chains of three nodes on two airs, joined by node `j` in the middle, which has two radios. On the
/// second air the nodes are too far apart for the radios of the first.
fn two_airs(protocol: &str) -> String {
    format!(
        r#"
        name = "two airs"
        duration = "60 s"
        [network]
        kind = "mixed"
        nodes = ["a[1-2]", "j", "b[1-2]"]
        [[network.air]]
        name = "near"
        radios = ["a[1-2]", "j"]
        mobility = {{ positions = [["0 m", "0 m"], ["200 m", "0 m"], ["400 m", "0 m"]] }}
        routing = {{ protocol = "{protocol}" }}
        [[network.air]]
        name = "far"
        radios = ["j", "b[1-2]"]
        mobility = {{ positions = [["400 m", "0 m"], ["1400 m", "0 m"], ["2400 m", "0 m"]] }}
        radio = {{ receive_range = "1200 m", sense_range = "2000 m" }}
        routing = {{ protocol = "{protocol}" }}
        [[flow]]
        from = "a1"
        to = "b2"
        application = {{ transfer = "100 kB" }}
        [[flow]]
        from = "b1"
        to = "a2"
        application = {{ transfer = "50 kB" }}
        "#
    )
}

#[test]
fn a_node_with_two_radios_joins_two_airs() {
    for protocol in ["aodv", "dsr", "static"] {
        let scenario = common::parse(&two_airs(protocol));
        let (result, rows) = common::logged(&scenario, 1);
        for flow in &result.flows {
            assert_eq!(flow.outcome, FlowOutcome::Complete, "{protocol}: {flow:?}");
        }
        assert_eq!(result, common::run(&scenario, 1), "{protocol}");
        assert!(rows.is_sorted_by_key(|row| row.time_s), "{protocol}");
        let hops = rows.iter().filter(|row| {
            (row.layer, row.event, row.flow) == (Layer::Routing, Event::Delivered, Some(0))
                && row.kind == "tcp-data"
        });
        assert!(hops.clone().count() > 50, "{protocol}");
        assert!(hops.clone().all(|row| row.hops == Some(4)), "{protocol}");
    }
}

#[test]
fn routes_and_positions_are_those_of_both_airs() {
    let scenario = common::parse(&two_airs("static"));
    let mut simulation = Simulation::new(&scenario, 1, None).unwrap();
    simulation.run_until(Instant::from_secs(1)).unwrap();
    let all = [0, 1, 2, 3, 4].map(NodeId::new);
    assert_eq!(simulation.route(all[0], all[4]), Some(all.to_vec()));
    assert_eq!(simulation.position(NodeId::new(2)), Some((400.0, 0.0)));
    assert_eq!(simulation.position(NodeId::new(4)), Some((2400.0, 0.0)));
}

/// Two nodes with radios on both airs use the one over which they hear each other.
#[test]
fn the_air_on_which_a_neighbour_is_heard_is_used() {
    for protocol in ["aodv", "dsr"] {
        let text = two_airs(protocol)
            .replace(r#"radios = ["a[1-2]", "j"]"#, r#"radios = ["a[1-2]", "j", "b1"]"#)
            .replace(r#"["400 m", "0 m"]] }"#, r#"["400 m", "0 m"], ["1400 m", "0 m"]] }"#);
        let result = common::run_text(&text, 1);
        for flow in &result.flows {
            assert_eq!(flow.outcome, FlowOutcome::Complete, "{protocol}: {flow:?}");
        }
    }
}
