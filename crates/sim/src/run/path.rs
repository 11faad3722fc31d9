//! A path: a chain of links, with faults and with routers that give feedback.

mod network;
mod routes;

use std::collections::VecDeque;

use base::{Duration, Instant};
use link::{PathLink, Place, Side};
use route::{Router, Way};
use scenario::{Network, Scenario};
use wire::Packet;

use super::outcome::per;
use super::{NetworkAtWork, Run, RunError, Sizes};
use crate::events::Class;
use crate::faults::{self, Deed, FaultAtWork};
use crate::results::{Direction, LinkResult, RunResult};
use crate::sabotage::Sabotage;
use crate::topology::Topology;

/// Links, routers and faults at work.
pub struct PathAtWork {
    topology: Topology,
    links: Vec<PathLink>,
    /// Links that were touched and are to be polled.
    touched: VecDeque<usize>,
    /// How many faults have cut each link.
    cuts: Vec<u32>,
    /// Each node's router.
    routers: Vec<Router>,
    /// Nodes whose routers may have something to say, or to set free.
    stirred: VecDeque<usize>,
    ways: Vec<Way>,
    faults: Vec<FaultAtWork>,
    deeds: Vec<Deed>,
    foreign: u64,
}

impl NetworkAtWork for PathAtWork {
    type Unit = Packet;
    const REPEATS: bool = false;

    fn new(scenario: &Scenario, seed: u64) -> Result<Self, RunError> {
        let Network::Path(path) = &scenario.network else {
            return Err(RunError::Setup("an ad hoc network is no path".into()));
        };
        let (topology, links) = Topology::build(path, Sabotage::seed(seed));
        Ok(Self {
            touched: VecDeque::with_capacity(links.len()),
            cuts: vec![0; links.len()],
            routers: routes::routers(path, topology.nodes()),
            topology,
            links,
            stirred: VecDeque::new(),
            ways: Vec::new(),
            faults: faults::at_work(path, scenario.duration, seed),
            deeds: Vec::with_capacity(4),
            foreign: 0,
        })
    }

    fn sizes(&self) -> Sizes {
        Sizes {
            nodes: self.topology.nodes(),
            faults: self.faults.len(),
            entities: self.links.len(),
        }
    }

    fn open(run: &mut Run<'_, Self>) {
        for number in 0..run.net.faults.len() {
            run.schedule_fault(number);
        }
    }

    fn send(run: &mut Run<'_, Self>, node: usize, packet: Packet, place: Place) {
        run.send_on_path(node, packet, place);
    }

    fn on_event(run: &mut Run<'_, Self>, class: Class, entity: usize) {
        if class == Class::Fault {
            run.on_fault(entity);
        } else {
            run.net.links[entity].on_timeout(run.now);
            run.net.touched.push_back(entity);
        }
    }

    /// Polls links, delivers what hosts send to themselves, and serves routers.
    fn settle(run: &mut Run<'_, Self>) {
        loop {
            if let Some(link) = run.net.touched.pop_front() {
                run.poll_link(link);
            } else if let Some((node, id)) = run.local.pop_front() {
                run.deliver(node, id);
            } else if let Some(node) = run.net.stirred.pop_front() {
                run.serve_router(node);
            } else {
                return;
            }
        }
    }

    fn held(&self) -> u64 {
        let held: usize = self.links.iter().map(PathLink::held).sum();
        let kept: usize = self.routers.iter().map(Router::kept).sum();
        (held + kept) as u64
    }

    fn balance(&self) -> Result<(), String> {
        Ok(())
    }

    fn report(run: &mut Run<'_, Self>, result: &mut RunResult) {
        result.links = run.net.link_results(run.now);
        for link in &result.links {
            run.fingerprint.statistic(link.bytes);
            run.fingerprint.statistic(link.drops);
        }
    }
}

impl PathAtWork {
    /// Hops of the chain first, then those of routes beside it, which count on from there.
    fn link_results(&self, now: Instant) -> Vec<LinkResult> {
        let duration = now.since(Instant::ZERO);
        let mut results = Vec::with_capacity(self.links.len() * 2);
        for (number, link) in self.links.iter().enumerate() {
            for (side, direction) in [(Side::A, Direction::Forward), (Side::B, Direction::Backward)]
            {
                let counters = link.counters(side);
                let queue = counters.queue;
                results.push(LinkResult {
                    hop: number as u32 + 1,
                    direction,
                    frames: counters.frames,
                    bytes: counters.bits / 8,
                    marks: queue.marks,
                    drops: counters.errors
                        + counters.partitioned
                        + counters.refused
                        + queue.overflows
                        + queue.red_drops,
                    utilisation: share(counters.busy, duration),
                });
            }
        }
        results
    }
}

fn share(part: Duration, whole: Duration) -> Option<f64> {
    per(part.as_secs_f64(), whole.as_secs_f64())
}
