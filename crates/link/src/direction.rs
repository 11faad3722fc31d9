//! One direction of a link: its queue, its transmitter, and the frames in flight.

use alloc::collections::VecDeque;

use driftway_base::{Duration, Instant, Probability, RandomStream, Rate};

use crate::burst::Burst;
use crate::config::{Capacity, DeliveryOrder, DirectionConfig};
use crate::delay::DelaySampler;
use crate::error_sampler::ErrorSampler;
use crate::frame::{Frame, FrameStage, PendingFrame, Side};
use crate::link_trace::RowCursor;
use crate::opportunities::Cursor;
use crate::periodic_loss::PeriodicLoss;
use crate::queue::{InterfaceQueue, QueueCounters};

/// Initial capacity for frames in flight; it grows once if needed.
pub(crate) const RESERVED: usize = 64;

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
    /// Frames lost to errors, in bursts and periodically.
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
pub(crate) struct Direction {
    pub(crate) queue: InterfaceQueue,
    pub(crate) transmitter: Transmitter,
    pub(crate) transmission: Option<Transmission>,
    /// Frames on the link, in order of arrival.
    pub(crate) in_flight: VecDeque<InFlight>,
    pub(crate) delay: DelaySampler,
    pub(crate) errors: ErrorSampler,
    error_stream: RandomStream,
    burst: Option<Burst>,
    periodic: PeriodicLoss,
    /// Measured values, which take the place of the above.
    trace: Option<RowCursor>,
    pub(crate) to_front: u32,
    /// Reversal in progress, if any.
    pub(crate) reversal: Option<Reversal>,
    pub(crate) counters: LinkCounters,
}

/// The times at which transmissions end: a rate or opportunities determine them.
#[derive(Clone, Debug)]
pub(crate) enum Transmitter {
    /// A rate.
    Rate(Rate),
    /// Delivery opportunities.
    Opportunities(Cursor),
}

/// A reversal: the next frames are held back and leave in reverse order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reversal {
    /// Number of frames.
    pub(crate) frames: usize,
    /// Maximum waiting time of the first of them.
    pub(crate) max_wait: Duration,
    /// End of that time; the far future before the first frame.
    pub(crate) deadline: Instant,
}

/// A frame in transmission, with the parameters at its start: changes apply from the next frame on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transmission {
    pub(crate) frame: Frame,
    began: Instant,
    pub(crate) ends: Instant,
    /// Bytes that wait for a delivery opportunity.
    pub(crate) left: u32,
    /// Bounds of the delay.
    delay: (Duration, Duration),
    error: Probability,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight {
    pub(crate) frame: Frame,
    pub(crate) arrives: Instant,
}

impl Direction {
    pub(crate) fn new(config: DirectionConfig, seed: u64, entity: u64) -> Self {
        Self {
            queue: InterfaceQueue::new(config.queue, seed, entity),
            transmitter: match config.capacity {
                Capacity::Rate(rate) => Transmitter::Rate(rate),
                Capacity::Opportunities(trace) => Transmitter::Opportunities(Cursor::new(&trace)),
            },
            transmission: None,
            in_flight: VecDeque::with_capacity(RESERVED),
            delay: DelaySampler::new(config.delay, seed, entity),
            errors: ErrorSampler::new(config.errors),
            error_stream: RandomStream::new(seed, "link-error", entity),
            burst: config.burst.map(|burst| Burst::new(burst, seed, entity)),
            periodic: PeriodicLoss::new(config.loss_period),
            trace: config.trace.map(RowCursor::new),
            to_front: 0,
            reversal: None,
            counters: LinkCounters::default(),
        }
    }

    /// Returns the next arrival; the far future, if no frame is in flight.
    pub(crate) fn next_arrival(&self) -> Instant {
        self.in_flight.front().map_or(Instant::FAR_FUTURE, |first| first.arrives)
    }

    /// Returns the deadline of a reversal; the far future, if none has begun.
    pub(crate) fn reversal_deadline(&self) -> Instant {
        self.reversal.map_or(Instant::FAR_FUTURE, |reversal| reversal.deadline)
    }

    /// Releases the frames held back into the queue; returns false if there are none.
    pub(crate) fn end_reversal(&mut self) -> bool {
        self.reversal = None;
        let held = self.queue.held_back() > 0;
        self.queue.release_held_back();
        held
    }

    /// Returns the end of the current transmission, or the next opportunity for what waits; the far
    /// future, if there is none.
    pub(crate) fn end_of_service(&self) -> Instant {
        match &self.transmitter {
            Transmitter::Rate(_) => {
                self.transmission.as_ref().map_or(Instant::FAR_FUTURE, |service| service.ends)
            }
            Transmitter::Opportunities(next) if self.has_work() => next.next_at(),
            Transmitter::Opportunities(_) => Instant::FAR_FUTURE,
        }
    }

