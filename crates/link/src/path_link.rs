//! A hop of a path.

use alloc::collections::VecDeque;
use driftway_base::{DropReason, Duration, Instant, LinkId, Probability, RandomStream, Rate};

use crate::config::{Delay, DeliveryOrder, Duplex, ErrorModel, LinkConfig};
use crate::error_sampler::ErrorSampler;
use crate::frame::{
    Dequeued, EnqueueOutcome, Frame, FrameStage, LinkEvent, PendingFrame, QueuePosition, Side,
};
use crate::queue::{InterfaceQueue, QueueCounters};

/// Initial capacity for frames in flight; it grows once if needed.
const RESERVED: usize = 64;

/// A store-and-forward hop between side A and side B of a path.
///
/// Its methods are of four kinds:
/// - look: [`next_timeout`](Self::next_timeout), [`pending_frames`](Self::pending_frames),
///   [`counters`](Self::counters) …
/// - events: [`on_timeout`](Self::on_timeout), [`enqueue`](Self::enqueue)
/// - commands for faults and changes: [`partition`](Self::partition), [`heal`](Self::heal),
///   [`set_rate`](Self::set_rate) …
/// - [`poll`](Self::poll), which returns the marks and ends of frames.
///
/// The driver calls `on_timeout` at `next_timeout`, and after any call with a `now` it polls until
/// nothing is left, then asks for `next_timeout` again. Time never goes back; an earlier `now`
/// counts as the latest. **Due work is done first**: every call first processes everything due by
/// `now`, so that a frame offered at the instant at which the transmitter becomes free finds it
/// free, and a frame due at the instant of a partition has arrived, in whatever order the driver
/// calls. A late driver loses nothing: each due event is processed with its own time.
///
/// At one instant arrivals come before ends of transmission, these before the release of frames
/// held back, and A's before B's.
#[derive(Clone, Debug)]
pub struct PathLink {
    now: Instant,
    /// Time of the next step, so that an earlier call costs one comparison.
    next_due: Instant,
    rate: Rate,
    delay: Delay,
    errors: ErrorSampler,
    duplex: Duplex,
    order: DeliveryOrder,
    partitioned: bool,
    reports_transmissions: bool,
    /// Side that a shared link served last.
    last_served: Side,
    a: Direction,
    b: Direction,
    events: VecDeque<LinkEvent>,
}

/// Treatment of the queues when a link is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueOnPartition {
    /// Queued frames wait until the link heals.
    Wait,
    /// Queued frames are dropped.
    Drop,
}

/// Counters of one side of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Frames transmitted completely, including corrupted ones.
    pub frames: u64,
    /// Bits of these frames.
    pub bits: u64,
    /// Busy time of the transmitter, including frames cut short by a partition.
    pub busy: Duration,
    /// Frames delivered.
    pub arrived: u64,
    /// Frames lost to bit errors.
    pub errors: u64,
    /// Frames lost to partitions.
    pub partitioned: u64,
    /// Frames refused while the link was cut.
    pub refused: u64,
    /// Counters of the queue.
    pub queue: QueueCounters,
}

/// One direction: the sender's queue, the frame in its transmitter, and those in flight.
#[derive(Clone, Debug)]
struct Direction {
    queue: InterfaceQueue,
    transmission: Option<Transmission>,
    /// Frames on the link, in order of arrival.
    in_flight: VecDeque<InFlight>,
    error_stream: RandomStream,
    delay_stream: RandomStream,
    to_front: u32,
    /// Reversal in progress, if any.
    reversal: Option<Reversal>,
    counters: LinkCounters,
}

/// A reversal: the next frames are held back and leave in reverse order.
#[derive(Clone, Copy, Debug)]
struct Reversal {
    /// Number of frames.
    frames: usize,
    /// Maximum waiting time of the first of them.
    max_wait: Duration,
    /// End of that time; the far future before the first frame.
    deadline: Instant,
}

/// A frame in transmission, with the parameters at its start: changes apply from the next frame on.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    frame: Frame,
    began: Instant,
    ends: Instant,
    delay: Delay,
    error: Probability,
}

#[derive(Clone, Copy, Debug)]
struct InFlight {
    frame: Frame,
    arrives: Instant,
}

