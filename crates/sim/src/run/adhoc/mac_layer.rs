//! Whatever link layer the nodes share.

use driftway_base::{Duration, Instant};
use driftway_radio::{Dcf, OutgoingPacket, MacReport, Tdma};

use crate::results::MacResult;

/// The air, with everybody's link layer.
#[allow(clippy::large_enum_variant, reason = "there is one")]
pub enum MacLayer {
    Dcf(Dcf),
    Tdma(Tdma),
}

/// The same call to whichever it is.
macro_rules! for_each_mac {
    ($self:expr, $mac:ident => $call:expr) => {
        match $self {
            Air::Dcf($mac) => $call,
            Air::Tdma($mac) => $call,
        }
    };
}

impl MacLayer {
    pub fn is_free(&self, node: u32) -> bool {
        for_each_mac!(self, mac => mac.can_accept(node))
    }

    /// A packet for the air; `false` if the node has one there already.
    pub fn send(&mut self, now: Instant, node: u32, packet: OutgoingPacket) -> bool {
        for_each_mac!(self, mac => mac.send(now, node, packet))
    }

    /// This node hears what is for others, too.
    pub fn set_promiscuous(&mut self, node: u32) {
        for_each_mac!(self, mac => mac.set_promiscuous(node, true));
    }

    pub fn next_timeout(&self) -> Option<Instant> {
        for_each_mac!(self, mac => mac.next_timeout())
    }

    /// Goes on until there is something to report, or until `until`; returns the instant reached.
    pub fn run(&mut self, until: Instant, reports: &mut Vec<MacReport>) -> Instant {
        for_each_mac!(self, mac => mac.run(until, reports))
    }

    /// Can the one decode what the other sends, where they are now?
    pub fn in_range(&mut self, now: Instant, from: u32, to: u32) -> bool {
        let power = self.receive_power(now, from, to);
        for_each_mac!(self, mac => power >= mac.propagation().receive_power())
    }

    /// The power with which the one hears the other, where they are now (W).
    pub fn receive_power(&mut self, now: Instant, from: u32, to: u32) -> f64 {
        for_each_mac!(self, mac => mac.received_power(now, from, to))
    }

    /// How long a node that has the medium for itself needs for a packet of this size.
    pub fn service_time(&self, bytes: u32) -> Duration {
        match self {
            Self::Dcf(dcf) => dcf.config().service_time(bytes),
            Self::Tdma(tdma) => {
                let slot = tdma.config().slot_bytes.max(1);
                tdma.round().times(u64::from(bytes.div_ceil(slot)))
            }
        }
    }

    /// Events handled so far.
    pub fn events_handled(&self) -> u64 {
        for_each_mac!(self, mac => mac.events_handled())
    }

    /// Where a node is (m).
    pub fn position(&mut self, node: u32, now: Instant) -> (f64, f64) {
        for_each_mac!(self, mac => mac.positions().position(node, now))
    }

    pub fn result(&self) -> MacResult {
        let total = for_each_mac!(self, mac => mac.total_counters());
        MacResult {
            rts: total.rts,
            cts: total.cts,
            data: total.data,
            ack: total.acks,
            broadcast: total.broadcasts,
            retries: total.retries,
            collisions: total.collisions,
            failed_no_cts: total.failed_no_cts,
            failed_no_ack: total.failed_no_ack,
            duplicates: total.duplicates,
            airtime_us: total.airtime.as_nanos() / 1000,
        }
    }
}
