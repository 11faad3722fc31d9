//! The cycle of pacing gains in ProbeBw: a round trip faster to find bandwidth, one slower to drain
//! what that queues, six at the estimated bandwidth.

use driftway_base::{Duration, Instant, RandomStream};

/// The gains.
const GAINS: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Phases in which a cycle may begin: any but the one that drains.
const STARTS: u64 = 7;

/// The position in the cycle.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GainCycle {
    phase: usize,
    /// Start of the phase.
    since: Instant,
}

/// State of the path at an acknowledgment, which decides if the phase is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct PhaseState {
    /// Minimum round-trip time.
    pub min_rtt: Option<Duration>,
    /// Segments were lost.
    pub lost: bool,
    /// Bytes in flight before the acknowledgment, less those that leave the network before the next
    /// ones are sent.
    pub in_flight: f64,
    /// Bytes for which the phase with the higher gain aims.
    pub probed: f64,
    /// Bytes that the path holds.
    pub held: f64,
}

impl GainCycle {
    /// Starts a cycle at a random phase, so that flows do not probe together.
    pub fn start(&mut self, now: Instant, random: &mut RandomStream) {
        let phase = GAINS.len() - random.uniform_below(STARTS) as usize;
        (self.phase, self.since) = (phase % GAINS.len(), now);
    }
    /// Goes to the next phase if this one is over.
    pub fn advance(&mut self, now: Instant, state: &PhaseState) {
        let is_over = state.min_rtt.is_none_or(|least| now.since(self.since) > least);
        let gain = self.gain();
        let next = if gain > 1.0 {
            // Until the path has been filled beyond what it holds, or cannot be.
            is_over && (state.lost || state.in_flight >= state.probed)
        } else if gain < 1.0 {
            is_over || state.in_flight <= state.held
        } else {
            is_over
        };
        if next {
            (self.phase, self.since) = ((self.phase + 1) % GAINS.len(), now);
        }
    }
    /// The pacing gain of the phase.
    pub fn gain(&self) -> f64 {
        GAINS.get(self.phase).copied().unwrap_or(1.0)
    }
    /// The phase with the higher gain.
    pub fn is_probing(&self) -> bool {
        self.phase == 0
    }
    /// Postpones its time by the time `frozen_for` for which timers were frozen until `now`.
    pub fn postpone(&mut self, now: Instant, frozen_for: Duration) {
        self.since = (self.since + frozen_for).min(now);
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn state(in_flight: f64) -> PhaseState {
        PhaseState {
            min_rtt: Some(MS(40)),
            lost: false,
            in_flight,
            probed: 12_500.0,
            held: 10_000.0,
        }
    }

    #[test]
    fn a_phase_lasts_a_round_trip() {
        let mut cycle = GainCycle::default();
        let mut gains = std::vec![];
        for ms in 0..2 * 8 * 41 {
            cycle.advance(Instant::from_millis(ms), &state(13_000.0));
            gains.push(cycle.gain());
        }
        let at = |gain: f64| gains.iter().filter(|g| **g == gain).count();
        // Two cycles of eight phases of 41 ms.
        assert_eq!((at(1.25), at(0.75), at(1.0)), (82, 82, 6 * 82));
    }

    #[test]
    fn probing_ends_when_the_path_is_full_or_loses_and_draining_when_it_is_empty() {
        let mut cycle = GainCycle::default();
        cycle.advance(Instant::from_millis(100), &state(12_000.0));
        assert!(cycle.is_probing(), "not enough is in flight yet");
        let lossy = PhaseState { lost: true, ..state(12_000.0) };
        cycle.advance(Instant::from_millis(101), &lossy);
        assert_eq!(cycle.gain(), 0.75);
        cycle.advance(Instant::from_millis(102), &state(10_001.0));
        assert_eq!(cycle.gain(), 0.75);
        cycle.advance(Instant::from_millis(103), &state(10_000.0));
        assert_eq!(cycle.gain(), 1.0);
    }

    #[test]
    fn a_cycle_never_starts_by_draining() {
        let mut random = RandomStream::new(1, "cycle", 0);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..200 {
            let mut cycle = GainCycle::default();
            cycle.start(Instant::ZERO, &mut random);
            seen.insert(cycle.phase);
        }
        assert_eq!(seen.into_iter().collect::<std::vec::Vec<_>>(), [0, 2, 3, 4, 5, 6, 7]);
    }
}
