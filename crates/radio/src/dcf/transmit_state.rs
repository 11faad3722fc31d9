//! Transmit state: the part of a station that only its own exchanges use.

use driftway_base::{RandomStream, Rate, StationId};

use super::config::DcfConfig;
use crate::OutgoingPacket;
use crate::counters::Counters;

/// A response, or the next frame of an exchange, to be sent a SIFS later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PendingResponse {
    None,
    Cts {
        to: StationId,
        /// Duration field (µs).
        duration: u32,
    },
    Ack {
        to: StationId,
    },
    Data,
}

#[derive(Clone, Debug)]
pub(super) struct TransmitState {
    pub packet: Option<OutgoingPacket>,
    /// Size (bytes) and airtime (ns) of its frame.
    pub bytes: u32,
    pub airtime: u64,
    /// True if it exceeds the RTS threshold.
    pub uses_rts: bool,
    /// True if it has been transmitted before.
    pub is_retry: bool,
    /// True once its receiver has it. This is the duplicate filter of §9.2.9: a station sends one
    /// packet after another, so that the last sequence number kept by a receiver can only be that
    /// of this packet.
    pub is_received: bool,
    /// Sequence number, modulo 4096 (§7.1.3.4.1).
    pub sequence: u16,
    /// Short and long retry counts.
    pub short_retries: u8,
    pub long_retries: u8,
    /// Contention window.
    pub cw: u16,
    /// Deadline of the expected response (ns).
    pub response_deadline: u64,
    pub pending_response: PendingResponse,
    /// NAV before an RTS set it, and the deadline for a frame to follow that RTS.
    pub nav_before_rts: u64,
    pub rts_nav_deadline: u64,
    pub backoff_stream: RandomStream,
    pub error_stream: RandomStream,
    pub counters: Counters,
}

impl TransmitState {
    pub fn new(config: &DcfConfig, seed: u64, station: StationId) -> Self {
        Self {
            packet: None,
            bytes: 0,
            airtime: 0,
            uses_rts: false,
            is_retry: false,
            is_received: false,
            sequence: 0,
            short_retries: 0,
            long_retries: 0,
            cw: config.cw_min,
            response_deadline: 0,
            pending_response: PendingResponse::None,
            nav_before_rts: 0,
            rts_nav_deadline: 0,
            backoff_stream: RandomStream::new(seed, "backoff", station.into()),
            error_stream: RandomStream::new(seed, "frame-error", station.into()),
            counters: Counters::default(),
        }
    }

    /// Accepts a packet for transmission.
    pub fn accept(&mut self, packet: OutgoingPacket, config: &DcfConfig) {
        let rate: Rate = if packet.to.is_some() { config.data_rate } else { config.basic_rate };
        self.bytes = config.frame_bytes(packet.bytes);
        self.airtime = config.airtime(self.bytes, rate).as_nanos();
        self.uses_rts = config.uses_rts(packet.bytes);
        self.packet = Some(packet);
        self.is_retry = false;
        self.is_received = false;
        self.sequence = (self.sequence + 1) & 4095;
        if !config.counts_outlive_packets {
            (self.short_retries, self.long_retries) = (0, 0);
        }
    }

    /// Forgets the exchange in progress and earlier failures, but not the packet.
    pub fn forget_exchange(&mut self, config: &DcfConfig) {
        self.is_retry = false;
        (self.short_retries, self.long_retries) = (0, 0);
        self.cw = config.cw_min;
        self.pending_response = PendingResponse::None;
    }

    /// Draws a backoff in slots (§9.2.4).
    pub fn draw_backoff(&mut self, config: &DcfConfig) -> u16 {
        let bound = u64::from(self.cw) + u64::from(config.backoff_includes_cw);
        self.backoff_stream.uniform_below(bound) as u16
    }

    /// Doubles the contention window.
    pub fn double_contention_window(&mut self, config: &DcfConfig) {
        self.cw = (2 * self.cw + 1).min(config.cw_max);
    }
}
