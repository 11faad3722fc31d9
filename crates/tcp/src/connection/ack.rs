//! Acknowledgment processing in the sending half (RFC 9293 §3.10.7.4, fifth check).

use driftway_base::{Duration, Instant, Release, Seq, SeqRange};
use driftway_wire::{TcpFlags, TcpSegment, Timestamps};

use super::congestion::{FlightBefore, Growth};
use super::control_block::{Connection, Event};
use super::f_rto::AckOutcome;
use super::sender::Sender;
use crate::congestion::CongestionWindow;
use crate::send_state::RecoveryPhase;
use crate::state::{State, Transition};
use crate::timer::Timer;

/// The SACK blocks that lie between `una` and `max`.
pub(super) fn valid_sack_blocks(
    segment: &TcpSegment,
    una: Seq,
    max: Seq,
) -> impl Iterator<Item = SeqRange> + '_ {
    // As distances: sequence numbers half the space apart have no order.
    let low = segment.ack.max(una);
    let from = move |seq: Seq| seq.since(low);
    segment.options.sack.as_slice().iter().copied().filter(move |block| {
        let (start, end) = (from(block.start), from(block.end));
        0 < start && start < end && end <= from(max)
    })
}

impl Connection {
    /// Processes the acknowledgment; false if the segment is to be dropped because of it.
    pub(super) fn on_ack(&mut self, now: Instant, segment: &TcpSegment) -> bool {
        let ack = segment.ack;
        let send = &self.snd.send_state;
        if ack.after(send.max()) || ack.before(send.una() - self.snd.max_wnd.max(1)) {
            // RFC 5961 §5.2
            if ack.after(send.max()) || self.config.challenge_old_acks {
                self.send_challenge_ack(now);
            }
            return false;
        }
        if self.acknowledges_nothing(segment) {
            self.on_repeated_ack(now, segment);
            return true;
        }
        let send = &self.snd.send_state;
        let outstanding = send.outstanding();
        let before = send.delivery_snapshot();
        let flight = FlightBefore::of(&self.snd, outstanding, self.counts_delivered());
        let una = send.una();
        let window = u32::from(segment.window) << self.snd.wnd_shift;
        if let Some(timestamps) = segment.options.timestamps {
            self.snd.last_echoed_timestamp = timestamps.echo;
        }
        self.snd.send_state.begin_ack_processing();
        let new_sack = self.update_scoreboard(segment);
        let duplicate = if self.negotiated.sack {
            // RFC 6675 §2: new SACK information, in any kind of segment.
            new_sack
        } else {
            // RFC 5681 §2
            ack == self.snd.send_state.una()
                && segment.sequence_len() == 0
                && window == self.snd.wnd
        };
        // While the timer is stopped, in persist mode or during a hold that stops it, apparent
        // duplicates are answers to probes.
        let counts = outstanding > 0 && self.timers.deadline(Timer::Retransmission).is_some();
        self.release_hold(now, ack, window);
        let advanced = ack.after(self.snd.send_state.una());
        let untimed = self.snd.no_sample_until.is_some();
        let mut growth = Growth { may_grow: false, rtt: None };
        if advanced {
            growth = self.on_new_ack(now, segment, outstanding);
        }
        if self.snd.hold.is_none() {
            self.snd.send_state.complete_prr();
        }
        let duplicate = duplicate && counts;
        if duplicate && self.snd.send_state.outstanding() > 0 {
            self.on_duplicate(now);
        }
        if self.snd.send_state.keeps_log() || self.snd.recovery.wants_feedback() {
            let moved = if advanced { ack.since(una) } else { 0 };
            growth.rtt = self.give_feedback(now, segment, moved, untimed).or(growth.rtt);
            if advanced && self.times_segments() {
                self.restart_retransmission_timer(now);
            }
        }
        if self.snd.recovery.has_segment_timers() {
            self.sample_segment(now, segment.ack);
            // A SACKed segment may have had the earliest timer.
            self.restart_retransmission_timer(now);
        }
        if self.snd.ecn.negotiated && segment.flags.contains(TcpFlags::ECE) {
            self.on_congestion_echo(now);
        }
        // chandran-1998 §4: congestion control rests during a hold, like duplicates that do not
        // count.
        if let Some(before) = before.filter(|_| self.snd.hold.is_none()) {
            self.apply_prr(before);
        }
        self.update_send_window(segment, window);
        self.advance_f_rto(now, segment, AckOutcome { advanced, duplicate });
        self.detect_by_dsack(now, segment);
        self.control_congestion(now, segment, &flight, growth);
        self.snd.send_state.end_ack_processing();
        if self.snd.is_growth_paused() {
            self.snd.send_state.congestion.on_pause(now);
        }
        if self.snd.recovery.has_timer() {
            match advanced {
                true => self.update_recovery_timers(now),
                false => self.update_recovery_timers_without_advance(now),
            }
        }
        true
    }

