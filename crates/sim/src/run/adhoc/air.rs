//! The MAC layer of an ad hoc network: IEEE 802.11 DCF, or TDMA.

use driftway_base::{Duration, Instant};
use driftway_radio::{Dcf, Outgoing, Report, Tdma};

use crate::results::MacResult;

/// The medium with the MAC layers of all nodes.
#[allow(clippy::large_enum_variant, reason = "one value per run")]
pub enum Air {
    Dcf(Dcf),
    Tdma(Tdma),
}

/// Makes the same call whatever the MAC protocol.
macro_rules! each {
    ($self:expr, $mac:ident => $call:expr) => {
        match $self {
            Air::Dcf($mac) => $call,
            Air::Tdma($mac) => $call,
        }
    };
}

impl Air {
    pub fn is_free(&self, node: u32) -> bool {
        each!(self, mac => mac.is_free(node))
    }

    /// Passes a packet to the MAC layer; `false` if the node already has one there.
    pub fn send(&mut self, now: Instant, node: u32, packet: Outgoing) -> bool {
        each!(self, mac => mac.send(now, node, packet))
    }

    /// Makes a node receive frames that are addressed to others as well.
    pub fn listen(&mut self, node: u32) {
        each!(self, mac => mac.listen(node, true));
    }

    pub fn next_timeout(&self) -> Option<Instant> {
        each!(self, mac => mac.next_timeout())
    }

    /// Runs until there is a report, or until `until`; returns the instant reached.
    pub fn run(&mut self, until: Instant, reports: &mut Vec<Report>) -> Instant {
        each!(self, mac => mac.run(until, reports))
    }

    /// True if node `to` can decode what node `from` sends at their present positions.
    pub fn in_range(&mut self, now: Instant, from: u32, to: u32) -> bool {
        let power = self.power(now, from, to);
        each!(self, mac => power >= mac.propagation().receive_power())
    }

    /// The power at which node `to` receives node `from` at their present positions (W).
    pub fn power(&mut self, now: Instant, from: u32, to: u32) -> f64 {
        each!(self, mac => mac.power_at(now, from, to))
    }

    /// The time that a node with the medium to itself needs for a packet of this size.
    pub fn service_time(&self, bytes: u32) -> Duration {
        match self {
            Self::Dcf(dcf) => dcf.config().service_time(bytes),
            Self::Tdma(tdma) => {
                let slot = tdma.config().slot_bytes.max(1);
                tdma.round().times(u64::from(bytes.div_ceil(slot)))
            }
        }
    }

    /// The number of events handled so far.
    pub fn events(&self) -> u64 {
        each!(self, mac => mac.events())
    }

    /// The position of a node (m).
    pub fn position(&mut self, node: u32, now: Instant) -> (f64, f64) {
        each!(self, mac => mac.field().position(node, now))
    }

    pub fn result(&self) -> MacResult {
        let total = each!(self, mac => mac.totals());
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
