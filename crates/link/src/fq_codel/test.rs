//! FQ-CoDel against the text of RFC 8290.

use alloc::vec;
use alloc::vec::Vec;

use driftway_base::{Duration, PacketId, RandomStream};

use super::*;
use crate::codel::test::pseudocode::{INTERVAL_NS, Pseudocode, TARGET_NS};
use crate::frame::Frame;

const QUANTUM: u32 = 1514;
const CODEL: CodelConfig = CodelConfig {
    target: Duration::from_nanos(TARGET_NS as u64),
    interval: Duration::from_nanos(INTERVAL_NS as u64),
    ecn: false,
};

fn queues() -> FqCodel<Frame> {
    FqCodel::new(FqCodelConfig { codel: CODEL, quantum: QUANTUM, flows: 1024 }, 0)
}

/// A frame whose flow has a queue of its own.
fn frame(flow: u32, id: u32, bytes: u32) -> Frame {
    Frame { id: PacketId::new(id), bytes, ecn_capable: false, flow }
}

fn served(queues: &mut FqCodel<Frame>, count: usize) -> Vec<u32> {
    let now = Instant::ZERO;
    let next = || queues.serve(now, |_| panic!("nothing is dropped")).map(|(frame, _)| frame.flow);
    iter::repeat_with(next).take(count).flatten().collect()
}

/// The queues of RFC 8290 §4.1 and §4.2, found by search.
#[derive(Default)]
struct Written {
    flows: Vec<(Pseudocode, i64)>,
    new: Vec<usize>,
    old: Vec<usize>,
    /// Handles of frames dropped at the limit.
    displaced: Vec<u32>,
}

impl Written {
    fn enqueue(&mut self, now: i64, flow: usize, id: u32, bytes: u64, limit: usize) {
        self.flows[flow].0.queue.push_back((id, bytes, now));
        if !self.new.contains(&flow) && !self.old.contains(&flow) {
            self.flows[flow].1 = i64::from(QUANTUM);
            self.new.push(flow);
        }
        while self.flows.iter().map(|(flow, _)| flow.queue.len()).sum::<usize>() > limit {
            // Of equal ones that with more packets.
            let len = |flow: &Pseudocode| (flow.bytes(), flow.queue.len());
            let most = self.flows.iter().map(|(flow, _)| len(flow)).max().unwrap();
            let longest = self.flows.iter_mut().find(|(flow, _)| len(flow) == most).unwrap();
            let half = longest.0.queue.len().div_ceil(2).min(64);
            self.displaced.extend(longest.0.queue.drain(..half).map(|(id, ..)| id));
        }
    }

    fn dequeue(&mut self, now: i64) -> Option<u32> {
        loop {
            let is_new = !self.new.is_empty();
            let flow = *if is_new { self.new.first() } else { self.old.first() }?;
            let list = if is_new { &mut self.new } else { &mut self.old };
            let (queue, deficit) = &mut self.flows[flow];
            if *deficit <= 0 {
                *deficit += i64::from(QUANTUM);
                list.remove(0);
                self.old.push(flow);
            } else if let Some((id, bytes, _)) = queue.deque(now) {
                *deficit -= bytes as i64;
                return Some(id);
            } else {
                list.remove(0);
                if is_new {
                    self.old.push(flow);
                }
            }
        }
    }
}

/// Four flows over a link of one packet a millisecond: one that fills the queue, one of small packets, one of bursts, and
/// one of a packet from time to time.
#[test]
fn each_packet_leaves_or_is_dropped_as_the_rfc_says() {
    const LIMIT: usize = 150;
    // In the order of their queues, which decides between equally long ones.
    let mut flows: Vec<u32> = (0..4).collect();
    flows.sort_by_key(|flow| queues().index_of(frame(*flow, 0, 0)));
    for seed in 1..6 {
        let mut own = queues();
        let mut written = Written::default();
        written.flows.resize_with(4, Default::default);
        let mut random = RandomStream::new(seed, "arrivals", 0);
        let (mut displaced, mut dropped, mut id) = (vec![], vec![], 0);
        for millis in 1..30_000_u64 {
            let now = Instant::from_millis(millis);
            let nanos = i64::try_from(now.as_nanos()).unwrap();
            let departs = own.serve(now, |frame| dropped.push(frame.id.number()));
            assert_eq!(departs.map(|(frame, _)| frame.id.number()), written.dequeue(nanos));
            let burst = if millis % 700 < 20 { 6 } else { 0 };
            let most = [2, 3, burst, u64::from(millis % 97 == 0)];
            for (place, most) in most.into_iter().enumerate() {
                let bytes = [1500, 200, 1000, 80][place];
                for _ in 0..random.uniform_below(most + 1) {
                    own.push(now, frame(flows[place], id, bytes), QueuePosition::Tail);
                    while own.len() > LIMIT {
                        own.drop_from_longest(|frame| displaced.push(frame.id.number()));
                    }
                    written.enqueue(nanos, place, id, bytes.into(), LIMIT);
                    id += 1;
                }
            }
        }
        assert_eq!(displaced, written.displaced);
        let mut expected: Vec<u32> =
            written.flows.iter().flat_map(|(flow, _)| &flow.dropped).map(|(_, id)| *id).collect();
        expected.sort_unstable();
        dropped.sort_unstable();
        assert_eq!(dropped, expected);
        assert!(displaced.len() > 100 && dropped.len() > 100, "{displaced:?} {dropped:?}");
    }
}

/// Equal bytes, not packets: three packets of 500 bytes for one of 1500.
#[test]
fn flows_share_by_bytes() {
    let mut queues = queues();
    for id in 0..300 {
        queues.push(Instant::ZERO, frame(1, id, 1500), QueuePosition::Tail);
        queues.push(Instant::ZERO, frame(2, id, 500), QueuePosition::Tail);
    }
    let flows = served(&mut queues, 200);
    let bytes = |flow| {
        flows.iter().filter(|one| **one == flow).count() as u32 * [1500, 500][flow as usize - 1]
    };
    assert!(bytes(1).abs_diff(bytes(2)) <= 2 * QUANTUM, "{} {}", bytes(1), bytes(2));
}

/// A flow that begins is served before those that have used up their turn.
#[test]
fn a_flow_that_begins_does_not_wait() {
    let mut queues = queues();
    for id in 0..50 {
        queues.push(Instant::ZERO, frame(1, id, 1500), QueuePosition::Tail);
    }
    assert_eq!(served(&mut queues, 3), [1; 3]);
    queues.push(Instant::ZERO, frame(2, 90, 100), QueuePosition::Tail);
    assert_eq!(served(&mut queues, 2), [2, 1]);
}
