//! Loss recoveries with timers in the connection: their feedback, their timer, their tail loss
//! probe.
//!
//! RFC 8985 uses one timer for all; here the retransmission timer runs beside that of the probe,
//! which never expires later and restarts it. The retransmission deadline in a view therefore has
//! the same meaning under every recovery: the time at which TCP takes the absence of
//! acknowledgments for congestion.

use driftway_base::{Duration, Instant, Seq, SeqRange};
use driftway_wire::TcpSegment;

use super::ack::valid_sack_blocks;
use super::control_block::Connection;
use super::output::{SegmentChoice, SendReason};
use super::sender::Sender;
use crate::recovery::{AckFeedback, FeedbackResponse};
use crate::send_state::RecoveryPhase;
use crate::sent_log::SentSegment;
use crate::timer::Timer;
use crate::undo_state::dsack_block;

/// The data that an acknowledgment has delivered.
#[derive(Clone, Copy, Debug, Default)]
struct Delivered {
    /// Round-trip time of the newest segment that was sent once.
    rtt: Option<Duration>,
    /// Data sent once, before the last timeout.
    original: bool,
}

/// A segment that was sent once (Karn), so that its acknowledgment gives its round-trip time.
#[derive(Clone, Copy, Debug)]
struct TimedSegment {
    transmission: u64,
    sent_at: Instant,
    /// Timers were not frozen since.
    whole: bool,
}

/// The segments of an acknowledgment by which round trips are measured.
#[derive(Clone, Copy, Debug, Default)]
struct RoundTrips {
    /// The first one acknowledged, and the first one SACKed.
    acked: Option<TimedSegment>,
    sacked: Option<TimedSegment>,
    /// A retransmitted one was acknowledged.
    ambiguous: bool,
    /// Those sent last.
    last_acked: Option<TimedSegment>,
    last_sacked: Option<TimedSegment>,
}

impl RoundTrips {
    fn add(&mut self, una: Seq, sent: &SentSegment) {
        let is_acked = sent.range.end.at_or_before(una);
        if sent.retransmitted {
            self.ambiguous |= is_acked;
            return;
        }
        let (first, last) = match is_acked {
            true => (&mut self.acked, &mut self.last_acked),
            false => (&mut self.sacked, &mut self.last_sacked),
        };
        let SentSegment { transmission, sent_at, adjusted_sent_at, .. } = *sent;
        let timed = TimedSegment { transmission, sent_at, whole: adjusted_sent_at == sent_at };
        first.get_or_insert(timed);
        if last.is_none_or(|other| transmission > other.transmission) {
            *last = Some(timed);
        }
    }

    /// The newest segment. What is acknowledged with a retransmission may have arrived long ago.
    fn newest(&self) -> Option<TimedSegment> {
        self.last_sacked.or(self.last_acked.filter(|_| !self.ambiguous))
    }

    /// The segment for the estimate of the round-trip time.
    fn sample(&self) -> Option<TimedSegment> {
        self.acked.filter(|_| !self.ambiguous).or(self.sacked)
    }
}

impl Connection {
    /// Takes the delivered segments from the log, and passes them and the contents of the
    /// acknowledgment to the recovery; SND.UNA has advanced by `acked_bytes`. `untimed`: it gives no
    /// RTT sample. Returns the round-trip time of the newest segment that was sent once.
    pub(super) fn give_feedback(
        &mut self,
        now: Instant,
        segment: &TcpSegment,
        acked_bytes: u32,
        untimed: bool,
    ) -> Option<Duration> {
        let send = &self.snd.send_state;
        let mut blocks = [SeqRange::new(send.una(), send.una()); 4];
        let mut count = 0;
        // A peer may send blocks although SACK is not agreed.
        let reported = valid_sack_blocks(segment, send.una(), send.max());
        for (place, block) in blocks.iter_mut().zip(reported.filter(|_| self.negotiated.sack)) {
            *place = block;
            count += 1;
        }
        let echo = segment.options.timestamps.filter(|_| self.negotiated.timestamps);
        let feedback = AckFeedback {
            acked_bytes,
            sack_blocks: blocks.get(..count).unwrap_or_default(),
            dsack: dsack_block(segment),
            timestamp_echo: echo.map(|timestamps| (timestamps.echo, self.timestamp_tick())),
            srtt: self.snd.rtt.srtt().unwrap_or(Duration::ZERO),
            on_hold: self.snd.hold.is_some(),
        };
        let Delivered { rtt, original } = self.take_delivered(now, &feedback, untimed);
        if original && self.config.f_rto_again && self.snd.send_state.f_rto().is_some() {
            // RFC 5682 §3.1, step 3b, in Linux at the first acknowledgment already, too. Losses are detected after it,
            // among what is in flight again.
            self.undo_response(now, segment);
        }
        if !self.snd.recovery.wants_feedback() {
            return rtt;
        }
        let before = self.snd.send_state.congestion.prior_window();
        match self.snd.recovery.on_feedback(now, &mut self.snd.send_state, &feedback) {
            FeedbackResponse::Nothing => {}
            FeedbackResponse::RecoveryStarted => self.on_recovery_started(now, before),
            FeedbackResponse::ReduceCwnd => {
                self.snd.send_state.reduce_cwnd(now);
                self.snd.undo_state = None;
                self.snd.on_cwnd_reduced();
            }
        }
        rtt
    }

