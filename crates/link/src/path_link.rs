//! One hop of a path.

use alloc::collections::VecDeque;
use driftway_base::{Probability, Duration, Instant, RandomStream, Rate};

use crate::config::{Delay, Duplex, ErrorModel, LinkConfig, DeliveryOrder};
use crate::error_sampler::ErrorSampler;
use crate::frame::{DropReason, EnqueueOutcome, Frame, PendingFrame, LinkEvent, QueuePosition, Side, FrameStage};
use crate::queue::{InterfaceQueue, QueueCounters};

/// Room made at once for frames on their way; more of them grow into their room once.
const RESERVED: usize = 64;

/// One store-and-forward hop between side A and side B of a path.
///
/// Its methods are of four kinds:
/// - those that look: [`next_timeout`](Self::next_timeout), [`contents`](Self::contents),
///   [`counters`](Self::counters) …
/// - those that say what happened: [`on_timeout`](Self::on_timeout), [`enqueue`](Self::enqueue)
/// - commands, which are faults and changes: [`partition`](Self::partition), [`heal`](Self::heal),
///   [`set_rate`](Self::set_rate) …
/// - [`poll`](Self::poll), which says what became of the frames.
///
/// A driver calls `on_timeout` when `next_timeout` has come, and after any call with a `now` it
/// polls until nothing is left, then asks for `next_timeout` again. Time never goes back; an earlier
/// `now` counts as the latest. **What is due comes first**: whatever is called, the link first does
/// all that falls due by `now`, so that a frame offered in the very instant in which the
/// transmitter becomes free finds it free, and a frame that would arrive in the instant of a
/// partition has arrived, in whichever order the driver makes its calls. A driver that is late loses
/// nothing: what fell due is worked off at the instants at which it fell due.
///
/// Within one instant arrivals come before ends of serialisation, these before frames that were held
/// back for long enough, and A's before B's.
#[derive(Clone, Debug)]
pub struct PathLink {
    now: Instant,
    /// When the next step is due, so that a call before that costs one comparison.
    next_due: Instant,
    rate: Rate,
    delay: Delay,
    errors: ErrorModel,
    duplex: Duplex,
    order: DeliveryOrder,
    partitioned: bool,
    /// Which side a shared link served last.
    last_served: Side,
    a: Direction,
    b: Direction,
    events: VecDeque<LinkEvent>,
}

/// What waits in the queues when a link is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueOnPartition {
    /// It waits until the link heals.
    Wait,
    /// It is lost.
    Drop,
}

/// What one side of a link has sent and lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Frames serialised to their end, damaged ones included.
    pub frames: u64,
    /// Bits of these frames.
    pub bits: u64,
    /// How long the transmitter worked, on frames that a partition cut short as well.
    pub busy: Duration,
    /// Frames that arrived.
    pub arrived: u64,
    /// Frames lost to bit errors.
    pub errors: u64,
    /// Frames lost to partitions.
    pub partitioned: u64,
    /// Frames refused while the link was cut.
    pub refused: u64,
    /// What the queue did.
    pub queue: QueueCounters,
}

/// One direction: the sender's queue, the frame in its transmitter, and those on their way.
#[derive(Clone, Debug)]
struct Direction {
    queue: InterfaceQueue,
    transmission: Option<Transmission>,
    /// In the order of arrival.
    in_flight: VecDeque<InFlight>,
    error_stream: RandomStream,
    delay_stream: RandomStream,
    to_front: u32,
    /// Frames that are held back to leave in reverse; `None`: none are.
    reversal: Option<Reversal>,
    counters: LinkCounters,
}

/// The next frames are held back, and leave in reverse.
#[derive(Clone, Copy, Debug)]
struct Reversal {
    /// How many.
    frames: usize,
    /// How long the first of them waits for the others at most.
    max_wait: Duration,
    /// When it has waited so long; the far future before it is there.
    deadline: Instant,
}

/// A frame being serialised, with what held when it began: changes touch the next frame only.
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

/// What a link does next.
#[derive(Clone, Copy, Debug)]
enum Step {
    Arrival(Side),
    EndOfService(Side),
    EndOfReversal(Side),
}

