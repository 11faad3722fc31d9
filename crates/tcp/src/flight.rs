//! What is outstanding, and what the window allows: the state that loss recovery works on.

use alloc::boxed::Box;

use base::{Instant, Seq, SeqRange};

use crate::forward::Forward;
use crate::growth::{Acked, Growth, Window};
use crate::prr::Prr;
use crate::scoreboard::Scoreboard;

/// How many duplicates mean a loss (RFC 5681 §3.2).
pub const DUP_THRESHOLD: u32 = 3;

/// What loss recovery is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is being recovered.
    Open,
    /// Fast recovery, until `point` is acknowledged.
    Recovery {
        /// The highest number sent when it began (RFC 6582: recover).
        point: Seq,
    },
    /// After a timeout, until `point` is acknowledged.
    Loss {
        /// The highest number sent when the timer went off.
        point: Seq,
    },
}

/// What had arrived at some time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivered {
    pub una: Seq,
    pub reported: u32,
}

/// Sequence numbers and windows of the sending half. Numbers as in RFC 9293 §3.3.1.
#[derive(Debug)]
pub struct Flight {
    /// Oldest number not acknowledged.
    pub una: Seq,
    /// Next number to send; behind `max` while going back.
    pub nxt: Seq,
    /// One past the highest number ever sent.
    pub max: Seq,
    /// Payload of a full segment (bytes).
    pub mss: u32,
    /// Congestion window and slow-start threshold.
    pub window: Window,
    /// How the window grows and falls.
    pub growth: Box<dyn Growth>,
    /// Consecutive duplicate acknowledgments.
    pub dup_acks: u32,
    /// What was outstanding at the first of them, before limited transmit added to it.
    pub before_limited: u32,
    /// What loss recovery is doing.
    pub phase: Phase,
    /// No fast retransmit until more than this is acknowledged (RFC 6582 §3.2, recover).
    pub recover: Option<Seq>,
    /// What the peer reported by SACK; stays empty without it.
    pub board: Scoreboard,
    /// The segment at `una` is to be sent again at once.
    pub resend_first: bool,
    /// One past the highest number retransmitted in this recovery (RFC 6675: HighRxt).
    pub high_rxt: Seq,
    /// The window before the last reduction, for an undo.
    pub before: Option<Window>,
    /// `una` when the timer last went off: a second timeout of the same segment leaves ssthresh.
    pub timed_out: Option<Seq>,
    /// How fast recovery is paced, if in proportion (RFC 9937).
    pub prr: Option<Prr>,
    /// New data instead of old after a timeout (RFC 5682).
    pub forward: Option<Forward>,
    /// Send new data on the first two duplicates (RFC 3042).
    pub limited_transmit: bool,
}

impl Flight {
    /// Bytes sent and not acknowledged (RFC 5681: FlightSize).
    pub fn outstanding(&self) -> u32 {
        self.max.since(self.una)
    }

    /// Responds to congestion: a new ssthresh; the window stays for the caller to set.
    pub fn reduce(&mut self, now: Instant) {
        self.before = Some(self.window);
        // RFC 5681 §3.2, step 2: what limited transmit has sent does not count.
        let counting = self.phase == Phase::Open && self.dup_acks > 0;
        let most = if counting { self.before_limited } else { u32::MAX };
        let flight = self.outstanding().min(most);
        self.window.ssthresh = self.growth.on_congestion(now, &self.window, flight, self.mss);
    }

    /// Responds to congestion without a loss.
    pub fn cut(&mut self, now: Instant) {
        self.reduce(now);
        self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
    }

    /// Sending starts over at SND.UNA, without anything being counted as lost. Duplicates of what
    /// goes twice then must not start a recovery.
    pub fn step_back(&mut self) {
        self.nxt = self.una;
        self.dup_acks = 0;
        self.resend_first = false;
        self.forward = None;
        if self.outstanding() > 0 {
            self.recover = Some(self.max);
        }
        self.end_pacing();
        if let Phase::Recovery { .. } = self.phase {
            self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
            self.phase = Phase::Open;
        }
    }

