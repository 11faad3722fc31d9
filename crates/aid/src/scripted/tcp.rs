//! A TCP sender just large enough for an aid to act on: a window, one retransmission timer, three
//! duplicates, an echo of congestion, persist mode.

use alloc::collections::VecDeque;
use base::{Act, Done, Duration, Instant, Known, RecoveryState, Release, Seq, SeqRange, Setting};
use base::{ProbeSpacing, TcpView};
use wire::{Payload, TcpFlags, TcpSegment};

/// What TCP does about loss or congestion by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// The third duplicate acknowledgment came.
    FastRetransmit,
    /// The retransmission timer went off.
    Timeout,
    /// The peer echoes a congestion mark.
    CongestionEcho,
}

#[derive(Clone, Copy, Debug)]
struct Persist {
    release: Release,
    probes: Option<(Instant, Duration, Duration)>,
    /// What was left of the retransmission timer, if timers are frozen.
    frozen: Option<Option<Duration>>,
}

/// The sender's half of a connection. Reno, without the growth of the window in recovery.
#[derive(Clone, Debug)]
pub struct SmallTcp {
    /// Is there a connection?
    pub synchronized: bool,
    /// SND.UNA
    pub una: Seq,
    /// SND.NXT
    pub nxt: Seq,
    /// One past the highest sequence number sent.
    pub max: Seq,
    /// One past what the application wrote, and past the FIN if it closed.
    pub end: Seq,
    /// Congestion window (bytes).
    pub cwnd: u32,
    /// Slow-start threshold (bytes).
    pub ssthresh: u32,
    /// The peer's window (bytes).
    pub peer_window: u32,
    /// Segment size (bytes).
    pub mss: u32,
    /// The retransmission timeout, not backed off.
    pub rto: Duration,
    /// When the retransmission timer goes off.
    pub deadline: Option<Instant>,
    /// RCV.NXT
    pub rcv_nxt: Seq,
    /// What an aid lets be outstanding (bytes).
    pub limit: Option<u32>,
    /// ECN was agreed on.
    pub ecn: bool,
    /// Congestion window and slow-start threshold of before the last reduction.
    before: Option<(u32, u32)>,
    persist: Option<Persist>,
    fin: Option<Seq>,
    backoff: u32,
    duplicates: u32,
    recover: Option<Seq>,
    reduced_until: Option<Seq>,
    retransmit_first: bool,
    probe_due: bool,
    owes_cwr: bool,
    owes_ack: bool,
    resends: VecDeque<(TcpSegment, bool)>,
    responses: VecDeque<Response>,
}

impl SmallTcp {
    /// Its port.
    pub const PORT: u16 = 1000;
    /// The peer's port.
    pub const PEER_PORT: u16 = 80;
    /// The window that the peer's header shows.
    pub const WINDOW: u16 = 16_000;
    /// The first byte's sequence number: the numbers wrap in the twentieth segment.
    pub const START: Seq = Seq(u32::MAX - 1_999);

    /// Ten segments of 100 bytes may leave at once; RTO 1 s.
    pub fn established() -> Self {
        let (una, rcv_nxt) = (Self::START, Seq(7_000));
        Self {
            synchronized: true,
            una,
            nxt: una,
            max: una,
            end: una,
            cwnd: 1_000,
            ssthresh: 64_000,
            peer_window: u32::from(Self::WINDOW),
            mss: 100,
            rto: Duration::from_secs(1),
            deadline: None,
            rcv_nxt,
            limit: None,
            ecn: true,
            before: None,
            persist: None,
            fin: None,
            backoff: 0,
            duplicates: 0,
            recover: None,
            reduced_until: None,
            retransmit_first: false,
            probe_due: false,
            owes_cwr: false,
            owes_ack: false,
            resends: VecDeque::new(),
            responses: VecDeque::new(),
        }
    }

    /// In persist mode?
    pub fn is_persisting(&self) -> bool {
        self.persist.is_some()
    }

    /// Makes numbers start elsewhere, before anything is sent.
    pub fn start_at(&mut self, una: Seq) {
        (self.una, self.nxt, self.max, self.end) = (una, una, una, una);
    }

    pub(super) fn write(&mut self, bytes: u32) {
        self.end += bytes;
    }

    pub(super) fn close(&mut self) {
        self.fin = Some(self.end);
        self.end += 1;
    }