impl PathLink {
    /// An idle link. `link` is its number in the run: with the direction it keys the streams
    /// `"link-error"`, `"link-delay"`, `"link-red"` and `"link-mark-loss"`.
    pub fn new(config: LinkConfig, seed: u64, link: u32) -> Self {
        let direction = |side: u64| Direction::new(&config, seed, u64::from(link) << 1 | side);
        Self {
            now: Instant::ZERO,
            next_due: Instant::FAR_FUTURE,
            rate: config.rate,
            delay: config.delay,
            errors: ErrorModel::new(config.errors),
            duplex: config.duplex,
            order: config.order,
            partitioned: false,
            last_served: Side::B,
            a: direction(0),
            b: direction(1),
            events: VecDeque::with_capacity(RESERVED),
        }
    }

    /// When the link has something to do; at once if something is left to be polled.
    pub fn next_timeout(&self) -> Option<Instant> {
        if !self.events.is_empty() {
            return Some(self.now);
        }
        (self.next_due < Instant::FAR_FUTURE).then_some(self.next_due)
    }

    /// Is it cut?
    pub const fn is_partitioned(&self) -> bool {
        self.partitioned
    }

    /// How many frames wait on a side, the one in service not counted.
    pub fn queue_len(&self, side: Side) -> usize {
        self.direction(side).queue.len()
    }

    /// What a side has sent and lost.
    pub const fn counters(&self, side: Side) -> LinkCounters {
        let direction = self.direction(side);
        let mut counters = direction.counters;
        counters.queue = direction.queue.counters();
        counters
    }

    /// How many frames the link holds.
    pub fn frame_count(&self) -> usize {
        self.a.frame_count() + self.b.frame_count()
    }

