//! Where RACK-TLP (RFC 8985) meets the connection: its feedback, its two timers, its probe.
//!
//! The RFC puts one timer in the place of another; here the retransmission timer runs on beside the
//! probe's, which is never later and starts it anew. So what a view says of the retransmission
//! deadline is the same under every recovery: when TCP would take silence for congestion.

use base::{Duration, Instant, SeqRange};
use wire::TcpSegment;

use crate::ack::reported;
use crate::config::RecoveryKind;
use crate::connection::Connection;
use crate::output::{Choice, Why};
use crate::prr::Before;
use crate::recovery::{Feedback, Response, Tail};
use crate::timer::Timer;
use crate::undo::duplicate;

impl Connection {
    /// Does loss recovery go by the time of each segment?
    pub(crate) fn times_segments(&self) -> bool {
        self.config.recovery == RecoveryKind::RackTlp && self.agreed.sack
    }

    /// Tells it what an acknowledgment says; SND.UNA has moved by `advanced`.
    pub(crate) fn give_feedback(&mut self, now: Instant, segment: &TcpSegment, advanced: u32) {
        let flight = &self.snd.flight;
        let mut blocks = [SeqRange::new(flight.una, flight.una); 4];
        let mut count = 0;
        for (place, block) in blocks.iter_mut().zip(reported(segment, flight.una, flight.max)) {
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
        let before = self.snd.flight.before;
        match self.snd.recovery.on_feedback(now, &mut self.snd.flight, &feedback) {
            Response::Nothing => {}
            Response::Recover => self.recovery_began(now, before),
            Response::Cut => {
                self.snd.flight.cut(now);
                self.snd.episode = None;
                self.snd.reduced();
            }
        }
    }

    /// Sets both timers as they are wanted after an acknowledgment.
    pub(crate) fn move_loss_timers(&mut self, now: Instant) {
        let deadline = self.snd.recovery.reordering_deadline();
        match deadline.filter(|_| self.snd.held.is_none()) {
            Some(at) => {
                let at = self.config.clock.deadline(now, at.since(now));
                self.timers.set(Timer::Reordering, at);
            }
            None => self.timers.stop(Timer::Reordering),
        }
        self.schedule_tail_probe(now);
    }

    /// An aid has ended its hold. What was reported meanwhile counts now; a frozen probe keeps its
    /// time.
    pub(crate) fn resume_loss_timers(&mut self, now: Instant) {
        if !self.times_segments() {
            return;
        }
        let waits = self.snd.recovery.reordering_deadline().is_some();
        if waits || !self.snd.flight.board.is_empty() {
            self.reordering_timeout(now);
        } else if self.timers.get(Timer::LossProbe).is_none() {
            self.move_loss_timers(now);
        }
    }

    /// RFC 8985 §7.2
    pub(crate) fn schedule_tail_probe(&mut self, now: Instant) {
        if !self.times_segments() {
            return;
        }
        self.timers.stop(Timer::LossProbe);
        let flight = &self.snd.flight;
        let may = self.snd.held.is_none()
            && self.timers.get(Timer::Reordering).is_none()
            && self.snd.recovery.tail().is_some_and(|tail| tail.may_probe(flight));
        let Some(timeout) = self.timers.get(Timer::Retransmission).filter(|_| may) else { return };
        let span = Tail::timeout(flight, self.snd.rtt.srtt());
        let at = self.config.clock.deadline(now, span).min(timeout);
        self.timers.set(Timer::LossProbe, at);
    }

    /// RFC 8985 §7.3
    pub(crate) fn loss_probe_timeout(&mut self, now: Instant) {
        let flight = &self.snd.flight;
        if self.snd.recovery.tail().is_some_and(|tail| tail.may_probe(flight)) {
            self.snd.tail_probe_due = true;
        }
        // With or without a probe, the timeout starts anew, unless a closed window has stopped it.
        if self.timers.get(Timer::Retransmission).is_some() {
            self.restart_retransmission_timer(now);
        }
    }

    /// What a probe sends: new data, if there is any, or else the last segment.
    #[cold]
    pub(crate) fn tail_probe(&mut self, new: Option<Choice>) -> Option<Choice> {
        let again = new.is_none();
        let last = || self.snd.recovery.last_sent();
        let choice =
            new.or_else(|| last().map(|range| Choice::new(range.start, range.end, Why::Tail)))?;
        self.stats.tail_probes += 1;
        let end = self.snd.flight.max.max(choice.range.end);
        if let Some(tail) = self.snd.recovery.tail() {
            tail.on_sent(end, again);
        }
        Some(choice)
    }

    /// The reordering window of something has passed.
    pub(crate) fn reordering_timeout(&mut self, now: Instant) {
        let before = self.snd.flight.before;
        let delivered = Before::of(&self.snd.flight);
        if self.snd.recovery.on_reordering_timeout(now, &mut self.snd.flight) {
            self.recovery_began(now, before);
            if let Some(delivered) = delivered {
                self.reduce_in_proportion(delivered);
            }
        }
        self.move_loss_timers(now);
    }
}
