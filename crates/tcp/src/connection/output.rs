//! Segment transmission: RFC 9293 §3.8, and the requests of loss recovery, aids and the persist
//! timer.

use driftway_base::{Duration, Ecn, Instant, ProbeSize, Seq, SeqRange};
use driftway_wire::{
    Payload, SackBlocks, SegmentRange, TcpFlags, TcpOptions, TcpSegment, Timestamps,
};

use super::control_block::{Connection, Transmit};
use super::sender::initial_window;
use crate::f_rto::FRto;
use crate::send_state::RecoveryPhase;
use crate::state::State;
use crate::timer::Timer;

/// Finest tick of our timestamp clock (RFC 7323 §5.4: 1 ms to 1 s).
const MIN_TIMESTAMP_TICK: Duration = Duration::from_millis(1);

/// A range of our stream chosen for transmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentChoice {
    pub range: SegmentRange,
    pub reason: SendReason,
}

/// Reason of a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SendReason {
    /// The segment at SND.NXT, which advances.
    FromNxt,
    /// Retransmission by loss recovery.
    Retransmission,
    /// Retransmission as a tail loss probe (RFC 8985 §7).
    TailLossProbe,
    /// Retransmission at an aid's request.
    Aid { ahead_of_queue: bool },
    /// Window probe, or probe during a hold.
    WindowProbe,
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
        if self.state.may_send() {
            if let Some(choice) = self.take_next_segment(now) {
                return Some(self.send(now, choice));
            }
            if self.snd.hold.is_none() {
                self.ensure_timer_runs(now);
                self.note_lack_of_data();
            }
        }
        if core::mem::take(&mut self.snd.keep_alive_due) {
            // RFC 9293 §3.8.4: SND.NXT − 1, which requires an answer.
            let mut segment = self.header_only_segment(TcpFlags::ACK);
            segment.seq = self.snd.send_state.una() - 1;
            return Some(self.send_ack(now, segment));
        }
        self.pending_ack
            .due_now
            .then(|| self.send_ack(now, self.header_only_segment(TcpFlags::ACK)))
    }

    /// Our timestamp clock.
    pub(super) fn timestamp(&self, now: Instant) -> u32 {
        (now.as_nanos() / self.timestamp_tick().as_nanos()) as u32
    }
    pub(super) fn timestamp_tick(&self) -> Duration {
        self.config.clock.rtt_tick.max(MIN_TIMESTAMP_TICK)
    }

    /// The timestamps option of each segment, once negotiated (RFC 7323 §3.2).
    pub(super) fn own_timestamps(&self, now: Instant) -> Option<Timestamps> {
        let echo = self.recent_timestamp.ts_recent;
        self.negotiated.timestamps.then(|| Timestamps { value: self.timestamp(now), echo })
    }

    fn send_syn(&mut self, now: Instant) -> Transmit {
        let answer = self.state == State::SynReceived;
        let mut flags = TcpFlags::SYN;
        if answer {
            flags = flags.with(TcpFlags::ACK);
            if self.negotiated.ecn {
                flags = flags.with(TcpFlags::ECE);
            }
        } else if self.config.ecn && !self.syn_lost {
            // RFC 3168 §6.1.1.1: a retransmitted SYN does not offer ECN, in case a middlebox drops
            // it.
            flags = flags.with(TcpFlags::ECE).with(TcpFlags::CWR);
        }
        let offer = |ours: bool, agreed: bool| if answer { agreed } else { ours };
        let mut segment = self.header_only_segment(flags);
        segment.seq = self.snd.iss;
        if !answer {
            segment.ack = Seq(0);
        }
        segment.options = TcpOptions {
            mss: Some(self.config.mss),
            window_scale: offer(self.config.window_scale, self.negotiated.window_scale)
                .then_some(self.config.receive_window_shift()),
            sack_permitted: offer(self.config.sack, self.negotiated.sack),
            timestamps: offer(self.config.timestamps, self.negotiated.timestamps).then(|| {
                Timestamps {
                    value: self.timestamp(now),
                    echo: if answer { self.recent_timestamp.ts_recent } else { 0 },
                }
            }),
            sack: SackBlocks::EMPTY,
        };
        // RFC 7323 §2.2: the window of a SYN is never scaled.
        segment.window = self.config.receive_buffer.min(65_535) as u16;
        if answer {
            self.rcv.on_unscaled_window_offered(segment.window);
            self.pending_ack.last_sent = self.rcv.nxt();
            self.pending_ack.due_now = false;
        }
        let first = self.snd.send_state.max() == self.snd.iss;
        self.snd.send_state.on_syn_sent(self.snd.iss);
        self.snd.timed_segment = first.then_some((self.snd.send_state.max(), now));
        self.restart_retransmission_timer(now);
        Transmit { retransmission: !first, ..Transmit::plain(segment) }
    }

    /// Takes the next segment to be sent from those that are due: a retransmission, a probe, or new
    /// data. A request for it (of an aid, of loss recovery, of a timer) is thereby done. Before new
    /// data, SND.NXT skips what is SACKed, and after an idle period the congestion window restarts.
    fn take_next_segment(&mut self, now: Instant) -> Option<SegmentChoice> {
        if let Some(choice) = self.take_aid_retransmission() {
            return Some(choice);
        }
        if core::mem::take(&mut self.snd.window_probe_due) {
            if self.config.linux_persist && self.snd.hold.is_none() && self.snd.wnd == 0 {
                // A segment at SND.NXT − 1 without data asks for an acknowledgment.
                self.snd.keep_alive_due = true;
                self.stats.probes += 1;
            } else if let Some(choice) = self.window_probe() {
                return Some(choice);
            }
        }
        if self.snd.hold.is_some() {
            return None;
        }
        if self.snd.send_state.take_head_retransmit() {
            let send = &self.snd.send_state;
            let reported = send.scoreboard().next_sacked(send.una()).unwrap_or(send.max());
            let end = (send.una() + send.mss()).min(send.max()).min(reported);
            if end.after(send.una()) {
                // Tahoe continues from there; others leave SND.NXT unchanged.
                let reason = if send.nxt() == send.una() {
                    SendReason::FromNxt
                } else {
                    SendReason::Retransmission
                };
                let range = self.snd.segment_range(SeqRange::new(send.una(), end));
                return Some(SegmentChoice { range, reason });
            }
        }
        if let Some(range) = self.snd.recovery.due_segment()
            && let Some(range) = self.within_peer_window(range)
        {
            return Some(self.retransmission(range));
        }
        // RFC 8985 §7.3: a probe is new data, regardless of the congestion window.
        let is_tail_probe = core::mem::take(&mut self.snd.tail_probe_due);
        if !is_tail_probe && self.waits_for_pacing(now) {
            return None;
        }
        // Nothing is lost, and all is sent.
        if !is_tail_probe
            && self.snd.send_state.phase() == RecoveryPhase::Open
            && !self.snd.has_unsent()
        {
            if self.snd.send_state.outstanding() == 0 {
                self.restart_window_after_idle(now);
            }
            return None;
        }
        let budget = match self.snd.send_state.f_rto() {
            _ if is_tail_probe => self.snd.send_state.mss(),
            Some(FRto::AwaitingSecondAck { new_data_left }) => new_data_left,
            _ => self.snd.recovery.budget(&self.snd.send_state),
        };
        if self.snd.send_state.phase() != RecoveryPhase::Open
            && !matches!(self.snd.send_state.f_rto(), Some(FRto::AwaitingSecondAck { .. }))
            && budget >= self.snd.send_state.mss()
            && let Some(range) = self.snd.recovery.next_retransmission(&self.snd.send_state, false)
            && let Some(range) = self.within_peer_window(range)
        {
            return Some(self.retransmission(range));
        }
        self.snd.send_state.skip_sacked();
        let is_idle = self.snd.send_state.outstanding() == 0;
        if is_idle {
            self.restart_window_after_idle(now);
        }
        let new_budget =
            if is_idle { self.snd.recovery.budget(&self.snd.send_state) } else { budget };
        let mut choice = self.segment_from_nxt(new_budget, is_tail_probe);
        if is_tail_probe {
            choice = self.take_tail_probe(choice);
        }
        if choice.is_some() {
            return choice;
        }
        if budget >= self.snd.send_state.mss()
            && let Some(range) = self.snd.recovery.next_retransmission(&self.snd.send_state, true)
        {
            return Some(self.retransmission(range));
        }
        None
    }

    /// A retransmission by loss recovery.
    fn retransmission(&self, range: SeqRange) -> SegmentChoice {
        let range = self.snd.segment_range(range);
        SegmentChoice { range, reason: SendReason::Retransmission }
    }

    /// Restarts from the initial window after an idle period, since the window is no measure of the
    /// path any more (RFC 5681 §4.1).
    fn restart_window_after_idle(&mut self, now: Instant) {
        let idle = now.since(self.snd.last_sent) > self.snd.rtt.rto();
        // A control with a model remembers the path.
        if !idle || self.stats.segments_sent == 0 || self.snd.send_state.has_model() {
            return;
        }
        let restart = initial_window(&self.config, self.snd.send_state.mss());
        if !self.config.linux_growth {
            self.snd.send_state.congestion.on_idle(restart);
            return;
        }
        if !self.snd.has_unsent() || self.snd.wnd == 0 {
            return;
        }
        let rto = self.snd.rtt.rto();
        let idle = now.since(self.snd.last_sent).saturating_sub(rto);
        self.snd.send_state.congestion.decay_for_idle(restart, idle, rto);
        // The idle period is over, even if the peer's window delays what follows.
        self.snd.last_sent = now;
    }

    /// Limits a retransmission after a timeout to the peer's window, which may have shrunk.
    fn within_peer_window(&self, range: SeqRange) -> Option<SeqRange> {
        let end = match self.snd.send_state.phase() {
            RecoveryPhase::Loss { .. } => range.end.min(self.snd.send_state.una() + self.snd.wnd),
            _ => range.end,
        };
        end.after(range.start).then(|| SeqRange::new(range.start, end))
    }

    /// Takes the next segment of the ranges that an aid wants retransmitted.
    fn take_aid_retransmission(&mut self) -> Option<SegmentChoice> {
        let send = &self.snd.send_state;
        while let Some((range, _)) = self.snd.aid_retransmissions.front_mut() {
            let end = range.end.min(send.max());
            let start = send.scoreboard().first_unsacked(range.start.max(send.una()));
            if start.before(end) {
                let reported = send.scoreboard().next_sacked(start).unwrap_or(send.max());
                let stop = (start + send.mss()).min(reported).min(end);
                range.start = stop;
                let ahead_of_queue =
                    self.snd.aid_retransmissions.front().is_some_and(|(_, ahead)| *ahead);
                let range = self.snd.segment_range(SeqRange::new(start, stop));
                return Some(SegmentChoice { range, reason: SendReason::Aid { ahead_of_queue } });
            }
            self.snd.aid_retransmissions.pop_front();
        }
        None
    }

    /// The segment sent when the persist timer expires. A small window is used after all (RFC 9293
    /// §3.8.6.2.1, rule 4); a closed one is probed with a byte at SND.UNA (§3.8.6.1).
    fn window_probe(&self) -> Option<SegmentChoice> {
        let snd = &self.snd;
        let at_una = snd.hold.is_some() || snd.wnd == 0;
        let start = if at_una { snd.send_state.una() } else { snd.send_state.nxt() };
        let waiting = snd.written_bytes_from(start);
        let room = snd.usable_window().min(snd.send_state.mss());
        if snd.hold.is_none() && room > 0 && waiting > 0 {
            let payload_len = waiting.min(u64::from(room)) as u32;
            let range = SegmentRange { start, has_syn: false, payload_len, has_fin: false };
            return Some(SegmentChoice { range, reason: SendReason::FromNxt });
        }
        let most = match snd.hold.and_then(|held| held.probe).map(|probe| probe.size) {
            Some(ProbeSize::Segment) => snd.send_state.mss(),
            Some(ProbeSize::Byte) | None => 1,
        };
        // SACKed data need not be retransmitted.
        let unreported =
            snd.send_state.scoreboard().next_sacked(start).unwrap_or(start + most).since(start);
        let payload_len = waiting.min(most.min(unreported.max(1)).into()) as u32;
        // With all data sent, the FIN's sequence number is used as a probe.
        let has_fin =
            payload_len == 0 && snd.fin_seq.map_or(snd.close_requested, |fin| fin == start);
        let range = SegmentRange { start, has_syn: false, payload_len, has_fin };
        let choice = SegmentChoice { range, reason: SendReason::WindowProbe };
        (!range.all().is_empty()).then_some(choice)
    }

    /// The next segment from SND.NXT: retransmissions after a timeout, then new data, then the FIN.
    /// `urgent` disables Nagle's algorithm and silly window avoidance.
    fn segment_from_nxt(&self, budget: u32, urgent: bool) -> Option<SegmentChoice> {
        let snd = &self.snd;
        let send = &snd.send_state;
        let start = send.nxt();
        let room = budget.min(snd.usable_window());
        let waiting = snd.written_bytes_from(start);
        let is_retransmission = start.before(send.max());
        let reported = if is_retransmission { send.scoreboard().next_sacked(start) } else { None };
        let stop = reported.map_or(u32::MAX, |seq| seq.since(start));
        let full = send.mss().saturating_sub(self.sack_option_len()).max(1);
        let payload_len = waiting.min(u64::from(room.min(full).min(stop))) as u32;
        let all = u64::from(payload_len) == waiting;
        // The FIN is sent with the last data, or alone; it needs no room in cwnd, but in the peer's
        // window. A SACKed FIN is not retransmitted.
        let fin_waits = snd.close_requested
            && (snd.fin_seq.is_none() || is_retransmission)
            && payload_len != stop;
        let fin_here = snd.fin_seq.is_none_or(|fin| fin == start + payload_len);
        let has_fin = fin_waits && fin_here && all && snd.usable_window() > payload_len;
        let range = SegmentRange { start, has_syn: false, payload_len, has_fin };
        let choice = SegmentChoice { range, reason: SendReason::FromNxt };
        if has_fin {
            return Some(choice);
        }
        if payload_len == 0 {
            return None;
        }
        // Silly window avoidance at the sender (RFC 9293 §3.8.6.2.1) and Nagle (§3.7.4).
        let nothing_out = start == send.una();
        let worth = urgent
            || payload_len >= full
            || payload_len == stop
            || is_retransmission
            || (all && (nothing_out || !self.config.nagle))
            || (snd.max_wnd > 0 && payload_len >= snd.max_wnd / 2);
        worth.then_some(choice)
    }

    /// Ensures that a timer is running while anything remains to be sent or acknowledged.
    fn ensure_timer_runs(&mut self, now: Instant) {
        let outstanding = self.snd.send_state.outstanding() > 0;
        if self.timers.deadline(Timer::Persist).is_some() || !(outstanding || self.snd.has_unsent())
        {
            return;
        }
        if outstanding && self.config.linux_persist {
            if self.timers.deadline(Timer::Retransmission).is_none() {
                self.restart_retransmission_timer(now);
            }
            return;
        }
        if self.snd.wnd == 0 && self.snd.send_state.nxt() != self.snd.send_state.una() {
            // RFC 9293 §3.8.6: the peer has shrunk its window with data in flight. As in 4.4BSD,
            // this leads to probes instead of timeouts, and then to a restart from SND.UNA.
            self.snd.send_state.rewind_nxt(true);
            self.snd.timed_segment = None;
        } else if outstanding && self.snd.wnd > 0 {
            if self.timers.deadline(Timer::Retransmission).is_none() {
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
        self.snd.probe_interval = gap;
        self.timers.set(Timer::Persist, self.config.clock.deadline(now, gap));
    }

    /// Length of the SACK option in a data segment (bytes).
    fn sack_option_len(&self) -> u32 {
        if self.negotiated.sack && self.rcv.has_hole() {
            2 + 2 + 8 * self.max_sack_blocks() as u32
        } else {
            0
        }
    }
    /// Maximum number of SACK blocks beside the other options (RFC 2018 §3).
    fn max_sack_blocks(&self) -> usize {
        if self.negotiated.timestamps { 3 } else { 4 }
    }

    /// Builds the segment for `choice` and records its transmission.
    fn send(&mut self, now: Instant, choice: SegmentChoice) -> Transmit {
        let SegmentRange { start, payload_len: len, .. } = choice.range;
        let retransmission = start.before(self.snd.send_state.max());
        let mut flags = TcpFlags::ACK;
        if let Some(fin) = choice.range.fin() {
            flags = flags.with(TcpFlags::FIN);
            self.snd.fin_seq = Some(fin.start);
        }
        if len > 0 && u64::from(len) == self.snd.written_bytes_from(start) {
            flags = flags.with(TcpFlags::PSH);
        }
        let fresh = len > 0 && !retransmission && choice.reason != SendReason::WindowProbe;
        let ecn = if self.snd.ecn.negotiated && fresh {
            if core::mem::take(&mut self.snd.ecn.cwr_due) {
                flags = flags.with(TcpFlags::CWR);
            }
            // RFC 3168 §6.1.5, §6.1.6: neither retransmissions nor window probes are ECN-capable.
            Ecn::Ect0
        } else {
            Ecn::NotEct
        };
        let mut segment = self.header_only_segment(flags);
        segment.seq = start;
        if len > 0 {
            segment.payload = Payload::new(self.stream, self.snd.offset_at(start), len);
        }
        self.complete_header(now, &mut segment);
        if choice.reason == (SendReason::Aid { ahead_of_queue: true }) {
            self.backdate(&mut segment);
        }
        self.record_sent(now, choice, retransmission);
        Transmit {
            ecn,
            ahead_of_queue: choice.reason == SendReason::Aid { ahead_of_queue: true },
            requested_by_aid: matches!(choice.reason, SendReason::Aid { .. }),
            retransmission,
            ..Transmit::plain(segment)
        }
    }

    /// Gives a segment that overtakes others the timestamp that the peer has already. A newer one
    /// at RCV.NXT would advance the peer's TS.Recent past theirs, and PAWS (RFC 7323 §5) would drop
    /// them all. Its acknowledgment is no RTT sample.
    fn backdate(&mut self, segment: &mut TcpSegment) {
        if let Some(timestamps) = &mut segment.options.timestamps {
            timestamps.value = self.snd.last_echoed_timestamp;
            let end = segment.end();
            self.snd.no_sample_until =
                Some(self.snd.no_sample_until.map_or(end, |other| other.max(end)));
        }
    }

    /// Records the transmission: in the send state, in loss recovery, in the statistics and in the
    /// timers, which it starts.
    fn record_sent(&mut self, now: Instant, choice: SegmentChoice, retransmission: bool) {
        let SegmentRange { start, payload_len: len, .. } = choice.range;
        let sent = choice.range.all();
        let end = sent.end;
        // A probe with old data says nothing about the segment that it is a part of: that is still lost,
        // or in flight, as before.
        let is_old = end.at_or_before(self.snd.send_state.max());
        if choice.reason != SendReason::WindowProbe || !is_old {
            let timed = self.snd.recovery.next_timeout();
            let in_flight = self.snd.send_state.log().pipe();
            self.snd.send_state.log_sent(now, sent);
            self.snd.recovery.on_sent(now, sent);
            self.update_recovery_timer_if_changed(now, timed);
            self.on_paced_data_sent(now, len, in_flight, is_old);
        }
        let send = &mut self.snd.send_state;
        send.on_sent(end);
        match choice.reason {
            SendReason::FromNxt => send.on_sent_from_nxt(end, len),
            SendReason::Retransmission => send.on_retransmission_sent(sent),
            SendReason::TailLossProbe | SendReason::Aid { .. } | SendReason::WindowProbe => {}
        }
        if len > 0 && choice.reason != SendReason::WindowProbe {
            self.stats.segments_sent += 1;
            self.stats.bytes_sent += u64::from(len);
            self.snd.send_state.on_data_sent(len);
            self.validate_window(now);
        }
        self.stats.probes += u64::from(choice.reason == SendReason::WindowProbe);
        if retransmission {
            self.stats.retransmissions += u64::from(choice.reason != SendReason::WindowProbe);
            if self.snd.undo_state.is_some()
                && matches!(choice.reason, SendReason::FromNxt | SendReason::Retransmission)
            {
                let stamp = self.timestamp(now);
                if let Some(state) = &mut self.snd.undo_state {
                    // RFC 2883 §4: D-SACKs are of data.
                    state.on_retransmission(choice.range.payload(), stamp);
                }
            }
            // Karn: retransmitted data is not timed (RFC 6298 §3).
            self.snd.timed_segment =
                self.snd.timed_segment.filter(|(timed, _)| timed.at_or_before(start));
        } else if choice.reason != SendReason::WindowProbe
            && self.snd.timed_segment.is_none()
            && !self.snd.recovery.has_segment_timers()
        {
            self.snd.timed_segment = Some((end, now));
        }
        self.snd.last_sent = now;
        if len > 0 {
            self.pending_ack.delay.on_data_sent(now);
        }
        if choice.reason != SendReason::WindowProbe {
            self.start_timers(now, choice, retransmission);
        }
    }

    /// Starts the timers of a segment that has been sent, unless they are running.
    fn start_timers(&mut self, now: Instant, choice: SegmentChoice, retransmission: bool) {
        let sent = choice.range.all();
        let (clock, rto) = (self.config.clock, self.snd.rtt.rto());
        let expiry = || clock.deadline(now, rto);
        if self.snd.recovery.has_segment_timers() {
            self.snd.recovery.start_segment_timer(now, sent, expiry());
        }
        if self.snd.hold.is_some() {
            return;
        }
        self.timers.stop(Timer::Persist);
        let repair = retransmission
            && matches!(choice.reason, SendReason::FromNxt | SendReason::Retransmission);
        if repair && self.config.rearm_with_head && sent.start == self.snd.send_state.una() {
            self.timers.set(Timer::Retransmission, expiry());
            if self.snd.recovery.next_timeout().is_none() {
                self.timers.stop(Timer::Recovery);
            }
        }
        if let Some(first) = self.snd.recovery.first_segment_deadline() {
            self.timers.set(Timer::Retransmission, first.max(now));
        } else if self.timers.deadline(Timer::Retransmission).is_none() {
            self.timers.set(Timer::Retransmission, expiry());
        }
        if !retransmission {
            self.schedule_tail_probe(now);
        }
    }

    /// Sends a pure acknowledgment.
    fn send_ack(&mut self, now: Instant, mut segment: TcpSegment) -> Transmit {
        self.complete_header(now, &mut segment);
        self.stats.acks_sent += 1;
        Transmit::plain(segment)
    }

    /// Completes the header of a segment on a synchronized connection; it carries the pending
    /// acknowledgment.
    fn complete_header(&mut self, now: Instant, segment: &mut TcpSegment) {
        if self.pending_ack.echo_ce {
            segment.flags = segment.flags.with(TcpFlags::ECE);
        }
        segment.options.timestamps = self.own_timestamps(now);
        if self.negotiated.sack {
            // With a payload, only as many blocks as fit into the segment size.
            let spare =
                (self.snd.send_state.mss().saturating_sub(segment.payload.len + 4) / 8) as usize;
            let most = if segment.payload.is_empty() { 4 } else { spare };
            segment.options.sack = self.rcv.sack_blocks(self.max_sack_blocks().min(most));
        }
        let window = self.rcv.advertise(u32::from(self.config.mss));
        segment.window = self.window_field(window);
        self.note_ack_sent();
        self.pending_ack.segments = 0;
        self.pending_ack.due_now = false;
        self.pending_ack.last_sent = self.rcv.nxt();
        self.timers.stop(Timer::DelayedAck);
    }

    /// The window as written into the header.
    pub(super) fn window_field(&self, bytes: u32) -> u16 {
        let shift = if self.negotiated.window_scale { self.rcv.window_shift() } else { 0 };
        (bytes >> shift).min(65_535) as u16
    }
}
