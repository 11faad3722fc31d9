//! Interface queue: frames that wait for a transmitter, first come first served, with tail drop, RED,
//! CoDel or PIE, or flow by flow with FQ-CoDel.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use driftway_base::{DropReason, Duration, Instant, Probability, RandomStream};

use crate::codel::{Codel, Queued};
use crate::config::{Discipline, QueueConfig};
use crate::fq_codel::FqCodel;
use crate::frame::{Dequeued, EnqueueOutcome, Frame, QueueEntry, QueuePosition};
use crate::pie::{Pie, PieDecision};
use crate::red::Red;

/// Initial capacity; a longer queue grows once and keeps its capacity.
const RESERVED: usize = 256;

/// Frames queued for a transmitter.
///
/// The owner of the transmitter enqueues frames ([`enqueue`](Self::enqueue)), has the next served
/// when the transmitter is free ([`serve`](Self::serve)), and reports when no frame was queued
/// ([`on_idle`](Self::on_idle)) and when the transmitter became busy with a frame of another queue
/// ([`on_busy`](Self::on_busy)). While the transmitter is idle a frame does not wait, so that the
/// limit does not apply to it: the owner dequeues it immediately.
#[derive(Clone, Debug)]
pub struct InterfaceQueue<F = Frame> {
    limit: usize,
    max_bytes: u64,
    discipline: DisciplineState<F>,
    mark_loss: Probability,
    mark_loss_stream: RandomStream,
    /// Empty with a discipline that has queues of its own.
    waiting: VecDeque<Queued<F>>,
    /// Frames dropped to make room, until the owner fetches them.
    displaced: VecDeque<F>,
    /// Frames admitted and held back, in order of arrival.
    held_back: Vec<Queued<F>>,
    /// Bytes of all these frames.
    bytes: u64,
    /// Number of active requests to mark every ECN-capable frame.
    force_mark_count: u32,
    /// Start of the transmitter's idle time.
    idle_since: Option<Instant>,
    /// Idle time since the last arrival that was ended by [`InterfaceQueue::on_busy`].
    idle_carried: Option<Duration>,
    counters: QueueCounters,
}

#[derive(Clone, Debug)]
enum DisciplineState<F> {
    DropTail { ecn_threshold: Option<usize> },
    Red(Red),
    Codel(Codel),
    Pie(Pie),
    FqCodel(Box<FqCodel<F>>),
}

/// Counters of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounters {
    /// Frames dropped because the queue was full, including evicted ones.
    pub overflows: u64,
    /// Frames dropped by RED.
    pub red_drops: u64,
    /// Frames dropped by CoDel.
    pub codel_drops: u64,
    /// Frames dropped by PIE.
    pub pie_drops: u64,
    /// ECN marks set.
    pub marks: u64,
    /// ECN marks due but not set.
    pub marks_lost: u64,
    /// Maximum queue length.
    pub longest: usize,
}

impl<F: QueueEntry> InterfaceQueue<F> {
    /// Creates an empty queue with an idle transmitter. `entity` names the queue in the streams
    /// `"link-red"`, `"link-pie"` and `"link-mark-loss"`.
    pub fn new(config: QueueConfig, seed: u64, entity: u64) -> Self {
        Self {
            limit: config.limit,
            max_bytes: config.max_bytes.unwrap_or(u64::MAX),
            discipline: match config.discipline {
                Discipline::DropTail { ecn_threshold } => {
                    DisciplineState::DropTail { ecn_threshold }
                }
                Discipline::Red(red) => DisciplineState::Red(Red::new(red, seed, entity)),
                Discipline::Codel(codel) => DisciplineState::Codel(Codel::new(codel)),
                Discipline::Pie(pie) => DisciplineState::Pie(Pie::new(pie, seed, entity)),
                Discipline::FqCodel(fair) => {
                    let perturbation = RandomStream::new(seed, "link-fq-codel", entity).next_u64();
                    DisciplineState::FqCodel(Box::new(FqCodel::new(fair, perturbation)))
                }
            },
            mark_loss: Probability::from_f64(config.mark_loss),
            mark_loss_stream: RandomStream::new(seed, "link-mark-loss", entity),
            waiting: VecDeque::with_capacity(config.limit.min(RESERVED)),
            displaced: VecDeque::new(),
            held_back: Vec::new(),
            bytes: 0,
            force_mark_count: 0,
            idle_since: Some(Instant::ZERO),
            idle_carried: None,
            counters: QueueCounters::default(),
        }
    }