    /// The frames it holds: accepted, and no event has told of them yet.
    pub fn pending_frames(&self) -> impl Iterator<Item = PendingFrame> + '_ {
        self.a.pending_frames(Side::A).chain(self.b.pending_frames(Side::B))
    }

    /// `next_timeout` has come.
    pub fn on_timeout(&mut self, now: Instant) {
        self.advance(now);
    }

    /// A frame for the other side.
    pub fn enqueue(&mut self, now: Instant, side: Side, frame: Frame, place: QueuePosition) -> EnqueueOutcome {
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
            // Frames that wait for others take no room from those that do not.
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

    /// Cuts the link in both directions. What is being sent or on its way is lost, what waits
    /// waits or is lost, and frames are refused until it [heals](Self::heal).
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

    /// Makes a cut link whole; what waits is sent.
    pub fn heal(&mut self, now: Instant) {
        let now = self.advance(now);
        self.partitioned = false;
        self.start_transmission(now, Side::A);
        self.start_transmission(now, Side::B);
    }

    /// Sends at this rate from the next frame on.
    pub fn set_rate(&mut self, now: Instant, rate: Rate) {
        self.advance(now);
        self.rate = rate;
    }

    /// Delays so from the next frame on that begins to be sent.
    pub fn set_delay(&mut self, now: Instant, delay: Delay) {
        self.advance(now);
        self.delay = delay;
    }

    /// Damages so from the next frame on that begins to be sent.
    pub fn set_errors(&mut self, now: Instant, errors: ErrorModel) {
        self.advance(now);
        self.errors = ErrorModel::new(errors);
    }

    /// The next `frames` frames that this side's queue accepts go to its front, each before all
    /// that wait as it comes, so that they leave in reverse (`liu-singh-2001` §V-D). Replaces what
    /// is left of an earlier such command.
    pub const fn move_next_to_front(&mut self, side: Side, frames: u32) {
        self.direction_mut(side).to_front = frames;
    }

    /// The next `frames` frames that this side's queue accepts are held back. When so many have come,
    /// they join the end of the queue, the last one first. They do so before that when the first of
    /// them has waited for `at_most`, when the queue is full, when the link is cut, or with another
    /// such command; those that are still to come are not held back then. What is held back waits in
    /// the queue and counts as what else waits there.
    pub fn reverse_next(&mut self, now: Instant, side: Side, frames: u32, at_most: Duration) {
        let now = self.advance(now);
        self.end_reversal(now, side);
        let frames = frames as usize;
        let until = Instant::FAR_FUTURE;
        self.direction_mut(side).reversal = Some(Reversal { frames, max_wait: at_most, deadline: until });
    }

    /// The queue of a side is, or is not any more, marking each frame that can be marked, whatever its
    /// discipline says. It is while there were more calls with `true` than with `false`. Marks get lost
    /// as others do.
    pub const fn force_marks(&mut self, side: Side, on: bool) {
        self.direction_mut(side).queue.force_marks(on);
    }

    /// What became of a frame, in the order in which it happened; `None` when all is told up to
    /// `now`.
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

    /// The next step and its instant; of one instant the first in this order is next. With
    /// nothing to do, it is in the far future.
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

    /// Does what is due by `now`, each at its own instant.
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

    /// A frame waits for those that are to leave before it.
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

    /// What is held back is not any more.
    fn end_reversal(&mut self, at: Instant, side: Side) {
        if self.direction_mut(side).end_reversal() {
            self.start_transmission(at, side);
        }
    }

    /// A frame has the rate to itself: its serialisation and its way begin at once.
    fn send_per_packet(&mut self, now: Instant, from: Side, frame: Frame) {
        let ends = now + self.rate.transmission_time(frame.bytes);
        let (delay, order) = (self.delay, self.order);
        let error = self.errors.chance(frame.bytes);
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
        let damaged = direction.transmission.take().and_then(|service| direction.finish_serialisation(service, order));
        self.report_bit_error(from, damaged);
        self.start_transmission(at, from);
    }

    fn report_bit_error(&mut self, from: Side, damaged: Option<Frame>) {
        let lost =
            |frame: Frame| LinkEvent::Lost { from, id: frame.id, reason: DropReason::BitError };
        self.events.extend(damaged.map(lost));
    }

    /// Gives a free transmitter its next frame. `side` is where something changed.
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
                // Whoever has a frame; if both have, the one that did not send last, so that one
                // side's long queue does not shut the other out.
                match (self.a.queue.has_next(), self.b.queue.has_next()) {
                    (true, true) => self.last_served.other(),
                    (false, true) => Side::B,
                    _ => Side::A,
                }
            }
        };
        let (rate, delay) = (self.rate, self.delay);
        let direction = self.direction_mut(side);
        let Some(frame) = direction.queue.dequeue() else {
            direction.queue.on_idle(at);
            if self.duplex == Duplex::Shared {
                self.direction_mut(side.other()).queue.on_idle(at);
            }
            return;
        };
        direction.queue.on_busy(at);
        let ends = at + rate.transmission_time(frame.bytes);
        let error = self.errors.chance(frame.bytes);
        self.direction_mut(side).transmission = Some(Transmission { frame, began: at, ends, delay, error });
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

    /// The far future, if nothing is on its way.
    fn next_arrival(&self) -> Instant {
        self.in_flight.front().map_or(Instant::FAR_FUTURE, |first| first.arrives)
    }

    /// When a frame has waited long enough for others; the far future, if none does.
    fn reversal_deadline(&self) -> Instant {
        self.reversal.map_or(Instant::FAR_FUTURE, |reversal| reversal.deadline)
    }

    /// What is held back joins the end of the queue; `false` if that is nothing.
    fn end_reversal(&mut self) -> bool {
        self.reversal = None;
        let held = self.queue.held_back() > 0;
        self.queue.release_held_back();
        held
    }

    /// The far future, if nothing is being sent.
    fn end_of_service(&self) -> Instant {
        self.transmission.as_ref().map_or(Instant::FAR_FUTURE, |service| service.ends)
    }

    fn frame_count(&self) -> usize {
        self.queue.len() + usize::from(self.transmission.is_some()) + self.in_flight.len()
    }

    fn pending_frames(&self, from: Side) -> impl Iterator<Item = PendingFrame> + '_ {
        let in_flight = self.in_flight.iter().map(|held| (held.frame, FrameStage::InFlight));
        let service = self.transmission.iter().map(|held| (held.frame, FrameStage::InService));
        let waiting = self.queue.iter().map(|frame| (frame, FrameStage::Queued));
        let all = in_flight.chain(service).chain(waiting);
        all.map(move |(frame, whereabouts)| PendingFrame { from, frame, stage: whereabouts })
    }

    /// A frame is serialised: it is on its way, or damaged and returned. Each frame that
    /// comes so far takes one number of each stream, whatever becomes of it, so that the n-th
    /// frame's error and delay are the same in runs that differ in anything else.
    fn finish_serialisation(&mut self, service: Transmission, order: DeliveryOrder) -> Option<Frame> {
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
