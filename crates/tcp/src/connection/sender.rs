//! The sending half beyond what loss recovery needs: the stream, the peer's window, timing,
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

/// Sending stopped by an aid.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub release: Release,
    pub probe: Option<ProbeSpacing>,
}

/// What an aid wants of the next retransmission timeout.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NextTimeout {
    /// The RTO is not doubled.
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
    /// No second reduction until this is acknowledged: once a window of data.
    pub point: Option<Seq>,
}

/// The sending half of a connection.
#[derive(Debug)]
pub(super) struct Sender {
    pub iss: Seq,
    /// Our SYN is acknowledged. Numbers can't tell: SND.UNA comes by the SYN's again every 4 GiB.
    pub syn_acked: bool,
    pub flight: Flight,
    pub recovery: Box<dyn LossRecovery>,
    /// How much of the congestion window is used.
    pub window_use: WindowUse,
    pub rtt: RttEstimator,
    /// A round of measurements is over when more than this is acknowledged.
    pub rtt_round: Seq,
    /// The one segment whose round trip is timed, by its end (without timestamps).
    pub timed: Option<(Seq, Instant)>,
    /// Offset in our stream of the byte at `una` (of the first byte while the SYN is out).
    pub una_offset: u64,
    /// Bytes that the application has written.
    pub written: u64,
    /// The application has closed.
    pub closing: bool,
    /// Where our FIN stands, once sent.
    pub fin: Option<Seq>,
    /// The peer's window (bytes), and the segment that said so (RFC 9293 §3.10.7.4).
    pub wnd: u32,
    pub wl1: Seq,
    pub wl2: Seq,
    pub largest_wnd: u32,
    pub wnd_shift: u8,
    pub ecn: EcnSender,
    /// How often the congestion window was reduced.
    pub reductions: u64,
    pub held: Option<Held>,
    /// What an aid wants sent again, and whether ahead of the queue.
    pub resend: VecDeque<(SeqRange, bool)>,
    /// The peer's last echo of our clock, which is its TS.Recent (RFC 7323 §4.3).
    pub echoed: u32,
    /// The acknowledgment of what lies before this is no round-trip sample.
    pub untimed: Option<Seq>,
    /// A probe is to be sent.
    pub probe_due: bool,
    /// A tail loss probe is to be sent.
    pub tail_probe_due: bool,
    /// A keep-alive is to be sent.
    pub keep_alive_due: bool,
    /// Gap after the next probe.
    pub probe_gap: Duration,
    /// Timeouts, or unanswered probes, in a row.
    pub retries: u32,
    /// The last response to a loss, while it may have been for nothing.
    pub undo: Option<UndoState>,
    /// What the next round trip is taken together with.
    pub remembered: Option<Remembered>,
    /// The timeouts of the segment at SND.UNA.
    pub disruption: Option<Disruption>,
    /// What an aid wants of the next timeout.
    pub next_timeout: NextTimeout,
    /// What an aid lets be outstanding at the most (bytes).
    pub limit: Option<u32>,
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
            flight: Flight::new(
                iss,
                mss,
                // RFC 5681 §3.1: the threshold as high as it can be.
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

    /// Sequence number of the first byte of data not acknowledged.
    fn data_una(&self) -> Seq {
        if self.syn_acked { self.flight.una() } else { self.iss + 1 }
    }

    /// Offset in our stream of the byte at `seq`.
    pub fn offset_at(&self, seq: Seq) -> u64 {
        self.una_offset + u64::from(seq.since(self.data_una()))
    }

    /// Bytes written that lie at or beyond `seq`.
    pub fn waiting_from(&self, seq: Seq) -> u64 {
        self.written.saturating_sub(self.offset_at(seq))
    }

    /// Is there anything to send beyond `nxt`, the FIN included?
    pub fn has_unsent(&self) -> bool {
        let fin_waits = self.closing && self.fin.is_none();
        self.flight.nxt().before(self.flight.max())
            || self.waiting_from(self.flight.nxt()) > 0
            || fin_waits
    }

    /// Does something other than the congestion window keep data back: an aid, the peer, or that there
    /// is none?
    pub fn pauses(&self) -> bool {
        let idle = self.flight.outstanding() == 0 && !self.has_unsent();
        self.held.is_some() || self.wnd == 0 || idle
    }

    /// The congestion window was reduced, for whatever reason: the peer hears of it (RFC 3168
    /// §6.1.2), and what was marked meanwhile needs no second answer.
    pub fn reduced(&mut self) {
        self.reductions += 1;
        if self.ecn.on {
            self.ecn.cwr_due = true;
            self.ecn.point = Some(self.flight.max());
        }
    }

    /// Bytes that the peer's window, and an aid's limit, leave from `nxt` on.
    pub fn peer_room(&self) -> u32 {
        self.peer_room_from(self.flight.nxt())
    }

    /// The same from `seq` on.
    pub fn peer_room_from(&self, seq: Seq) -> u32 {
        let limit = self.limit.map_or(u32::MAX, |limit| limit.max(self.flight.mss()));
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
