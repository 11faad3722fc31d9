//! Trial of undoing: whether losses are independent of the rate at which this connection sends.
//!
//! A queue that is too short to be seen in round-trip times drops as much as a long one, and a path with
//! random losses looks alike while nothing is changed. They differ in what follows a reduction: a full queue
//! drops again within a round trip if the window was not reduced, and rarely if it was; random losses occur
//! as often as before. So reductions are first respected, while the rate of loss episodes is measured. Then
//! some are undone, on trial. If episodes become more frequent, the trial has failed: they were congestion,
//! and so are the losses that follow, for four times as many episodes as before.
//!
//! A trial begins only if the episodes that were respected are irregular, as chance has them. After a
//! reduction a window grows for some time until it fills a queue again: episodes of congestion keep a
//! distance.
//!
//! Where the queue is short, or many connections share it, that shows late. But a path that is not congested
//! has room: the window grows while reductions are undone, and at last a queue is visible. A trial that
//! shows neither ends soon. One that undoes many losses, few of them with a visible queue, until the
//! window has doubled or a queue is visible, has proven that losses do not depend on the rate: RED and CoDel
//! drop by chance, too, but with a queue. After that only a long queue counts.

/// Loss episodes for which reductions are respected before the first trial.
const EPISODES_MIN: u32 = 8;
/// Limit of that number.
const EPISODES_MAX: u32 = 512;
/// Factor of that number after a trial that has failed.
const EPISODES_FACTOR: u32 = 4;

/// Reductions that are undone without an evident queue, and without growth of the data in flight by a quarter,
/// before a trial ends: as long as nothing is proven, and later. With one loss in a hundred segments,
/// a window of up to some forty segments grows by more.
const UNDONE_FIRST_MAX: u32 = 8;
pub(super) const UNDONE_MAX: u32 = 64;
const GROWTH_DIVISOR: u32 = 4;

/// Reductions undone without a visible queue that prove losses to be independent of the rate, and how many of
/// them one loss with a visible queue cancels.
const PROVEN_MIN: u32 = 8;
const VISIBLE_COST: u32 = 2;

/// Distances (in segments) between episodes are irregular if the mean of their squares is at least 7/5 of the
/// square of their mean. It is twice that square if episodes occur by chance, and 13/12 for distances that are
/// evenly distributed between half and one and a half of their mean.
const IRREGULAR: (u64, u64) = (7, 5);

/// A trial fails when there were `EXCESS_FIRST_MAX` more episodes than at `RATE_FACTOR` times the previous rate of
/// losses, since any time during the trial (a cumulative sum test). Where each round trip has an episode, that happens
/// after three of them.
const RATE_FACTOR: u64 = 3;
const EXCESS_FIRST_MAX: u64 = 2 * ONE;
/// Segments of an episode, beyond which each counts as a further episode: TCP sends a burst when a reduction is
/// undone, and a short queue drops most of it.
const LOST_MAX: u32 = 2;
/// The factor after a proof: each lost segment counts, because a large window has an episode in each round trip anyway. There are
/// more of them to count, so that the test is stricter.
const RATE_FACTOR_PROVEN: u64 = 2;
const EXCESS_MAX: u64 = 6 * ONE;
/// Losses added to those that were counted: eight may be few by chance.
const LOST_MARGIN: u64 = 4;
/// 1 in fixed-point arithmetic.
const ONE: u64 = 1 << 20;

/// Conclusion from the rate of loss episodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TrialVerdict {
    /// The reduction may be undone.
    Undo,
    /// Losses have become more frequent since reductions are undone.
    MoreLosses,
    /// They were more frequent when reductions were undone, and no queue was visible: it is short.
    ShortQueue,
    /// Not enough is known.
    Unknown,
}

/// Rates of loss episodes with reductions respected and undone.
#[derive(Clone, Copy, Debug)]
pub(super) struct LossTrial {
    /// Loss episodes while reductions are respected.
    episodes: u32,
    /// Segments acknowledged since the first of them, since the last one, and the sum of the squares of their
    /// distances.
    segments: u64,
    distance: u64,
    squares: u64,
    /// Segments lost since the first of them.
    lost: u32,
    /// Number of these episodes before the next trial.
    wanted: u32,
    trial: Option<Trial>,
    /// The last trial has failed because losses became more frequent.
    has_failed: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Trial {
    /// Cumulative sum of losses beyond the permitted rate (in units of 1/[`ONE`]).
    excess: u64,
    /// Reductions undone since a queue was evident or the data in flight has grown.
    undone: u32,
    /// Data in flight then, and at the first episode (bytes).
    flight_size: u32,
    first_flight_size: u32,
    /// Reductions undone without a visible queue, less `VISIBLE_COST` for each loss with one.
    undone_without_queue: u32,
    is_proven: bool,
}

impl Default for LossTrial {
    fn default() -> Self {
        Self {
            episodes: 0,
            segments: 0,
            distance: 0,
            squares: 0,
            lost: 0,
            wanted: EPISODES_MIN,
            trial: None,
            has_failed: false,
        }
    }
}

impl Trial {
    /// A loss episode begins.
    fn on_episode(&mut self, flight_size: u32, is_visible: bool) {
        self.excess = self.excess.saturating_add(ONE);
        if self.first_flight_size == 0 {
            self.first_flight_size = flight_size;
        }
        let has_doubled = flight_size / 2 >= self.first_flight_size;
        let many = self.undone_without_queue >= PROVEN_MIN;
        self.is_proven |= many && (has_doubled || is_visible);
        if is_visible {
            self.undone_without_queue = self.undone_without_queue.saturating_sub(VISIBLE_COST);
        }
        if flight_size > self.flight_size.saturating_add(self.flight_size / GROWTH_DIVISOR) {
            (self.undone, self.flight_size) = (0, flight_size);
        }
    }

