//! What a TCP is told before it starts.

use base::Duration;

use crate::clock::Clock;

/// Which loss recovery (one file each in `recovery/`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryKind {
    /// Fast retransmit, then slow start (4.3BSD-Tahoe; Fall & Floyd 1996).
    Tahoe,
    /// Fast retransmit and fast recovery (RFC 5681 §3.2).
    Reno,
    /// Partial acknowledgments keep recovery going (RFC 6582).
    NewReno,
    /// Conservative recovery from SACK information (RFC 6675).
    Sack,
    /// Losses by time, and tail loss probes (RFC 8985); without SACK, as `NewReno`.
    RackTlp,
}

/// Which window growth (one file each in `growth/`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrowthKind {
    /// Slow start and congestion avoidance (RFC 5681 §3.1).
    Reno,
    /// CUBIC (RFC 9438).
    Cubic,
}

/// Which recovery goes with which growth. Tahoe and Reno are studied as they were.
pub const PAIRS: &[(RecoveryKind, GrowthKind)] = &[
    (RecoveryKind::Tahoe, GrowthKind::Reno),
    (RecoveryKind::Reno, GrowthKind::Reno),
    (RecoveryKind::NewReno, GrowthKind::Reno),
    (RecoveryKind::NewReno, GrowthKind::Cubic),
    (RecoveryKind::Sack, GrowthKind::Reno),
    (RecoveryKind::Sack, GrowthKind::Cubic),
    (RecoveryKind::RackTlp, GrowthKind::Reno),
    (RecoveryKind::RackTlp, GrowthKind::Cubic),
];

/// Delayed acknowledgments (RFC 9293 §3.8.6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedAck {
    /// How long an acknowledgment may wait.
    pub timeout: Duration,
    /// Fires on a tick of that length instead of exactly (BSD's 200 ms fast timer).
    pub on_tick: bool,
}

/// The configuration of one connection. What is negotiated (SACK, timestamps, window scale, ECN)
/// is used only if the peer offers it, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Loss recovery.
    pub recovery: RecoveryKind,
    /// Window growth.
    pub growth: GrowthKind,
    /// Largest segment we send and announce: payload before options (bytes; RFC 6691).
    pub mss: u16,
    /// Receive buffer (bytes).
    pub receive_buffer: u32,
    /// The timers' clock.
    pub clock: Clock,
    /// Delayed acknowledgments; `None`: every segment is acknowledged at once.
    pub delayed_ack: Option<DelayedAck>,
    /// Offer SACK (RFC 2018).
    pub sack: bool,
    /// Offer timestamps (RFC 7323).
    pub timestamps: bool,
    /// Offer window scaling (RFC 7323).
    pub window_scale: bool,
    /// Offer ECN (RFC 3168).
    pub ecn: bool,
    /// Hold small segments back while data is outstanding (Nagle, RFC 9293 §3.7.4).
    pub nagle: bool,
    /// New data on the first two duplicate acknowledgments (RFC 3042).
    pub limited_transmit: bool,
    /// In fast recovery, send in proportion to what arrives (RFC 9937); needs SACK.
    pub prr: bool,
    /// Report what arrives twice (RFC 2883), and take a response to a loss back when every
    /// retransmission was reported (RFC 3708).
    pub dsack: bool,
    /// Take a response to a loss back when the first acknowledgment echoes an older timestamp than
    /// the retransmission's (RFC 3522, RFC 4015).
    pub eifel: bool,
    /// After a timeout, find out with new data whether it was spurious (RFC 5682).
    pub f_rto: bool,
    /// Take a back-off of the RTO back when a router says that it has no route (RFC 6069).
    pub lcd: bool,
    /// Initial window (segments).
    pub initial_window: u32,
    /// RTO before the first sample.
    pub initial_rto: Duration,
    /// Least RTO.
    pub min_rto: Duration,
    /// Largest RTO, back-off included.
    pub max_rto: Duration,
    /// Shortest gap between zero-window probes.
    pub persist_min: Duration,
    /// Longest gap between zero-window probes.
    pub persist_max: Duration,
    /// Send keep-alives after this much silence.
    pub keep_alive: Option<Duration>,
    /// Timeouts of one segment, or unanswered keep-alives, before the connection is given up.
    pub max_retries: u32,
    /// Timeouts of a SYN before the attempt is given up.
    pub max_syn_retries: u32,
    /// Maximum segment lifetime; TIME-WAIT lasts twice that.
    pub msl: Duration,
    /// React to ICMP source quench as 4.4BSD did, by a slow start; RFC 6633 says ignore it.
    pub source_quench: bool,
    /// Answers an acknowledgment that is older than any window with one of its own (RFC 5961 §5.2).
    pub challenge_old_acks: bool,
    /// After so many timeouts in a row the next measurement counts as the first: what
    /// was known of the path is from before an outage (RFC 6298 §5, a MAY). `None`: never. 4.4BSD
    /// (`tcp_timer.c`: `TCP_MAXRXTSHIFT / 4`) and ns-2.35 (tcp/tcp.cc `rtt_backoff`): 4.
    pub clear_srtt_after: Option<u32>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            recovery: RecoveryKind::Sack,
            growth: GrowthKind::Reno,
            mss: 1460,
            receive_buffer: 65_535,
            clock: Clock::uniform(Duration::from_millis(1), Duration::ZERO),
            delayed_ack: Some(DelayedAck { timeout: Duration::from_millis(200), on_tick: false }),
            sack: true,
            timestamps: false,
            window_scale: false,
            ecn: false,
            nagle: true,
            limited_transmit: true,
            prr: false,
            dsack: false,
            eifel: false,
            f_rto: false,
            lcd: false,
            initial_window: 10,
            initial_rto: Duration::from_secs(1),
            min_rto: Duration::from_secs(1),
            max_rto: Duration::from_secs(64),
            persist_min: Duration::from_secs(1),
            persist_max: Duration::from_secs(60),
            keep_alive: None,
            max_retries: 15,
            max_syn_retries: 6,
            msl: Duration::from_secs(30),
            source_quench: false,
            challenge_old_acks: true,
            clear_srtt_after: None,
        }
    }
}

impl Config {
    /// The shift with which our receive window is announced: the least that lets the whole buffer
    /// show in 16 bits (RFC 7323 §2.3), at most 14.
    pub fn receive_shift(&self) -> u8 {
        let mut shift = 0;
        while shift < 14 && (self.receive_buffer >> shift) > 65_535 {
            shift += 1;
        }
        shift
    }
}