    /// True for an acknowledgment that can change the send window alone: nothing is outstanding. A peer that only sends
    /// has one in each segment.
    fn acknowledges_nothing(&self, segment: &TcpSegment) -> bool {
        let Sender { send_state: send, recovery, hold, .. } = &self.snd;
        segment.ack == send.max()
            && segment.ack == send.una()
            && segment.options.sack.is_empty()
            && !segment.flags.contains(TcpFlags::ECE)
            && hold.is_none()
            && send.is_at_rest()
            && !send.keeps_log()
            && !recovery.wants_feedback()
            && !recovery.has_timer()
            && !recovery.has_segment_timers()
    }

    /// Handles such an acknowledgment.
    fn on_repeated_ack(&mut self, now: Instant, segment: &TcpSegment) {
        if let Some(timestamps) = segment.options.timestamps {
            self.snd.last_echoed_timestamp = timestamps.echo;
        }
        self.update_send_window(segment, u32::from(segment.window) << self.snd.wnd_shift);
        if self.snd.is_growth_paused() {
            self.snd.send_state.congestion.on_pause(now);
        }
    }

    fn on_duplicate(&mut self, now: Instant) {
        let send = &mut self.snd.send_state;
        send.count_dup_ack();
        let before = send.congestion.prior_window();
        if self.snd.recovery.on_duplicate(now, send) {
            self.on_recovery_started(now, before);
        }
    }

    /// Handles the start of fast recovery; `before` is the window that an undo would have restored
    /// until then.
    pub(super) fn on_recovery_started(&mut self, now: Instant, before: Option<CongestionWindow>) {
        self.begin_undo_state(false, before);
        self.stats.fast_retransmits += 1;
        self.events.push_back(Event::FastRetransmit);
        self.snd.timed_segment = None;
        // Otherwise an ECN echo has reduced it in this round trip.
        if self.snd.send_state.congestion.prior_window().is_some() {
            self.snd.on_cwnd_reduced();
        }
        self.restart_retransmission_timer(now);
    }

    /// Adds the SACK blocks to the scoreboard; true if they bring new information. D-SACK blocks
    /// below the acknowledgment (RFC 2883) say nothing about outstanding data.
    fn update_scoreboard(&mut self, segment: &TcpSegment) -> bool {
        if !self.negotiated.sack {
            return false;
        }
        let (una, max) = (self.snd.send_state.una(), self.snd.send_state.max());
        let mut new_sack = false;
        for block in valid_sack_blocks(segment, una, max) {
            new_sack |= self.snd.send_state.on_sack_block(block);
        }
        new_sack
    }

    /// Ends a hold that any acceptable acknowledgment with an open window releases.
    fn release_hold(&mut self, now: Instant, ack: Seq, window: u32) {
        let by_ack = self.snd.hold.is_some_and(|held| held.release == Release::AnyAck);
        if by_ack && window > 0 && ack.at_or_after(self.snd.send_state.una()) {
            self.end_hold(now);
        }
    }

    /// Handles an acknowledgment of new data.
    fn on_new_ack(&mut self, now: Instant, segment: &TcpSegment, outstanding: u32) -> Growth {
        let ack = segment.ack;
        let snd = &mut self.snd;
        let acked_range = snd.segment_range(SeqRange::new(snd.send_state.una(), ack));
        snd.una_offset += u64::from(acked_range.payload_len);
        let bytes = acked_range.sequence_len();
        let send = &mut snd.send_state;
        send.on_acknowledged(ack);
        snd.ecn.cwr_until = snd.ecn.cwr_until.filter(|point| ack.at_or_before(*point));
        snd.retries = 0;
        snd.disruption = None;
        if snd.hold.is_none() {
            self.timers.stop(Timer::Persist);
            self.snd.window_probe_due = false;
        }
        let rtt = match self.times_segments() {
            true => None,
            false => self.sample_round_trip(now, segment, outstanding),
        };
        if self.snd.no_sample_until.is_some_and(|end| ack.at_or_after(end)) {
            self.snd.no_sample_until = None;
        }
        self.detect_by_timestamp(now, segment);
        let (una, max) = (self.snd.send_state.una(), self.snd.send_state.max());
        if self.snd.undo_state.as_mut().is_some_and(|state| !state.on_una_advanced(una, max)) {
            self.snd.undo_state = None;
        }
        let send = &mut self.snd.send_state;
        let advance = self.snd.recovery.on_advance(now, send, bytes);
        send.reset_dup_acks();
        if advance.restarts_timer || send.outstanding() == 0 {
            self.restart_retransmission_timer(now);
        }
        if acked_range.has_fin {
            self.on_fin_acknowledged(now);
        }
        Growth { may_grow: advance.grows_cwnd, rtt }
    }