/// The next step of a link.
#[derive(Clone, Copy, Debug)]
enum Step {
    Arrival(Side),
    EndOfService(Side),
    EndOfReversal(Side),
}

impl PathLink {
    /// Creates an idle link. With the direction, `link` keys the streams `"link-error"`,
    /// `"link-delay"`, `"link-red"` and `"link-mark-loss"`.
    pub fn new(config: LinkConfig, seed: u64, link: LinkId) -> Self {
        let direction =
            |side: u64| Direction::new(&config, seed, u64::from(link.number()) << 1 | side);
        Self {
            now: Instant::ZERO,
            next_due: Instant::FAR_FUTURE,
            rate: config.rate,
            delay: config.delay,
            errors: ErrorSampler::new(config.errors),
            duplex: config.duplex,
            order: config.order,
            partitioned: false,
            reports_transmissions: false,
            last_served: Side::B,
            a: direction(0),
            b: direction(1),
            events: VecDeque::with_capacity(RESERVED),
        }
    }

    /// Returns the time of the next step; now, if events are left to be polled.
    pub fn next_timeout(&self) -> Option<Instant> {
        if !self.events.is_empty() {
            return Some(self.now);
        }
        (self.next_due < Instant::FAR_FUTURE).then_some(self.next_due)
    }

    /// Returns true while it is cut.
    pub const fn is_partitioned(&self) -> bool {
        self.partitioned
    }

    /// Returns the number of frames queued at a side, excluding the frame in transmission.
    pub fn queue_len(&self, side: Side) -> usize {
        self.direction(side).queue.len()
    }

    /// Returns the counters of a side.
    pub const fn counters(&self, side: Side) -> LinkCounters {
        let direction = self.direction(side);
        let mut counters = direction.counters;
        counters.queue = direction.queue.counters();
        counters
    }

    /// Returns the number of frames on the link and in its queues.
    pub fn frames_in_transit(&self) -> usize {
        self.a.frames_in_transit() + self.b.frames_in_transit()
    }