    /// Returns true if a frame is in transmission or can be.
    pub(crate) fn has_work(&self) -> bool {
        self.transmission.is_some() || self.queue.has_next()
    }

    /// Returns true if frames wait for delivery opportunities.
    pub(crate) const fn awaits_opportunities(&self) -> bool {
        matches!(self.transmitter, Transmitter::Opportunities(_))
    }

    /// Returns the number of delivery opportunities up to an instant; `None` with a rate.
    pub(crate) fn opportunities_until(&self, until: Instant) -> Option<u64> {
        match &self.transmitter {
            Transmitter::Rate(_) => None,
            Transmitter::Opportunities(next) => Some(next.trace().count_until(until)),
        }
    }

    /// Returns the rate at an instant (bit/s); `None` with delivery opportunities.
    pub(crate) fn rate_bps(&self, at: Instant) -> Option<u64> {
        match (&self.transmitter, &self.trace) {
            (Transmitter::Rate(rate), trace) => {
                let measured = trace.as_ref().and_then(|trace| trace.rate_bps(at));
                Some(measured.unwrap_or(rate.as_bps()))
            }
            (Transmitter::Opportunities(_), _) => None,
        }
    }

    /// Begins the transmission of a frame, and returns its end: changes apply from the next one on.
    #[inline]
    pub(crate) fn transmit(&mut self, at: Instant, frame: Frame) -> Instant {
        let ends = match (&self.transmitter, &mut self.trace) {
            (Transmitter::Rate(_), Some(trace)) if trace.has_rates() => {
                trace.end_of_transmission(at, frame.bytes)
            }
            (Transmitter::Rate(rate), _) => at + rate.transmission_time(frame.bytes),
            (Transmitter::Opportunities(_), _) => Instant::FAR_FUTURE,
        };
        self.transmission = Some(Transmission {
            frame,
            began: at,
            ends,
            left: frame.bytes,
            delay: self.delay.bounds(at),
            error: self.errors.loss_probability(frame.bytes),
        });
        ends
    }

    pub(crate) fn frames_in_transit(&self) -> usize {
        self.queue.len() + usize::from(self.transmission.is_some()) + self.in_flight.len()
    }

    pub(crate) fn pending_frames(&self, from: Side) -> impl Iterator<Item = PendingFrame> + '_ {
        let in_flight = self.in_flight.iter().map(|held| (held.frame, FrameStage::InFlight));
        let service = self.transmission.iter().map(|held| (held.frame, FrameStage::InService));
        let waiting = self.queue.iter().map(|frame| (frame, FrameStage::Queued));
        let all = in_flight.chain(service).chain(waiting);
        all.map(move |(frame, stage)| PendingFrame { from, frame, stage })
    }

    /// Ends the transmission, if there is one: the frame is in flight, or corrupted and returned. Each
    /// frame draws one number from each stream, whatever its outcome, so that the nth frame's error and
    /// delay are the same in runs that differ otherwise.
    pub(crate) fn finish_transmission(&mut self, order: DeliveryOrder) -> Option<Frame> {
        let Transmission { frame, began, ends: at, mut delay, mut error, .. } =
            self.transmission.take()?;
        self.counters.frames += 1;
        self.counters.bits += u64::from(frame.bytes) * 8;
        self.counters.busy = self.counters.busy + at.since(began);

        if let Some(trace) = &mut self.trace {
            delay = trace.delay(at).map_or(delay, |fixed| (fixed, fixed));
            error = trace.error_rate(at).map_or(error, Probability::from_f64);
        }
        let damaged = self.error_stream.bernoulli(error);
        let in_burst = self.burst.as_mut().is_some_and(Burst::draw);
        let periodic = self.periodic.count();
        let mut arrives = at + self.delay.draw(delay);
        if damaged || in_burst || periodic {
            self.counters.errors += 1;
            return Some(frame);
        }
        if order == DeliveryOrder::Fifo {
            arrives = arrives.max(self.in_flight.back().map_or(at, |last| last.arrives));
        }
        let arriving = InFlight { frame, arrives };
        if self.in_flight.back().is_none_or(|last| last.arrives <= arrives) {
            self.in_flight.push_back(arriving);
        } else {
            let place = self.in_flight.partition_point(|other| other.arrives <= arrives);
            self.in_flight.insert(place, arriving);
        }
        None
    }

    pub(crate) fn partition(
        &mut self,
        now: Instant,
        queue: QueueOnPartition,
        mut lose: impl FnMut(Frame),
    ) {
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