    /// The snapshot that an aid gets.
    pub fn view(&self) -> TcpView {
        let recovery = match (self.recover, self.backoff) {
            (Some(_), _) => RecoveryState::Recovery,
            (None, 0) => RecoveryState::Open,
            _ => RecoveryState::Loss,
        };
        TcpView {
            synchronized: self.synchronized,
            mss: Known::Exact(self.mss),
            una: Known::Exact(self.una),
            nxt: Known::Exact(self.nxt),
            max: Known::Exact(self.max),
            cwnd: Known::Exact(self.cwnd),
            ssthresh: Known::Exact(self.ssthresh),
            peer_window: Known::Exact(if self.is_persisting() { 0 } else { self.peer_window }),
            retransmission_deadline: Known::Exact(self.deadline),
            rto: Known::Exact(self.rto),
            srtt: Known::Unknown,
            recovery: Known::Exact(recovery),
            persisting: Known::Exact(self.is_persisting()),
            ecn: Known::Exact(self.ecn),
            rcv_nxt: Known::Exact(self.rcv_nxt),
            advertised_window: Known::Exact(u32::from(Self::WINDOW)),
        }
    }

    /// The next segment that it may send.
    pub(super) fn poll_transmit(&mut self, now: Instant) -> Option<TcpSegment> {
        if !self.synchronized {
            return None;
        }
        if core::mem::take(&mut self.probe_due) && self.end.after(self.una) {
            self.max = self.max.max(self.una + 1);
            return Some(self.segment(self.una, 1));
        }
        if core::mem::take(&mut self.retransmit_first) {
            let len = self.mss.min(self.max.since(self.una));
            return Some(self.segment(self.una, len));
        }
        let len = self.mss.min(self.end.since(self.nxt));
        let window = self.cwnd.min(self.peer_window).min(self.limit.unwrap_or(u32::MAX));
        if self.persist.is_none() && len > 0 && self.nxt.since(self.una) + len <= window {
            let mut segment = self.segment(self.nxt, len);
            if !self.nxt.before(self.max) && core::mem::take(&mut self.owes_cwr) {
                segment.flags = segment.flags.with(TcpFlags::CWR);
            }
            self.nxt += len;
            self.max = self.max.max(self.nxt);
            self.owes_ack = false;
            if self.deadline.is_none() {
                self.start_timer(now);
            }
            return Some(segment);
        }
        core::mem::take(&mut self.owes_ack).then(|| self.pure_ack())
    }

    pub(super) fn poll_resend(&mut self) -> Option<(TcpSegment, bool)> {
        self.resends.pop_front()
    }

    pub(super) fn poll_response(&mut self) -> Option<Response> {
        self.responses.pop_front()
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        let probe = self.persist.and_then(|persist| persist.probes).map(|(at, ..)| at);
        [self.deadline, probe].into_iter().flatten().min()
    }

    pub(super) fn on_timeout(&mut self, now: Instant) {
        if self.deadline.is_some_and(|at| at <= now) {
            self.responses.push_back(Response::Timeout);
            if self.backoff == 0 {
                self.before = Some((self.cwnd, self.ssthresh));
            }
            self.ssthresh = self.half_of_flight();
            self.cwnd = self.mss;
            self.nxt = self.una;
            self.recover = None;
            self.duplicates = 0;
            self.backoff = (self.backoff + 1).min(6);
            self.start_timer(now);
        }
        if let Some(Persist { probes: Some((at, gap, max)), .. }) = &mut self.persist
            && *at <= now
        {
            *gap = gap.times(2).min(*max);
            *at = now + *gap;
            self.probe_due = true;
        }
    }

    pub(super) fn on_segment(&mut self, now: Instant, segment: &TcpSegment) {
        if segment.flags.contains(TcpFlags::RST) {
            self.synchronized = false;
            self.deadline = None;
            self.persist = None;
            return;
        }
        if segment.sequence_len() > 0 {
            self.owes_ack = true;
            if segment.seq == self.rcv_nxt {
                self.rcv_nxt = segment.end();
            }
        }
        let acceptable = segment.ack.at_or_after(self.una) && segment.ack.at_or_before(self.max);
        if !segment.flags.contains(TcpFlags::ACK) || !acceptable {
            return;
        }
        if segment.flags.contains(TcpFlags::ECE) {
            self.respond_to_echo();
        }
        let window = u32::from(segment.window);
        let waits = self.persist.map(|persist| persist.release);
        if segment.ack.after(self.una) {
            self.advance(now, segment.ack);
        } else if waits.is_none() && segment.sequence_len() == 0 && window == self.peer_window {
            self.count_duplicate();
        }
        self.peer_window = window;
        if waits == Some(Release::AnyAck) && window > 0 {
            self.leave_persist(now);
        }
        if window == 0 && self.persist.is_none() && self.end.after(self.una) {
            let spacing =
                ProbeSpacing { first: Duration::from_secs(5), max: Duration::from_secs(60) };
            self.enter_persist(now, Release::AnyAck, Some(spacing), false);
        }
    }

