//! The surroundings of the hosts of a run: time, the network, timers, observers and checks.

use driftway_base::Instant;
use driftway_link::QueuePosition;
use driftway_net::{Event, Network, WakeUps};
use driftway_wire::Packet;

use crate::error::RunError;
use crate::fault_injection::{FaultEffect, FaultInjection};
use crate::fingerprint::Fingerprint;
use crate::network_log;
use crate::observers::Observers;

/// The class of a wake-up of a host. Its order is the order within one instant, at which the network
/// comes before all of them: then aids, then TCPs, then applications, so that an aid that checks for a
/// timeout due at this instant acts before TCP does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum HostClass {
    /// A signal of an unreachable destination for a flow. These are the network's last events of an
    /// instant, so that a signal at the time of a link failure finds the routing state that the
    /// failure has left.
    Unreachable = 0,
    /// A timer of an aid; the entity is its socket.
    Aid = 1,
    /// A timer of TCP; the entity is its socket.
    Tcp = 2,
    /// An application acts; the entity is its flow.
    Application = 3,
}

impl HostClass {
    /// All classes, in order.
    pub const ALL: [Self; 4] = [Self::Unreachable, Self::Aid, Self::Tcp, Self::Application];
}

/// The numbers of the hosts' timers: those of each class follow those of the class before.
#[derive(Clone, Copy, Debug)]
pub struct HostTimers {
    /// The first number of each class.
    first: [u32; 4],
    count: usize,
}

impl HostTimers {
    /// The timers of this number of flows and of sockets.
    pub fn new(flows: usize, sockets: usize) -> Self {
        let [of_flows, of_sockets] = [flows, sockets].map(|count| count as u32);
        let first = [0, of_flows, of_flows + of_sockets, of_flows + 2 * of_sockets];
        Self { first, count: 2 * (flows + sockets) }
    }

    /// The number of timers.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The number of a timer.
    #[inline]
    pub fn number(&self, class: HostClass, entity: usize) -> u32 {
        self.first[class as usize] + entity as u32
    }

    /// The class and the entity of a timer.
    pub fn parts(&self, timer: u32) -> (HostClass, u32) {
        let class = self.first.iter().rposition(|first| *first <= timer).unwrap_or(0);
        (HostClass::ALL[class], timer - self.first[class])
    }
}

/// Everything in a run but the hosts.
pub struct World<'a> {
    /// The time.
    pub now: Instant,
    /// The network.
    pub net: Network,
    /// The wake-ups of hosts.
    pub wakeups: WakeUps,
    /// The numbers of their timers.
    pub timers: HostTimers,
    /// Outputs besides the result.
    pub observers: Observers<'a>,
    /// The digests of the run.
    pub fingerprint: Fingerprint,
    /// Faults that tests inject.
    pub fault_injection: FaultInjection,
    /// The first error.
    pub error: Option<RunError>,
    /// True if a partition has ended since the hosts were notified.
    pub partition_ended: bool,
    /// The number of outages of links and radios that are under way.
    pub active_outages: u32,
    /// True if the last of them has ended since the hosts were notified.
    pub is_restored: bool,
}

impl World<'_> {
    /// Schedules a wake-up of a host at `at` or earlier.
    pub fn schedule(&mut self, class: HostClass, entity: usize, at: Instant) {
        self.wakeups.schedule(self.timers.number(class, entity), at);
    }

    /// Sends a packet of a node's host.
    pub fn send(&mut self, node: usize, mut packet: Packet, place: QueuePosition) {
        match self.fault_injection.on_sent(&mut packet) {
            FaultEffect::Leak => self.fault_injection.lose(&mut self.net, &packet),
            FaultEffect::None | FaultEffect::Duplicate => self.net.send(node, packet, place),
        }
        self.record_events();
    }

    /// Records what has happened in the network.
    #[inline]
    pub fn record_events(&mut self) {
        if self.net.has_events() {
            self.record_all_events();
        }
    }

    fn record_all_events(&mut self) {
        while let Some(event) = self.net.poll_event() {
            if let Event::Fault { kind, place, begins } = event {
                self.observers.fault(self.now, kind, place, begins);
                if kind.is_outage() {
                    self.on_outage(begins);
                }
            } else {
                network_log::record(&mut self.observers, &self.net, &event);
            }
        }
    }

    fn on_outage(&mut self, begins: bool) {
        if begins {
            self.active_outages += 1;
            self.is_restored = false;
        } else {
            self.active_outages = self.active_outages.saturating_sub(1);
            self.is_restored |= self.active_outages == 0;
            self.partition_ended = true;
        }
    }

    /// Returns the time at which positions are to be recorded next; in the far future if they are not.
    pub fn next_positions(&self) -> Instant {
        let log = self.observers.log.as_ref().filter(|_| self.net.has_radios());
        log.map_or(Instant::FAR_FUTURE, |log| log.next_positions())
    }

    /// Records the positions of nodes that are due by `now`, at which everything before has been done.
    pub fn record_positions(&mut self, now: Instant) {
        let Some(log) = &mut self.observers.log else { return };
        while let Some(at) = log.take_positions_due(now) {
            for node in 0..self.net.nodes() {
                if let Some((x, y)) = self.net.position(node, at) {
                    log.record(network_log::position(at, node, x, y));
                }
            }
        }
    }

    /// Keeps the first error of a byte stream.
    pub fn check_stream(&mut self, result: Result<(), String>) {
        if let Err(error) = result {
            self.error.get_or_insert(RunError::Stream(error));
        }
    }
}