    /// Removes the newly delivered segments from the log in ascending order, as within one
    /// acknowledgment no order is known.
    fn take_delivered(
        &mut self,
        now: Instant,
        feedback: &AckFeedback<'_>,
        untimed: bool,
    ) -> Delivered {
        let timeout_end = match self.snd.send_state.phase() {
            RecoveryPhase::Loss { point } => Some(point),
            _ => None,
        };
        let Sender { send_state: send, recovery, .. } = &mut self.snd;
        if !send.keeps_log() {
            return Delivered::default();
        }
        let una = send.una();
        let mut blocks = [SeqRange::new(una - feedback.acked_bytes, una); 5];
        let mut count = 1;
        for (place, block) in blocks.iter_mut().skip(1).zip(feedback.sack_blocks) {
            *place = *block;
            count += 1;
        }
        let blocks = blocks.get_mut(..count).unwrap_or_default();
        blocks.sort_unstable_by_key(|block| block.end.since(una));
        let (mut times, mut original) = (RoundTrips::default(), false);
        for block in blocks {
            send.take_delivered(now, *block, |sent| {
                recovery.on_delivered(now, una, feedback, sent);
                times.add(una, sent);
                let before = timeout_end.is_some_and(|end| sent.range.end.at_or_before(end));
                original |= before && !sent.retransmitted;
            });
        }
        debug_assert!(send.log().is_consistent_with(una, send.max(), send.scoreboard()));
        // An RTT sample that spans a hold or frozen timers is not a measure of the path.
        let timed =
            |sent: TimedSegment| (sent.whole && !feedback.on_hold).then(|| now.since(sent.sent_at));
        let sample = times.sample().and_then(timed).filter(|_| !untimed);
        let mut rtt = times.newest().filter(|_| !untimed).and_then(timed);
        if self.times_segments() {
            // Where the segments give none, Linux measures by the echo, also of a segment that arrived
            // before an outage.
            let by_echo = || self.echoed_round_trip(now, feedback).filter(|_| !untimed);
            let echoed = if sample.is_none() { by_echo() } else { None };
            rtt = echoed.or(rtt);
            if let Some(sample) = sample.or(echoed) {
                self.take_sample(una, sample, 1);
            }
        }
        Delivered { rtt, original }
    }

    /// Age of the segment whose timestamp an acknowledgment of new data echoes, at least a tick.
    fn echoed_round_trip(&self, now: Instant, feedback: &AckFeedback<'_>) -> Option<Duration> {
        let (echo, tick) = feedback.timestamp_echo.filter(|(echo, _)| *echo != 0)?;
        let ticks = self.timestamp(now).wrapping_sub(echo);
        let sane = ticks < 1 << 20 && feedback.acked_bytes > 0 && !feedback.on_hold;
        sane.then(|| tick.times(u64::from(ticks.max(1))))
    }

    /// Sets both timers after an acknowledgment of new data, or an expiry.
    pub(super) fn update_recovery_timers(&mut self, now: Instant) {
        match self.snd.recovery.next_timeout().filter(|_| self.snd.hold.is_none()) {
            Some(at) => self.set_recovery_timer(now, at),
            None => self.timers.stop(Timer::Recovery),
        }
        self.schedule_tail_probe(now);
    }

