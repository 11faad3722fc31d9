//! An interface queue: frames that wait for a transmitter, first come first served, with drop-tail
//! or RED.

use alloc::collections::VecDeque;
use base::{Chance, Duration, Instant, RandomStream};

use crate::config::{Discipline, QueueConfig};
use crate::frame::{DropReason, Enqueued, Frame, Place};
use crate::red::Red;

/// Room made at once; a longer queue grows into its room once and keeps it.
const RESERVED: usize = 256;

/// Frames that wait for a transmitter.
///
/// The owner of the transmitter offers frames ([`enqueue`](Self::enqueue)), takes the next when the
/// transmitter is free ([`take`](Self::take)), and says when there was nothing to take
/// ([`on_idle`](Self::on_idle)) and when the transmitter is busy again without this queue's doing
/// ([`on_busy`](Self::on_busy)). While the transmitter is idle a frame doesn't wait, so that the
/// limit doesn't touch it: the owner takes it at once.
#[derive(Clone, Debug)]
pub struct InterfaceQueue {
    limit: usize,
    marking: Marking,
    mark_loss: Chance,
    mark_losses: RandomStream,
    waiting: VecDeque<Waiting>,
    /// Since when the transmitter has nothing to send.
    idle_since: Option<Instant>,
    /// Idle time since the last arrival that ended by [`InterfaceQueue::on_busy`].
    idle_before: Option<Duration>,
    counters: QueueCounters,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    frame: Frame,
    /// Where the frame stands among all that wait for one transmitter.
    turn: Instant,
}

#[derive(Clone, Debug)]
enum Marking {
    DropTail { ecn_threshold: Option<usize> },
    Red(Red),
}

/// What a queue has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounters {
    /// Frames dropped because it was full, those pushed out included.
    pub overflows: u64,
    /// Frames that RED dropped.
    pub red_drops: u64,
    /// Marks that were set.
    pub marks: u64,
    /// Marks that were due and not set.
    pub marks_lost: u64,
    /// The most frames that waited at once.
    pub longest: usize,
}

impl InterfaceQueue {
    /// An empty queue with an idle transmitter. `entity` names the queue in the streams
    /// `"link-red"` and `"link-mark-loss"`.
    pub fn new(config: QueueConfig, seed: u64, entity: u64) -> Self {
        Self {
            limit: config.limit,
            marking: match config.discipline {
                Discipline::DropTail { ecn_threshold } => Marking::DropTail { ecn_threshold },
                Discipline::Red(red) => Marking::Red(Red::new(red, seed, entity)),
            },
            mark_loss: Chance::from_probability(config.mark_loss),
            mark_losses: RandomStream::new(seed, "link-mark-loss", entity),
            waiting: VecDeque::with_capacity(config.limit.min(RESERVED)),
            idle_since: Some(Instant::ZERO),
            idle_before: None,
            counters: QueueCounters::default(),
        }
    }

    /// How many frames wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Does none wait?
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The frames that wait, the next one first.
    pub fn iter(&self) -> impl Iterator<Item = Frame> + '_ {
        self.waiting.iter().map(|waiting| waiting.frame)
    }

    /// When the next frame's turn came: its arrival, or for a frame put at the front the turn of
    /// the one whose place it took.
    pub fn next_turn(&self) -> Option<Instant> {
        self.waiting.front().map(|next| next.turn)
    }

    /// RED's average, if RED it is.
    pub const fn red_average(&self) -> Option<f64> {
        match &self.marking {
            Marking::DropTail { .. } => None,
            Marking::Red(red) => Some(red.average()),
        }
    }

    /// What it has done so far.
    pub const fn counters(&self) -> QueueCounters {
        self.counters
    }

    /// The transmitter is free and found nothing to send.
    pub const fn on_idle(&mut self, now: Instant) {
        if self.idle_since.is_none() {
            self.idle_since = Some(now);
        }
    }

    /// The transmitter is busy with something that did not come from this queue, or is cut off.
    pub fn on_busy(&mut self, now: Instant) {
        if let Some(since) = self.idle_since.take() {
            let before = self.idle_before.unwrap_or_default();
            self.idle_before = Some(before + now.since(since));
        }
    }

    /// A frame arrives.
    pub fn enqueue(&mut self, now: Instant, frame: Frame, place: Place) -> Enqueued {
        let must_wait = self.idle_since.is_none();
        self.on_busy(now);
        let idle = self.idle_before.take();
        let found = self.waiting.len();

        let due = match &mut self.marking {
            Marking::DropTail { ecn_threshold } => {
                frame.ecn_capable && ecn_threshold.is_some_and(|threshold| found >= threshold)
            }
            Marking::Red(red) => {
                let notify = red.on_arrival(found, idle);
                if notify && !(red.marks() && frame.ecn_capable) {
                    self.counters.red_drops += 1;
                    self.resume_idle(now, must_wait);
                    return Enqueued::Dropped { reason: DropReason::RedDrop };
                }
                notify
            }
        };

        let mut pushed_out = None;
        if must_wait && found >= self.limit {
            self.counters.overflows += 1;
            // A frame for the front is worth more to its sender than the one that waits for longest
            // still (a route reply before data, a frame that goes back for a second try).
            pushed_out = match place {
                Place::Front => self.waiting.pop_back().map(|last| last.frame.id),
                Place::Tail => None,
            };
            if pushed_out.is_none() {
                return Enqueued::Dropped { reason: DropReason::QueueOverflow };
            }
        }

        match place {
            Place::Tail => self.waiting.push_back(Waiting { frame, turn: now }),
            Place::Front => {
                let turn = self.next_turn().unwrap_or(now);
                self.waiting.push_front(Waiting { frame, turn });
            }
        }
        if must_wait {
            self.counters.longest = self.counters.longest.max(self.waiting.len());
        }
        Enqueued::Accepted { mark: due && self.mark_survives(), pushed_out }
    }

    /// Takes the frame whose turn it is.
    pub fn take(&mut self) -> Option<Frame> {
        self.waiting.pop_front().map(|next| next.frame)
    }

    /// A dropped frame leaves an idle transmitter idle.
    const fn resume_idle(&mut self, now: Instant, must_wait: bool) {
        if !must_wait {
            self.idle_since = Some(now);
        }
    }

    fn mark_survives(&mut self) -> bool {
        let lost = self.mark_losses.hits(self.mark_loss);
        if lost {
            self.counters.marks_lost += 1;
        } else {
            self.counters.marks += 1;
        }
        !lost
    }
}
