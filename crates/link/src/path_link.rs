//! A hop of a path.

use alloc::collections::VecDeque;
use driftway_base::{DropReason, Duration, Instant, LinkId, Rate};

use crate::config::{Delay, DeliveryOrder, Duplex, ErrorModel, LinkDirections};
use crate::direction::{
    Direction, InFlight, LinkCounters, QueueOnPartition, RESERVED, Reversal, Transmitter,
};
use crate::error_sampler::ErrorSampler;
use crate::frame::{Dequeued, EnqueueOutcome, Frame, LinkEvent, PendingFrame, QueuePosition, Side};
use crate::opportunities::OPPORTUNITY_BYTES;

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
    /// The next step and its time, so that an earlier call costs one comparison; or the end of a reversal that has
    /// ended early.
    next: (Instant, Step),
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

/// A step of a link. The order is that of steps at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Arrival(Side),
    EndOfService(Side),
    EndOfReversal(Side),
}

/// No step, as long as the link is idle.
const NO_STEP: (Instant, Step) = (Instant::FAR_FUTURE, Step::Arrival(Side::A));

impl PathLink {
    /// Creates an idle link. With the direction, `link` keys the streams `"link-error"`,
    /// `"link-delay"`, `"link-jitter"`, `"link-burst"`, `"link-red"` and `"link-mark-loss"`.
    pub fn new(config: impl Into<LinkDirections>, seed: u64, link: LinkId) -> Self {
        let LinkDirections { forward, backward, duplex, order } = config.into();
        let entity = |side: u64| u64::from(link.number()) << 1 | side;
        let (a, b) =
            (Direction::new(forward, seed, entity(0)), Direction::new(backward, seed, entity(1)));
        let has_opportunities = a.awaits_opportunities() || b.awaits_opportunities();
        Self {
            now: Instant::ZERO,
            next: NO_STEP,
            duplex: if has_opportunities { Duplex::Full } else { duplex },
            order,
            partitioned: false,
            reports_transmissions: false,
            last_served: Side::B,
            a,
            b,
            events: VecDeque::with_capacity(RESERVED),
        }
    }

    /// Returns the time of the next step; now, if events are left to be polled.
    pub fn next_timeout(&self) -> Option<Instant> {
        if !self.events.is_empty() {
            return Some(self.now);
        }
        let (at, _) = self.next;
        (at < Instant::FAR_FUTURE).then_some(at)
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

    /// Returns true if a side's queue separates flows ([`Frame::flow`]).
    pub fn separates_flows(&self, side: Side) -> bool {
        self.direction(side).queue.separates_flows()
    }

    /// Returns the bits that a side could have sent by an instant; `None` if its capacity is a rate,
    /// which its transmitter uses while it is busy.
    pub fn opportunity_bits(&self, side: Side, until: Instant) -> Option<u64> {
        let opportunities = self.direction(side).opportunities_until(until)?;
        Some(opportunities.saturating_mul(u64::from(OPPORTUNITY_BYTES) * 8))
    }

    /// Returns the rate at which a side can send at an instant (bit/s), also while the link is cut; `None` if
    /// its capacity is delivery opportunities.
    pub fn rate_bps(&self, side: Side, at: Instant) -> Option<u64> {
        self.direction(side).rate_bps(at)
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
    #[inline]
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
            if !self.direction(side).queue.is_full(frame.bytes) {
                return self.hold_back(now, side, frame);
            }
            // Frames held back take no queue space from others.
            self.end_reversal(now, side);
        }
        let direction = self.direction_mut(side);
        if direction.awaits_opportunities() {
            // Every frame waits for one.
            direction.queue.on_busy(now);
        }
        let place = if direction.to_front > 0 { QueuePosition::Front } else { place };
        let verdict = direction.queue.enqueue(now, frame, place);
        if matches!(verdict, EnqueueOutcome::Accepted { .. }) {
            direction.to_front = direction.to_front.saturating_sub(1);
        }
        self.report_displaced(side);
        self.start_transmission(now, side);
        verdict
    }

    /// Reports the frames that a queue has dropped to make room.
    fn report_displaced(&mut self, from: Side) {
        while let Some(frame) = self.direction_mut(from).queue.take_displaced() {
            let reason = DropReason::QueueOverflow;
            self.events.push_back(LinkEvent::Lost { from, id: frame.id, reason });
        }
    }