    /// Sets both timers after an acknowledgment without new data. In Linux the recovery's has taken the place of the
    /// retransmission timer, and stays set although no segment waits for it any more.
    pub(super) fn update_recovery_timers_without_advance(&mut self, now: Instant) {
        let waits = self.snd.recovery.next_timeout().is_some();
        if self.config.rearm_with_head && !waits && self.snd.hold.is_none() {
            self.schedule_tail_probe(now);
        } else {
            self.update_recovery_timers(now);
        }
    }

    fn set_recovery_timer(&mut self, now: Instant, at: Instant) {
        let clock = self.config.clock;
        let at = clock.deadline(now, at.since(now) + clock.short_timer_margin());
        self.timers.set(Timer::Recovery, at);
    }

    /// Sets the recovery's timer after another event, if its deadline differs from the one
    /// `before`. A timer that is no longer needed may expire.
    pub(super) fn update_recovery_timer_if_changed(
        &mut self,
        now: Instant,
        before: Option<Instant>,
    ) {
        if !self.snd.recovery.has_timer() {
            return;
        }
        let wanted = self.snd.recovery.next_timeout().filter(|_| self.snd.hold.is_none());
        if let Some(at) = wanted.filter(|_| wanted != before) {
            self.set_recovery_timer(now, at);
        }
    }

    /// Resumes both timers after a hold. Data SACKed meanwhile counts now; a frozen probe keeps its
    /// remaining time.
    pub(super) fn resume_recovery_timers(&mut self, now: Instant) {
        if !self.snd.recovery.has_timer() {
            return;
        }
        let waits = self.snd.recovery.next_timeout().is_some();
        if waits || !self.snd.send_state.scoreboard().is_empty() {
            self.detect_overdue(now);
        } else if self.timers.deadline(Timer::LossProbe).is_none() {
            self.update_recovery_timers(now);
        }
    }

    /// Schedules a tail loss probe (RFC 8985 §7.2).
    pub(super) fn schedule_tail_probe(&mut self, now: Instant) {
        if !self.snd.recovery.has_timer() {
            return;
        }
        self.timers.stop(Timer::LossProbe);
        let allowed = self.snd.hold.is_none() && self.timers.deadline(Timer::Recovery).is_none();
        let Some(timeout) = self.timers.deadline(Timer::Retransmission).filter(|_| allowed) else {
            return;
        };
        let Some(span) = self.probe_timeout() else { return };
        let at = self.config.clock.deadline(now, span).min(timeout);
        self.timers.set(Timer::LossProbe, at);
    }

    fn probe_timeout(&self) -> Option<Duration> {
        let margin = self.config.clock.short_timer_margin();
        self.snd.recovery.probe_timeout(&self.snd.send_state, self.snd.rtt.srtt(), margin)
    }

    /// Handles the probe timeout (RFC 8985 §7.3).
    pub(super) fn loss_probe_timeout(&mut self, now: Instant) {
        if self.probe_timeout().is_some() {
            self.snd.tail_probe_due = true;
        }
        if self.timers.deadline(Timer::Retransmission).is_none() {
            return;
        }
        let send = &self.snd.send_state;
        let head = send.log().first().filter(|_| self.config.linux_persist && self.snd.wnd == 0);
        match head {
            // As in Linux, the window lets no probe pass, and the timer is that of the first segment.
            Some(head) if self.snd.recovery.last_segment(send) != Some(head.range) => {
                self.snd.tail_probe_due = false;
                self.time_first_segment(now);
            }
            // With or without a probe, the retransmission timer restarts.
            _ => self.restart_retransmission_timer(now),
        }
    }

    /// Sets the retransmission timer by the age of the first segment: it expires at once where that is older than the
    /// timeout.
    fn time_first_segment(&mut self, now: Instant) {
        if let Some(head) = self.snd.send_state.log().first() {
            let due = head.adjusted_sent_at + self.snd.rtt.rto();
            self.timers.set(Timer::Retransmission, self.config.clock.deadline(now, due.since(now)));
        }
    }

