//! The order of runs with the kernel: which one starts next, so that many go on at once without
//! disturbing each other, rows that are not decided get more runs, and all end in time.

use driftway_base::Duration;

/// Time between the end of a run and that of its last thread.
const CLOSING: Duration = Duration::from_secs(3);

/// Limits of what can go on at once, and of the time for all.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Largest number of runs at once.
    pub jobs: u64,
    /// Largest sum of their throughputs (bit/s).
    pub throughput_bps: f64,
    /// Time after which nothing runs any more.
    pub end: Duration,
}

/// Runs of one case: what they need, and how many there are.
#[derive(Clone, Debug)]
pub struct ScheduledCase {
    /// Longest duration of one.
    duration: Duration,
    /// Expected throughput of all its flows (bit/s).
    throughput_bps: f64,
    /// Runs that are wanted in any case.
    first: u64,
    /// Runs that are wanted at present.
    wanted: u64,
    /// Runs that are wanted at most.
    most: u64,
    started: u64,
    finished: u64,
}

impl ScheduledCase {
    /// A case that wants `first` runs, and up to `most` if they do not decide.
    pub const fn new(duration: Duration, throughput_bps: f64, first: u64, most: u64) -> Self {
        Self { duration, throughput_bps, first, wanted: first, most, started: 0, finished: 0 }
    }

    /// A case that wants `runs` runs, the second when all cases have started one, and so on: if there is no time for all of
    /// them, all cases have about as many.
    pub const fn in_turns(duration: Duration, throughput_bps: f64, runs: u64) -> Self {
        Self { wanted: runs, ..Self::new(duration, throughput_bps, 1, runs) }
    }
}

/// The schedule: cases by index, whose runs are numbered from 0.
#[derive(Debug)]
pub struct Schedule {
    limits: Limits,
    cases: Vec<ScheduledCase>,
}

impl Schedule {
    /// A schedule of these cases.
    pub const fn new(limits: Limits, cases: Vec<ScheduledCase>) -> Self {
        Self { limits, cases }
    }

    /// Takes the run that starts next at this time: its case and its number. `None`: none can start until
    /// another one has finished, or at all.
    ///
    /// First runs go before others, and among those the longest; then cases with the fewest runs.
    pub fn start_next(&mut self, now: Duration) -> Option<(usize, u64)> {
        let fits = |case: &ScheduledCase| case.started < case.wanted && self.fits(case, now);
        let candidates = self.cases.iter().enumerate().filter(|(_, case)| fits(case));
        let (next, _) = candidates.min_by_key(|(index, case)| {
            let again = if case.is_again() { case.started } else { 0 };
            (again, std::cmp::Reverse(case.duration), case.started, *index)
        })?;
        let case = &mut self.cases[next];
        case.started += 1;
        Some((next, case.started - 1))
    }

    /// Records the end of a run. `is_decided` says if its rows need no other; it is asked only when no
    /// other run of the case is going on. Returns the number of runs that are wanted in addition.
    pub fn finish(&mut self, case: usize, is_decided: impl FnOnce() -> bool) -> u64 {
        let case = &mut self.cases[case];
        case.finished += 1;
        if case.finished < case.wanted || is_decided() {
            return 0;
        }
        let before = case.wanted;
        case.wanted = (before * 2).min(case.most).max(before);
        case.wanted - before
    }

    /// The latest time at which a run of a case can start.
    pub fn latest_start(&self, case: usize) -> Duration {
        self.cases[case].latest_start(self.limits.end)
    }

    /// Number of runs that are wanted at present.
    pub fn wanted(&self) -> u64 {
        self.cases.iter().fold(0, |sum, case| case.wanted.saturating_add(sum))
    }

    /// Number of runs that go on.
    pub fn running(&self) -> u64 {
        self.cases.iter().map(ScheduledCase::running).sum()
    }

    fn fits(&self, case: &ScheduledCase, now: Duration) -> bool {
        let Limits { jobs, throughput_bps, end } = self.limits;
        let running = self.running();
        let sum: f64 =
            self.cases.iter().map(|case| case.running() as f64 * case.throughput_bps).sum();
        // An eighth of the runs is kept for those that send much: the others are long and many.
        let share = throughput_bps / jobs as f64;
        let is_light = |case: &&ScheduledCase| case.throughput_bps < share;
        let light: u64 = self.cases.iter().filter(is_light).map(ScheduledCase::running).sum();
        let has_room = running < jobs
            && (!is_light(&case) || light < jobs - jobs / 8)
            && sum + case.throughput_bps <= throughput_bps;
        (has_room || running == 0) && now <= case.latest_start(end)
    }
}

impl ScheduledCase {
    const fn running(&self) -> u64 {
        self.started - self.finished
    }

    fn latest_start(&self, end: Duration) -> Duration {
        end.saturating_sub(self.duration + CLOSING)
    }

