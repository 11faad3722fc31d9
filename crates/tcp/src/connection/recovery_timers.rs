//! Loss recoveries with timers in the connection: their feedback, their timer, their tail loss
//! probe.
//!
//! RFC 8985 uses one timer for all; here the retransmission timer runs beside that of the probe,
//! which never expires later and restarts it. The retransmission deadline in a view therefore has
//! the same meaning under every recovery: the time at which TCP takes the absence of
//! acknowledgments for congestion.

use driftway_base::{Duration, Instant, SeqRange};
use driftway_wire::TcpSegment;

use super::ack::reported;
use super::control_block::Connection;
use super::output::{Choice, Why};
use crate::recovery::{Feedback, Response};
use crate::timer::Timer;
use crate::undo_state::duplicate;

impl Connection {
    /// Passes the contents of an acknowledgment to the recovery; SND.UNA has advanced by
    /// `advanced`.
    pub(super) fn give_feedback(&mut self, now: Instant, segment: &TcpSegment, advanced: u32) {
        let flight = &self.snd.flight;
        let mut blocks = [SeqRange::new(flight.una(), flight.una()); 4];
        let mut count = 0;
        for (place, block) in blocks.iter_mut().zip(reported(segment, flight.una(), flight.max())) {
            *place = block;
            count += 1;
        }
        let echo = segment.options.timestamps.filter(|_| self.agreed.timestamps);
        let feedback = Feedback {
            advanced,
            blocks: blocks.get(..count).unwrap_or_default(),
            duplicate: duplicate(segment),
            echo: echo.map(|timestamps| (timestamps.echo, self.timestamp_tick())),
            srtt: self.snd.rtt.srtt().unwrap_or(Duration::ZERO),
            held: self.snd.held.is_some(),
        };
        let before = self.snd.flight.before();
        match self.snd.recovery.on_feedback(now, &mut self.snd.flight, &feedback) {
            Response::Nothing => {}
            Response::Recover => self.recovery_began(now, before),
            Response::Cut => {
                self.snd.flight.cut(now);
                self.snd.undo = None;
                self.snd.reduced();
            }
        }
    }

    /// Sets both timers after an acknowledgment.
    pub(super) fn move_recovery_timers(&mut self, now: Instant) {
        match self.snd.recovery.next_timeout().filter(|_| self.snd.held.is_none()) {
            Some(at) => self.set_recovery_timer(now, at),
            None => self.timers.stop(Timer::Recovery),
        }
        self.schedule_tail_probe(now);
    }

    fn set_recovery_timer(&mut self, now: Instant, at: Instant) {
        let at = self.config.clock.deadline(now, at.since(now));
        self.timers.set(Timer::Recovery, at);
    }

    /// Sets the recovery's timer after another event, if its deadline differs from the one
    /// `before`. A timer that is no longer needed may expire.
    pub(super) fn follow_recovery_timer(&mut self, now: Instant, before: Option<Instant>) {
        if !self.snd.recovery.has_timer() {
            return;
        }
        let wanted = self.snd.recovery.next_timeout().filter(|_| self.snd.held.is_none());
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
        if waits || !self.snd.flight.board().is_empty() {
            self.recovery_timeout(now);
        } else if self.timers.get(Timer::LossProbe).is_none() {
            self.move_recovery_timers(now);
        }
    }

    /// Schedules a tail loss probe (RFC 8985 §7.2).
    pub(super) fn schedule_tail_probe(&mut self, now: Instant) {
        if !self.snd.recovery.has_timer() {
            return;
        }
        self.timers.stop(Timer::LossProbe);
        let may = self.snd.held.is_none() && self.timers.get(Timer::Recovery).is_none();
        let Some(timeout) = self.timers.get(Timer::Retransmission).filter(|_| may) else { return };
        let Some(span) = self.probe_after() else { return };
        let at = self.config.clock.deadline(now, span).min(timeout);
        self.timers.set(Timer::LossProbe, at);
    }

    fn probe_after(&self) -> Option<Duration> {
        self.snd.recovery.probe_after(&self.snd.flight, self.snd.rtt.srtt())
    }

    /// Handles the probe timeout (RFC 8985 §7.3).
    pub(super) fn loss_probe_timeout(&mut self, now: Instant) {
        if self.probe_after().is_some() {
            self.snd.tail_probe_due = true;
        }
        // With or without a probe, the retransmission timer restarts, unless a closed window has
        // stopped it.
        if self.timers.get(Timer::Retransmission).is_some() {
            self.restart_retransmission_timer(now);
        }
    }

    /// The tail loss probe: new data, if available, otherwise the last segment.
    #[cold]
    pub(super) fn tail_probe(&mut self, new: Option<Choice>) -> Option<Choice> {
        let again = new.is_none();
        let last = || self.snd.recovery.last_sent();
        let choice =
            new.or_else(|| last().map(|range| Choice::new(range.start, range.end, Why::Tail)))?;
        self.stats.tail_probes += 1;
        let end = self.snd.flight.max().max(choice.range.end);
        self.snd.recovery.on_probe(end, again);
        Some(choice)
    }

    /// Handles an expiry of the recovery's timer.
    pub(super) fn recovery_timeout(&mut self, now: Instant) {
        let before = self.snd.flight.before();
        let delivered = self.snd.flight.delivered();
        if self.snd.recovery.on_timeout(now, &mut self.snd.flight) {
            self.recovery_began(now, before);
            if let Some(delivered) = delivered {
                self.reduce_in_proportion(delivered);
            }
        }
        self.move_recovery_timers(now);
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::config::Config;
    use crate::flight::Flight;
    use crate::recovery::{Advance, LossRecovery};
    use alloc::boxed::Box;
    use driftway_base::{Ecn, Endpoint, Ipv4Addr, Seq};
    use driftway_wire::TcpFlags;

    /// Retransmits everything that is unacknowledged after 100 ms, once.
    #[derive(Debug, Default)]
    struct Impatient(Option<Instant>);

    impl LossRecovery for Impatient {
        fn on_duplicate(&mut self, _: Instant, _: &mut Flight) -> bool {
            false
        }
        fn on_advance(&mut self, _: Instant, flight: &mut Flight, _: u32) -> Advance {
            self.0 = None;
            flight.leave_loss();
            Advance { grows: true, restarts_timer: true }
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
        fn on_timeout(&mut self, now: Instant, flight: &mut Flight) -> bool {
            self.0 = None;
            flight.enter_inflated(now);
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
        let again = tcp.poll_transmit(due).expect("a retransmission");
        assert!(again.retransmission && again.segment.seq == Seq(1));
        assert_eq!(tcp.stats().fast_retransmits, 1);
        let acknowledgment =
            TcpSegment { flags: TcpFlags::ACK, seq: Seq(1), ack: Seq(101), ..answer };
        tcp.on_segment(due, at(2).address, &acknowledgment, Ecn::NotEct);
        assert_eq!(tcp.next_timeout(), None);
    }
}
