//! The surroundings of the hosts of a run: time, the network, timers, observers and checks.

use driftway_base::{FlowId, Instant, NodeId};
use driftway_link::QueuePosition;
use driftway_net::{Event, Network, WakeUps};
use driftway_wire::Packet;

use crate::error::RunError;
use crate::fault_injection::{FaultEffect, FaultInjection};
use crate::fingerprint::Fingerprint;
use crate::host_timer::HostTimer;
use crate::network_log;
use crate::observers::Observers;

/// Everything in a run but the hosts.
pub struct World<'a> {
    /// The time.
    pub now: Instant,
    /// The network.
    pub net: Network,
    /// The wake-ups of hosts.
    pub wakeups: WakeUps<HostTimer>,
    /// Outputs besides the result.
    pub observers: Observers<'a>,
    /// The time at which positions or samples are to be recorded next; in the far future if none are.
    pub records_at: Instant,
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
    pub fn schedule(&mut self, timer: HostTimer, at: Instant) {
        self.wakeups.schedule(timer, at);
    }

    /// Sends a packet of a node's host.
    pub fn send(&mut self, node: NodeId, mut packet: Packet, place: QueuePosition) {
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

    /// An aid at an end of a flow returned acts without end.
    pub fn on_endless_acts(&mut self, flow: FlowId, end: &str) {
        let at = self.now.since(Instant::ZERO).as_secs_f64();
        let error = RunError::Endless(format!(
            "at {at} s poll_act of the aid at the {end} of flow {flow} always returned another act; each act is \
             returned once"
        ));
        self.error.get_or_insert(error);
    }

    /// Keeps the first error of a byte stream.
    pub fn check_stream(&mut self, result: Result<(), String>) {
        if let Err(error) = result {
            self.error.get_or_insert(RunError::Stream(error));
        }
    }
}
