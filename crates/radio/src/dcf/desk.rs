//! Transmit state: the part of a station that only its own exchanges use.

use driftway_base::{RandomStream, Rate};

use super::config::DcfConfig;
use super::counters::Counters;
use crate::Outgoing;

/// A response, or the next frame of an exchange, to be sent a SIFS later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owed {
    Nothing,
    Cts {
        to: u32,
        /// Duration field (µs).
        duration: u32,
    },
    Ack {
        to: u32,
    },
    Data,
}

#[derive(Clone, Debug)]
pub(super) struct Desk {
    pub packet: Option<Outgoing>,
    /// Size (bytes) and airtime (ns) of its frame.
    pub bytes: u32,
    pub airtime: u64,
    /// True if it exceeds the RTS threshold.
    pub long: bool,
    /// True if it has been transmitted before.
    pub again: bool,
    /// True once its receiver has it. This is the duplicate filter of §9.2.9: a station sends one
    /// packet after another, so that the last sequence number kept by a receiver can only be that
    /// of this packet.
    pub taken: bool,
    /// Sequence number, modulo 4096 (§7.1.3.4.1).
    pub sequence: u16,
    /// Short and long retry counts.
    pub short_retries: u8,
    pub long_retries: u8,
    /// Contention window.
    pub cw: u16,
    /// Deadline of the expected response (ns).
    pub deadline: u64,
    pub owed: Owed,
    /// NAV before an RTS set it, and the deadline for a frame to follow that RTS.
    pub nav_before: u64,
    pub nav_checked: u64,
    pub backoff: RandomStream,
    pub errors: RandomStream,
    pub counters: Counters,
}

impl Desk {
    pub fn new(config: &DcfConfig, seed: u64, node: u32) -> Self {
        Self {
            packet: None,
            bytes: 0,
            airtime: 0,
            long: false,
            again: false,
            taken: false,
            sequence: 0,
            short_retries: 0,
            long_retries: 0,
            cw: config.cw_min,
            deadline: 0,
            owed: Owed::Nothing,
            nav_before: 0,
            nav_checked: 0,
            backoff: RandomStream::new(seed, "backoff", u64::from(node)),
            errors: RandomStream::new(seed, "frame-error", u64::from(node)),
            counters: Counters::default(),
        }
    }

    /// Accepts a packet for transmission.
    pub fn take(&mut self, packet: Outgoing, config: &DcfConfig) {
        let rate: Rate = if packet.to.is_some() { config.data_rate } else { config.basic_rate };
        self.bytes = config.frame_bytes(packet.bytes);
        self.airtime = config.airtime(self.bytes, rate).as_nanos();
        self.long = config.asks_first(packet.bytes);
        self.packet = Some(packet);
        self.again = false;
        self.taken = false;
        self.sequence = (self.sequence + 1) & 4095;
        if !config.counts_outlive_packets {
            (self.short_retries, self.long_retries) = (0, 0);
        }
    }

    /// Draws a backoff in slots (§9.2.4).
    pub fn draw(&mut self, config: &DcfConfig) -> u16 {
        let bound = u64::from(self.cw) + u64::from(config.backoff_includes_cw);
        self.backoff.below(bound) as u16
    }

    /// Doubles the contention window.
    pub fn widen(&mut self, config: &DcfConfig) {
        self.cw = (2 * self.cw + 1).min(config.cw_max);
    }
}
