//! Segment transmission: RFC 9293 §3.8, and the requests of loss recovery, aids and the persist
//! timer.

use driftway_base::{Duration, Ecn, Instant, ProbeSize, Seq, SeqRange};
use driftway_wire::{Payload, SackBlocks, TcpFlags, TcpOptions, TcpSegment, Timestamps};

use super::control_block::{Connection, Transmit};
use super::sender::initial_window;
use crate::f_rto::FRto;
use crate::flight::Phase;
use crate::state::State;
use crate::timer::Timer;

/// Finest tick of our timestamp clock (RFC 7323 §5.4: 1 ms to 1 s).
const FINEST_TIMESTAMP: Duration = Duration::from_millis(1);

/// A range of our stream chosen for transmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub range: SeqRange,
    pub why: Why,
}

/// Reason of a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// From SND.NXT, which advances.
    Next,
    /// Retransmission by loss recovery.
    Repair,
    /// Retransmission as a tail loss probe (RFC 8985 §7).
    Tail,
    /// Retransmission at an aid's request.
    Aid { ahead_of_queue: bool },
    /// Window probe, or probe during a hold.
    Probe,
}

impl Choice {
    pub fn new(start: Seq, end: Seq, why: Why) -> Self {
        Self { range: SeqRange::new(start, end), why }
    }
}