    /// Returns the frames accepted for which no event has occurred yet.
    pub fn pending_frames(&self) -> impl Iterator<Item = PendingFrame> + '_ {
        self.a.pending_frames(Side::A).chain(self.b.pending_frames(Side::B))
    }

    /// Processes all that is due by `now`.
    pub fn on_timeout(&mut self, now: Instant) {
        self.advance(now);
    }

    /// Enqueues a frame for the other side.
    pub fn enqueue(
        &mut self,
        now: Instant,
        side: Side,
        frame: Frame,
        place: QueuePosition,
    ) -> EnqueueOutcome {
        let now = self.advance(now);
        if self.partitioned {
            self.direction_mut(side).counters.refused += 1;
            return EnqueueOutcome::Refused;
        }
        if self.duplex == Duplex::PerPacket {
            self.send_per_packet(now, side, frame);
            return EnqueueOutcome::Accepted { mark: false, evicted: None };
        }
        if self.direction(side).reversal.is_some() {
            if !self.direction(side).queue.is_full() {
                return self.hold_back(now, side, frame);
            }
            // Frames held back take no queue space from others.
            self.end_reversal(now, side);
        }
        let direction = self.direction_mut(side);
        let place = if direction.to_front > 0 { QueuePosition::Front } else { place };
        let verdict = direction.queue.enqueue(now, frame, place);
        if matches!(verdict, EnqueueOutcome::Accepted { .. }) {
            direction.to_front = direction.to_front.saturating_sub(1);
        }
        self.start_transmission(now, side);
        verdict
    }

    /// Cuts the link in both directions. Frames in transmission and in flight are lost, queued
    /// frames wait or are dropped, and new frames are refused until it [heals](Self::heal).
    pub fn partition(&mut self, now: Instant, queue: QueueOnPartition) {
        let now = self.advance(now);
        self.partitioned = true;
        self.next_due = Instant::FAR_FUTURE;
        for side in [Side::A, Side::B] {
            let direction = match side {
                Side::A => &mut self.a,
                Side::B => &mut self.b,
            };
            direction.end_reversal();
            direction.partition(now, queue, |frame| {
                let reason = DropReason::Partition;
                self.events.push_back(LinkEvent::Lost { from: side, id: frame.id, reason });
            });
        }
    }

    /// Restores a cut link; queued frames are sent.
    pub fn heal(&mut self, now: Instant) {
        let now = self.advance(now);
        self.partitioned = false;
        self.start_transmission(now, Side::A);
        self.start_transmission(now, Side::B);
    }

    /// Sets the rate from the next frame on.
    pub fn set_rate(&mut self, now: Instant, rate: Rate) {
        self.advance(now);
        self.rate = rate;
    }

    /// Sets the delay from the next transmitted frame on.
    pub fn set_delay(&mut self, now: Instant, delay: Delay) {
        self.advance(now);
        self.delay = delay;
    }

    /// Sets the error model from the next transmitted frame on.
    pub fn set_errors(&mut self, now: Instant, errors: ErrorModel) {
        self.advance(now);
        self.errors = ErrorSampler::new(errors);
    }

    /// Puts each of the next `frames` frames that this side's queue accepts at its front, so that
    /// they leave in reverse order (`liu-singh-2001` §V-D). Replaces the remainder of an earlier
    /// such command.
    pub const fn move_next_to_front(&mut self, side: Side, frames: u32) {
        self.direction_mut(side).to_front = frames;
    }

    /// Holds back the next `frames` frames that this side's queue accepts, until all have arrived;
    /// then they are appended to the queue, the last first. This ends early when the first of them
    /// has waited for `max_wait`, when the queue is full, when the link is cut, or with another such
    /// command; later frames are then not held back. Frames held back count as queued.
    pub fn reverse_next(&mut self, now: Instant, side: Side, frames: u32, max_wait: Duration) {
        let now = self.advance(now);
        self.end_reversal(now, side);
        let frames = frames as usize;
        let deadline = Instant::FAR_FUTURE;
        self.direction_mut(side).reversal = Some(Reversal { frames, max_wait, deadline });
    }

    /// Starts or ends a request to mark every ECN-capable frame of a side, whatever its discipline.
    /// Requests are counted. Marks may be lost as others are.
    pub const fn force_marks(&mut self, side: Side, on: bool) {
        self.direction_mut(side).queue.force_marks(on);
    }

    /// Makes the link report the start of each transmission ([`LinkEvent::Sent`]).
    pub const fn report_transmissions(&mut self) {
        self.reports_transmissions = true;
    }

    /// Returns the next event up to `now`, in order of time; `None` when all have been returned.
    pub fn poll(&mut self, now: Instant) -> Option<LinkEvent> {
        self.advance(now);
        self.events.pop_front()
    }

    const fn direction(&self, side: Side) -> &Direction {
        match side {
            Side::A => &self.a,
            Side::B => &self.b,
        }
    }

    const fn direction_mut(&mut self, side: Side) -> &mut Direction {
        match side {
            Side::A => &mut self.a,
            Side::B => &mut self.b,
        }
    }

    /// Returns the next step and its time; of equal times the first in this order. Without a step,
    /// the far future.
    fn next_step(&self) -> (Instant, Step) {
        let mut next = (self.a.next_arrival(), Step::Arrival(Side::A));
        for (at, step) in [
            (self.b.next_arrival(), Step::Arrival(Side::B)),
            (self.a.end_of_service(), Step::EndOfService(Side::A)),
            (self.b.end_of_service(), Step::EndOfService(Side::B)),
            (self.a.reversal_deadline(), Step::EndOfReversal(Side::A)),
            (self.b.reversal_deadline(), Step::EndOfReversal(Side::B)),
        ] {
            if at < next.0 {
                next = (at, step);
            }
        }
        next
    }

    /// Processes all steps due by `now`, each at its own time.
    fn advance(&mut self, now: Instant) -> Instant {
        self.now = self.now.max(now);
        while self.next_due <= self.now {
            let (at, step) = self.next_step();
            self.next_due = at;
            if at > self.now || at == Instant::FAR_FUTURE {
                break;
            }
            match step {
                Step::Arrival(side) => self.deliver_next(side),
                Step::EndOfService(side) => self.end_service(at, side),
                Step::EndOfReversal(side) => self.end_reversal(at, side),
            }
        }
        self.now
    }

    /// Holds a frame back for a reversal.
    fn hold_back(&mut self, now: Instant, side: Side, frame: Frame) -> EnqueueOutcome {
        let direction = self.direction_mut(side);
        let verdict = direction.queue.enqueue_held_back(now, frame);
        let held = direction.queue.held_back();
        if let Some(reversal) = &mut direction.reversal {
            if held > 0 && reversal.deadline == Instant::FAR_FUTURE {
                reversal.deadline = now + reversal.max_wait;
            }
            let (until, is_last) = (reversal.deadline, held >= reversal.frames);
            self.next_due = self.next_due.min(until);
            if is_last {
                self.end_reversal(now, side);
            }
        }
        verdict
    }

    /// Ends a reversal and releases its frames.
    fn end_reversal(&mut self, at: Instant, side: Side) {
        if self.direction_mut(side).end_reversal() {
            self.start_transmission(at, side);
        }
    }

    /// Transmits a frame immediately at the full rate, without regard to others.
    fn send_per_packet(&mut self, now: Instant, from: Side, frame: Frame) {
        self.report_transmission(from, frame);
        let ends = now + self.rate.transmission_time(frame.bytes);
        let (delay, order) = (self.delay, self.order);
        let error = self.errors.loss_probability(frame.bytes);
        let service = Transmission { frame, began: now, ends, delay, error };
        let direction = self.direction_mut(from);
        let damaged = direction.finish_serialisation(service, order);
        let due = direction.next_arrival();
        self.next_due = self.next_due.min(due);
        self.report_bit_error(from, damaged);
    }

    fn deliver_next(&mut self, from: Side) {
        let direction = self.direction_mut(from);
        if let Some(InFlight { frame, .. }) = direction.in_flight.pop_front() {
            direction.counters.arrived += 1;
            self.events.push_back(LinkEvent::Arrived { from, id: frame.id });
        }
    }

    fn end_service(&mut self, at: Instant, from: Side) {
        let order = self.order;
        let direction = self.direction_mut(from);
        let damaged = direction
            .transmission
            .take()
            .and_then(|service| direction.finish_serialisation(service, order));
        self.report_bit_error(from, damaged);
        self.start_transmission(at, from);
    }

    fn report_transmission(&mut self, from: Side, frame: Frame) {
        if self.reports_transmissions {
            self.events.push_back(LinkEvent::Sent { from, id: frame.id });
        }
    }

    fn report_bit_error(&mut self, from: Side, damaged: Option<Frame>) {
        let lost =
            |frame: Frame| LinkEvent::Lost { from, id: frame.id, reason: DropReason::BitError };
        self.events.extend(damaged.map(lost));
    }

    /// Gives a free transmitter its next frame. `side` is the side that changed.
    fn start_transmission(&mut self, at: Instant, side: Side) {
        if self.partitioned || self.direction(side).transmission.is_some() {
            return;
        }
        let side = match self.duplex {
            Duplex::Full | Duplex::PerPacket => side,
            Duplex::Shared => {
                if self.direction(side.other()).transmission.is_some() {
                    return;
                }
                // The side that has a frame; if both have, the one that did not send last, so that
                // a long queue at one side does not starve the other.
                match (self.a.queue.has_next(), self.b.queue.has_next()) {
                    (true, true) => self.last_served.other(),
                    (false, true) => Side::B,
                    _ => Side::A,
                }
            }
        };
        let (rate, delay) = (self.rate, self.delay);
        let direction = match side {
            Side::A => &mut self.a,
            Side::B => &mut self.b,
        };
        let events = &mut self.events;
        let served = direction.queue.serve(at, |dropped| {
            let reason = DropReason::Codel;
            events.push_back(LinkEvent::Lost { from: side, id: dropped.id, reason });
        });
        let Some(Dequeued { frame, mark }) = served else {
            direction.queue.on_idle(at);
            if self.duplex == Duplex::Shared {
                self.direction_mut(side.other()).queue.on_idle(at);
            }
            return;
        };
        if mark {
            self.events.push_back(LinkEvent::Marked { from: side, id: frame.id });
        }
        direction.queue.on_busy(at);
        self.report_transmission(side, frame);
        let ends = at + rate.transmission_time(frame.bytes);
        let error = self.errors.loss_probability(frame.bytes);
        self.direction_mut(side).transmission =
            Some(Transmission { frame, began: at, ends, delay, error });
        self.next_due = self.next_due.min(ends);
        self.last_served = side;
        if self.duplex == Duplex::Shared {
            self.direction_mut(side.other()).queue.on_busy(at);
        }
    }
}

