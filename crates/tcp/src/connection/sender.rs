//! The sending half in addition to the send state: the stream, the peer's window, RTT measurement,
//! ECN, and holds.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use driftway_base::{
    Assign, Duration, HeldTimers, Instant, ProbeSpacing, Release, Retransmit, Seq, SeqRange,
};
use driftway_wire::SegmentRange;

use crate::config::Config;
use crate::congestion::{self, CongestionState};
use crate::cwnd_usage::CwndUsage;
use crate::disruption::Disruption;
use crate::pacing::Pacing;
use crate::recovery::{self, LossRecovery};
use crate::rtt::RttEstimator;
use crate::send_state::SendState;
use crate::undo_state::{PriorRtt, UndoState};

/// A hold: an aid has stopped sending.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hold {
    pub release: Release,
    pub probe: Option<ProbeSpacing>,
    pub timers: HeldTimers,
}

/// Response to the next retransmission timeout, as set by an aid.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TimeoutOverride {
    /// The RTO is not backed off.
    pub keep_rto: bool,
    pub retransmit: Retransmit,
    pub cwnd: Assign<u32>,
    pub ssthresh: Assign<u32>,
}

/// ECN at the sender (RFC 3168 §6.1.2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EcnSender {
    /// Negotiated.
    pub negotiated: bool,
    /// The next new data carries CWR.
    pub cwr_due: bool,
    /// No second reduction until this is acknowledged: one per window of data.
    pub cwr_until: Option<Seq>,
}

/// The sending half of a connection.
#[derive(Debug)]
pub(super) struct Sender {
    pub iss: Seq,
    /// Our SYN is acknowledged. A comparison of sequence numbers is no substitute, since SND.UNA
    /// wraps.
    pub syn_acked: bool,
    pub send_state: SendState,
    pub recovery: Box<dyn LossRecovery>,
    /// Usage of the congestion window.
    pub cwnd_usage: CwndUsage,
    pub pacing: Pacing,
    pub rtt: RttEstimator,
    /// A round of RTT measurements ends when more than this is acknowledged.
    pub rtt_round_end: Seq,
    /// End and transmission time of the timed segment (without timestamps).
    pub timed_segment: Option<(Seq, Instant)>,
    /// Offset in our stream of the byte at SND.UNA (of the first byte until the SYN is
    /// acknowledged).
    pub una_offset: u64,
    /// Bytes that the application has written.
    pub written: u64,
    /// The application has closed.
    pub close_requested: bool,
    /// Sequence number of our FIN, once sent.
    pub fin_seq: Option<Seq>,
    /// Send window (bytes), and the segment of its last update (RFC 9293 §3.10.7.4).
    pub wnd: u32,
    pub wl1: Seq,
    pub wl2: Seq,
    pub max_wnd: u32,
    pub wnd_shift: u8,
    pub ecn: EcnSender,
    /// Number of congestion window reductions.
    pub cwnd_reductions: u64,
    pub hold: Option<Hold>,
    /// Ranges to be retransmitted for an aid, each with whether it goes ahead of the queue.
    pub aid_retransmissions: VecDeque<(SeqRange, bool)>,
    /// Last echo of our timestamps, which is the peer's TS.Recent (RFC 7323 §4.3).
    pub last_echoed_timestamp: u32,
    /// Acknowledgments up to here give no RTT sample.
    pub no_sample_until: Option<Seq>,
    /// A window probe is to be sent.
    pub window_probe_due: bool,
    /// A tail loss probe is to be sent.
    pub tail_probe_due: bool,
    /// A keep-alive is to be sent.
    pub keep_alive_due: bool,
    /// Interval after the next probe.
    pub probe_interval: Duration,
    /// Consecutive timeouts or unanswered probes.
    pub retries: u32,
    /// The last response to a loss, while it may be spurious.
    pub undo_state: Option<UndoState>,
    /// Estimates to be combined with the next RTT sample.
    pub prior_rtt: Option<PriorRtt>,
    /// The timeouts of the segment at SND.UNA.
    pub disruption: Option<Disruption>,
    /// Response to the next timeout, as set by an aid.
    pub timeout_override: TimeoutOverride,
    /// Limit set by an aid to the outstanding data (bytes).
    pub aid_cwnd_limit: Option<u32>,
    /// Time of the last data transmission.
    pub last_sent: Instant,
}