    /// Takes the tail loss probe: new data, if available, otherwise the last segment.
    #[cold]
    pub(super) fn take_tail_probe(&mut self, new: Option<SegmentChoice>) -> Option<SegmentChoice> {
        let is_retransmission = new.is_none();
        let last = || self.snd.recovery.last_segment(&self.snd.send_state);
        let choice = new.or_else(|| {
            last()
                .map(|range| self.snd.segment_range(range))
                .map(|range| SegmentChoice { range, reason: SendReason::TailLossProbe })
        })?;
        self.stats.tail_probes += 1;
        let end = self.snd.send_state.max().max(choice.range.end());
        self.snd.recovery.on_probe(end, is_retransmission);
        Some(choice)
    }

    /// Handles an expiry of the recovery's timer.
    pub(super) fn recovery_timeout(&mut self, now: Instant) {
        self.detect_overdue(now);
        if self.config.rearm_with_head && self.timers.deadline(Timer::Retransmission).is_some() {
            // In Linux it was set in place of the retransmission timer. What is retransmitted now restarts that.
            self.time_first_segment(now);
        }
    }

    /// Detects losses by the time that has passed.
    fn detect_overdue(&mut self, now: Instant) {
        let before = self.snd.send_state.congestion.prior_window();
        let delivered = self.snd.send_state.delivery_snapshot();
        if self.snd.recovery.on_timeout(now, &mut self.snd.send_state) {
            self.on_recovery_started(now, before);
            if let Some(delivered) = delivered {
                self.begin_prr_by_timer(delivered);
            }
        }
        self.update_recovery_timers(now);
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::config::Config;
    use crate::recovery::{LossRecovery, NewAckResponse};
    use crate::send_state::SendState;
    use alloc::boxed::Box;
    use driftway_base::{Ecn, Endpoint, Ipv4Addr};
    use driftway_wire::TcpFlags;

    /// Retransmits everything that is unacknowledged after 100 ms, once.
    #[derive(Debug, Default)]
    struct Impatient(Option<Instant>);

    impl LossRecovery for Impatient {
        fn on_duplicate(&mut self, _: Instant, _: &mut SendState) -> bool {
            false
        }
        fn on_advance(&mut self, _: Instant, send: &mut SendState, _: u32) -> NewAckResponse {
            self.0 = None;
            send.leave_loss_if_acknowledged();
            NewAckResponse { grows_cwnd: true, restarts_timer: true }
        }
        fn has_timer(&self) -> bool {
            true
        }
        fn on_sent(&mut self, now: Instant, _: SeqRange) {
            self.0 = Some(now + Duration::from_millis(100));
        }
        fn next_timeout(&self) -> Option<Instant> {
            self.0
        }
        fn on_timeout(&mut self, now: Instant, send: &mut SendState) -> bool {
            self.0 = None;
            send.enter_inflated_recovery(now);
            true
        }
    }

    #[test]
    fn a_recovery_with_a_timer_needs_no_change_elsewhere() {
        let at = |host| Endpoint::new(Ipv4Addr::new(10, 0, 0, host), 1);
        let mut tcp =
            Connection::connect(&Config::default(), at(1), at(2), Seq(0), 0, Instant::ZERO);
        assert!(tcp.poll_transmit(Instant::ZERO).is_some());
        let answer = TcpSegment {
            flags: TcpFlags::SYN.with(TcpFlags::ACK),
            ack: Seq(1),
            window: 10_000,
            ..TcpSegment::default()
        };
        tcp.on_segment(Instant::ZERO, at(2).address, &answer, Ecn::NotEct);
        tcp.snd.recovery = Box::new(Impatient::default());
        tcp.write(100);
        while tcp.poll_transmit(Instant::ZERO).is_some() {}
        let due = Instant::from_millis(100);
        assert_eq!(tcp.next_timeout(), Some(due));
        tcp.on_timeout(due);
        let repeated = tcp.poll_transmit(due).expect("a retransmission");
        assert!(repeated.retransmission && repeated.segment.seq == Seq(1));
        assert_eq!(tcp.stats().fast_retransmits, 1);
        let acknowledgment =
            TcpSegment { flags: TcpFlags::ACK, seq: Seq(1), ack: Seq(101), ..answer };
        tcp.on_segment(due, at(2).address, &acknowledgment, Ecn::NotEct);
        assert_eq!(tcp.next_timeout(), None);
    }
}
