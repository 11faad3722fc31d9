//! A peer that answers by itself: a receiver behind a path.

use std::collections::VecDeque;

use driftway_base::{Duration, Instant};

use super::segment::{PeerSegment, PeerTimestamps, ack};

/// The path to a receiver, and the receiver's habits.
#[derive(Clone, Debug)]
pub struct Path {
    /// Time from the transmission of a segment to the arrival of its acknowledgment (ms).
    pub rtt: u64,
    /// Time that the bottleneck takes for a segment of data (ms).
    pub serialisation: f64,
    /// Data segments that are lost, counted from 0 in the order of transmission.
    pub lost: &'static [usize],
    /// Data segments that arrive so much later than in their turn (ms).
    pub late: &'static [(usize, u64)],
    /// Data segments that are marked, if they are ECN-capable.
    pub marked: &'static [usize],
    /// Segments that wait at the bottleneck at most; those that find so many are lost.
    pub queue: usize,
    /// An outage: data segments that are sent from this time on, and before that, are lost (ms).
    pub outage: Option<(u64, u64)>,
    /// Order of arrival within each group of so many data segments of a flight; what remains of
    /// the flight arrives in order. Empty: everything arrives in order.
    pub order: &'static [usize],
    /// Acknowledges every second segment.
    pub delays_acks: bool,
}

/// A path without losses, whose queue is short. Its round trip is such that half of it, HyStart's
/// longest train of acknowledgments, ends between two of them.
pub const CLEAN: Path = Path {
    rtt: 101,
    serialisation: 1.0,
    lost: &[],
    late: &[],
    marked: &[],
    queue: usize::MAX,
    outage: None,
    order: &[],
    delays_acks: false,
};

/// A receiver of the data of the TCP under test, after RFC 9293 and RFC 2018.
#[derive(Debug)]
pub struct Receiver {
    path: Path,
    sack: bool,
    /// Data segments seen so far.
    count: usize,
    /// A flight that is reordered, and the time at which it is complete.
    flight: Vec<Arrival>,
    flight_end: Option<Instant>,
    in_transit: VecDeque<(Instant, Arrival)>,
    bottleneck_free: Instant,
    /// TSval of the next acknowledgment. A clock that counts these is the same in both arms.
    clock: u32,
    next: u32,
    /// TS.Recent (RFC 7323 §4.3).
    recent: u32,
    /// Received out of order, the latest first.
    ranges: Vec<(u32, u32)>,
    /// Last acknowledgment sent.
    acknowledged: u32,
    /// Segments since.
    unacknowledged: u32,
    /// A mark is echoed until the sender has responded.
    echoes_mark: bool,
}

/// A data segment of the TCP under test.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    pub start: u32,
    pub end: u32,
    /// TSval.
    pub timestamp: u32,
    pub ecn_capable: bool,
    /// With CWR: the sender has responded to a mark (RFC 3168).
    pub responded: bool,
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    data: Data,
    is_marked: bool,
}

/// Silence that ends a flight.
const SILENCE: Duration = Duration::from_millis(5);

/// SACK blocks in a segment with timestamps.
const BLOCKS: usize = 3;

impl Receiver {
    /// A receiver that has everything before `next`, and whose clock shows `clock`.
    pub fn new(path: &Path, sack: bool, next: u32, clock: u32) -> Self {
        Self {
            path: path.clone(),
            sack,
            count: 0,
            flight: Vec::new(),
            flight_end: None,
            in_transit: VecDeque::new(),
            bottleneck_free: Instant::ZERO,
            clock,
            next,
            recent: 0,
            ranges: Vec::new(),
            acknowledged: next,
            unacknowledged: 0,
            echoes_mark: false,
        }
    }

    /// A data segment leaves the TCP under test.
    pub fn on_data(&mut self, now: Instant, data: Data) {
        let number = self.count;
        self.count += 1;
        let Path { lost, late, marked, queue, outage, order, .. } = self.path;
        let is_out = outage.is_some_and(|(from, to)| (from..to).contains(&now.as_millis()));
        if is_out || self.waiting(now) >= queue {
            return;
        }
        let is_marked = data.ecn_capable && marked.contains(&number);
        let segment = Arrival { data, is_marked };
        if lost.contains(&number) {
            self.serve(now);
        } else if order.is_empty() {
            let late = late.iter().find(|(late, _)| *late == number).map_or(0, |(_, ms)| *ms);
            self.transmit(now, segment, late);
        } else {
            self.flight.push(segment);
            self.flight_end = Some(now + SILENCE);
        }
    }