impl Sender {
    pub fn new(config: &Config, iss: Seq) -> Self {
        let mss = u32::from(config.mss);
        let options = config.options();
        let recovery = recovery::new(config.recovery, &options);
        Self {
            iss,
            syn_acked: false,
            send_state: SendState::new(
                iss,
                mss,
                CongestionState::new(
                    initial_window(config, mss),
                    congestion::new(config.growth, &config.control_options(iss.0.into())),
                ),
                recovery.needs_log(),
                &options,
            ),
            recovery,
            cwnd_usage: CwndUsage::new(iss),
            pacing: Pacing::default(),
            rtt: RttEstimator::new(
                config.initial_rto,
                config.min_rto,
                config.max_rto,
                config.clock.rtt_tick,
            )
            .with_clear_after(config.clear_srtt_after)
            .with_linux_rttvar(config.linux_rto)
            .with_rfc_793(config.rfc_793_rto)
            .with_unit(config.clock.timeout_unit()),
            rtt_round_end: iss,
            timed_segment: None,
            una_offset: 0,
            written: 0,
            close_requested: false,
            fin_seq: None,
            wnd: 0,
            wl1: Seq(0),
            wl2: Seq(0),
            max_wnd: 0,
            wnd_shift: 0,
            ecn: EcnSender::default(),
            cwnd_reductions: 0,
            hold: None,
            aid_retransmissions: VecDeque::new(),
            last_echoed_timestamp: 0,
            no_sample_until: None,
            window_probe_due: false,
            tail_probe_due: false,
            keep_alive_due: false,
            probe_interval: Duration::ZERO,
            retries: 0,
            undo_state: None,
            prior_rtt: None,
            disruption: None,
            timeout_override: TimeoutOverride::default(),
            aid_cwnd_limit: None,
            last_sent: Instant::ZERO,
        }
    }

    /// Sequence number of the first unacknowledged byte of data.
    fn data_una(&self) -> Seq {
        if self.syn_acked { self.send_state.una() } else { self.iss + 1 }
    }

    /// Offset in our stream of the byte at `seq`.
    pub fn offset_at(&self, seq: Seq) -> u64 {
        self.una_offset + u64::from(seq.since(self.data_una()))
    }

    /// The part `range` of our stream, with its FIN, once sent.
    pub fn segment_range(&self, range: SeqRange) -> SegmentRange {
        SegmentRange::of_stream(range, self.fin_seq)
    }

    /// Written bytes at or beyond `seq`.
    pub fn written_bytes_from(&self, seq: Seq) -> u64 {
        self.written.saturating_sub(self.offset_at(seq))
    }

    /// True if there is anything to send from SND.NXT, the FIN included.
    pub fn has_unsent(&self) -> bool {
        let fin_waits = self.close_requested && self.fin_seq.is_none();
        self.send_state.nxt().before(self.send_state.max())
            || self.written_bytes_from(self.send_state.nxt()) > 0
            || fin_waits
    }

    /// True if sending is limited by something other than the congestion window: an aid, the peer,
    /// or a lack of data.
    pub fn is_growth_paused(&self) -> bool {
        let idle = self.send_state.outstanding() == 0 && !self.has_unsent();
        self.hold.is_some() || self.wnd == 0 || idle
    }

    /// Counts a reduction of the congestion window for any reason: CWR reports it to the peer (RFC
    /// 3168 §6.1.2), and marks of the present window need no second response.
    pub fn on_cwnd_reduced(&mut self) {
        self.cwnd_reductions += 1;
        if self.ecn.negotiated {
            self.ecn.cwr_due = true;
            self.ecn.cwr_until = Some(self.send_state.max());
        }
    }

    /// Usable window from SND.NXT: within the peer's window and an aid's limit (bytes).
    pub fn usable_window(&self) -> u32 {
        self.usable_window_from(self.send_state.nxt())
    }

    /// Usable window from `seq`.
    pub fn usable_window_from(&self, seq: Seq) -> u32 {
        let limit = self.aid_cwnd_limit.map_or(u32::MAX, |limit| limit.max(self.send_state.mss()));
        (self.data_una() + self.wnd.min(limit)).since(seq)
    }
}

/// The initial window in bytes (RFC 6928 §2: the configured number of segments, at most the larger
/// of 14,600 bytes and two segments).
pub(super) fn initial_window(config: &Config, mss: u32) -> u32 {
    let segments = config.initial_window.max(1);
    if segments <= 4 {
        return segments.saturating_mul(mss);
    }
    segments.saturating_mul(mss).min((2 * mss).max(14_600))
}
