//! The times of probing for bandwidth (draft-ietf-ccwg-bbr-04 §5.3.3.5): every two to three seconds,
//! or as often as Reno would fill the path, if that is more often.

use driftway_base::{Duration, Instant, RandomStream};

/// Least time between probes, and the part of it that is random.
const WAIT: Duration = Duration::from_secs(2);
const RANDOM_WAIT: Duration = Duration::from_secs(1);
/// Most rounds between probes, for coexistence with Reno.
const MOST_ROUNDS: f64 = 63.0;

/// Subject of the acknowledgments that arrive (ack_phase).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// Nothing that was probed.
    #[default]
    Init,
    /// ACKS_REFILLING
    Refilling,
    /// ACKS_PROBE_STARTING
    ProbeStarting,
    /// ACKS_PROBE_FEEDBACK
    ProbeFeedback,
    /// ACKS_PROBE_STOPPING
    ProbeStopping,
}

/// The time since the last probe.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cycle {
    since: Instant,
    wait: Duration,
    rounds: u64,
    /// Subject of the acknowledgments that arrive.
    pub acks: AckPhase,
}

impl Cycle {
    /// Starts to wait for the next probe (BBRPickProbeWait).
    pub fn start(&mut self, now: Instant, random: &mut RandomStream) {
        self.since = now;
        self.rounds = random.uniform_below(2);
        self.wait = WAIT + random.uniform_duration(Duration::ZERO, RANDOM_WAIT);
        self.acks = AckPhase::ProbeStopping;
    }
    /// Counts a round.
    pub fn on_round(&mut self) {
        self.rounds += 1;
    }
    /// It is time to probe (BBRIsTimeToProbeBW), with `target` segments in flight.
    pub fn is_probe_due(&self, now: Instant, target: f64) -> bool {
        now > self.since + self.wait || self.rounds as f64 >= target.min(MOST_ROUNDS)
    }
    /// Postpones its time by the time `frozen_for` for which timers were frozen until `now`.
    pub fn postpone(&mut self, now: Instant, frozen_for: Duration) {
        self.since = (self.since + frozen_for).min(now);
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_probe_is_due_after_two_to_three_seconds_or_as_many_rounds_as_segments() {
        let mut random = RandomStream::new(1, "cycle", 0);
        let mut waits = std::vec![];
        for _ in 0..200 {
            let mut cycle = Cycle::default();
            cycle.start(Instant::ZERO, &mut random);
            waits.push((0..).find(|ms| cycle.is_probe_due(Instant::from_millis(*ms), 100.0)));
        }
        let (least, most) = (waits.iter().flatten().min(), waits.iter().flatten().max());
        assert!(least.is_some_and(|ms| (2000..2050).contains(ms)), "{least:?}");
        assert!(most.is_some_and(|ms| (2950..=3001).contains(ms)), "{most:?}");
        for (target, expected) in [(20.0, 19..=20), (100.0, 62..=63)] {
            let mut cycle = Cycle::default();
            cycle.start(Instant::ZERO, &mut random);
            let rounds = (0..).take_while(|_| {
                let waits = !cycle.is_probe_due(Instant::ZERO, target);
                cycle.on_round();
                waits
            });
            assert!(expected.contains(&rounds.count()));
        }
    }
}
