//! Inspecting a run does not change it, and a run can be stopped anywhere with packets conserved.

use std::sync::Arc;

use crate::common;
use driftway_base::{Duration, FlowId, Instant, NodeId};
use driftway_sim::Simulation;

/// A run can go to another thread, and one without observers borrows nothing.
const _: () = {
    const fn is_send<T: Send + 'static>() {}
    is_send::<Simulation<'static>>();
};

/// The first is complete before its duration ends.
const EXAMPLES: [(&str, &str); 6] = [
    ("lossy-path", "100 s"),
    ("figure-8-atcp", "60 s"),
    ("multipath", "30 s"),
    ("adhoc-aodv", "40 s"),
    ("adhoc-dsr", "40 s"),
    ("adhoc-tdma", "30 s"),
];

#[test]
fn inspection_changes_nothing() {
    for (name, duration) in EXAMPLES {
        let scenario = common::example(name, &[("duration", duration)]);
        let untouched = driftway_sim::run(&scenario, 1, None).unwrap();
        // Step sizes with which inspections fall both between events and on them.
        for step in [Duration::from_millis(100), Duration::from_nanos(61_803_399)] {
            let mut simulation = Simulation::new(&scenario, 1, None).unwrap();
            let (mut at, mut delivered) = (Instant::ZERO, 0);
            while simulation.run_until(at).unwrap() {
                assert_eq!(simulation.now(), at, "{name}");
                for node in (0..simulation.nodes()).map(NodeId::from) {
                    simulation.queue_length(node);
                    simulation.position(node);
                    simulation.route(node, NodeId::new(0));
                }
                let flow = simulation.flow(FlowId::new(0)).unwrap();
                assert!(flow.delivered_bytes >= delivered, "{name}");
                delivered = flow.delivered_bytes;
                at += step;
            }
            assert_eq!(simulation.finish().unwrap(), untouched, "{name}");
        }
    }
}

#[test]
fn a_run_can_end_anywhere() {
    for (name, duration) in EXAMPLES {
        let scenario = common::example(name, &[("duration", duration)]);
        for millis in (0..15_000).step_by(1_213) {
            let mut simulation = Simulation::new(&scenario, 1, None).unwrap();
            let until = Instant::from_millis(millis);
            assert!(simulation.run_until(until).unwrap(), "{name}");
            let result = simulation.finish().unwrap();
            assert_eq!(result.duration_s, until.as_secs_f64(), "{name}");
        }
    }
}

/// Each step is in another thread than the one before.
#[test]
fn a_run_goes_from_thread_to_thread() {
    let scenario = Arc::new(common::example("adhoc-aodv", &[("duration", "20 s")]));
    let untouched = driftway_sim::run(Arc::clone(&scenario), 1, None).unwrap();
    let mut simulation = Simulation::new(scenario, 1, None).unwrap();
    for second in 1..20 {
        let step = move || {
            assert!(simulation.run_until(Instant::from_secs(second)).unwrap());
            simulation
        };
        simulation = std::thread::spawn(step).join().unwrap();
    }
    assert_eq!(simulation.run_to_end().unwrap(), untouched);
}

#[test]
fn inspection_returns_the_present_state() {
    let scenario = common::example("adhoc-chain", &[]);
    let mut simulation = Simulation::new(&scenario, 1, None).unwrap();
    assert!(simulation.flow(FlowId::new(0)).unwrap().sender.is_none(), "it has not started");
    assert!(simulation.flow(FlowId::new(99)).is_none());
    let [first, nowhere] = [0, 99].map(NodeId::new);
    assert_eq!((simulation.route(first, nowhere), simulation.position(nowhere)), (None, None));
    simulation.run_until(Instant::from_secs(30)).unwrap();
    let (from, to) = (scenario.flows[0].from, scenario.flows[0].to);
    let route: Vec<NodeId> = (from..=to).map(NodeId::new).collect();
    assert_eq!(simulation.route(NodeId::new(from), NodeId::new(to)), Some(route));
    let (x, _) = simulation.position(NodeId::new(1)).unwrap();
    assert!(x > 0.0, "{x}");
    let sender = simulation.flow(FlowId::new(0)).unwrap().sender.unwrap();
    assert!(sender.stats.segments_sent > 0 && sender.view.cwnd.value().is_some());

    let scenario = common::example("two-way", &[]);
    let mut simulation = Simulation::new(&scenario, 1, None).unwrap();
    let nodes: Vec<NodeId> = (0..simulation.nodes()).map(NodeId::from).collect();
    assert_eq!(simulation.route(nodes[0], nodes[nodes.len() - 1]), Some(nodes.clone()));
    assert_eq!(simulation.position(NodeId::new(0)), None);
    let waits = |second| {
        simulation.run_until(Instant::from_secs(second)).unwrap();
        nodes.iter().map(|node| simulation.queue_length(*node)).sum::<usize>()
    };
    let waiting: Vec<usize> = (1..60).map(waits).collect();
    assert!(waiting.iter().any(|packets| *packets > 0), "{waiting:?}");
}