    /// Segments at the bottleneck, that in service included; rounded, so that a little time more
    /// or less makes no difference.
    fn waiting(&self, now: Instant) -> usize {
        let time = self.bottleneck_free.since(now).as_nanos() as f64 / 1e6;
        (time / self.path.serialisation).round() as usize
    }

    /// The time at which the bottleneck has served one more segment.
    fn serve(&mut self, now: Instant) -> Instant {
        let time = Duration::from_micros((self.path.serialisation * 1000.0) as u64);
        self.bottleneck_free = self.bottleneck_free.max(now) + time;
        self.bottleneck_free
    }

    fn transmit(&mut self, now: Instant, segment: Arrival, late: u64) {
        let at = self.serve(now) + Duration::from_millis(self.path.rtt + late);
        let place = self.in_transit.partition_point(|(before, _)| *before <= at);
        self.in_transit.insert(place, (at, segment));
    }

    fn reorder_flight(&mut self, now: Instant) {
        let order = self.path.order;
        for group in std::mem::take(&mut self.flight).chunks(order.len()) {
            for n in 0..group.len() {
                let n = if group.len() == order.len() { order[n] } else { n };
                self.transmit(now, group[n], 0);
            }
        }
    }

    pub fn next_timeout(&self) -> Option<Instant> {
        let arrival = self.in_transit.front().map(|(at, _)| *at);
        [arrival, self.flight_end].into_iter().flatten().min()
    }

    /// The next acknowledgment that arrives by `now`.
    pub fn poll(&mut self, now: Instant) -> Option<PeerSegment> {
        if let Some(end) = self.flight_end.take_if(|end| *end <= now) {
            self.reorder_flight(end);
        }
        while self.in_transit.front().is_some_and(|(at, _)| *at <= now) {
            let (_, segment) = self.in_transit.pop_front()?;
            if let Some(answer) = self.on_arrival(segment) {
                return Some(answer);
            }
        }
        None
    }

    fn on_arrival(&mut self, segment: Arrival) -> Option<PeerSegment> {
        let Arrival { data: Data { start, end, timestamp, responded, .. }, is_marked } = segment;
        // RFC 3168 §6.1.3.
        self.echoes_mark = is_marked || (self.echoes_mark && !responded);
        if start <= self.acknowledged {
            self.recent = self.recent.max(timestamp);
        }
        let duplicate =
            end <= self.next || self.ranges.iter().any(|(from, to)| *from <= start && end <= *to);
        let filled = !self.ranges.is_empty();
        if !duplicate {
            self.add(start, end);
        }
        let in_order = !duplicate && !filled && self.ranges.is_empty();
        self.unacknowledged += 1;
        if in_order && self.path.delays_acks && self.unacknowledged < 2 {
            return None;
        }
        self.unacknowledged = 0;
        let mut blocks = Vec::new();
        if duplicate {
            // RFC 2883 §4: the duplicate is the first block.
            blocks.push((start, end));
        }
        blocks.extend(&self.ranges);
        blocks.truncate(if self.sack { BLOCKS } else { 0 });
        self.acknowledged = self.next;
        self.clock += 1;
        let timestamps = PeerTimestamps::Exact { value: self.clock, echo: self.recent };
        let answer = ack(self.next).sack(&blocks).timestamps(timestamps);
        Some(if self.echoes_mark { answer.ece() } else { answer })
    }

    fn add(&mut self, start: u32, end: u32) {
        let (mut start, mut end) = (start, end);
        self.ranges.retain(|(from, to)| {
            let touches = *from <= end && start <= *to;
            if touches {
                (start, end) = (start.min(*from), end.max(*to));
            }
            !touches
        });
        if start <= self.next {
            self.next = self.next.max(end);
        } else {
            // RFC 2018 §4: the block with the latest segment is the first.
            self.ranges.insert(0, (start, end));
        }
    }
}
