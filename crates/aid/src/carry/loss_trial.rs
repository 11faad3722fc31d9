//! Trial of undoing: whether losses are independent of the rate at which this connection sends.
//!
//! A queue that is too short to be seen in round-trip times drops as much as a long one, and a path with
//! random losses looks alike while nothing is changed. They differ in what follows a reduction: a full queue
//! drops again within a round trip if the window was not reduced, and rarely if it was; random losses occur
//! as often as before. So reductions are first respected, while the rate of loss episodes is measured. Then
//! some are undone, on trial. If episodes become more frequent, the trial has failed: they were congestion,
//! and so are the losses that follow, for four times as many episodes as before.
//!
//! Where many connections share a short queue, one of them hardly changes its losses. Therefore a trial also
//! ends when it has undone a number of reductions and no queue has become visible: a path that is not
//! congested has room for the window until its queue grows.

/// Loss episodes for which reductions are respected before the first trial.
const EPISODES_MIN: u32 = 8;
/// Limit of that number.
const EPISODES_MAX: u32 = 512;
/// Factor of that number after a trial that has failed.
const EPISODES_FACTOR: u32 = 4;

/// Undone reductions without a visible queue that end a trial. A window that grows by one segment per round
/// trip and loses one in a hundred segments doubles several times meanwhile.
pub(super) const UNDONE_MAX: u32 = 256;

/// A trial fails when there were `EXCESS_MAX` more episodes than at `RATE_FACTOR` times the previous rate,
/// since any time during the trial (a cumulative sum test). At the previous rate that happens once in some
/// thousand episodes; where each round trip has an episode, after five of them.
const RATE_FACTOR: u64 = 3;
const EXCESS_MAX: u64 = 4 * ONE;
/// Episodes added to those that were counted: eight may be few by chance.
const EPISODES_MARGIN: u64 = 4;
/// 1 in fixed-point arithmetic.
const ONE: u64 = 1 << 20;

/// What the rate of loss episodes shows.
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
    /// Loss episodes and segments acknowledged while reductions are respected.
    episodes: u32,
    segments: u64,
    /// Number of these episodes before the next trial.
    wanted: u32,
    trial: Option<Trial>,
    /// The last trial has failed because losses became more frequent.
    has_failed: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Trial {
    /// Cumulative sum of episodes beyond the permitted rate (in units of 1/[`ONE`]).
    excess: u64,
    /// Reductions undone since a queue was visible.
    undone: u32,
}

impl Default for LossTrial {
    fn default() -> Self {
        Self { episodes: 0, segments: 0, wanted: EPISODES_MIN, trial: None, has_failed: false }
    }
}

impl LossTrial {
    /// The peer has acknowledged this many segments more; `queue` is true if a queue is visible.
    pub fn on_acknowledged(&mut self, segments: u64, queue: bool) {
        match &mut self.trial {
            None => self.segments = self.segments.saturating_add(segments),
            Some(trial) => {
                let permitted = ONE
                    .saturating_mul(RATE_FACTOR)
                    .saturating_mul(u64::from(self.episodes) + EPISODES_MARGIN)
                    .saturating_mul(segments)
                    .checked_div(self.segments)
                    .unwrap_or(0);
                trial.excess = trial.excess.saturating_sub(permitted);
                if queue && trial.undone > 0 {
                    // There was room for the window: the losses before were not congestion.
                    (trial.undone, self.wanted) = (0, EPISODES_MIN);
                }
            }
        }
    }

    /// A loss episode begins.
    pub fn on_episode(&mut self) -> TrialVerdict {
        let Some(trial) = &mut self.trial else {
            self.episodes = self.episodes.saturating_add(1);
            if self.episodes >= self.wanted && self.segments > 0 {
                self.trial = Some(Trial::default());
            }
            return if self.has_failed { TrialVerdict::ShortQueue } else { TrialVerdict::Unknown };
        };
        trial.excess = trial.excess.saturating_add(ONE);
        if trial.excess > EXCESS_MAX {
            self.end_trial(true);
            return TrialVerdict::MoreLosses;
        }
        if trial.undone >= UNDONE_MAX {
            self.end_trial(false);
            return TrialVerdict::Unknown;
        }
        TrialVerdict::Undo
    }

    /// A reduction has been undone.
    pub fn on_undone(&mut self) {
        if let Some(trial) = &mut self.trial {
            trial.undone = trial.undone.saturating_add(1);
        }
    }

    fn end_trial(&mut self, has_failed: bool) {
        let wanted = self.wanted.saturating_mul(EPISODES_FACTOR).min(EPISODES_MAX);
        *self = Self { wanted, has_failed, ..Self::default() };
    }
}

#[cfg(test)]
mod test {
    use super::*;

    /// Episodes, each after so many segments; returns the number of undone ones.
    fn episodes(trial: &mut LossTrial, count: u32, segments: u64, queue: bool) -> u32 {
        let undone = (0..count).filter(|_| {
            trial.on_acknowledged(segments, queue);
            let undo = trial.on_episode() == TrialVerdict::Undo;
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
        assert_eq!(episodes(&mut trial, 8, 100, false), 0);
        assert_eq!(episodes(&mut trial, 20, 100, false), 20);
    }

    #[test]
    fn undoing_goes_on_while_a_queue_is_visible_at_times() {
        let mut trial = LossTrial::default();
        episodes(&mut trial, 8, 100, false);
        for _ in 0..1000 {
            assert_eq!(episodes(&mut trial, 100, 100, false), 100);
            trial.on_acknowledged(1, true);
        }
        // Without one it ends, and others follow after 32, 128 and 512 episodes.
        assert_eq!(episodes(&mut trial, 1000, 100, false), 3 * UNDONE_MAX);
    }

    /// A full queue: an episode each round trip if reductions are undone.
    #[test]
    fn a_trial_that_makes_losses_more_frequent_fails_after_four() {
        let mut trial = LossTrial::default();
        let mut undone = 0;
        let mut respected = 0;
        for _ in 0..400 {
            let segments = if trial.trial.is_some() { 60 } else { 3000 };
            match episodes(&mut trial, 1, segments, false) {
                0 => respected += 1,
                one => undone += one,
            }
        }
        assert_eq!(undone, 3 * 4, "{trial:?}");
        assert!(respected > 380);
        assert_eq!(trial.on_episode(), TrialVerdict::ShortQueue);
    }

    #[test]
    fn chance_ends_hardly_any_trial() {
        let mut ended = 0;
        for seed in 0..100 {
            let mut random = driftway_base::RandomStream::new(seed, "losses", 0);
            let mut trial = LossTrial::default();
            let mut episodes = 0;
            while episodes < 200 {
                trial.on_acknowledged(1, random.uniform_below(1000) == 0);
                if random.uniform_below(100) == 0 {
                    episodes += 1;
                    match trial.on_episode() {
                        TrialVerdict::Undo => trial.on_undone(),
                        TrialVerdict::MoreLosses => ended += 1,
                        _ => {}
                    }
                }
            }
        }
        assert!(ended <= 10, "{ended} of 100");
    }
}