    /// Cuts the link in both directions. Frames in transmission and in flight are lost, queued
    /// frames wait or are dropped, and new frames are refused until it [heals](Self::heal).
    pub fn partition(&mut self, now: Instant, queue: QueueOnPartition) {
        let now = self.advance(now);
        self.partitioned = true;
        self.next = NO_STEP;
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

    /// Sets the rate of both directions from the next frame on. Measured capacities remain.
    pub fn set_rate(&mut self, now: Instant, rate: Rate) {
        self.advance(now);
        for direction in [&mut self.a, &mut self.b] {
            if let Transmitter::Rate(old) = &mut direction.transmitter {
                *old = rate;
            }
        }
    }

    /// Sets the delay of both directions from the next transmitted frame on. Measured delays remain.
    pub fn set_delay(&mut self, now: Instant, delay: Delay) {
        self.advance(now);
        self.a.delay.set(delay);
        self.b.delay.set(delay);
    }

    /// Sets the error model of both directions from the next transmitted frame on. Measured errors
    /// and bursts remain.
    pub fn set_errors(&mut self, now: Instant, errors: ErrorModel) {
        self.advance(now);
        self.a.errors = ErrorSampler::new(errors);
        self.b.errors = ErrorSampler::new(errors);
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
    #[inline]
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

    /// Schedules a step, if it comes before the next one.
    fn schedule(&mut self, at: Instant, step: Step) {
        self.next = self.next.min((at, step));
    }

    /// Finds the next step and its time; of equal times the first in this order.
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
    #[inline]
    fn advance(&mut self, now: Instant) -> Instant {
        self.now = self.now.max(now);
        if self.next.0 <= self.now {
            self.process_steps();
        }
        self.now
    }

    fn process_steps(&mut self) {
        while self.next.0 <= self.now && self.next.0 < Instant::FAR_FUTURE {
            let (at, step) = self.next;
            match step {
                Step::Arrival(side) => self.deliver_next(side),
                Step::EndOfService(side) => self.end_service(at, side),
                Step::EndOfReversal(side) if self.direction(side).reversal_deadline() == at => {
                    self.end_reversal(at, side);
                }
                // It has ended early.
                Step::EndOfReversal(_) => {}
            }
            self.next = self.next_step();
        }
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
            self.schedule(until, Step::EndOfReversal(side));
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
        let order = self.order;
        let direction = self.direction_mut(from);
        direction.transmit(now, frame);
        let damaged = direction.finish_transmission(order);
        let due = direction.next_arrival();
        self.schedule(due, Step::Arrival(from));
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
        if direction.awaits_opportunities() {
            return self.use_opportunity(at, from);
        }
        let damaged = direction.finish_transmission(order);
        self.report_bit_error(from, damaged);
        self.start_transmission(at, from);
    }

    /// Transmits queued frames, or parts of them, at a delivery opportunity.
    #[inline(never)]
    fn use_opportunity(&mut self, at: Instant, from: Side) {
        let order = self.order;
        if let Transmitter::Opportunities(next) = &mut self.direction_mut(from).transmitter {
            next.advance();
        }
        let mut left = OPPORTUNITY_BYTES;
        while left > 0 {
            if self.direction(from).transmission.is_none() {
                let Some(frame) = self.serve(at, from) else { break };
                self.direction_mut(from).transmit(at, frame);
            }
            let direction = self.direction_mut(from);
            let Some(service) = &mut direction.transmission else { break };
            let used = service.left.min(left);
            left -= used;
            service.left -= used;
            if service.left > 0 {
                break;
            }
            service.ends = at;
            let damaged = direction.finish_transmission(order);
            self.report_bit_error(from, damaged);
        }
        let direction = self.direction_mut(from);
        if !direction.has_work() {
            direction.queue.on_idle(at);
        }
    }

    fn report_transmission(&mut self, from: Side, frame: Frame) {
        if self.reports_transmissions {
            self.events.push_back(LinkEvent::Sent { from, id: frame.id });
        }
    }

    fn report_bit_error(&mut self, from: Side, damaged: Option<Frame>) {
        if let Some(frame) = damaged {
            let reason = DropReason::BitError;
            self.events.push_back(LinkEvent::Lost { from, id: frame.id, reason });
        }
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
        let direction = self.direction_mut(side);
        if let Transmitter::Opportunities(next) = &mut direction.transmitter {
            // Those that have passed were of no use.
            next.skip_through(at);
            let due = direction.end_of_service();
            return self.schedule(due, Step::EndOfService(side));
        }
        let Some(frame) = self.serve(at, side) else {
            self.direction_mut(side).queue.on_idle(at);
            if self.duplex == Duplex::Shared {
                self.direction_mut(side.other()).queue.on_idle(at);
            }
            return;
        };
        let ends = self.direction_mut(side).transmit(at, frame);
        self.schedule(ends, Step::EndOfService(side));
        self.last_served = side;
        if self.duplex == Duplex::Shared {
            self.direction_mut(side.other()).queue.on_busy(at);
        }
    }

    /// Takes the next frame from a queue for the transmitter, and reports its mark and those that
    /// the queue has dropped.
    #[inline(always)]
    fn serve(&mut self, at: Instant, side: Side) -> Option<Frame> {
        let direction = match side {
            Side::A => &mut self.a,
            Side::B => &mut self.b,
        };
        let events = &mut self.events;
        let served = direction.queue.serve(at, |dropped| {
            let reason = DropReason::Codel;
            events.push_back(LinkEvent::Lost { from: side, id: dropped.id, reason });
        });
        let Dequeued { frame, mark } = served?;
        if mark {
            self.events.push_back(LinkEvent::Marked { from: side, id: frame.id });
        }
        direction.queue.on_busy(at);
        self.report_transmission(side, frame);
        Some(frame)
    }
}
