//! The sending half in addition to the send state: the stream, the peer's window, RTT measurement,
//! ECN, and holds.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use driftway_base::{Duration, Instant, ProbeSpacing, Release, Retransmit, Seq, SeqRange, Setting};

use crate::config::Config;
use crate::disruption::Disruption;
use crate::flight::Flight;
use crate::growth::{self, MOST_WINDOW, Window};
use crate::recovery::{self, LossRecovery};
use crate::rtt::RttEstimator;
use crate::undo_state::{Remembered, UndoState};
use crate::window_use::WindowUse;

/// A hold: an aid has stopped sending.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub release: Release,
    pub probe: Option<ProbeSpacing>,
}

/// Response to the next retransmission timeout, as set by an aid.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NextTimeout {
    /// The RTO is not backed off.
    pub keep_rto: bool,
    pub retransmit: Retransmit,
    pub cwnd: Setting<u32>,
    pub ssthresh: Setting<u32>,
}

/// ECN at the sender (RFC 3168 §6.1.2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EcnSender {
    /// Negotiated.
    pub on: bool,
    /// The next new data carries CWR.
    pub cwr_due: bool,
    /// No second reduction until this is acknowledged: one per window of data.
    pub point: Option<Seq>,
}

/// The sending half of a connection.
#[derive(Debug)]
pub(super) struct Sender {
    pub iss: Seq,
    /// Our SYN is acknowledged. A comparison of sequence numbers is no substitute, since SND.UNA
    /// wraps.
    pub syn_acked: bool,
    pub flight: Flight,
    pub recovery: Box<dyn LossRecovery>,
    /// Usage of the congestion window.
    pub window_use: WindowUse,
    pub rtt: RttEstimator,
    /// A round of RTT measurements ends when more than this is acknowledged.
    pub rtt_round: Seq,
    /// End and transmission time of the timed segment (without timestamps).
    pub timed: Option<(Seq, Instant)>,
    /// Offset in our stream of the byte at SND.UNA (of the first byte until the SYN is
    /// acknowledged).
    pub una_offset: u64,
    /// Bytes that the application has written.
    pub written: u64,
    /// The application has closed.
    pub closing: bool,
    /// Sequence number of our FIN, once sent.
    pub fin: Option<Seq>,
    /// Send window (bytes), and the segment of its last update (RFC 9293 §3.10.7.4).
    pub wnd: u32,
    pub wl1: Seq,
    pub wl2: Seq,
    pub largest_wnd: u32,
    pub wnd_shift: u8,
    pub ecn: EcnSender,
    /// Number of congestion window reductions.
    pub reductions: u64,
    pub held: Option<Held>,
    /// Ranges to be retransmitted for an aid, each with whether it goes ahead of the queue.
    pub resend: VecDeque<(SeqRange, bool)>,
    /// Last echo of our timestamps, which is the peer's TS.Recent (RFC 7323 §4.3).
    pub echoed: u32,
    /// Acknowledgments up to here give no RTT sample.
    pub untimed: Option<Seq>,
    /// A window probe is to be sent.
    pub probe_due: bool,
    /// A tail loss probe is to be sent.
    pub tail_probe_due: bool,
    /// A keep-alive is to be sent.
    pub keep_alive_due: bool,
    /// Interval after the next probe.
    pub probe_gap: Duration,
    /// Consecutive timeouts or unanswered probes.
    pub retries: u32,
    /// The last response to a loss, while it may be spurious.
    pub undo: Option<UndoState>,
    /// Estimates to be combined with the next RTT sample.
    pub remembered: Option<Remembered>,
    /// The timeouts of the segment at SND.UNA.
    pub disruption: Option<Disruption>,
    /// Response to the next timeout, as set by an aid.
    pub next_timeout: NextTimeout,
    /// Limit set by an aid to the outstanding data (bytes).
    pub limit: Option<u32>,
    /// Time of the last data transmission.
    pub last_sent: Instant,
}

impl Sender {
    pub fn new(config: &Config, iss: Seq) -> Self {
        let mss = u32::from(config.mss);
        let options = config.options();
        Self {
            iss,
            syn_acked: false,
            flight: Flight::new(
                iss,
                mss,
                // RFC 5681 §3.1: ssthresh is initially as high as possible.
                Window { cwnd: initial_window(config, mss), ssthresh: MOST_WINDOW },
                growth::new(config.growth, &options),
                &options,
            ),
            recovery: recovery::new(config.recovery, &options),
            window_use: WindowUse::new(iss),
            rtt: RttEstimator::new(
                config.initial_rto,
                config.min_rto,
                config.max_rto,
                config.clock.rtt,
            )
            .clearing(config.clear_srtt_after)
            .as_linux(config.linux_rto)
            .as_rfc_793(config.rfc_793_rto),
            rtt_round: iss,
            timed: None,
            una_offset: 0,
            written: 0,
            closing: false,
            fin: None,
            wnd: 0,
            wl1: Seq(0),
            wl2: Seq(0),
            largest_wnd: 0,
            wnd_shift: 0,
            ecn: EcnSender::default(),
            reductions: 0,
            held: None,
            resend: VecDeque::new(),
            echoed: 0,
            untimed: None,
            probe_due: false,
            tail_probe_due: false,
            keep_alive_due: false,
            probe_gap: Duration::ZERO,
            retries: 0,
            undo: None,
            remembered: None,
            disruption: None,
            next_timeout: NextTimeout::default(),
            limit: None,
            last_sent: Instant::ZERO,
        }
    }

    /// Sequence number of the first unacknowledged byte of data.
    fn data_una(&self) -> Seq {
        if self.syn_acked { self.flight.una() } else { self.iss + 1 }
    }

    /// Offset in our stream of the byte at `seq`.
    pub fn offset_at(&self, seq: Seq) -> u64 {
        self.una_offset + u64::from(seq.since(self.data_una()))
    }

    /// Written bytes at or beyond `seq`.
    pub fn waiting_from(&self, seq: Seq) -> u64 {
        self.written.saturating_sub(self.offset_at(seq))
    }

    /// True if there is anything to send from SND.NXT, the FIN included.
    pub fn has_unsent(&self) -> bool {
        let fin_waits = self.closing && self.fin.is_none();
        self.flight.nxt().before(self.flight.max())
            || self.waiting_from(self.flight.nxt()) > 0
            || fin_waits
    }

    /// True if sending is limited by something other than the congestion window: an aid, the peer,
    /// or a lack of data.
    pub fn pauses(&self) -> bool {
        let idle = self.flight.outstanding() == 0 && !self.has_unsent();
        self.held.is_some() || self.wnd == 0 || idle
    }

    /// Counts a reduction of the congestion window for any reason: CWR reports it to the peer (RFC
    /// 3168 §6.1.2), and marks of the present window need no second response.
    pub fn reduced(&mut self) {
        self.reductions += 1;
        if self.ecn.on {
            self.ecn.cwr_due = true;
            self.ecn.point = Some(self.flight.max());
        }
    }

    /// Usable window from SND.NXT: within the peer's window and an aid's limit (bytes).
    pub fn peer_room(&self) -> u32 {
        self.peer_room_from(self.flight.nxt())
    }

    /// Usable window from `seq`.
    pub fn peer_room_from(&self, seq: Seq) -> u32 {
        let limit = self.limit.map_or(u32::MAX, |limit| limit.max(self.flight.mss()));
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