    /// True if the first runs have started.
    const fn is_again(&self) -> bool {
        self.started >= self.first
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const SECOND: fn(u64) -> Duration = Duration::from_secs;

    fn schedule(jobs: u64, mbps: f64, end: u64, cases: &[(u64, f64, u64, u64)]) -> Schedule {
        let limits = Limits { jobs, throughput_bps: mbps * 1e6, end: SECOND(end) };
        let case = |&(duration, mbps, first, most): &(u64, f64, u64, u64)| {
            ScheduledCase::new(SECOND(duration), mbps * 1e6, first, most)
        };
        Schedule::new(limits, cases.iter().map(case).collect())
    }

    fn all_started(schedule: &mut Schedule, now: u64) -> Vec<(usize, u64)> {
        std::iter::from_fn(|| schedule.start_next(SECOND(now))).collect()
    }

    #[test]
    fn the_longest_runs_start_first_and_the_sum_of_rates_is_limited() {
        let mut schedule = schedule(9, 25.0, 99, &[(10, 10.0, 2, 2), (40, 0.1, 2, 2)]);
        // The third of 10 Mbit/s would be too many.
        assert_eq!(all_started(&mut schedule, 0), [(1, 0), (1, 1), (0, 0), (0, 1)]);
        assert_eq!(schedule.running(), 4);
        let mut schedule = self::schedule(9, 15.0, 99, &[(10, 10.0, 2, 2), (40, 0.1, 2, 2)]);
        assert_eq!(all_started(&mut schedule, 0), [(1, 0), (1, 1), (0, 0)]);
        assert_eq!(schedule.finish(0, || false), 0);
        assert_eq!(all_started(&mut schedule, 10), [(0, 1)]);
    }

    #[test]
    fn cases_take_turns_so_that_no_short_one_is_left_without_a_run() {
        let case = |seconds, runs| ScheduledCase::in_turns(Duration::from_secs(seconds), 0.0, runs);
        let limits = Limits { jobs: 3, throughput_bps: 1.0, end: SECOND(50) };
        let mut schedule = Schedule::new(limits, vec![case(10, 2), case(40, 2), case(5, 0)]);
        assert_eq!(schedule.wanted(), 4);
        assert_eq!(all_started(&mut schedule, 0), [(1, 0), (0, 0), (1, 1)]);
        assert_eq!(schedule.finish(0, || panic!("another run is wanted")), 0);
        assert_eq!(all_started(&mut schedule, 10), [(0, 1)]);
        assert_eq!(schedule.finish(0, || false), 0);
    }

    #[test]
    fn one_run_fits_always_and_jobs_are_limited() {
        let mut fast = schedule(9, 5.0, 99, &[(10, 10.0, 2, 2)]);
        assert_eq!(all_started(&mut fast, 0), [(0, 0)]);
        let mut many = schedule(3, 5.0, 99, &[(10, 0.0, 9, 9)]);
        assert_eq!(all_started(&mut many, 0).len(), 3);
    }

    #[test]
    fn many_slow_paths_leave_room_for_fast_ones() {
        let mut schedule = schedule(16, 32.0, 999, &[(480, 0.01, 99, 99), (40, 10.0, 2, 2)]);
        let started = all_started(&mut schedule, 0);
        let of = |case| started.iter().filter(|(of, _)| *of == case).count();
        assert_eq!((of(0), of(1)), (14, 2));
        schedule.finish(1, || true);
        assert_eq!(schedule.start_next(SECOND(40)), None);
    }

    #[test]
    fn no_run_starts_that_would_end_too_late() {
        let mut schedule = schedule(9, 9.0, 30, &[(20, 0.0, 2, 8), (5, 0.0, 1, 8)]);
        assert_eq!(all_started(&mut schedule, 10), [(1, 0)]);
        assert_eq!(schedule.latest_start(0), SECOND(7));
        assert_eq!(schedule.finish(1, || false), 1);
        assert_eq!(all_started(&mut schedule, 23), []);
        assert_eq!(schedule.running(), 0);
    }

    #[test]
    fn undecided_cases_get_twice_the_runs_up_to_the_most() {
        let mut schedule = schedule(9, 9.0, 99, &[(5, 0.0, 2, 5), (5, 0.0, 2, 5)]);
        assert_eq!(all_started(&mut schedule, 0).len(), 4);
        assert_eq!(schedule.finish(0, || panic!("another run goes on")), 0);
        assert_eq!(schedule.finish(0, || false), 2);
        assert_eq!(schedule.finish(1, || panic!("another run goes on")), 0);
        assert_eq!(schedule.finish(1, || true), 0);
        assert_eq!(all_started(&mut schedule, 5), [(0, 2), (0, 3)]);
        assert_eq!(schedule.finish(0, || false), 0);
        // Five at most.
        assert_eq!(schedule.finish(0, || false), 1);
        assert_eq!(all_started(&mut schedule, 10), [(0, 4)]);
        assert_eq!(schedule.finish(0, || false), 0);
        assert_eq!(all_started(&mut schedule, 15), []);
    }
}
