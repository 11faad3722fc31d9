//! CoDel beside the pseudocode of RFC 8289 §5, drop by drop.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use driftway_base::{Duration, Instant, PacketId, RandomStream};

use crate::codel::{Codel, CodelConfig, Queued};
use crate::frame::Frame;

pub(crate) const TARGET_NS: i64 = 5_000_000;
pub(crate) const INTERVAL_NS: i64 = 100_000_000;
const MAX_PACKET: u64 = 1500;

/// The pseudocode of RFC 8289 §5.3 to §5.6, in nanoseconds; zero stands for no time, as there.
#[derive(Default)]
pub(crate) struct Pseudocode {
    /// Handle, bytes and arrival of each packet.
    pub(crate) queue: VecDeque<(u32, u64, i64)>,
    first_above_time: i64,
    drop_next: i64,
    count: u32,
    lastcount: u32,
    dropping: bool,
    pub(crate) dropped: Vec<(i64, u32)>,
}

pub(crate) type Packet = Option<(u32, u64, i64)>;

impl Pseudocode {
    pub(crate) fn bytes(&self) -> u64 {
        self.queue.iter().map(|(_, bytes, _)| bytes).sum()
    }

    fn control_law(t: i64, count: u32) -> i64 {
        t + (INTERVAL_NS as f64 / f64::from(count).sqrt()) as i64
    }

    fn dodequeue(&mut self, now: i64) -> (Packet, bool) {
        let packet = self.queue.pop_front();
        let mut ok_to_drop = false;
        match packet {
            None => self.first_above_time = 0,
            Some((_, _, arrived)) => {
                if now - arrived < TARGET_NS || self.bytes() <= MAX_PACKET {
                    self.first_above_time = 0;
                } else if self.first_above_time == 0 {
                    self.first_above_time = now + INTERVAL_NS;
                } else if now >= self.first_above_time {
                    ok_to_drop = true;
                }
            }
        }
        (packet, ok_to_drop)
    }

    fn drop(&mut self, now: i64, packet: Packet) {
        self.dropped.extend(packet.map(|(id, ..)| (now, id)));
    }

    pub(crate) fn deque(&mut self, now: i64) -> Packet {
        let (mut packet, mut ok_to_drop) = self.dodequeue(now);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                self.drop(now, packet);
                self.count += 1;
                (packet, ok_to_drop) = self.dodequeue(now);
                if ok_to_drop {
                    self.drop_next = Self::control_law(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            self.drop(now, packet);
            (packet, _) = self.dodequeue(now);
            self.dropping = true;
            let delta = i64::from(self.count) - i64::from(self.lastcount);
            self.count = 1;
            if delta > 1 && now - self.drop_next < 16 * INTERVAL_NS {
                self.count = u32::try_from(delta).unwrap();
            }
            self.drop_next = Self::control_law(now, self.count);
            self.lastcount = self.count;
        }
        packet
    }
}

/// Packets of 1500 bytes arrive in a random number per millisecond, and one can leave in each; the load
/// rises above the rate, falls, and ceases.
#[test]
fn the_drops_are_those_of_the_pseudocode() {
    let config = CodelConfig {
        target: Duration::from_nanos(TARGET_NS as u64),
        interval: Duration::from_nanos(INTERVAL_NS as u64),
        ecn: false,
    };
    for seed in 1..6 {
        let (mut own, mut given) = (Codel::new(config), Pseudocode::default());
        let mut queue: VecDeque<Queued<Frame>> = VecDeque::new();
        let mut random = RandomStream::new(seed, "arrivals", 0);
        let mut dropped = Vec::new();
        let mut id = 0;
        for millis in 1..60_000_u64 {
            let now = Instant::from_millis(millis);
            let nanos = i64::try_from(now.as_nanos()).unwrap();
            let departs = own.dequeue(now, &mut queue, |frame: Frame| {
                dropped.push((nanos, frame.id.number()));
            });
            let expected = given.deque(nanos);
            assert_eq!(departs.map(|(frame, _)| frame.id.number()), expected.map(|(id, ..)| id));
            let most = [2, 3, 5, 2, 1][(millis / 1700 % 5) as usize];
            let arrivals = if millis / 9000 % 3 == 2 { 0 } else { random.uniform_below(most + 1) };
            for _ in 0..arrivals {
                // The limit of the queue.
                if queue.len() < 200 {
                    let frame =
                        Frame { id: PacketId::new(id), bytes: 1500, ecn_capable: false, flow: 0 };
                    queue.push_back(Queued { frame, since: now });
                    given.queue.push_back((id, 1500, nanos));
                }
                id += 1;
            }
        }
        assert_eq!(dropped, given.dropped);
        assert!(dropped.len() > 300, "{}", dropped.len());
    }
}
