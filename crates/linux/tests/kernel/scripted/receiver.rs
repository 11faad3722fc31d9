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
    /// Order of arrival within each group of so many data segments, which arrive together with
    /// the last one.
    pub order: &'static [usize],
    /// Acknowledges every second segment.
    pub delays_acks: bool,
}

/// A path without losses, whose queue is always short.
pub const CLEAN: Path =
    Path { rtt: 100, serialisation: 1.0, lost: &[], order: &[], delays_acks: false };

/// A receiver of the data of the TCP under test, after RFC 9293 and RFC 2018.
#[derive(Debug)]
pub struct Receiver {
    path: Path,
    /// Data segments seen so far.
    count: usize,
    /// Segments of a group that is not complete.
    group: Vec<Arrival>,
    in_transit: VecDeque<(Instant, Arrival)>,
    bottleneck_free: Instant,
    /// TSval of the next acknowledgment. A clock that counts these is the same in both arms.
    clock: u32,
    next: u32,
    /// Received out of order, the latest first.
    ranges: Vec<(u32, u32)>,
    unacknowledged: u32,
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    start: u32,
    end: u32,
}

/// SACK blocks in a segment with timestamps.
const BLOCKS: usize = 3;

impl Receiver {
    /// A receiver that has everything before `next`, and whose clock shows `clock`.
    pub fn new(path: &Path, next: u32, clock: u32) -> Self {
        Self {
            path: path.clone(),
            count: 0,
            group: Vec::new(),
            in_transit: VecDeque::new(),
            bottleneck_free: Instant::ZERO,
            clock,
            next,
            ranges: Vec::new(),
            unacknowledged: 0,
        }
    }

    /// A data segment leaves the TCP under test.
    pub fn on_data(&mut self, now: Instant, start: u32, end: u32) {
        let number = self.count;
        self.count += 1;
        self.bottleneck_free = self.bottleneck_free.max(now) + micros(self.path.serialisation);
        if self.path.lost.contains(&number) {
            return;
        }
        self.group.push(Arrival { start, end });
        if self.group.len() < self.path.order.len() {
            return;
        }
        let at = self.bottleneck_free + Duration::from_millis(self.path.rtt);
        let group = std::mem::take(&mut self.group);
        if self.path.order.is_empty() {
            self.in_transit.extend(group.into_iter().map(|segment| (at, segment)));
        } else {
            self.in_transit.extend(self.path.order.iter().map(|n| (at, group[*n])));
        }
    }

    pub fn next_timeout(&self) -> Option<Instant> {
        self.in_transit.front().map(|(at, _)| *at)
    }

    /// The next acknowledgment that arrives by `now`.
    pub fn poll(&mut self, now: Instant) -> Option<PeerSegment> {
        while let Some((_, segment)) = self.in_transit.pop_front_if(|(at, _)| *at <= now) {
            if let Some(answer) = self.on_arrival(segment) {
                return Some(answer);
            }
        }
        None
    }

    fn on_arrival(&mut self, segment: Arrival) -> Option<PeerSegment> {
        let Arrival { start, end } = segment;
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
        blocks.truncate(BLOCKS);
        self.clock += 1;
        Some(ack(self.next).sack(&blocks).timestamps(PeerTimestamps::Value(self.clock)))
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

fn micros(ms: f64) -> Duration {
    Duration::from_micros((ms * 1000.0) as u64)
}
