//! The sending half beyond what loss recovery needs: the stream, the peer's window, timing,
//! ECN, and holds.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use driftway_base::{Duration, Instant, ProbeSpacing, Release, Retransmit, Seq, SeqRange, Assign};

use crate::config::Config;
use crate::disruption::Disruption;
use crate::send_state::SendState;
use crate::growth::{self, MAX_WINDOW, CongestionWindow};
use crate::recovery::{self, LossRecovery};
use crate::rtt::RttEstimator;
use crate::undo_state::{PriorRtt, UndoState};
use crate::cwnd_usage::CwndUsage;

/// Sending stopped by an aid.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hold {
    pub release: Release,
    pub probe: Option<ProbeSpacing>,
}

/// What an aid wants of the next retransmission timeout.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TimeoutOverride {
    /// The RTO is not doubled.
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
    /// No second reduction until this is acknowledged: once a window of data.
    pub cwr_until: Option<Seq>,
}

/// The sending half of a connection.
#[derive(Debug)]
pub(super) struct Sender {
    pub iss: Seq,
    /// Our SYN is acknowledged. Numbers can't tell: SND.UNA comes by the SYN's again every 4 GiB.
    pub syn_acked: bool,
    pub send_state: SendState,
    pub recovery: Box<dyn LossRecovery>,
    /// How much of the congestion window is used.
    pub cwnd_usage: CwndUsage,
    pub rtt: RttEstimator,
    /// A round of measurements is over when more than this is acknowledged.
    pub rtt_round_end: Seq,
    /// The one segment whose round trip is timed, by its end (without timestamps).
    pub timed_segment: Option<(Seq, Instant)>,
    /// Offset in our stream of the byte at `una` (of the first byte while the SYN is out).
    pub una_offset: u64,
    /// Bytes that the application has written.
    pub written: u64,
    /// The application has closed.
    pub close_requested: bool,
    /// Where our FIN stands, once sent.
    pub fin_seq: Option<Seq>,
    /// The peer's window (bytes), and the segment that said so (RFC 9293 §3.10.7.4).
    pub wnd: u32,
    pub wl1: Seq,
    pub wl2: Seq,
    pub max_wnd: u32,
    pub wnd_shift: u8,
    pub ecn: EcnSender,
    /// How often the congestion window was reduced.
    pub cwnd_reductions: u64,
    pub hold: Option<Hold>,
    /// What an aid wants sent again, and whether ahead of the queue.
    pub aid_retransmissions: VecDeque<(SeqRange, bool)>,
    /// The peer's last echo of our clock, which is its TS.Recent (RFC 7323 §4.3).
    pub last_echoed_timestamp: u32,
    /// The acknowledgment of what lies before this is no round-trip sample.
    pub no_sample_until: Option<Seq>,
    /// A probe is to be sent.
    pub window_probe_due: bool,
    /// A tail loss probe is to be sent.
    pub tail_probe_due: bool,
    /// A keep-alive is to be sent.
    pub keep_alive_due: bool,
    /// Gap after the next probe.
    pub probe_interval: Duration,
    /// Timeouts, or unanswered probes, in a row.
    pub retries: u32,
    /// The last response to a loss, while it may have been for nothing.
    pub undo_state: Option<UndoState>,
    /// What the next round trip is taken together with.
    pub prior_rtt: Option<PriorRtt>,
    /// The timeouts of the segment at SND.UNA.
    pub disruption: Option<Disruption>,
    /// What an aid wants of the next timeout.
    pub timeout_override: TimeoutOverride,
    /// What an aid lets be outstanding at the most (bytes).
    pub aid_cwnd_limit: Option<u32>,
    /// When data last left.
    pub last_sent: Instant,
}

impl Sender {
    pub fn new(config: &Config, iss: Seq) -> Self {
        let mss = u32::from(config.mss);
        let options = config.options();
        Self {
            iss,
            syn_acked: false,
            send_state: SendState::new(
                iss,
                mss,
                // RFC 5681 §3.1: the threshold as high as it can be.
                CongestionWindow { cwnd: initial_window(config, mss), ssthresh: MAX_WINDOW },
                growth::new(config.growth, &options),
                &options,
            ),
            recovery: recovery::new(config.recovery, &options),
            cwnd_usage: CwndUsage::new(iss),
            rtt: RttEstimator::new(
                config.initial_rto,
                config.min_rto,
                config.max_rto,
                config.clock.rtt_tick,
            )
            .with_clear_after(config.clear_srtt_after)
            .with_linux_rttvar(config.linux_rto)
            .with_rfc_793(config.rfc_793_rto),
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

    /// Sequence number of the first byte of data not acknowledged.
    fn data_una(&self) -> Seq {
        if self.syn_acked { self.send_state.una() } else { self.iss + 1 }
    }

    /// Offset in our stream of the byte at `seq`.
    pub fn offset_at(&self, seq: Seq) -> u64 {
        self.una_offset + u64::from(seq.since(self.data_una()))
    }

    /// Bytes written that lie at or beyond `seq`.
    pub fn written_bytes_from(&self, seq: Seq) -> u64 {
        self.written.saturating_sub(self.offset_at(seq))
    }

    /// Is there anything to send beyond `nxt`, the FIN included?
    pub fn has_unsent(&self) -> bool {
        let fin_waits = self.close_requested && self.fin_seq.is_none();
        self.send_state.nxt().before(self.send_state.max())
            || self.written_bytes_from(self.send_state.nxt()) > 0
            || fin_waits
    }

    /// Does something other than the congestion window keep data back: an aid, the peer, or that there
    /// is none?
    pub fn is_growth_paused(&self) -> bool {
        let idle = self.send_state.outstanding() == 0 && !self.has_unsent();
        self.hold.is_some() || self.wnd == 0 || idle
    }

    /// The congestion window was reduced, for whatever reason: the peer hears of it (RFC 3168
    /// §6.1.2), and what was marked meanwhile needs no second answer.
    pub fn on_cwnd_reduced(&mut self) {
        self.cwnd_reductions += 1;
        if self.ecn.negotiated {
            self.ecn.cwr_due = true;
            self.ecn.cwr_until = Some(self.send_state.max());
        }
    }

    /// Bytes that the peer's window, and an aid's limit, leave from `nxt` on.
    pub fn usable_window(&self) -> u32 {
        self.usable_window_from(self.send_state.nxt())
    }

    /// The same from `seq` on.
    pub fn usable_window_from(&self, seq: Seq) -> u32 {
        let limit = self.aid_cwnd_limit.map_or(u32::MAX, |limit| limit.max(self.send_state.mss()));
        (self.data_una() + self.wnd.min(limit)).since(seq)
    }
}

/// The initial window in bytes (RFC 6928 §2: at most so many segments and never over 14,600 bytes
/// unless two segments are).
pub(super) fn initial_window(config: &Config, mss: u32) -> u32 {
    let segments = config.initial_window.max(1);
    if segments <= 4 {
        return segments.saturating_mul(mss);
    }
    segments.saturating_mul(mss).min((2 * mss).max(14_600))
}