impl Direction {
    fn new(config: &LinkConfig, seed: u64, entity: u64) -> Self {
        Self {
            queue: InterfaceQueue::new(config.queue, seed, entity),
            transmission: None,
            in_flight: VecDeque::with_capacity(RESERVED),
            error_stream: RandomStream::new(seed, "link-error", entity),
            delay_stream: RandomStream::new(seed, "link-delay", entity),
            to_front: 0,
            reversal: None,
            counters: LinkCounters::default(),
        }
    }

    /// Returns the next arrival; the far future, if no frame is in flight.
    fn next_arrival(&self) -> Instant {
        self.in_flight.front().map_or(Instant::FAR_FUTURE, |first| first.arrives)
    }

    /// Returns the deadline of a reversal; the far future, if none has begun.
    fn reversal_deadline(&self) -> Instant {
        self.reversal.map_or(Instant::FAR_FUTURE, |reversal| reversal.deadline)
    }

    /// Releases the frames held back into the queue; returns false if there are none.
    fn end_reversal(&mut self) -> bool {
        self.reversal = None;
        let held = self.queue.held_back() > 0;
        self.queue.release_held_back();
        held
    }

    /// Returns the end of the current transmission; the far future, if none.
    fn end_of_service(&self) -> Instant {
        self.transmission.as_ref().map_or(Instant::FAR_FUTURE, |service| service.ends)
    }