impl Connection {
    /// The next segment to be sent.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        if let Some(reply) = self.replies.pop_front() {
            return Some(reply);
        }
        match self.state {
            State::Closed | State::Listen => return None,
            State::SynSent | State::SynReceived if self.syn_due => {
                self.syn_due = false;
                return Some(self.send_syn(now));
            }
            _ => {}
        }
        if self.state.may_send()
            && let Some(choice) = self.choose(now)
        {
            return Some(self.send(now, choice));
        }
        if core::mem::take(&mut self.snd.keep_alive_due) {
            // RFC 9293 §3.8.4: SND.NXT − 1, which requires an answer.
            let mut segment = self.bare(TcpFlags::ACK);
            segment.seq = self.snd.flight.una() - 1;
            return Some(self.send_ack(now, segment));
        }
        self.acks.now.then(|| self.send_ack(now, self.bare(TcpFlags::ACK)))
    }

    /// Our timestamp clock.
    pub(super) fn timestamp(&self, now: Instant) -> u32 {
        (now.as_nanos() / self.timestamp_tick().as_nanos()) as u32
    }
    pub(super) fn timestamp_tick(&self) -> Duration {
        self.config.clock.rtt.max(FINEST_TIMESTAMP)
    }

    /// The timestamps option of each segment, once negotiated (RFC 7323 §3.2).
    pub(super) fn own_timestamps(&self, now: Instant) -> Option<Timestamps> {
        let (value, echo) = (self.timestamp(now), self.echo.recent);
        self.agreed.timestamps.then_some(Timestamps { value, echo })
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
            // RFC 3168 §6.1.1.1: a retransmitted SYN does not offer ECN, in case a middlebox drops
            // it.
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
            self.rcv.offered(segment.window);
            self.acks.last = self.rcv.nxt();
            self.acks.now = false;
        }
        let first = self.snd.flight.max() == self.snd.iss;
        self.snd.flight.on_syn_sent(self.snd.iss);
        self.snd.timed = first.then_some((self.snd.flight.max(), now));
        self.restart_retransmission_timer(now);
        Transmit { retransmission: !first, ..Transmit::of(segment) }
    }

    /// Chooses the next data to be sent.
    fn choose(&mut self, now: Instant) -> Option<Choice> {
        if let Some(choice) = self.aid_resend() {
            return Some(choice);
        }
        if core::mem::take(&mut self.snd.probe_due)
            && let Some(choice) = self.probe()
        {
            return Some(choice);
        }
        if self.snd.held.is_some() {
            return None;
        }
        if self.snd.flight.take_resend_first() {
            let flight = &self.snd.flight;
            let reported = flight.board().next_reported(flight.una()).unwrap_or(flight.max());
            let end = (flight.una() + flight.mss()).min(flight.max()).min(reported);
            if end.after(flight.una()) {
                // Tahoe continues from there; others leave SND.NXT unchanged.
                let why = if flight.nxt() == flight.una() { Why::Next } else { Why::Repair };
                return Some(Choice::new(flight.una(), end, why));
            }
        }
        if let Some(range) = self.snd.recovery.due()
            && let Some(range) = self.repairable(range)
        {
            return Some(Choice { range, why: Why::Repair });
        }
        // RFC 8985 §7.3: a probe is new data, regardless of the congestion window.
        let probes = core::mem::take(&mut self.snd.tail_probe_due);
        let budget = match self.snd.flight.f_rto() {
            _ if probes => self.snd.flight.mss(),
            Some(FRto::Probing { left }) => left,
            _ => self.snd.recovery.budget(&self.snd.flight),
        };
        if self.snd.flight.phase() != Phase::Open
            && !matches!(self.snd.flight.f_rto(), Some(FRto::Probing { .. }))
            && budget >= self.snd.flight.mss()
            && let Some(range) = self.snd.recovery.resend(&self.snd.flight, false)
            && let Some(range) = self.repairable(range)
        {
            return Some(Choice { range, why: Why::Repair });
        }
        let mut choice = self.onwards(now, budget, probes);
        if probes {
            choice = self.tail_probe(choice);
        }
        if choice.is_some() {
            return choice;
        }
        if budget >= self.snd.flight.mss()
            && let Some(range) = self.snd.recovery.resend(&self.snd.flight, true)
        {
            return Some(Choice { range, why: Why::Repair });
        }
        self.keep_a_timer_running(now);
        None
    }

    /// Limits a retransmission after a timeout to the peer's window, which may have shrunk.
    fn repairable(&self, range: SeqRange) -> Option<SeqRange> {
        let end = match self.snd.flight.phase() {
            Phase::Loss { .. } => range.end.min(self.snd.flight.una() + self.snd.wnd),
            _ => range.end,
        };
        end.after(range.start).then(|| SeqRange::new(range.start, end))
    }

    /// The next segment of the ranges that an aid wants retransmitted.
    fn aid_resend(&mut self) -> Option<Choice> {
        let flight = &self.snd.flight;
        while let Some((range, _)) = self.snd.resend.front_mut() {
            let end = range.end.min(flight.max());
            let start = flight.board().first_hole(range.start.max(flight.una()));
            if start.before(end) {
                let reported = flight.board().next_reported(start).unwrap_or(flight.max());
                let stop = (start + flight.mss()).min(reported).min(end);
                range.start = stop;
                let ahead_of_queue = self.snd.resend.front().is_some_and(|(_, ahead)| *ahead);
                return Some(Choice::new(start, stop, Why::Aid { ahead_of_queue }));
            }
            self.snd.resend.pop_front();
        }
        None
    }

    /// The segment sent when the persist timer expires. A small window is used after all (RFC 9293
    /// §3.8.6.2.1, rule 4); a closed one is probed with a byte at SND.UNA (§3.8.6.1).
    fn probe(&mut self) -> Option<Choice> {
        let snd = &self.snd;
        let at_una = snd.held.is_some() || snd.wnd == 0;
        let start = if at_una { snd.flight.una() } else { snd.flight.nxt() };
        let waiting = snd.waiting_from(start);
        let room = snd.peer_room().min(snd.flight.mss());
        if snd.held.is_none() && room > 0 && waiting > 0 {
            let len = waiting.min(u64::from(room)) as u32;
            return Some(Choice::new(start, start + len, Why::Next));
        }
        let most = match snd.held.and_then(|held| held.probe).map(|probe| probe.size) {
            Some(ProbeSize::Segment) => snd.flight.mss(),
            Some(ProbeSize::Byte) | None => 1,
        };
        // SACKed data need not be retransmitted.
        let unreported =
            snd.flight.board().next_reported(start).unwrap_or(start + most).since(start);
        let waiting = waiting.min(most.min(unreported.max(1)).into()) as u32;
        // With all data sent, the FIN's sequence number is used as a probe.
        let fin = waiting == 0 && snd.fin.map_or(snd.closing, |fin| fin == start);
        let len = waiting + u32::from(fin);
        if len == 0 {
            return None;
        }
        self.stats.probes += 1;
        Some(Choice::new(start, start + len, Why::Probe))
    }

    /// The next segment from SND.NXT: retransmissions after a timeout, then new data, then the FIN.
    /// `urgent` disables Nagle's algorithm and silly window avoidance.
    fn onwards(&mut self, now: Instant, budget: u32, urgent: bool) -> Option<Choice> {
        self.snd.flight.skip_reported();
        let idle = self.snd.flight.outstanding() == 0;
        if idle
            && now.since(self.snd.last_sent) > self.snd.rtt.rto()
            && self.stats.segments_sent > 0
        {
            // RFC 5681 §4.1: after an idle period the window is not a measure of the path.
            let restart = initial_window(&self.config, self.snd.flight.mss());
            let window = &mut self.snd.flight.window;
            window.cwnd = window.cwnd.min(restart);
        }
        let budget = if idle { self.snd.recovery.budget(&self.snd.flight) } else { budget };
        let snd = &self.snd;
        let flight = &snd.flight;
        let start = flight.nxt();
        let room = budget.min(snd.peer_room());
        let waiting = snd.waiting_from(start);
        let again = start.before(flight.max());
        let reported = if again { flight.board().next_reported(start) } else { None };
        let stop = reported.map_or(u32::MAX, |seq| seq.since(start));
        let full = flight.mss().saturating_sub(self.sack_room()).max(1);
        let len = waiting.min(u64::from(room.min(full).min(stop))) as u32;
        let all = u64::from(len) == waiting;
        // The FIN is sent with the last data, or alone; it needs no room in cwnd, but in the peer's
        // window. A SACKed FIN is not retransmitted.
        let fin_waits = snd.closing && (snd.fin.is_none() || again) && len != stop;
        let fin_here = snd.fin.is_none_or(|fin| fin == start + len);
        if fin_waits && fin_here && all && (len > 0 || waiting == 0) && snd.peer_room() > len {
            return Some(Choice::new(start, start + (len + 1), Why::Next));
        }
        if len == 0 {
            return None;
        }
        // Silly window avoidance at the sender (RFC 9293 §3.8.6.2.1) and Nagle (§3.7.4).
        let nothing_out = start == flight.una();
        let worth = urgent
            || len >= full
            || len == stop
            || again
            || (all && (nothing_out || !self.config.nagle))
            || (snd.largest_wnd > 0 && len >= snd.largest_wnd / 2);
        worth.then(|| Choice::new(start, start + len, Why::Next))
    }

    /// Ensures that a timer is running while anything remains to be sent or acknowledged.
    fn keep_a_timer_running(&mut self, now: Instant) {
        let outstanding = self.snd.flight.outstanding() > 0;
        if self.timers.get(Timer::Persist).is_some() || !(outstanding || self.snd.has_unsent()) {
            return;
        }
        if self.snd.wnd == 0 && self.snd.flight.nxt() != self.snd.flight.una() {
            // RFC 9293 §3.8.6: the peer has shrunk its window with data in flight. As in 4.4BSD,
            // this leads to probes instead of timeouts, and then to a restart from SND.UNA.
            self.snd.flight.step_back(true);
            self.snd.timed = None;
        } else if outstanding && self.snd.wnd > 0 {
            if self.timers.get(Timer::Retransmission).is_none() {
                self.restart_retransmission_timer(now);
            }
            return;
        }
        self.timers.stop(Timer::Retransmission);
        // RFC 9293 §3.8.6.1: only probes, which continue; a tail loss probe would rearm the
        // retransmission timer.
        self.timers.stop(Timer::LossProbe);
        self.timers.stop(Timer::Recovery);
        let gap = self.snd.rtt.rto().max(self.config.persist_min).min(self.config.persist_max);
        self.snd.probe_gap = gap;
        self.timers.set(Timer::Persist, self.config.clock.deadline(now, gap));
    }

    /// Length of the SACK option in a data segment (bytes).
    fn sack_room(&self) -> u32 {
        if self.agreed.sack && self.rcv.has_hole() {
            2 + 2 + 8 * self.most_blocks() as u32
        } else {
            0
        }
    }
    /// Maximum number of SACK blocks beside the other options (RFC 2018 §3).
    fn most_blocks(&self) -> usize {
        if self.agreed.timestamps { 3 } else { 4 }
    }

    /// Builds the segment for `choice` and records its transmission.
    fn send(&mut self, now: Instant, choice: Choice) -> Transmit {
        let SeqRange { start, end } = choice.range;
        let waiting = self.snd.waiting_from(start);
        let len = u64::from(end.since(start)).min(waiting) as u32;
        let fin = end.since(start) > len && self.snd.closing;
        let retransmission = start.before(self.snd.flight.max());
        let mut flags = TcpFlags::ACK;
        if fin {
            flags = flags.with(TcpFlags::FIN);
            self.snd.fin = Some(start + len);
        }
        if len > 0 && u64::from(len) == waiting {
            flags = flags.with(TcpFlags::PSH);
        }
        let fresh = len > 0 && !retransmission && choice.why != Why::Probe;
        let ecn = if self.snd.ecn.on && fresh {
            if core::mem::take(&mut self.snd.ecn.cwr_due) {
                flags = flags.with(TcpFlags::CWR);
            }
            // RFC 3168 §6.1.5, §6.1.6: neither retransmissions nor window probes are ECN-capable.
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
        if choice.why == (Why::Aid { ahead_of_queue: true }) {
            self.backdate(&mut segment);
        }
        self.account(now, choice, end, len, retransmission);
        Transmit {
            ecn,
            ahead_of_queue: choice.why == Why::Aid { ahead_of_queue: true },
            for_aid: matches!(choice.why, Why::Aid { .. }),
            retransmission,
            ..Transmit::of(segment)
        }
    }

    /// Gives a segment that overtakes others the timestamp that the peer has already. A newer one
    /// at RCV.NXT would advance the peer's TS.Recent past theirs, and PAWS (RFC 7323 §5) would drop
    /// them all. Its acknowledgment is no RTT sample.
    fn backdate(&mut self, segment: &mut TcpSegment) {
        if let Some(timestamps) = &mut segment.options.timestamps {
            timestamps.value = self.snd.echoed;
            let end = segment.end();
            self.snd.untimed = Some(self.snd.untimed.map_or(end, |other| other.max(end)));
        }
    }

    fn account(&mut self, now: Instant, choice: Choice, end: Seq, len: u32, retransmission: bool) {
        let start = choice.range.start;
        let timed = self.snd.recovery.next_timeout();
        self.snd.recovery.on_sent(now, SeqRange::new(start, end));
        self.follow_recovery_timer(now, timed);
        let flight = &mut self.snd.flight;
        flight.on_sent(end);
        match choice.why {
            Why::Next => flight.on_next_sent(end, len),
            Why::Repair => flight.on_repair_sent(SeqRange::new(start, end)),
            Why::Tail | Why::Aid { .. } | Why::Probe => {}
        }
        if len > 0 && choice.why != Why::Probe {
            self.stats.segments_sent += 1;
            self.stats.bytes_sent += u64::from(len);
            self.snd.flight.on_data_sent(len);
            self.validate_window(now);
        }
        if retransmission {
            self.stats.retransmissions += u64::from(choice.why != Why::Probe);
            let stamp = self.timestamp(now);
            if let Some(state) = &mut self.snd.undo
                && matches!(choice.why, Why::Next | Why::Repair)
            {
                // RFC 2883 §4: D-SACKs are of data.
                state.on_resent(SeqRange::new(start, start + len), stamp);
            }
            // Karn: retransmitted data is not timed (RFC 6298 §3).
            self.snd.timed = self.snd.timed.filter(|(timed, _)| timed.at_or_before(start));
        } else if choice.why != Why::Probe
            && self.snd.timed.is_none()
            && !self.snd.recovery.times_segments()
        {
            self.snd.timed = Some((end, now));
        }
        self.snd.last_sent = now;
        let at = self.config.clock.deadline(now, self.snd.rtt.rto());
        if choice.why != Why::Probe {
            self.snd.recovery.start_timer(now, SeqRange::new(start, end), at);
        }
        if choice.why != Why::Probe && self.snd.held.is_none() {
            self.timers.stop(Timer::Persist);
            let repair = retransmission && matches!(choice.why, Why::Next | Why::Repair);
            if repair && self.config.rearm_with_head && start == self.snd.flight.una() {
                self.timers.set(Timer::Retransmission, at);
            }
            match self.snd.recovery.first_deadline() {
                Some(first) => self.timers.set(Timer::Retransmission, first.max(now)),
                None => self.timers.start(Timer::Retransmission, at),
            }
            if !retransmission {
                self.schedule_tail_probe(now);
            }
        }
    }

    /// Sends a pure acknowledgment.
    fn send_ack(&mut self, now: Instant, mut segment: TcpSegment) -> Transmit {
        self.finish(now, &mut segment);
        self.stats.acks_sent += 1;
        Transmit::of(segment)
    }

    /// Completes the header of a segment on a synchronized connection; it carries the pending
    /// acknowledgment.
    fn finish(&mut self, now: Instant, segment: &mut TcpSegment) {
        if self.acks.ece {
            segment.flags = segment.flags.with(TcpFlags::ECE);
        }
        segment.options.timestamps = self.own_timestamps(now);
        if self.agreed.sack {
            // With a payload, only as many blocks as fit into the segment size.
            let spare =
                (self.snd.flight.mss().saturating_sub(segment.payload.len + 4) / 8) as usize;
            let most = if segment.payload.is_empty() { 4 } else { spare };
            segment.options.sack = self.rcv.sack_blocks(self.most_blocks().min(most));
        }
        let window = self.rcv.advertise(u32::from(self.config.mss));
        segment.window = self.window_field(window);
        self.acks.waiting = 0;
        self.acks.now = false;
        self.acks.last = self.rcv.nxt();
        self.timers.stop(Timer::DelayedAck);
    }

    /// The window as written into the header.
    pub(super) fn window_field(&self, bytes: u32) -> u16 {
        let shift = if self.agreed.window_scale { self.rcv.shift() } else { 0 };
        (bytes >> shift).min(65_535) as u16
    }
}