    fn rate_factor(&self) -> u64 {
        if self.is_proven { RATE_FACTOR_PROVEN } else { RATE_FACTOR }
    }

    fn excess_max(&self) -> u64 {
        if self.is_proven { EXCESS_MAX } else { EXCESS_FIRST_MAX }
    }

    fn undone_max(&self) -> u32 {
        if self.is_proven { UNDONE_MAX } else { UNDONE_FIRST_MAX }
    }
}

impl LossTrial {
    /// The peer has acknowledged this many segments more; `is_evident` is true if a queue is evident.
    pub fn on_acknowledged(&mut self, segments: u64, is_evident: bool) {
        match &mut self.trial {
            // Before the first episode there is no distance; slow start ends with it.
            None if self.episodes == 0 => {}
            None => self.distance = self.distance.saturating_add(segments),
            Some(trial) => {
                let permitted = ONE
                    .saturating_mul(trial.rate_factor())
                    .saturating_mul(u64::from(self.lost) + LOST_MARGIN)
                    .saturating_mul(segments)
                    .checked_div(self.segments)
                    .unwrap_or(0);
                trial.excess = trial.excess.saturating_sub(permitted);
                if is_evident {
                    trial.undone = 0;
                }
                if trial.is_proven {
                    self.wanted = EPISODES_MIN;
                }
            }
        }
    }

    /// A loss episode begins with so much data in flight (bytes); `is_visible` is true if a queue is visible.
    pub fn on_episode(&mut self, flight_size: u32, is_visible: bool) -> TrialVerdict {
        let Some(trial) = &mut self.trial else {
            // The first one may end slow start.
            self.lost = self.lost.saturating_add(u32::from(self.episodes > 0));
            self.episodes = self.episodes.saturating_add(1);
            self.segments = self.segments.saturating_add(self.distance);
            let square = self.distance.saturating_mul(self.distance);
            self.squares = self.squares.saturating_add(square);
            self.distance = 0;
            if self.episodes >= self.wanted && self.is_irregular() {
                self.trial = Some(Trial::default());
            }
            return if self.has_failed { TrialVerdict::ShortQueue } else { TrialVerdict::Unknown };
        };
        trial.on_episode(flight_size, is_visible);
        if trial.excess > trial.excess_max() {
            self.end_trial(true);
            return TrialVerdict::MoreLosses;
        }
        if trial.undone >= trial.undone_max() {
            self.end_trial(false);
            return TrialVerdict::Unknown;
        }
        TrialVerdict::Undo
    }

    /// A further segment of the last episode is lost, which makes so many. Returns true if the trial fails.
    pub fn on_further_loss(&mut self, lost: u32) -> bool {
        let Some(trial) = &mut self.trial else {
            self.lost = self.lost.saturating_add(u32::from(self.episodes > 1));
            return false;
        };
        if !trial.is_proven && lost <= LOST_MAX {
            return false;
        }
        trial.excess = trial.excess.saturating_add(ONE);
        let has_failed = trial.excess > trial.excess_max();
        if has_failed {
            self.end_trial(true);
        }
        has_failed
    }

    /// A reduction has been undone.
    pub fn on_undone(&mut self) {
        if let Some(trial) = &mut self.trial {
            trial.undone = trial.undone.saturating_add(1);
            trial.undone_without_queue = trial.undone_without_queue.saturating_add(1);
        }
    }

    /// Returns true if losses were shown to be independent of the rate.
    pub fn is_proven(&self) -> bool {
        self.trial.is_some_and(|trial| trial.is_proven)
    }

    fn is_irregular(&self) -> bool {
        let (more, than) = IRREGULAR;
        let distances = u64::from(self.episodes.saturating_sub(1));
        let squares = u128::from(self.squares) * u128::from(distances) * u128::from(than);
        let sum = u128::from(self.segments);
        sum > 0 && squares >= sum.saturating_mul(sum).saturating_mul(more.into())
    }