    fn frames_in_transit(&self) -> usize {
        self.queue.len() + usize::from(self.transmission.is_some()) + self.in_flight.len()
    }

    fn pending_frames(&self, from: Side) -> impl Iterator<Item = PendingFrame> + '_ {
        let in_flight = self.in_flight.iter().map(|held| (held.frame, FrameStage::InFlight));
        let service = self.transmission.iter().map(|held| (held.frame, FrameStage::InService));
        let waiting = self.queue.iter().map(|frame| (frame, FrameStage::Queued));
        let all = in_flight.chain(service).chain(waiting);
        all.map(move |(frame, stage)| PendingFrame { from, frame, stage })
    }

    /// Ends a transmission: the frame is in flight, or corrupted and returned. Each frame draws one
    /// number from each stream, whatever its outcome, so that the nth frame's error and delay are
    /// the same in runs that differ otherwise.
    fn finish_serialisation(
        &mut self,
        service: Transmission,
        order: DeliveryOrder,
    ) -> Option<Frame> {
        let Transmission { frame, began, ends: at, delay, error } = service;
        self.counters.frames += 1;
        self.counters.bits += u64::from(frame.bytes) * 8;
        self.counters.busy = self.counters.busy + at.since(began);

        let damaged = self.error_stream.bernoulli(error);
        let (low, high) = match delay {
            Delay::Fixed(delay) => (delay, delay),
            Delay::Uniform { low, high } => (low, high),
        };
        let mut arrives = at + self.delay_stream.uniform_duration(low, high);
        if damaged {
            self.counters.errors += 1;
            return Some(frame);
        }
        if order == DeliveryOrder::Fifo {
            arrives = arrives.max(self.in_flight.back().map_or(at, |last| last.arrives));
        }
        let place = self.in_flight.partition_point(|other| other.arrives <= arrives);
        self.in_flight.insert(place, InFlight { frame, arrives });
        None
    }

    fn partition(&mut self, now: Instant, queue: QueueOnPartition, mut lose: impl FnMut(Frame)) {
        let mut lost = 0;
        let mut lose = |frame| {
            lost += 1;
            lose(frame);
        };
        while let Some(InFlight { frame, .. }) = self.in_flight.pop_front() {
            lose(frame);
        }
        if let Some(Transmission { frame, began, .. }) = self.transmission.take() {
            self.counters.busy = self.counters.busy + now.since(began);
            lose(frame);
        }
        if queue == QueueOnPartition::Drop {
            while let Some(frame) = self.queue.dequeue() {
                lose(frame);
            }
        }
        self.counters.partitioned += lost;
        self.queue.on_busy(now);
    }
}
