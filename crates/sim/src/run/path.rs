//! A path in the lab: the lab's time, hosts and books under the code that the bench drives, too.

use ::path::books::{Drop, Packets};
use ::path::{Drive, PathAtWork};
use base::{Duration, Instant, Ipv4Addr, Seek};
use link::{Place, Side};
use node::Host;
use scenario::{Network, Scenario};
use wire::Packet;

use super::outcome::per;
use super::{NetworkAtWork, Run, RunError, Sizes};
use crate::events::Class;
use crate::fingerprint::DELIVERED;
use crate::results::{Direction, LinkResult, RunResult};
use crate::sabotage::{Crime, Sabotage};

impl NetworkAtWork for PathAtWork {
    type Unit = Packet;
    const REPEATS: bool = false;
    /// Routes are given: there is nothing to look for.
    const SEEKS: bool = false;

    fn new(scenario: &Scenario, seed: u64) -> Result<Self, RunError> {
        let Network::Path(path) = &scenario.network else {
            return Err(RunError::Setup("an ad hoc network is no path".into()));
        };
        Ok(Self::new(path, scenario.duration, seed, Sabotage::seed(seed)))
    }

    fn sizes(&self) -> Sizes {
        Sizes { nodes: self.nodes(), faults: self.faults(), entities: self.links().len() }
    }

    fn open(run: &mut Run<'_, Self>) {
        path::open(run);
    }

    fn send(run: &mut Run<'_, Self>, node: usize, packet: Packet, place: Place) {
        path::send(run, node, packet, place);
    }

    fn seek(_: &mut Run<'_, Self>, _: usize, _: Ipv4Addr, _: Seek, _: bool) {}

    fn on_event(run: &mut Run<'_, Self>, class: Class, entity: usize) {
        if class == Class::Fault {
            path::on_fault(run, entity);
        } else {
            path::on_link(run, entity);
        }
    }

    fn settle(run: &mut Run<'_, Self>) {
        path::settle(run);
    }

    fn held(&self) -> u64 {
        Self::held(self)
    }

    fn balance(&self) -> Result<(), String> {
        Ok(())
    }

    fn report(run: &mut Run<'_, Self>, result: &mut RunResult) {
        result.links = link_results(&run.net, run.now);
        for link in &result.links {
            run.fingerprint.statistic(link.bytes);
            run.fingerprint.statistic(link.drops);
        }
    }
}

impl Drive for Run<'_, PathAtWork> {
    fn path(&mut self) -> &mut PathAtWork {
        &mut self.net
    }

    fn now(&self) -> Instant {
        self.now
    }

    fn packets(&mut self) -> &mut Packets {
        &mut self.packets
    }

    fn host(&mut self, node: usize) -> &mut Host {
        &mut self.hosts[node]
    }

    fn wake_fault(&mut self, number: usize, at: Instant) {
        self.events.wake(Class::Fault, number as u32, at);
    }

    fn wake_link(&mut self, number: usize, at: Instant) {
        self.events.wake(Class::Network, number as u32, at);
    }

    fn enters(&mut self, id: u32) -> Option<u32> {
        let packet = self.packets.get(id)?;
        (self.sabotage.on_link(packet) != Crime::Leak).then(|| packet.len())
    }

    fn delivered(&mut self, node: usize, id: u32) {
        if let Some(packet) = self.packets.deliver(id) {
            self.fingerprint.packet(self.now, node as u32, DELIVERED, &packet);
            self.arrived(node, &packet);
        }
    }

    fn lost(&mut self, id: u32, place: usize, why: Drop) -> Option<Packet> {
        let packet = self.packets.drop(id, why)?;
        self.fingerprint.packet(self.now, place as u32, why as u8, &packet);
        Some(packet)
    }

    fn fault(&mut self, kind: &'static str, hop: u32, begins: bool) {
        self.watch.fault(self.now, kind, hop, begins);
    }
}

/// Hops of the chain first, then those of routes beside it, which count on from there.
fn link_results(path: &PathAtWork, now: Instant) -> Vec<LinkResult> {
    let duration = now.since(Instant::ZERO);
    let mut results = Vec::with_capacity(path.links().len() * 2);
    for (number, link) in path.links().iter().enumerate() {
        for (side, direction) in [(Side::A, Direction::Forward), (Side::B, Direction::Backward)] {
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

fn share(part: Duration, whole: Duration) -> Option<f64> {
    per(part.as_secs_f64(), whole.as_secs_f64())
}