    fn on_fin_acknowledged(&mut self, now: Instant) {
        let last = self.state == State::LastAck;
        self.apply_transition(Transition::AckOfFin);
        if last {
            self.terminate(Event::Closed);
        } else if self.state == State::TimeWait {
            self.start_time_wait(now);
        }
    }

    /// Takes an RTT sample: of one timed segment, never of a retransmission (RFC 6298 §3), or of
    /// every timestamp echo (RFC 7323 §4.1).
    pub(super) fn sample_round_trip(
        &mut self,
        now: Instant,
        segment: &TcpSegment,
        flight_size: u32,
    ) -> Option<Duration> {
        let timed = match self.snd.timed_segment {
            Some((end, at)) if segment.ack.at_or_after(end) => {
                self.snd.timed_segment = None;
                Some((self.config.clock.measure_rtt(at, now), 1))
            }
            _ => None,
        };
        let untimed = self.snd.no_sample_until.is_some();
        let sample = match segment.options.timestamps.filter(|_| self.negotiated.timestamps) {
            Some(_) if untimed => None,
            Some(Timestamps { echo, .. }) if echo != 0 => {
                let ticks = self.timestamp(now).wrapping_sub(echo);
                // An echo from the future, or from too long ago, is not ours.
                let sane = ticks < 1 << 20;
                // RFC 7323 §4.2: number of samples in a round trip.
                let samples =
                    flight_size.div_ceil(self.snd.send_state.mss().saturating_mul(2).max(1));
                sane.then(|| (self.timestamp_tick().times(u64::from(ticks)), samples))
            }
            _ => timed,
        };
        let (rtt, per_round_trip) = sample?;
        self.take_sample(segment.ack, rtt, per_round_trip);
        Some(rtt)
    }

    /// Takes an RTT sample per segment, each of which has an ACK event of its own (chandran-1998
    /// §5.2).
    fn sample_segment(&mut self, now: Instant, ack: Seq) {
        let interrupted = self.snd.no_sample_until.is_some() || self.snd.hold.is_some();
        let sent = self.snd.recovery.take_sample_start();
        if let Some(sent) = sent.filter(|_| !interrupted && !self.negotiated.timestamps) {
            self.take_sample(ack, self.config.clock.measure_rtt(sent, now), 1);
        }
    }

    /// The round trip is measured by the log of sent segments, as in Linux, which is exact and sees
    /// SACKed segments, too.
    pub(super) fn times_segments(&self) -> bool {
        self.config.linux_rto && self.snd.send_state.keeps_log()
    }

    pub(super) fn take_sample(&mut self, ack: Seq, rtt: Duration, per_round_trip: u32) {
        self.snd.rtt.sample(rtt, per_round_trip);
        if ack.after(self.snd.rtt_round_end) {
            self.snd.rtt.end_round();
            self.snd.rtt_round_end = self.snd.send_state.max();
        }
        self.restore_prior_rtt(ack, rtt);
        self.stats.rtt_sum = self.stats.rtt_sum + rtt;
        self.stats.rtt_samples += 1;
    }

    /// Responds to an ECN echo: at most one reduction per window of data, none during a recovery
    /// (RFC 3168 §6.1.2).
    fn on_congestion_echo(&mut self, now: Instant) {
        let snd = &mut self.snd;
        if snd.ecn.cwr_until.is_some()
            || snd.send_state.is_reducing()
            || snd.send_state.phase() != RecoveryPhase::Open
        {
            return;
        }
        match self.config.ece_slow_start {
            true => snd.send_state.enter_slow_start(),
            false => snd.send_state.reduce_for_ecn(now),
        }
        snd.undo_state = None;
        snd.on_cwnd_reduced();
        self.stats.ecn_reductions += 1;
    }

    /// Updates the send window from a segment that is not older than the last one (RFC 9293
    /// §3.10.7.4).
    fn update_send_window(&mut self, segment: &TcpSegment, window: u32) {
        let snd = &mut self.snd;
        let newer = snd.wl1.before(segment.seq)
            || (snd.wl1 == segment.seq && snd.wl2.at_or_before(segment.ack));
        if !newer || segment.ack.before(snd.send_state.una()) {
            return;
        }
        let opens = snd.wnd == 0 && window > 0;
        snd.wnd = window;
        snd.max_wnd = snd.max_wnd.max(window);
        snd.wl1 = segment.seq;
        snd.wl2 = segment.ack;
        if snd.hold.is_some() {
            return;
        }
        if window == 0 {
            // The peer has answered a probe, so it is alive (RFC 9293 §3.8.6.1).
            snd.retries = 0;
        } else if opens {
            snd.window_probe_due = false;
            self.timers.stop(Timer::Persist);
        }
    }
}
