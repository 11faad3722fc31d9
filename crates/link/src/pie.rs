//! Proportional integral controller enhanced (PIE): Pan, Natarajan, Baker & White, RFC 8033; with
//! marks instead of drops, RFC 3168.

use driftway_base::{Duration, Instant, Probability, RandomStream};

/// Parameters of PIE. The others are those of RFC 8033 §5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieConfig {
    /// Waiting time that is aimed at (QDELAY_REF).
    pub target: Duration,
    /// Time between two updates of the drop probability (T_UPDATE).
    pub interval: Duration,
    /// Marks ECN-capable frames instead of dropping them while the probability is low (RFC 8033
    /// §5.1). Other frames are dropped.
    pub ecn: bool,
}

/// Time for which a burst is let through (RFC 8033 §4.4).
const MAX_BURST: Duration = Duration::from_millis(150);
/// Bytes of two mean packets: a shorter queue is left alone (RFC 8033 §4.1).
const TWO_PACKETS: u64 = 3000;
/// Update interval for which the weights below are given.
const REFERENCE_INTERVAL: f64 = 0.015;
/// Weights of the waiting time's distance to the target and of its growth, per second (RFC 8033
/// §4.2).
const ALPHA: f64 = 0.125;
const BETA: f64 = 1.25;
/// Probability from which on ECN-capable frames are dropped, too (RFC 8033 §5.1).
const MARK_BELOW: f64 = 0.1;

/// State of PIE in one queue, with the names of RFC 8033.
#[derive(Clone, Debug)]
pub(crate) struct Pie {
    config: PieConfig,
    drop_prob: f64,
    /// Waiting time of the frame that left last; zero if none is queued.
    current_qdelay: Duration,
    qdelay_old: Duration,
    burst_allowance: Duration,
    next_update: Instant,
    stream: RandomStream,
}

/// Treatment of an arriving frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PieDecision {
    Enqueue,
    Mark,
    Drop,
}

impl Pie {
    /// Creates the state of an empty queue, which `entity` names.
    pub(crate) fn new(config: PieConfig, seed: u64, entity: u64) -> Self {
        Self {
            config,
            drop_prob: 0.0,
            current_qdelay: Duration::ZERO,
            qdelay_old: Duration::ZERO,
            burst_allowance: MAX_BURST,
            next_update: Instant::ZERO + config.interval,
            stream: RandomStream::new(seed, "link-pie", entity),
        }
    }

    /// Decides about an arriving frame; `bytes` are queued. Draws exactly one random number.
    pub(crate) fn on_arrival(
        &mut self,
        now: Instant,
        bytes: u64,
        ecn_capable: bool,
    ) -> PieDecision {
        self.update_until(now);
        let drawn = self.stream.bernoulli(Probability::from_f64(self.drop_prob));
        let half = self.config.target.over(2);
        if self.drop_prob == 0.0 && self.current_qdelay < half && self.qdelay_old < half {
            self.burst_allowance = MAX_BURST;
        }
        // RFC 8033 §4.1: PIE leaves no link idle that has something to send.
        let spares = (self.qdelay_old < half && self.drop_prob < 0.2) || bytes <= TWO_PACKETS;
        if !self.burst_allowance.is_zero() || spares || !drawn {
            PieDecision::Enqueue
        } else if self.config.ecn && ecn_capable && self.drop_prob < MARK_BELOW {
            PieDecision::Mark
        } else {
            PieDecision::Drop
        }
    }

    /// Handles the departure of a frame that was queued at `since`.
    pub(crate) fn on_departure(&mut self, now: Instant, since: Instant, is_last: bool) {
        self.update_until(now);
        // RFC 8033 §4.3: measured by the frames' times of arrival.
        self.current_qdelay = if is_last { Duration::ZERO } else { now.since(since) };
    }

    /// Performs the updates that are due, with what was known at their times.
    fn update_until(&mut self, now: Instant) {
        while self.next_update <= now {
            let before = (self.drop_prob, self.qdelay_old, self.burst_allowance);
            self.update_drop_probability();
            self.next_update += self.config.interval;
            let settled = before == (self.drop_prob, self.qdelay_old, self.burst_allowance);
            if self.config.interval.is_zero() {
                self.next_update = now + Duration::from_nanos(1);
            } else if settled {
                // All others until now change as little.
                let interval = self.config.interval;
                let left = now.since(self.next_update).as_nanos() / interval.as_nanos();
                self.next_update += interval.times(left);
                if self.next_update <= now {
                    self.next_update += interval;
                }
                break;
            }
        }
    }

    /// Updates the drop probability (`calculate_drop_prob`).
    fn update_drop_probability(&mut self) {
        let (now, old) = (self.current_qdelay.as_secs_f64(), self.qdelay_old.as_secs_f64());
        // RFC 8033 §4.2: with half the interval α is halved, and β grows by a quarter of α.
        let alpha = ALPHA * self.config.interval.as_secs_f64() / REFERENCE_INTERVAL;
        let beta = BETA + (ALPHA - alpha) / 2.0;
        let change = alpha * (now - self.config.target.as_secs_f64()) + beta * (now - old);
        let mut change = change / self.damping();
        // RFC 8033 §5.5: not more than 2 % at once.
        if self.drop_prob >= 0.1 && change > 0.02 {
            change = 0.02;
        }
        self.drop_prob += change;
        if self.current_qdelay.is_zero() && self.qdelay_old.is_zero() {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.qdelay_old = self.current_qdelay;
        self.burst_allowance = self.burst_allowance.saturating_sub(self.config.interval);
    }

    /// Returns the divisor of a change: small probabilities change by small steps (RFC 8033 §4.2).
    fn damping(&self) -> f64 {
        const STEPS: [(f64, f64); 6] = [
            (0.000_001, 2048.0),
            (0.000_01, 512.0),
            (0.000_1, 128.0),
            (0.001, 32.0),
            (0.01, 8.0),
            (0.1, 2.0),
        ];
        let step = STEPS.iter().find(|(below, _)| self.drop_prob < *below);
        step.map_or(1.0, |(_, divisor)| *divisor)
    }
}

#[cfg(test)]
mod test;
