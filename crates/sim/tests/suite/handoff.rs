//! Handoffs of a mobile host between the base stations of a wired network.

use crate::common;
use crate::common::{example, run};
use driftway_base::{Instant, NodeId};
use driftway_sim::Simulation;
use driftway_sim::results::FlowOutcome;

/// Nodes of the example.
const SERVER: NodeId = NodeId::new(0);
const ROUTER: NodeId = NodeId::new(1);
const WEST: NodeId = NodeId::new(2);
const EAST: NodeId = NodeId::new(3);
const MOBILE: NodeId = NodeId::new(4);

const PROTOCOLS: [&str; 2] = ["{ protocol = \"aodv\" }", "{ protocol = \"dsr\" }"];

/// In both directions the route leads over the base station that has the mobile host.
#[test]
fn routes_follow_the_mobile_host() {
    for protocol in PROTOCOLS {
        let scenario = example("handoff", &[("network.air.routing", protocol)]);
        let mut run = Simulation::new(&scenario, 1, None).unwrap();
        for (seconds, base) in [(10, WEST), (40, EAST), (75, WEST)] {
            run.run_until(Instant::from_secs(seconds)).unwrap();
            let there = vec![SERVER, ROUTER, base, MOBILE];
            let back: Vec<_> = there.iter().rev().copied().collect();
            assert_eq!(run.route(SERVER, MOBILE), Some(there), "{protocol}: {seconds} s");
            assert_eq!(run.route(MOBILE, SERVER), Some(back), "{protocol}: {seconds} s");
        }
    }
}

/// Each transfer is longer than the mobile host's stay at a base station. A host that receives only
/// is found by the packets for it.
#[test]
fn transfers_both_ways_end_together_and_alone() {
    for protocol in PROTOCOLS {
        let both = example("handoff", &[("network.air.routing", protocol)]);
        for flows in [0..2, 0..1, 1..2] {
            let mut scenario = both.clone();
            scenario.flows = scenario.flows[flows].to_vec();
            let result = run(&scenario, 1);
            for flow in &result.flows {
                assert_eq!(flow.outcome, FlowOutcome::Complete, "{protocol}: {flow:?}");
                let completion = flow.completion_s.unwrap();
                assert!((24.0..130.0).contains(&completion), "{protocol}: {flow:?}");
            }
        }
    }
}

/// Datagrams to the mobile host arrive as long as some base station is in range: of 120 s the host
/// is without one for three times 7.4 s.
#[test]
fn datagrams_find_the_base_station() {
    for protocol in PROTOCOLS {
        let changes = [("network.air.routing", protocol), ("duration", "120 s")];
        let mut scenario = example("handoff", &changes);
        scenario.flows.truncate(1);
        let text = "name = \"x\"\nduration = \"1 s\"\n[network]\nkind = \"path\"\nhops = 1\n\
            link = { rate = \"1 Mbit/s\", delay = \"1 ms\" }\n[[flow]]\nfrom = 0\nto = 1\n\
            transport = \"udp\"\napplication = { cbr = { every = \"100 ms\", size = \"500 B\" } }\n";
        let datagrams = common::parse(text).flows.remove(0);
        scenario.flows[0].transport = datagrams.transport;
        scenario.flows[0].application = datagrams.application;
        scenario.flows[0].tcp = None;
        let result = run(&scenario, 1);
        let delivered = result.flows[0].delivered_bytes / 500;
        assert!(delivered >= 700, "{protocol}: {delivered} of 1200: {:?}", result.drops);
    }
}

/// With a single gateway nothing changes; static routes over the air do not either.
#[test]
fn static_routes_keep_their_base_station() {
    let scenario = example("handoff", &[("network.air.routing", "{ protocol = \"static\" }")]);
    let mut run = Simulation::new(&scenario, 1, None).unwrap();
    for seconds in [10, 40, 75] {
        run.run_until(Instant::from_secs(seconds)).unwrap();
        let there = vec![SERVER, ROUTER, WEST, MOBILE];
        assert_eq!(run.route(SERVER, MOBILE), Some(there), "{seconds} s");
    }
}
