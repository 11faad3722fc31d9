//! A path in the simulator: the simulator's time, hosts and packet accounting drive the forwarding
//! code that the emulator also uses.

use driftway_base::{Duration, Instant, Ipv4Addr, Seek, Signal};
use driftway_link::{Place, Side};
use driftway_node::Host;
use driftway_path::books::{Drop, Packets};
use driftway_path::{Drive, PathAtWork};
use driftway_scenario::{Network, Scenario};
use driftway_wire::Packet;

use super::outcome::per;
use super::{NetworkAtWork, Run, RunError, Sizes, follow};
use crate::events::Class;
use crate::fingerprint::DELIVERED;
use crate::flows::FlowAtWork;
use crate::results::{Direction, LinkResult, Outcome, RunResult};
use crate::sabotage::{Crime, Sabotage};

impl NetworkAtWork for PathAtWork {
    type Unit = Packet;
    const REPEATS: bool = false;
    /// Routes are fixed: there is nothing to probe.
    const SEEKS: bool = false;

    fn new(scenario: &Scenario, seed: u64) -> Result<Self, RunError> {
        let Network::Path(path) = &scenario.network else {
            return Err(RunError::Setup("an ad hoc network is not a path".into()));
        };
        Ok(Self::new(path, scenario.duration, seed, Sabotage::seed(seed)))
    }

    fn sizes(&self) -> Sizes {
        Sizes { nodes: self.nodes(), faults: self.faults(), entities: self.links().len() }
    }

    fn open(run: &mut Run<'_, Self>) {
        driftway_path::open(run);
    }

    fn send(run: &mut Run<'_, Self>, node: usize, packet: Packet, place: Place) {
        driftway_path::send(run, node, packet, place);
    }

    fn seek(_: &mut Run<'_, Self>, _: usize, _: Ipv4Addr, _: Seek, _: bool) {}

    fn on_event(run: &mut Run<'_, Self>, class: Class, entity: usize) {
        if class == Class::Fault {
            driftway_path::on_fault(run, entity);
        } else {
            driftway_path::on_link(run, entity);
        }
    }

    fn settle(run: &mut Run<'_, Self>) {
        driftway_path::settle(run);
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

    fn waiting(&self, node: usize) -> usize {
        Self::waiting(self, node)
    }

    fn position(&mut self, _: usize, _: Instant) -> Option<(f64, f64)> {
        None
    }

    fn route(&self, _: Instant, from: usize, to: usize) -> Option<Vec<usize>> {
        follow(from, to, self.nodes(), |node| self.next_hop(node, to))
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

    fn signal(&mut self, node: usize, signal: &Signal) {
        self.on_signal(node, signal);
    }

    fn fault(&mut self, kind: &'static str, hop: u32, begins: bool) {
        self.watch.fault(self.now, kind, hop, begins);
        if kind == "partition" && !begins {
            let runs = |flow: &&mut FlowAtWork| flow.outcome() == Outcome::Running;
            self.flows.iter_mut().filter(runs).for_each(|flow| flow.resumes.on_healed(self.now));
        }
    }
}

/// Hops of the chain first, then those of parallel routes, numbered on from there.
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

#[cfg(test)]
mod test {
    use super::*;
    use driftway_base::{FailedLink, SignalKind};

    use super::super::listener::{Heard, listen};
    use crate::nodes::address;

    /// The signals that connections at nodes 1 and 3 receive about partitions of the hop between 1 and
    /// 2.
    fn heard(signal: &str) -> [Vec<Heard>; 2] {
        let text = format!(
            r#"
            name = "seen"
            duration = "9 s"
            [network]
            kind = "path"
            hops = 3
            link = {{ rate = "1 Mbit/s", delay = "10 ms" }}
            [[network.fault]]
            kind = "partition"
            hop = 2
            first = "3 s"
            lasts = "2 s"
            {signal}
            [[flow]]
            from = 0
            to = 3
            application = "ftp"
            "#
        );
        let scenario = Scenario::parse("seen.toml", &text, &[]).unwrap();
        let mut run = Run::<PathAtWork>::new(&scenario, 1, None).unwrap();
        let heard = [1, 3].map(|node| listen(&mut run.hosts[node], address(0)).0);
        while run.step().unwrap() {}
        heard.map(|heard| std::mem::take(&mut *heard.lock().unwrap()))
    }

    #[test]
    fn who_is_at_the_end_of_a_hop_sees_its_cut() {
        let link = Some(FailedLink { from: address(1), to: address(2) });
        let cut = [(3_000, SignalKind::LinkDown, link), (5_000, SignalKind::LinkUp, link)];
        let [near, far] = heard("signal = \"link\"");
        assert_eq!((near.as_slice(), far.as_slice()), (&cut[..], &[][..]));
        let [near, _] = heard("signal = \"link\"\nlead = \"1500 ms\"");
        let lead = Duration::from_millis(1500);
        assert_eq!(near, [(1_500, SignalKind::LinkFading { lead }, link), cut[0], cut[1]]);
        let [near, far] = heard("signal = \"none\"");
        assert!(near.is_empty() && far.is_empty());
    }
}
