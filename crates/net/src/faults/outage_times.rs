//! Outages of a link or a radio: when each one begins and ends, and the warning before it.

use std::sync::Arc;

use driftway_base::{Duration, Instant, Probability, RandomStream};
use driftway_scenario::{FaultKind, Outage, Schedule};

/// An event of a fault's outages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutageEvent {
    /// An outage will begin after this time.
    Warning(Duration),
    /// An outage begins.
    Begins,
    /// An outage ends.
    Ends,
}

/// The times at which outages are scheduled to begin.
#[derive(Clone, Debug)]
pub enum Starts {
    /// Regular times.
    Scheduled(Schedule),
    /// Given times in ascending order.
    Listed(Vec<Instant>),
    /// Given times in ascending order, with the ends of the outages.
    Measured(Arc<[(Instant, Instant)]>),
}

impl Starts {
    /// Returns the times of outages: those of their file, or scheduled ones. `None` in a scenario that was
    /// not checked.
    pub fn of_outage(outage: &Outage) -> Option<Self> {
        let measured = outage.outages.clone().map(Self::Measured);
        measured.or_else(|| outage.schedule().map(Self::Scheduled))
    }
}

/// Deviations of a fault's occurrences from their schedule. Each occurrence has random streams of its
/// own, so that nothing else depends on how many of their numbers are used.
#[derive(Clone, Copy, Debug)]
pub struct Deviation {
    /// The seed of the random streams.
    pub seed: u64,
    /// The kind of fault, and the fault's number among those of its kind.
    pub fault: (FaultKind, u64),
    /// The maximum delay of a start.
    pub jitter: Duration,
}

impl Deviation {
    /// Returns the delay of occurrence `n`.
    pub fn delay(&self, n: u32) -> Duration {
        self.stream("jitter", n).uniform_duration(Duration::ZERO, self.jitter)
    }

    /// Returns the duration of occurrence `n`.
    fn duration(&self, n: u32, (shortest, longest): (Duration, Duration)) -> Duration {
        self.stream("duration", n).uniform_duration(shortest, longest)
    }

    /// Returns true if the warning of occurrence `n` is missing.
    fn lacks_warning(&self, n: u32, probability: Probability) -> bool {
        self.stream("warning", n).bernoulli(probability)
    }

    fn stream(&self, what: &str, n: u32) -> RandomStream {
        let (kind, number) = self.fault;
        let purpose = format!("{}-{what}", kind.name());
        RandomStream::new(self.seed, &purpose, number << 32 | u64::from(n))
    }
}

/// The warnings before outages.
#[derive(Clone, Copy, Debug)]
pub struct Warnings {
    /// The time from a warning to its outage.
    pub lead: Duration,
    /// The probability that a warning is lost.
    pub loss_probability: Probability,
}

/// A fault's outages: a state machine that is advanced at its next instant.
#[derive(Clone, Debug)]
pub struct Outages {
    starts: Starts,
    deviation: Deviation,
    /// The shortest and the longest duration.
    durations: (Duration, Duration),
    warnings: Option<Warnings>,
    /// Number of outages that have begun.
    begun: u32,
    /// The next outage has been warned of.
    is_warned: bool,
    /// The end of the present outage.
    until: Option<Instant>,
    /// The end of the last outage.
    ended_at: Instant,
}

impl Outages {
    /// Outages that begin at these times and last for a time between these two.
    pub fn new(
        starts: Starts,
        deviation: Deviation,
        durations: (Duration, Duration),
        warnings: Option<Warnings>,
    ) -> Self {
        Self {
            starts,
            deviation,
            durations,
            warnings,
            begun: 0,
            is_warned: false,
            until: None,
            ended_at: Instant::ZERO,
        }
    }

    /// Returns the end of the present outage, else the time of the next warning or start. A start
    /// during an outage of the same fault is deferred to its end.
    pub fn next_instant(&self) -> Option<Instant> {
        self.until.or_else(|| {
            let begins = self.next_start()?;
            let Some(lead) = self.pending_lead() else { return Some(begins) };
            let ahead = begins.since(Instant::ZERO).saturating_sub(lead);
            Some((Instant::ZERO + ahead).max(self.ended_at))
        })
    }

    /// Handles the next instant.
    pub fn advance(&mut self, now: Instant) -> OutageEvent {
        if self.until.take().is_some() {
            self.ended_at = now;
            return OutageEvent::Ends;
        }
        if self.pending_lead().is_some()
            && let Some(begins) = self.next_start().filter(|begins| *begins > now)
        {
            self.is_warned = true;
            return OutageEvent::Warning(begins.since(now));
        }
        self.until = Some(now + self.next_duration());
        self.begun += 1;
        self.is_warned = false;
        OutageEvent::Begins
    }

    fn next_start(&self) -> Option<Instant> {
        let start = match &self.starts {
            Starts::Scheduled(schedule) => schedule.nth(self.begun)?,
            Starts::Listed(starts) => *starts.get(self.begun as usize)?,
            Starts::Measured(outages) => outages.get(self.begun as usize)?.0,
        };
        Some((start + self.deviation.delay(self.begun)).max(self.ended_at))
    }