    fn end_trial(&mut self, has_failed: bool) {
        let wanted = self.wanted.saturating_mul(EPISODES_FACTOR).min(EPISODES_MAX);
        *self = Self { wanted, has_failed, ..Self::default() };
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const FLIGHT: u32 = 10_000;

    /// Episodes, each after about so many segments, with this much data in flight; returns the number of undone
    /// ones.
    fn episodes(trial: &mut LossTrial, count: u32, segments: u64, flight: u32) -> u32 {
        let undone = (0..count).filter(|n| {
            // One in four distances is long.
            let segments = if n % 4 == 0 { 3 * segments } else { segments / 3 };
            trial.on_acknowledged(segments, false);
            let undo = trial.on_episode(flight, false) == TrialVerdict::Undo;
            if undo {
                trial.on_undone();
            }
            undo
        });
        undone.count() as u32
    }

    #[test]
    fn eight_episodes_are_respected_first() {
        let mut trial = LossTrial::default();
        assert_eq!(episodes(&mut trial, 8, 100, FLIGHT), 0);
        assert_eq!(episodes(&mut trial, 5, 100, FLIGHT), 5);
    }

    #[test]
    fn undoing_goes_on_while_the_window_grows_or_a_queue_is_evident_at_times() {
        let mut trial = LossTrial::default();
        episodes(&mut trial, 8, 100, FLIGHT);
        for tenths in [10, 13, 17, 22] {
            assert_eq!(episodes(&mut trial, 7, 100, FLIGHT * tenths / 10), 7);
        }
        for _ in 0..100 {
            trial.on_acknowledged(1, true);
            assert_eq!(episodes(&mut trial, 50, 100, FLIGHT), 50);
        }
        // Without either it ends, and others follow after 8, 32, 128 and 512 episodes.
        assert_eq!(episodes(&mut trial, 800, 100, FLIGHT), UNDONE_MAX - 50 + 3 * UNDONE_FIRST_MAX);
    }

    #[test]
    fn many_losses_without_a_visible_queue_are_a_proof_once_there_was_room() {
        let mut trial = LossTrial::default();
        episodes(&mut trial, 8, 100, FLIGHT);
        let mut after = |visible: u32, invisible: u32, flight: u32| {
            for n in 0..visible + invisible {
                trial.on_acknowledged(200, false);
                if trial.on_episode(flight, n < visible) == TrialVerdict::Undo && n >= visible {
                    trial.on_undone();
                }
            }
            trial.is_proven()
        };
        // Without growth or a queue; with as many losses in a visible queue.
        assert!(!after(0, 7, FLIGHT));
        assert!(!after(7, 7, FLIGHT * 3 / 2));
        assert!(!after(1, 3, FLIGHT * 19 / 10));
        assert!(after(0, 1, FLIGHT * 2));
    }

    /// The burst that TCP sends when a reduction is undone overflows a short queue.
    #[test]
    fn a_trial_that_loses_a_burst_fails_at_once() {
        let mut trial = LossTrial::default();
        episodes(&mut trial, 8, 100, FLIGHT);
        assert_eq!(trial.on_episode(FLIGHT, false), TrialVerdict::Undo);
        assert_eq!([2, 3, 4].map(|lost| trial.on_further_loss(lost)), [false, false, true]);
        assert_eq!(trial.on_episode(FLIGHT, false), TrialVerdict::ShortQueue);
    }

    /// A full queue: an episode each round trip if reductions are undone.
    #[test]
    fn a_trial_that_makes_losses_more_frequent_fails_after_two() {
        let mut trial = LossTrial::default();
        let (mut undone, mut respected) = (0, 0);
        for n in 0..400 {
            let segments = if trial.trial.is_some() { 60 } else { 500 + 5000 * (n % 2) };
            trial.on_acknowledged(segments, false);
            match trial.on_episode(FLIGHT, false) {
                TrialVerdict::Undo => {
                    trial.on_undone();
                    undone += 1;
                }
                _ => respected += 1,
            }
        }
        assert_eq!(undone, 3 * 2, "{trial:?}");
        assert!(respected > 380);
        assert_eq!(trial.on_episode(FLIGHT, false), TrialVerdict::ShortQueue);
    }

    /// Episodes at equal distances, as one flow at a full queue has them.
    #[test]
    fn regular_episodes_begin_no_trial() {
        let mut trial = LossTrial::default();
        for n in 0..1000_u32 {
            trial.on_acknowledged(u64::from(50 + 100 * (n % 2)), false);
            assert_ne!(trial.on_episode(FLIGHT, false), TrialVerdict::Undo);
        }
    }

    #[test]
    fn chance_ends_few_trials() {
        let (mut ended, mut undone) = (0, 0);
        for seed in 0..100 {
            let mut random = driftway_base::RandomStream::new(seed, "losses", 0);
            let mut trial = LossTrial::default();
            let (mut episodes, mut undone_now) = (0, 0);
            while episodes < 200 {
                trial.on_acknowledged(1, random.uniform_below(300) == 0);
                if random.uniform_below(100) == 0 {
                    episodes += 1;
                    // The window grows by two segments of 1000 bytes from one loss to the next.
                    match trial.on_episode(FLIGHT + 2_000 * undone_now, false) {
                        TrialVerdict::Undo => {
                            trial.on_undone();
                            undone_now += 1;
                        }
                        TrialVerdict::MoreLosses => {
                            ended += 1;
                            undone += undone_now;
                            undone_now = 0;
                        }
                        _ => {}
                    }
                }
            }
            undone += undone_now;
        }
        assert!(ended <= 30 && undone > 16_000, "{ended} of 100, {undone} undone");
    }
}