    /// An acknowledgment may have ended the recovery: then the window is ssthresh (RFC 9937 §6),
    /// before it begins another one, with an account of its own.
    pub fn end_recovery(&mut self) {
        if let Some(prr) = self.prr.as_mut().filter(|prr| prr.is_on())
            && self.phase == Phase::Open
        {
            prr.end();
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// What has arrived, if rates are reduced in proportion here.
    pub(crate) fn delivered(&self) -> Option<Delivered> {
        let reported = || self.board.bytes();
        self.prr.is_some().then(|| Delivered { una: self.una, reported: reported() })
    }

    /// Fast recovery ends otherwise than by an acknowledgment.
    fn end_pacing(&mut self) {
        if let Some(prr) = &mut self.prr {
            prr.end();
        }
    }

    /// New data was acknowledged outside of fast recovery.
    pub fn grow(&mut self, now: Instant, acked: Acked) {
        self.growth.on_ack(now, &mut self.window, acked);
    }

    /// The retransmission timer went off: one segment, from SND.UNA on (RFC 5681 §3.1).
    pub fn collapse(&mut self, now: Instant) {
        if self.timed_out != Some(self.una) {
            self.reduce(now);
        }
        self.timed_out = Some(self.una);
        self.growth.on_timeout();
        if self.board.covers(self.una).is_some() {
            // The peer took its word back (RFC 2018 §8).
            self.board.clear();
        }
        self.end_pacing();
        self.window.cwnd = self.mss;
        self.nxt = self.una;
        self.dup_acks = 0;
        self.resend_first = false;
        self.recover = Some(self.max);
        self.phase = Phase::Loss { point: self.max };
    }

    /// Out of loss phase once everything of before the timeout is acknowledged.
    pub fn leave_loss(&mut self) {
        if let Phase::Loss { point } = self.phase
            && self.una.at_or_after(point)
        {
            self.phase = Phase::Open;
        }
    }

    /// The third duplicate, and recovery allowed: after a recovery or timeout, duplicates of what
    /// it sent again must not start another one (RFC 6582 §3.2, step 2).
    pub fn third_duplicate(&self) -> bool {
        self.phase == Phase::Open
            && self.dup_acks == DUP_THRESHOLD
            && self.recover.is_none_or(|point| self.una.after(point))
    }

    /// Fast recovery begins, the window inflated by what has left the network (RFC 5681 §3.2,
    /// steps 2 and 3).
    pub fn enter_inflated(&mut self, now: Instant) {
        self.reduce(now);
        self.window.cwnd = self.window.ssthresh.saturating_add(DUP_THRESHOLD * self.mss);
        self.phase = Phase::Recovery { point: self.max };
        self.resend_first = true;
    }

    /// Takes the last reduction back: window as before, nothing counts as lost.
    pub fn undo(&mut self) -> bool {
        let Some(before) = self.before.take() else { return false };
        // In fast recovery the window is inflated, or on its way down.
        let recovering = matches!(self.phase, Phase::Recovery { .. });
        let least = if recovering { 0 } else { self.window.cwnd };
        self.window.cwnd = before.cwnd.max(least);
        self.window.ssthresh = self.window.ssthresh.max(before.ssthresh);
        self.end_pacing();
        self.growth.on_undo();
        self.timed_out = None;
        self.dup_acks = 0;
        self.phase = Phase::Open;
        self.resend_first = false;
        self.nxt = self.max;
        true
    }

    /// Numbers sent and, by what SACK says, not arrived and not lost, plus those sent again
    /// (SetPipe, RFC 6675 §4); without SACK, what lies between una and nxt.
    pub fn pipe(&self) -> u32 {
        match self.phase {
            Phase::Open | Phase::Loss { .. } => {
                self.board.missing(SeqRange::new(self.una, self.nxt))
            }
            Phase::Recovery { .. } => {
                let missing = |start, end| self.board.missing(SeqRange::new(start, end));
                let lost = self.board.lost_before(self.mss).unwrap_or(self.una);
                missing(self.una, self.max)
                    .saturating_sub(missing(self.una, lost))
                    .saturating_add(missing(self.una, self.high_rxt.max(self.una)))
            }
        }
    }
}
