//! What leaves: RFC 9293 §3.8, with what loss recovery, aids and the persist timer want sent.

use base::{Duration, Ecn, Instant, Seq, SeqRange};
use wire::{Payload, SackBlocks, TcpFlags, TcpOptions, TcpSegment, Timestamps};

use crate::connection::{Connection, Transmit};
use crate::flight::Phase;
use crate::sender::initial_window;
use crate::state::State;
use crate::timer::Timer;

/// The clock of our timestamps ticks at least this finely coarse (RFC 7323 §5.4: 1 ms to 1 s).
const FINEST_TIMESTAMP: Duration = Duration::from_millis(1);

/// A piece of our stream chosen for sending.
#[derive(Clone, Copy, Debug)]
struct Choice {
    range: SeqRange,
    /// Moves SND.NXT along.
    moves: bool,
    ahead_of_queue: bool,
    for_aid: bool,
    probe: bool,
}

impl Choice {
    fn again(range: SeqRange) -> Self {
        Self { range, moves: false, ahead_of_queue: false, for_aid: false, probe: false }
    }
}

impl Connection {
    /// The next segment to be sent.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        if let Some(segment) = self.replies.pop_front() {
            return Some(Transmit::of(segment));
        }
        match self.state {
            State::Closed | State::Listen => return None,
            State::SynSent | State::SynReceived => {
                return core::mem::take(&mut self.syn_due).then(|| self.send_syn(now));
            }
            _ => {}
        }
        if self.state.may_send()
            && let Some(choice) = self.choose(now)
        {
            return Some(self.send(now, choice));
        }
        if self.acks.now {
            return Some(self.send_ack(now));
        }
        None
    }

    /// Our clock for timestamps.
    pub(crate) fn timestamp(&self, now: Instant) -> u32 {
        (now.as_nanos() / self.timestamp_tick().as_nanos()) as u32
    }
    pub(crate) fn timestamp_tick(&self) -> Duration {
        self.config.clock.rtt.max(FINEST_TIMESTAMP)
    }

    fn send_syn(&mut self, now: Instant) -> Transmit {
        let answer = self.state == State::SynReceived;
        let mut flags = TcpFlags::SYN;
        if answer {
            flags = flags.with(TcpFlags::ACK);
            if self.agreed.ecn {
                flags = flags.with(TcpFlags::ECE);
            }
        } else if self.config.ecn && !self.syn_lost {
            // RFC 3168 §6.1.1.1: after a loss, without ECN, in case something in between objects.
            flags = flags.with(TcpFlags::ECE).with(TcpFlags::CWR);
        }
        let offer = |ours: bool, agreed: bool| if answer { agreed } else { ours };
        let mut segment = self.bare(flags);
        segment.seq = self.snd.iss;
        if !answer {
            segment.ack = Seq(0);
        }
        segment.options = TcpOptions {
            mss: Some(self.config.mss),
            window_scale: offer(self.config.window_scale, self.agreed.window_scale)
                .then_some(self.config.receive_shift()),
            sack_permitted: offer(self.config.sack, self.agreed.sack),
            timestamps: offer(self.config.timestamps, self.agreed.timestamps).then(|| Timestamps {
                value: self.timestamp(now),
                echo: if answer { self.echo.recent } else { 0 },
            }),
            sack: SackBlocks::EMPTY,
        };
        // RFC 7323 §2.2: the window of a SYN is never scaled.
        segment.window = self.config.receive_buffer.min(65_535) as u16;
        if answer {
            self.rcv.edge = self.rcv.edge.max(self.rcv.nxt + u32::from(segment.window));
            self.acks.last = self.rcv.nxt;
        }
        let first = self.snd.flight.max == self.snd.iss;
        self.snd.flight.nxt = self.snd.iss + 1;
        self.snd.flight.max = self.snd.iss + 1;
        self.snd.timed = first.then_some((self.snd.flight.max, now));
        self.restart_retransmission_timer(now);
        Transmit { retransmission: !first, ..Transmit::of(segment) }
    }

    /// Chooses what data goes next.
    fn choose(&mut self, now: Instant) -> Option<Choice> {
        if let Some(choice) = self.aid_resend() {
            return Some(choice);
        }
        if core::mem::take(&mut self.snd.probe_due) {
            return self.probe();
        }
        if self.snd.held.is_some() {
            return None;
        }
        if core::mem::take(&mut self.snd.flight.resend_first) {
            let flight = &self.snd.flight;
            let reported = flight.board.next_reported(flight.una).unwrap_or(flight.max);
            let end = (flight.una + flight.mss).min(flight.max).min(reported);
            if end.after(flight.una) {
                let choice = Choice::again(SeqRange::new(flight.una, end));
                // Tahoe goes on from there; others leave SND.NXT alone.
                let moves = self.snd.flight.nxt == self.snd.flight.una;
                return Some(Choice { moves, ..choice });
            }
        }
        let budget = self.snd.recovery.budget(&self.snd.flight);
        if let Phase::Recovery { .. } = self.snd.flight.phase
            && budget >= self.snd.flight.mss
            && let Some(range) = self.snd.recovery.resend(&self.snd.flight, false)
        {
            return Some(Choice::again(range));
        }
        if let Some(choice) = self.onwards(now, budget) {
            return Some(choice);
        }
        if budget >= self.snd.flight.mss
            && let Some(range) = self.snd.recovery.resend(&self.snd.flight, true)
        {
            return Some(Choice::again(range));
        }
        self.persist_if_stuck(now);
        None
    }

    /// The next piece of what an aid wants sent again.
    fn aid_resend(&mut self) -> Option<Choice> {
        let (range, ahead_of_queue) = self.snd.resend.take()?;
        let flight = &self.snd.flight;
        let range = SeqRange::new(range.start.max(flight.una), range.end.min(flight.max));
        let start = flight.board.first_hole(range.start);
        if !start.before(range.end) {
            return None;
        }
        let stop = flight.board.next_reported(start).unwrap_or(flight.max).min(range.end);
        let end = (start + flight.mss).min(stop);
        self.snd.resend = Some((SeqRange::new(end, range.end), ahead_of_queue));
        Some(Choice { ahead_of_queue, for_aid: true, ..Choice::again(SeqRange::new(start, end)) })
    }

    /// A probe: one byte at SND.UNA or SND.NXT, or as much as a small window lets out
    /// (RFC 9293 §3.8.6.1).
    fn probe(&mut self) -> Option<Choice> {
        let snd = &self.snd;
        let start = if snd.held.is_some() { snd.flight.una } else { snd.flight.nxt };
        let room = if snd.held.is_some() { 1 } else { snd.peer_room().clamp(1, snd.flight.mss) };
        let waiting = snd.waiting_from(start).min(u64::from(room)) as u32;
        // With all data sent, the FIN's number is what can be probed with.
        let len = if waiting == 0 && (snd.fin == Some(start) || snd.closing) { 1 } else { waiting };
        self.stats.probes += 1;
        (len > 0)
            .then(|| Choice { probe: true, ..Choice::again(SeqRange::new(start, start + len)) })
    }

    /// From SND.NXT on: what goes again after a timeout, then new data, then the FIN.
    fn onwards(&mut self, now: Instant, budget: u32) -> Option<Choice> {
        if let Phase::Loss { .. } = self.snd.flight.phase {
            // After a timeout what SACK reports is not sent again.
            let flight = &mut self.snd.flight;
            flight.nxt = flight.board.first_hole(flight.nxt);
        }
        let idle = self.snd.flight.outstanding() == 0;
        if idle
            && now.since(self.snd.last_sent) > self.snd.rtt.rto()
            && self.stats.segments_sent > 0
        {
            // RFC 5681 §4.1: after an idle period the window says nothing about the path.
            let restart = initial_window(&self.config, self.snd.flight.mss);
            let window = &mut self.snd.flight.window;
            window.cwnd = window.cwnd.min(restart);
        }
        let budget = if idle { self.snd.recovery.budget(&self.snd.flight) } else { budget };
        let snd = &self.snd;
        let flight = &snd.flight;
        let start = flight.nxt;
        let room = budget.min(snd.peer_room());
        let waiting = snd.waiting_from(start);
        let again = start.before(flight.max);
        let reported = if again { flight.board.next_reported(start) } else { None };
        let stop = reported.map_or(u32::MAX, |seq| seq.since(start));
        let full = flight.mss.saturating_sub(self.sack_room()).max(1);
        let len = waiting.min(u64::from(room.min(full).min(stop))) as u32;
        let all = u64::from(len) == waiting;
        let fin = snd.closing && all && snd.fin.is_none_or(|fin| fin == start + len);
        if fin {
            let fin_free = snd.fin.is_none() || again;
            if fin_free && (len > 0 || waiting == 0) {
                return Some(Choice {
                    moves: true,
                    ..Choice::again(SeqRange::new(start, start + (len + 1)))
                });
            }
        }
        if len == 0 {
            return None;
        }
        // Silly windows at the sender (RFC 9293 §3.8.6.2.1) and Nagle (§3.7.4).
        let nothing_out = start == flight.una;
        let worth = len >= full
            || len == stop
            || again
            || (all && (nothing_out || !self.config.nagle))
            || (snd.largest_wnd > 0 && len >= snd.largest_wnd / 2);
        worth.then(|| Choice { moves: true, ..Choice::again(SeqRange::new(start, start + len)) })
    }

    /// Nothing is on its way that could bring news, and yet there is data: probe for it.
    fn persist_if_stuck(&mut self, now: Instant) {
        let running = |timer| self.timers.get(timer).is_some();
        if self.snd.flight.outstanding() == 0
            && self.snd.has_unsent()
            && !running(Timer::Retransmission)
            && !running(Timer::Persist)
        {
            let gap = self.snd.rtt.rto().clamp(self.config.persist_min, self.config.persist_max);
            self.snd.probe_gap = gap;
            self.timers.set(Timer::Persist, self.config.clock.deadline(now, gap));
        }
    }

    /// Option bytes that SACK blocks take from a data segment.
    fn sack_room(&self) -> u32 {
        if self.agreed.sack && self.rcv.has_hole() {
            2 + 2 + 8 * self.most_blocks() as u32
        } else {
            0
        }
    }
    /// Blocks that fit beside the other options (RFC 2018 §3).
    fn most_blocks(&self) -> usize {
        if self.agreed.timestamps { 3 } else { 4 }
    }

    /// Builds the segment for `choice` and keeps account of it.
    fn send(&mut self, now: Instant, choice: Choice) -> Transmit {
        let SeqRange { start, end } = choice.range;
        let waiting = self.snd.waiting_from(start);
        let len = u64::from(end.since(start)).min(waiting) as u32;
        let fin = end.since(start) > len && self.snd.closing;
        let retransmission = start.before(self.snd.flight.max);
        let mut flags = TcpFlags::ACK;
        if fin {
            flags = flags.with(TcpFlags::FIN);
            self.snd.fin = Some(start + len);
        }
        if len > 0 && u64::from(len) == waiting {
            flags = flags.with(TcpFlags::PSH);
        }
        let fresh = len > 0 && !retransmission && !choice.probe;
        let ecn = if self.snd.ecn.on && fresh {
            if core::mem::take(&mut self.snd.ecn.cwr_due) {
                flags = flags.with(TcpFlags::CWR);
            }
            // RFC 3168 §6.1.5, §6.1.6: neither retransmissions nor probes are ECN-capable.
            Ecn::Ect0
        } else {
            Ecn::NotEct
        };
        let mut segment = self.bare(flags);
        segment.seq = start;
        if len > 0 {
            segment.payload = Payload::new(self.stream, self.snd.offset_at(start), len);
        }
        self.finish(now, &mut segment);
        self.account(now, choice, end, len, retransmission);
        Transmit {
            ecn,
            ahead_of_queue: choice.ahead_of_queue,
            for_aid: choice.for_aid,
            retransmission,
            ..Transmit::of(segment)
        }
    }

    fn account(&mut self, now: Instant, choice: Choice, end: Seq, len: u32, retransmission: bool) {
        let start = choice.range.start;
        let flight = &mut self.snd.flight;
        flight.max = flight.max.max(end);
        if choice.moves {
            flight.nxt = end;
        } else if !retransmission && !choice.probe {
            flight.nxt = flight.nxt.max(end);
        } else if let Phase::Recovery { .. } = flight.phase {
            flight.high_rxt = flight.high_rxt.max(end);
        }
        if len > 0 {
            self.stats.segments_sent += 1;
            self.stats.bytes_sent += u64::from(len);
        }
        if retransmission {
            self.stats.retransmissions += 1;
            // Karn: what was sent twice can't be timed (RFC 6298 §3).
            self.snd.timed = self.snd.timed.filter(|(timed, _)| timed.at_or_before(start));
        } else if !choice.probe && self.snd.timed.is_none() {
            self.snd.timed = Some((end, now));
        }
        self.snd.last_sent = now;
        if choice.probe {
            return;
        }
        self.timers.stop(Timer::Persist);
        if self.snd.held.is_none() {
            let at = self.config.clock.deadline(now, self.snd.rtt.rto());
            self.timers.start(Timer::Retransmission, at);
        }
    }

    /// A bare acknowledgment.
    fn send_ack(&mut self, now: Instant) -> Transmit {
        let mut segment = self.bare(TcpFlags::ACK);
        segment.seq = self.snd.flight.max.max(self.snd.flight.nxt);
        self.finish(now, &mut segment);
        self.stats.acks_sent += 1;
        Transmit::of(segment)
    }

    /// Fills in what every segment of an open connection carries, and settles the acknowledgment
    /// that is owed.
    fn finish(&mut self, now: Instant, segment: &mut TcpSegment) {
        if self.acks.ece {
            segment.flags = segment.flags.with(TcpFlags::ECE);
        }
        if self.agreed.timestamps {
            segment.options.timestamps =
                Some(Timestamps { value: self.timestamp(now), echo: self.echo.recent });
        }
        if self.agreed.sack {
            // Behind a payload only as many blocks as keep the segment within its size.
            let spare = (self.snd.flight.mss.saturating_sub(segment.payload.len + 4) / 8) as usize;
            let most = if segment.payload.is_empty() { 4 } else { spare };
            segment.options.sack = self.rcv.sack_blocks(self.most_blocks().min(most));
        }
        let window = self.rcv.advertise(u32::from(self.config.mss));
        segment.window = self.window_field(window);
        self.acks.waiting = 0;
        self.acks.now = false;
        self.acks.last = self.rcv.nxt;
        self.timers.stop(Timer::DelayedAck);
    }

    /// A window as it stands in the header.
    pub(crate) fn window_field(&self, bytes: u32) -> u16 {
        let shift = if self.agreed.window_scale { self.rcv.shift } else { 0 };
        (bytes >> shift).min(65_535) as u16
    }
}