    /// Returns the number of queued frames.
    pub fn len(&self) -> usize {
        let of_flows = self.flow_queues().map_or(0, FqCodel::len);
        self.waiting.len() + self.held_back.len() + of_flows
    }

    fn flow_queues(&self) -> Option<&FqCodel<F>> {
        match &self.discipline {
            DisciplineState::FqCodel(flows) => Some(flows),
            _ => None,
        }
    }

    /// Returns true if the discipline has a queue for each flow.
    pub(crate) fn separates_flows(&self) -> bool {
        self.flow_queues().is_some()
    }

    /// Returns true if no frame is queued.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if a frame can be dequeued.
    pub(crate) fn has_next(&self) -> bool {
        !self.waiting.is_empty() || self.flow_queues().is_some_and(|flows| flows.len() > 0)
    }

    /// Returns the number of frames held back.
    pub(crate) fn held_back(&self) -> usize {
        self.held_back.len()
    }

    /// Returns true if a frame of this size that has to wait finds the queue full.
    pub(crate) fn is_full(&self, bytes: u32) -> bool {
        self.len() >= self.limit || self.bytes.saturating_add(bytes.into()) > self.max_bytes
    }

    /// Returns the queued frames in order of service, those held back last; with a queue for each flow,
    /// flow by flow.
    pub fn iter(&self) -> impl Iterator<Item = F> + '_ {
        let of_flows = self.flow_queues().into_iter().flat_map(FqCodel::iter);
        let others = self.waiting.iter().chain(&self.held_back).map(|queued| queued.frame);
        of_flows.chain(others)
    }

    /// Returns RED's average queue length; `None` with another discipline.
    pub const fn red_average(&self) -> Option<f64> {
        match &self.discipline {
            DisciplineState::DropTail { .. }
            | DisciplineState::Codel(_)
            | DisciplineState::Pie(_)
            | DisciplineState::FqCodel(_) => None,
            DisciplineState::Red(red) => Some(red.average()),
        }
    }

    /// Returns the counters.
    pub const fn counters(&self) -> QueueCounters {
        self.counters
    }

    /// Reports that the transmitter is free and no frame was queued.
    pub const fn on_idle(&mut self, now: Instant) {
        if self.idle_since.is_none() {
            self.idle_since = Some(now);
        }
    }

    /// Reports that the transmitter is busy with a frame of another queue, or disconnected.
    pub fn on_busy(&mut self, now: Instant) {
        if let Some(since) = self.idle_since.take() {
            let before = self.idle_carried.unwrap_or_default();
            self.idle_carried = Some(before + now.since(since));
        }
    }

    /// Enqueues a frame.
    pub fn enqueue(&mut self, now: Instant, frame: F, place: QueuePosition) -> EnqueueOutcome {
        let must_wait = self.idle_since.is_none();
        let due = match self.admit(now, frame) {
            Ok(due) => due,
            Err(reason) => return EnqueueOutcome::Dropped { reason },
        };

        if let DisciplineState::FqCodel(flows) = &mut self.discipline {
            flows.push(now, frame, place);
            self.bytes = self.bytes.saturating_add(frame.bytes().into());
            if must_wait {
                self.make_room();
                self.update_longest();
            }
            return EnqueueOutcome::Accepted { mark: due && self.draw_mark(), evicted: None };
        }
        let mut evicted = None;
        if must_wait && self.is_full(frame.bytes()) {
            self.counters.overflows += 1;
            // A frame for the front is urgent (a route reply, a retried frame): it evicts the frame
            // that would leave last.
            let last = match place {
                QueuePosition::Front => self.waiting.pop_back(),
                QueuePosition::Tail => None,
            };
            let Some(last) = last else {
                return EnqueueOutcome::Dropped { reason: DropReason::QueueOverflow };
            };
            self.count_out(last.frame);
            evicted = Some(last.frame.id());
        }

        self.bytes = self.bytes.saturating_add(frame.bytes().into());
        let queued = Queued { frame, since: now };
        match place {
            QueuePosition::Tail => self.waiting.push_back(queued),
            QueuePosition::Front => self.waiting.push_front(queued),
        }
        if must_wait {
            self.update_longest();
        }
        EnqueueOutcome::Accepted { mark: due && self.draw_mark(), evicted }
    }

    /// Drops frames of the longest flows until the limits are kept.
    fn make_room(&mut self) {
        let DisciplineState::FqCodel(flows) = &mut self.discipline else { return };
        // Frames held back are not its own.
        let limit = self.limit.saturating_sub(self.held_back.len());
        while flows.len() > limit || (flows.len() > 0 && self.bytes > self.max_bytes) {
            flows.drop_from_longest(|frame| {
                self.bytes = self.bytes.saturating_sub(frame.bytes().into());
                self.counters.overflows += 1;
                self.displaced.push_back(frame);
            });
        }
    }

    /// Removes a frame that was accepted, and dropped since to make room
    /// ([`DropReason::QueueOverflow`]).
    pub(crate) fn take_displaced(&mut self) -> Option<F> {
        self.displaced.pop_front()
    }

    /// Enqueues a frame before the first queued one that is later. If the queue is full, the new
    /// frame is dropped.
    pub(crate) fn enqueue_before(
        &mut self,
        now: Instant,
        frame: F,
        mut is_later: impl FnMut(&F) -> bool,
    ) -> EnqueueOutcome {
        let later = self.waiting.iter().position(|queued| is_later(&queued.frame));
        let verdict = self.enqueue(now, frame, QueuePosition::Tail);
        if let (EnqueueOutcome::Accepted { .. }, Some(place)) = (verdict, later)
            && let Some(last) = self.waiting.pop_back()
        {
            self.waiting.insert(place, last);
        }
        verdict
    }

    /// Holds a frame back until [`release_held_back`](Self::release_held_back), whatever the state
    /// of the transmitter. The caller has made sure that the queue is not full.
    pub(crate) fn enqueue_held_back(&mut self, now: Instant, frame: F) -> EnqueueOutcome {
        let idle = self.idle_since.is_some();
        let admitted = self.admit(now, frame);
        // The transmitter does not receive this frame.
        if idle {
            self.on_idle(now);
        }
        let due = match admitted {
            Ok(due) => due,
            Err(reason) => return EnqueueOutcome::Dropped { reason },
        };
        self.bytes = self.bytes.saturating_add(frame.bytes().into());
        self.held_back.push(Queued { frame, since: now });
        self.update_longest();
        EnqueueOutcome::Accepted { mark: due && self.draw_mark(), evicted: None }
    }

    /// Appends the frames held back to the queue, the last first.
    pub(crate) fn release_held_back(&mut self) {
        match &mut self.discipline {
            DisciplineState::FqCodel(flows) => {
                for queued in self.held_back.drain(..).rev() {
                    flows.push(queued.since, queued.frame, QueuePosition::Tail);
                }
            }
            _ => self.waiting.extend(self.held_back.drain(..).rev()),
        }
    }

    /// Starts or ends a request to mark every ECN-capable frame, whatever the discipline. Requests
    /// are counted.
    pub(crate) const fn force_marks(&mut self, on: bool) {
        self.force_mark_count = if on {
            self.force_mark_count.saturating_add(1)
        } else {
            self.force_mark_count.saturating_sub(1)
        };
    }

    /// Decides whether an arriving frame is marked, by the discipline, or dropped early for a reason.
    /// The transmitter counts as busy from now on, unless the frame is dropped.
    #[inline]
    fn admit(&mut self, now: Instant, frame: F) -> Result<bool, DropReason> {
        let must_wait = self.idle_since.is_none();
        self.on_busy(now);
        let idle = self.idle_carried.take();
        let Self { discipline, waiting, held_back, .. } = self;
        let found = waiting.len() + held_back.len();
        let due = match discipline {
            DisciplineState::DropTail { ecn_threshold } => {
                frame.ecn_capable() && ecn_threshold.is_some_and(|threshold| found >= threshold)
            }
            DisciplineState::Red(red) => {
                let notify = red.on_arrival(found, idle);
                if notify && !(red.can_mark() && frame.ecn_capable()) {
                    self.counters.red_drops += 1;
                    self.resume_idle(now, must_wait);
                    return Err(DropReason::Red);
                }
                notify
            }
            DisciplineState::Pie(pie) => {
                match pie.on_arrival(now, self.bytes, frame.ecn_capable()) {
                    PieDecision::Enqueue => false,
                    PieDecision::Mark => true,
                    PieDecision::Drop => {
                        self.counters.pie_drops += 1;
                        self.resume_idle(now, must_wait);
                        return Err(DropReason::Pie);
                    }
                }
            }
            // It decides when the frame leaves.
            DisciplineState::Codel(_) | DisciplineState::FqCodel(_) => false,
        };
        Ok(due || (self.force_mark_count > 0 && frame.ecn_capable()))
    }

    /// Dequeues the next frame for a free transmitter, as the discipline decides. Frames that it
    /// drops ([`DropReason::Codel`]) are passed to `on_drop`; they precede a frame that is not.
    #[inline]
    pub fn serve(&mut self, now: Instant, on_drop: impl FnMut(F)) -> Option<Dequeued<F>> {
        match &self.discipline {
            DisciplineState::DropTail { .. } | DisciplineState::Red(_) => {
                let Queued { frame, .. } = self.waiting.pop_front()?;
                self.count_out(frame);
                Some(Dequeued { frame, mark: false })
            }
            _ => self.serve_delayed(now, on_drop),
        }
    }

    /// Does the same with a discipline that decides by the time for which a frame has waited.
    fn serve_delayed(&mut self, now: Instant, mut on_drop: impl FnMut(F)) -> Option<Dequeued<F>> {
        let Self { discipline, waiting, counters, bytes, .. } = self;
        match discipline {
            DisciplineState::DropTail { .. } | DisciplineState::Red(_) => None,
            DisciplineState::Codel(codel) => {
                let served = codel.dequeue(now, waiting, |frame| {
                    counters.codel_drops += 1;
                    *bytes = bytes.saturating_sub(frame.bytes().into());
                    on_drop(frame);
                });
                let (frame, due) = served?;
                self.count_out(frame);
                Some(Dequeued { frame, mark: due && self.draw_mark() })
            }
            DisciplineState::FqCodel(flows) => {
                let served = flows.serve(now, |frame| {
                    counters.codel_drops += 1;
                    *bytes = bytes.saturating_sub(frame.bytes().into());
                    on_drop(frame);
                });
                let (frame, due) = served?;
                self.count_out(frame);
                Some(Dequeued { frame, mark: due && self.draw_mark() })
            }
            DisciplineState::Pie(pie) => {
                let next = waiting.pop_front()?;
                pie.on_departure(now, next.since, waiting.is_empty());
                self.count_out(next.frame);
                Some(Dequeued { frame: next.frame, mark: false })
            }
        }
    }

    /// Dequeues the next frame, whatever the discipline, for another use than to transmit it.
    pub fn dequeue(&mut self) -> Option<F> {
        let frame = match &mut self.discipline {
            DisciplineState::FqCodel(flows) => flows.pop(),
            _ => self.waiting.pop_front().map(|queued| queued.frame),
        }?;
        self.count_out(frame);
        Some(frame)
    }

    /// Dequeues the next frame that satisfies the condition, whatever the discipline.
    pub(crate) fn dequeue_if(&mut self, mut is_so: impl FnMut(&F) -> bool) -> Option<F> {
        let place = self.waiting.iter().position(|queued| is_so(&queued.frame))?;
        let frame = self.waiting.remove(place)?.frame;
        self.count_out(frame);
        Some(frame)
    }

    fn count_out(&mut self, frame: F) {
        self.bytes = self.bytes.saturating_sub(frame.bytes().into());
    }

    fn update_longest(&mut self) {
        self.counters.longest = self.counters.longest.max(self.len());
    }

    /// Leaves an idle transmitter idle after a drop.
    const fn resume_idle(&mut self, now: Instant, must_wait: bool) {
        if !must_wait {
            self.idle_since = Some(now);
        }
    }

    fn draw_mark(&mut self) -> bool {
        let lost = self.mark_loss_stream.bernoulli(self.mark_loss);
        if lost {
            self.counters.marks_lost += 1;
        } else {
            self.counters.marks += 1;
        }
        !lost
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::red::RedConfig;
    use alloc::vec::Vec;
    use driftway_base::PacketId;

    const DATA: Frame = Frame { id: PacketId::new(0), bytes: 140, ecn_capable: true, flow: 0 };
    const KEPT: EnqueueOutcome = EnqueueOutcome::Accepted { mark: false, evicted: None };
    const MARKED: EnqueueOutcome = EnqueueOutcome::Accepted { mark: true, evicted: None };
    const FULL: EnqueueOutcome = EnqueueOutcome::Dropped { reason: DropReason::QueueOverflow };
    const EARLY: EnqueueOutcome = EnqueueOutcome::Dropped { reason: DropReason::Red };

    fn drop_tail(limit: usize, ecn_threshold: Option<usize>) -> InterfaceQueue {
        let discipline = Discipline::DropTail { ecn_threshold };
        InterfaceQueue::new(
            QueueConfig { limit, discipline, max_bytes: None, mark_loss: 0.0 },
            1,
            0,
        )
    }

    /// Notifies every frame as soon as one frame is queued.
    const STRICT: RedConfig = RedConfig {
        min_threshold: 0.5,
        max_threshold: 1.0,
        max_probability: 0.1,
        weight: 1.0,
        frame_time: Duration::from_millis(10),
        ecn: true,
    };

    fn red(limit: usize, red: RedConfig) -> InterfaceQueue {
        let discipline = Discipline::Red(red);
        InterfaceQueue::new(
            QueueConfig { limit, discipline, max_bytes: None, mark_loss: 0.0 },
            1,
            0,
        )
    }

    fn offer(queue: &mut InterfaceQueue, id: u32, place: QueuePosition) -> EnqueueOutcome {
        queue.enqueue(
            Instant::from_millis(u64::from(id)),
            Frame { id: PacketId::new(id), ..DATA },
            place,
        )
    }

    fn busy(mut queue: InterfaceQueue) -> InterfaceQueue {
        queue.on_busy(Instant::ZERO);
        queue
    }

    fn drain(queue: &mut InterfaceQueue) -> Vec<u32> {
        core::iter::from_fn(|| queue.dequeue()).map(|frame| frame.id.number()).collect()
    }

    #[test]
    fn a_full_queue_drops_arriving_frames() {
        let mut queue = busy(drop_tail(2, None));
        assert_eq!(
            [1, 2, 3].map(|id| offer(&mut queue, id, QueuePosition::Tail)),
            [KEPT, KEPT, FULL]
        );
        assert_eq!((queue.len(), queue.counters().overflows, queue.counters().longest), (2, 1, 2));
        assert_eq!(drain(&mut queue), [1, 2]);
    }

    #[test]
    fn a_limit_in_bytes_counts_the_arriving_frame() {
        let discipline = Discipline::DropTail { ecn_threshold: None };
        let config = QueueConfig { limit: 9, discipline, max_bytes: Some(1000), mark_loss: 0.0 };
        let mut queue = busy(InterfaceQueue::new(config, 1, 0));
        let mut put = |id: u32, bytes: u32, place| {
            let frame = Frame { id: PacketId::new(id), bytes, ..DATA };
            queue.enqueue(Instant::ZERO, frame, place)
        };
        assert_eq!(put(1, 600, QueuePosition::Tail), KEPT);
        assert_eq!(put(2, 401, QueuePosition::Tail), FULL);
        assert_eq!(put(3, 400, QueuePosition::Tail), KEPT);
        let verdict = put(4, 300, QueuePosition::Front);
        let evicted = Some(PacketId::new(3));
        assert_eq!(verdict, EnqueueOutcome::Accepted { mark: false, evicted });
        assert_eq!(put(5, 100, QueuePosition::Tail), KEPT);
        assert_eq!(drain(&mut queue), [4, 1, 5]);
        assert_eq!(queue.bytes, 0);
    }

    #[test]
    fn the_limit_does_not_apply_without_waiting() {
        let mut queue = drop_tail(0, None);
        assert_eq!(offer(&mut queue, 1, QueuePosition::Tail), KEPT);
        assert_eq!(drain(&mut queue), [1]);
        assert_eq!(offer(&mut queue, 2, QueuePosition::Tail), FULL);
        assert_eq!(offer(&mut queue, 3, QueuePosition::Front), FULL);
        queue.on_idle(Instant::from_millis(4));
        assert_eq!(offer(&mut queue, 4, QueuePosition::Tail), KEPT);
        assert_eq!(queue.counters().longest, 0);
    }

    #[test]
    fn a_frame_for_the_front_of_a_full_queue_evicts_the_last() {
        let mut queue = busy(drop_tail(2, None));
        offer(&mut queue, 1, QueuePosition::Tail);
        offer(&mut queue, 2, QueuePosition::Tail);
        let verdict = offer(&mut queue, 3, QueuePosition::Front);
        assert_eq!(
            verdict,
            EnqueueOutcome::Accepted { mark: false, evicted: Some(PacketId::new(2)) }
        );
        assert_eq!(queue.counters().overflows, 1);
        assert_eq!(drain(&mut queue), [3, 1]);
    }

    #[test]
    fn a_mark_is_set_from_the_threshold_on() {
        let mut queue = busy(drop_tail(9, Some(2)));
        assert_eq!(
            [1, 2, 3].map(|id| offer(&mut queue, id, QueuePosition::Tail)),
            [KEPT, KEPT, MARKED]
        );
        let deaf = Frame { id: PacketId::new(4), ecn_capable: false, ..DATA };
        assert_eq!(queue.enqueue(Instant::from_millis(4), deaf, QueuePosition::Tail), KEPT);
        queue.dequeue();
        queue.dequeue();
        assert_eq!(offer(&mut queue, 5, QueuePosition::Tail), MARKED);
        queue.dequeue();
        queue.dequeue();
        assert_eq!(offer(&mut queue, 6, QueuePosition::Tail), KEPT);
        assert_eq!(queue.counters().marks, 2);
    }

    #[test]
    fn marks_are_lost_with_their_probability() {
        let discipline = Discipline::DropTail { ecn_threshold: Some(0) };
        let config = QueueConfig { limit: usize::MAX, discipline, max_bytes: None, mark_loss: 0.3 };
        let mut queue = InterfaceQueue::new(config, 1, 0);
        let marked =
            (0..10_000).filter(|id| offer(&mut queue, *id, QueuePosition::Tail) == MARKED).count();
        assert_eq!(queue.counters().marks, marked as u64);
        assert_eq!(queue.counters().marks_lost, 10_000 - marked as u64);
        assert!((6_800..7_200).contains(&marked), "{marked}");
    }

    #[test]
    fn red_drops_frames_that_are_not_ecn_capable() {
        let mut queue = busy(red(2, STRICT));
        assert_eq!(offer(&mut queue, 1, QueuePosition::Tail), KEPT);
        assert_eq!(offer(&mut queue, 2, QueuePosition::Tail), MARKED);
        let deaf = Frame { id: PacketId::new(3), ecn_capable: false, ..DATA };
        assert_eq!(queue.enqueue(Instant::from_millis(3), deaf, QueuePosition::Tail), EARLY);
        assert_eq!(offer(&mut queue, 4, QueuePosition::Tail), FULL);
        let counters = queue.counters();
        assert_eq!((counters.marks, counters.red_drops, counters.overflows), (1, 1, 1));

        let mut without_ecn = busy(red(2, RedConfig { ecn: false, ..STRICT }));
        assert_eq!(offer(&mut without_ecn, 1, QueuePosition::Tail), KEPT);
        assert_eq!(offer(&mut without_ecn, 2, QueuePosition::Tail), EARLY);
    }

    #[test]
    fn red_counts_the_idle_time_of_a_shared_transmitter() {
        // Idle intervals of the transmitter in milliseconds.
        let average_after = |spans: &[(u64, u64)], arrival: u32| {
            let lenient = RedConfig { min_threshold: 50.0, max_threshold: 60.0, ..STRICT };
            let mut queue = busy(red(9, RedConfig { weight: 0.5, ..lenient }));
            offer(&mut queue, 0, QueuePosition::Tail);
            offer(&mut queue, 1, QueuePosition::Tail);
            assert_eq!(queue.red_average(), Some(0.5));
            drain(&mut queue);
            for (from, to) in spans {
                queue.on_idle(Instant::from_millis(*from));
                queue.on_busy(Instant::from_millis(*to));
            }
            offer(&mut queue, arrival, QueuePosition::Tail);
            queue.red_average()
        };
        assert_eq!(average_after(&[], 150), Some(0.25));
        assert_eq!(average_after(&[(100, 110)], 110), Some(0.25));
        assert_eq!(average_after(&[(100, 120)], 150), Some(0.125));
        assert_eq!(average_after(&[(100, 120), (140, 160)], 190), Some(0.031_25));
    }

    #[test]
    fn a_dropped_frame_does_not_end_the_idle_time() {
        let mut queue = busy(red(9, RedConfig { weight: 0.5, max_threshold: 0.5, ..STRICT }));
        offer(&mut queue, 0, QueuePosition::Tail);
        offer(&mut queue, 1, QueuePosition::Tail);
        drain(&mut queue);
        queue.on_idle(Instant::from_millis(100));
        let deaf = Frame { ecn_capable: false, ..DATA };
        assert_eq!(queue.enqueue(Instant::from_millis(100), deaf, QueuePosition::Tail), EARLY);
        assert_eq!(offer(&mut queue, 120, QueuePosition::Tail), KEPT);
        assert_eq!(queue.red_average(), Some(0.125));
    }
}