    fn next_duration(&self) -> Duration {
        match &self.starts {
            Starts::Measured(outages) => outages
                .get(self.begun as usize)
                .map_or(Duration::ZERO, |(start, end)| end.since(*start)),
            Starts::Scheduled(_) | Starts::Listed(_) => {
                self.deviation.duration(self.begun, self.durations)
            }
        }
    }

    /// The lead time of the next outage's warning, if there is one that is still to come.
    fn pending_lead(&self) -> Option<Duration> {
        let Warnings { lead, loss_probability } = self.warnings.filter(|_| !self.is_warned)?;
        (!self.deviation.lacks_warning(self.begun, loss_probability)).then_some(lead)
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use OutageEvent::{Begins, Ends, Warning};

    const fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn outages(jitter: Duration, missing: Option<f64>, fault: u64) -> Outages {
        let schedule = Schedule { first: secs(5), every: Some(secs(30)), count: Some(1000) };
        let deviation = Deviation { seed: 1, fault: (FaultKind::Partition, fault), jitter };
        let loss_probability = missing.map(Probability::from_f64);
        let warnings =
            loss_probability.map(|loss_probability| Warnings { lead: secs(2), loss_probability });
        let durations = (secs(10), secs(10));
        Outages::new(Starts::Scheduled(schedule), deviation, durations, warnings)
    }

    /// Its events, and their times (ms).
    fn events(mut outages: Outages) -> Vec<(u64, OutageEvent)> {
        let mut events = Vec::new();
        while let Some(at) = outages.next_instant() {
            events.push((at.as_millis(), outages.advance(at)));
        }
        events
    }

    fn starts(events: &[(u64, OutageEvent)]) -> Vec<u64> {
        let begins = events.iter().filter(|(_, event)| *event == Begins);
        begins.map(|(at, _)| *at).collect()
    }

    #[test]
    fn without_jitter_outages_begin_as_scheduled() {
        let events = events(outages(Duration::ZERO, Some(0.0), 0));
        assert_eq!(events.len(), 3000);
        assert_eq!(
            events[..6],
            [
                (3_000, Warning(secs(2))),
                (5_000, Begins),
                (15_000, Ends),
                (33_000, Warning(secs(2))),
                (35_000, Begins),
                (45_000, Ends)
            ]
        );
    }

    /// Each start is late by a uniform time, the period does not drift, and a warning has its lead
    /// time to the real start.
    #[test]
    fn jitter_delays_each_start_and_not_the_next() {
        let events = events(outages(secs(4), Some(0.0), 0));
        let delays: Vec<_> =
            (0..).zip(starts(&events)).map(|(n, at)| at - 5_000 - 30_000 * n).collect();
        assert!(delays.iter().all(|delay| *delay <= 4_000), "{delays:?}");
        let mean = delays.iter().sum::<u64>() / 1000;
        // Four standard deviations: 4 × 4000/√12/√1000.
        assert!((1_854..=2_146).contains(&mean), "{mean}");
        for three in events.chunks(3) {
            let [(warned, Warning(lead)), (begun, Begins), (ended, Ends)] = *three else {
                panic!("{three:?}")
            };
            assert!((1_999..=2_001).contains(&(begun - warned)) && lead == secs(2), "{three:?}");
            assert!((9_999..=10_001).contains(&(ended - begun)), "{three:?}");
        }
    }

    #[test]
    fn jitter_is_each_faults_own_and_does_not_depend_on_warnings() {
        let of = |missing, fault| starts(&events(outages(secs(4), missing, fault)));
        assert_eq!(of(None, 0), of(Some(0.5), 0));
        assert_ne!(of(None, 0), of(None, 1));
        // Longer jitter stretches the same draws.
        let twice = starts(&events(outages(secs(8), None, 0)));
        let late = |at: u64| at - 5_000;
        assert!(late(twice[0]).abs_diff(2 * late(of(None, 0)[0])) <= 1, "{twice:?}");
    }

    #[test]
    fn durations_are_drawn_for_each_outage() {
        let mut random = outages(secs(4), None, 0);
        random.durations = (Duration::from_millis(50), secs(4));
        let events = events(random);
        assert_eq!(starts(&events), starts(&self::events(outages(secs(4), None, 0))));
        let lengths: Vec<_> = events.chunks(2).map(|pair| pair[1].0 - pair[0].0).collect();
        assert!(lengths.iter().all(|length| (49..=4_001).contains(length)), "{lengths:?}");
        let mean = lengths.iter().sum::<u64>() / 1000;
        // Four standard deviations: 4 × 3950/√12/√1000.
        assert!((1_880..=2_170).contains(&mean), "{mean}");
    }

    #[test]
    fn warnings_are_missing_with_their_probability() {
        let warned = |missing| {
            let events = events(outages(Duration::ZERO, Some(missing), 0));
            assert_eq!(starts(&events).len(), 1000);
            events.len() - 2000
        };
        assert_eq!((warned(0.0), warned(1.0)), (1000, 0));
        // Four standard deviations: 4 × √(1000 × 0.2 × 0.8).
        assert!((749..=851).contains(&warned(0.2)), "{}", warned(0.2));
    }
}