    pub(super) fn apply(&mut self, now: Instant, act: &Act) -> Done {
        if !self.synchronized {
            return Done::Unsupported;
        }
        match *act {
            Act::Hold { probe, step_back, cwnd, release, freeze_timers } => {
                if let Setting::Value(cwnd) = cwnd {
                    self.cwnd = cwnd;
                }
                if step_back {
                    self.nxt = self.una;
                }
                self.enter_persist(now, release, probe, freeze_timers);
            }
            Act::Resume { cwnd, .. } => {
                if self.persist.is_none() {
                    return Done::Unsupported;
                }
                if let Setting::Value(cwnd) = cwnd {
                    self.cwnd = cwnd;
                }
                self.leave_persist(now);
            }
            Act::Resend { range, ahead_of_queue } => {
                let mut at = range.start.max(self.una);
                let end = range.end.min(self.max);
                while at.before(end) {
                    let len = self.mss.min(end.since(at));
                    self.resends.push_back((self.segment(at, len), ahead_of_queue));
                    at += len;
                }
            }
            Act::Limit { cwnd } => self.limit = cwnd,
            Act::Undo => {
                let Some((cwnd, ssthresh)) = self.before.take() else { return Done::Unsupported };
                (self.cwnd, self.ssthresh) = (self.cwnd.max(cwnd), self.ssthresh.max(ssthresh));
                (self.recover, self.retransmit_first, self.nxt) = (None, false, self.max);
            }
            Act::Cut | Act::SetTimer { .. } | Act::Emit { .. } | Act::Seek(_) => {
                return Done::Unsupported;
            }
        }
        Done::Done
    }

    /// What is outstanding.
    pub fn outstanding(&self) -> SeqRange {
        SeqRange::new(self.una, self.max)
    }

    fn enter_persist(
        &mut self,
        now: Instant,
        release: Release,
        probe: Option<ProbeSpacing>,
        freeze: bool,
    ) {
        let probes = probe.map(|spacing| (now + spacing.first, spacing.first, spacing.max));
        let left = self.deadline.map(|at| at.since(now));
        self.persist = Some(Persist { release, probes, frozen: freeze.then_some(left) });
        self.deadline = None;
    }

    fn leave_persist(&mut self, now: Instant) {
        let frozen = self.persist.take().and_then(|persist| persist.frozen);
        if self.max.after(self.una) {
            match frozen.flatten() {
                Some(left) => self.deadline = Some(now + left),
                None => self.start_timer(now),
            }
        }
    }

    fn start_timer(&mut self, now: Instant) {
        self.deadline = Some(now + self.rto.times(1 << self.backoff));
    }

    fn half_of_flight(&self) -> u32 {
        (self.max.since(self.una).min(self.cwnd) / 2).max(2 * self.mss)
    }

    fn advance(&mut self, now: Instant, ack: Seq) {
        self.una = ack;
        self.nxt = self.nxt.max(ack);
        self.duplicates = 0;
        self.backoff = 0;
        if let Some(Persist { frozen: Some(left), .. }) = &mut self.persist {
            *left = left.map(|_| self.rto);
        } else if self.recover.take().is_some() {
            self.cwnd = self.ssthresh;
        } else if self.cwnd < self.ssthresh {
            self.cwnd += self.mss;
        } else {
            self.cwnd += (self.mss * self.mss / self.cwnd.max(1)).max(1);
        }
        self.deadline = None;
        if self.max.after(ack) && self.persist.is_none() {
            self.start_timer(now);
        }
    }

    fn count_duplicate(&mut self) {
        if self.max.after(self.una) {
            self.duplicates += 1;
            if self.duplicates == 3 && self.recover.is_none() {
                self.responses.push_back(Response::FastRetransmit);
                self.before = Some((self.cwnd, self.ssthresh));
                self.ssthresh = self.half_of_flight();
                self.cwnd = self.ssthresh;
                self.recover = Some(self.max);
                self.retransmit_first = true;
            }
        }
    }

    /// RFC 3168 §6.1.2: once a window.
    fn respond_to_echo(&mut self) {
        if self.reduced_until.is_none_or(|until| self.una.at_or_after(until)) {
            self.responses.push_back(Response::CongestionEcho);
            self.before = None;
            self.ssthresh = self.half_of_flight();
            self.cwnd = self.ssthresh;
            self.reduced_until = Some(self.max);
            self.owes_cwr = true;
        }
    }

    pub(super) fn pure_ack(&self) -> TcpSegment {
        self.segment(self.max, 0)
    }

    fn segment(&self, seq: Seq, len: u32) -> TcpSegment {
        let fin = self.fin.is_some_and(|fin| SeqRange::new(seq, seq + len).contains(fin));
        let bytes = len - u32::from(fin);
        TcpSegment {
            source_port: Self::PORT,
            destination_port: Self::PEER_PORT,
            seq,
            ack: self.rcv_nxt,
            flags: if fin { TcpFlags::ACK.with(TcpFlags::FIN) } else { TcpFlags::ACK },
            window: Self::WINDOW,
            payload: Payload::new(0, u64::from(seq.since(Self::START)), bytes),
            ..TcpSegment::default()
        }
    }
}
