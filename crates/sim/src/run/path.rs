//! A path in the simulator: the simulator's time, hosts and packet accounting drive the forwarding
//! code that the emulator also uses.

use driftway_base::{Duration, Instant, Ipv4Addr, RouteProbe, Signal};
use driftway_link::{QueuePosition, Side};
use driftway_node::Host;
use driftway_path::packet_accounting::{PacketDropReason, PacketsInTransit};
use driftway_path::{PathDriver, PathNetwork};
use driftway_scenario::{Network, Scenario};
use driftway_wire::Packet;

use super::result::ratio;
use super::{EntityCounts, NetworkModel, Run, RunError, follow_next_hops};
use crate::event_queue::EventClass;
use crate::fault_injection::{FaultEffect, FaultInjection};
use crate::fingerprint::DELIVERED;
use crate::flows::ActiveFlow;
use crate::results::{Direction, FlowOutcome, LinkResult, RunResult};

impl NetworkModel for PathNetwork {
    type NetworkPacket = Packet;
    const MAY_DUPLICATE: bool = false;
    /// Routes are fixed: there is nothing to probe.
    const PROBES_ROUTES: bool = false;

    fn new(scenario: &Scenario, seed: u64) -> Result<Self, RunError> {
        let Network::Path(path) = &scenario.network else {
            return Err(RunError::Setup("an ad hoc network is not a path".into()));
        };
        Ok(Self::new(path, scenario.duration, seed, FaultInjection::network_seed(seed)))
    }

    fn entity_counts(&self) -> EntityCounts {
        EntityCounts {
            nodes: self.nodes(),
            faults: self.fault_count(),
            network: self.links().len(),
        }
    }

    fn start(run: &mut Run<'_, Self>) {
        driftway_path::start(run);
    }

    fn send(run: &mut Run<'_, Self>, node: usize, packet: Packet, place: QueuePosition) {
        driftway_path::send(run, node, packet, place);
    }

    fn probe_route(_: &mut Run<'_, Self>, _: usize, _: Ipv4Addr, _: RouteProbe, _: bool) {}

    fn on_event(run: &mut Run<'_, Self>, class: EventClass, entity: usize) {
        if class == EventClass::Fault {
            driftway_path::on_fault_timeout(run, entity);
        } else {
            driftway_path::on_link_timeout(run, entity);
        }
    }

    fn run_until_idle(run: &mut Run<'_, Self>) {
        driftway_path::run_until_idle(run);
    }

    fn packets_held(&self) -> u64 {
        Self::packets_held(self)
    }

    fn check_conservation(&self) -> Result<(), String> {
        Ok(())
    }

    fn fill_result(run: &mut Run<'_, Self>, result: &mut RunResult) {
        result.links = link_results(&run.net, run.now);
        for link in &result.links {
            run.fingerprint.statistic(link.bytes);
            run.fingerprint.statistic(link.drops);
        }
    }

    fn queue_length(&self, node: usize) -> usize {
        Self::queued_packets(self, node)
    }

    fn position(&mut self, _: usize, _: Instant) -> Option<(f64, f64)> {
        None
    }

    fn route(&self, _: Instant, from: usize, to: usize) -> Option<Vec<usize>> {
        follow_next_hops(from, to, self.nodes(), |node| self.next_hop(node, to))
    }
}

impl PathDriver for Run<'_, PathNetwork> {
    fn path(&mut self) -> &mut PathNetwork {
        &mut self.net
    }

    fn now(&self) -> Instant {
        self.now
    }

    fn packets(&mut self) -> &mut PacketsInTransit {
        &mut self.packets
    }

    fn host(&mut self, node: usize) -> &mut Host {
        &mut self.hosts[node]
    }

    fn wake_fault(&mut self, number: usize, at: Instant) {
        self.events.schedule(EventClass::Fault, number as u32, at);
    }

    fn wake_link(&mut self, number: usize, at: Instant) {
        self.events.schedule(EventClass::Network, number as u32, at);
    }

    fn on_entering_link(&mut self, id: u32) -> Option<u32> {
        let packet = self.packets.get(id)?;
        (self.fault_injection.on_link_entry(packet) != FaultEffect::Leak).then(|| packet.len())
    }

    fn on_delivered(&mut self, node: usize, id: u32) {
        if let Some(packet) = self.packets.record_delivery(id) {
            self.fingerprint.packet(self.now, node as u32, DELIVERED, &packet);
            self.deliver_to_host(node, &packet);
        }
    }

    fn on_lost(&mut self, id: u32, place: usize, why: PacketDropReason) -> Option<Packet> {
        let packet = self.packets.record_drop(id, why)?;
        self.fingerprint.packet(self.now, place as u32, why as u8, &packet);
        Some(packet)
    }

    fn on_signal(&mut self, node: usize, signal: &Signal) {
        self.on_signal(node, signal);
    }

    fn on_fault_change(&mut self, kind: &'static str, hop: u32, begins: bool) {
        self.observers.fault(self.now, kind, hop, begins);
        if kind == "partition" && !begins {
            let runs = |flow: &&mut ActiveFlow| flow.outcome() == FlowOutcome::Running;
            self.flows
                .iter_mut()
                .filter(runs)
                .for_each(|flow| flow.resume_delays.on_partition_end(self.now));
        }
    }
}

/// Hops of the chain first, then those of parallel routes, numbered on from there.
fn link_results(path: &PathNetwork, now: Instant) -> Vec<LinkResult> {
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
    ratio(part.as_secs_f64(), whole.as_secs_f64())
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_base::{FailedLink, SignalKind};

    use super::super::recording_aid::{ReceivedSignal, add_recording_aid};
    use crate::addresses::address;

    /// The signals that connections at nodes 1 and 3 receive about partitions of the hop between 1 and
    /// 2.
    fn received_signals(signal: &str) -> [Vec<ReceivedSignal>; 2] {
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
        let mut run = Run::<PathNetwork>::new(&scenario, 1, None).unwrap();
        let heard = [1, 3].map(|node| add_recording_aid(&mut run.hosts[node], address(0)).0);
        while run.step().unwrap() {}
        heard.map(|heard| std::mem::take(&mut *heard.lock().unwrap()))
    }

    #[test]
    fn only_nodes_at_a_hop_are_notified_of_its_partition() {
        let link = Some(FailedLink { from: address(1), to: address(2) });
        let cut = [(3_000, SignalKind::LinkDown, link), (5_000, SignalKind::LinkUp, link)];
        let [near, far] = received_signals("signal = \"link\"");
        assert_eq!((near.as_slice(), far.as_slice()), (&cut[..], &[][..]));
        let [near, _] = received_signals("signal = \"link\"\nlead = \"1500 ms\"");
        let lead = Duration::from_millis(1500);
        assert_eq!(
            near,
            [(1_500, SignalKind::LinkFading { expected_lifetime: lead }, link), cut[0], cut[1]]
        );
        let [near, far] = received_signals("signal = \"none\"");
        assert!(near.is_empty() && far.is_empty());
    }
}
