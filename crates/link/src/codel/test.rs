//! CoDel against the text of RFC 8289.

pub(crate) mod pseudocode;

use alloc::vec::Vec;

use driftway_base::PacketId;
use proptest::prelude::*;

use super::*;
use crate::frame::Frame;

const CONFIG: CodelConfig = CodelConfig {
    target: Duration::from_millis(5),
    interval: Duration::from_millis(100),
    ecn: false,
};

const fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// A queue with CoDel: frames that are due in order, and what became of them.
struct Bench {
    codel: Codel,
    queue: VecDeque<Queued<Frame>>,
    next_id: u32,
    /// (time, handle) of each frame dropped.
    drops: Vec<(Instant, PacketId)>,
    /// (time, handle) of each frame marked.
    marks: Vec<(Instant, PacketId)>,
}

impl Bench {
    fn new(config: CodelConfig) -> Self {
        let codel = Codel::new(config);
        Self { codel, queue: VecDeque::new(), next_id: 0, drops: Vec::new(), marks: Vec::new() }
    }

    fn put(&mut self, since: Instant, bytes: u32, ecn_capable: bool) {
        let frame = Frame { id: PacketId::new(self.next_id), bytes, ecn_capable, flow: 0 };
        self.next_id += 1;
        self.queue.push_back(Queued { frame, since });
    }

    fn take(&mut self, now: Instant) -> Option<PacketId> {
        let Self { codel, queue, drops, marks, .. } = self;
        let (frame, is_marked) = codel.dequeue(now, queue, |frame| drops.push((now, frame.id)))?;
        if is_marked {
            marks.push((now, frame.id));
        }
        Some(frame.id)
    }

    /// Keeps a standing queue whose head has waited for `sojourn`, and takes a frame of it each
    /// millisecond.
    fn stand(&mut self, from: u64, to: u64, sojourn: u64, ecn_capable: bool) {
        for now in from..to {
            self.queue.clear();
            for _ in 0..8 {
                self.put(ms(now - sojourn), 1500, ecn_capable);
            }
            self.take(ms(now));
        }
    }

    fn drop_times(&self) -> Vec<u64> {
        self.drops.iter().map(|(at, _)| at.as_millis()).collect()
    }
}

#[test]
fn a_queue_below_the_target_loses_nothing() {
    let mut bench = Bench::new(CONFIG);
    bench.stand(10, 10_000, 4, false);
    assert_eq!(bench.drops, []);
}

/// The first drop is an interval after the waiting time has reached the target, and the n-th one
/// interval ÷ √n after that before it: 100, 70.7, 57.7, 50, 44.7 ms.
#[test]
fn drops_follow_the_control_law() {
    let mut bench = Bench::new(CONFIG);
    bench.stand(1000, 1430, 5, false);
    assert_eq!(bench.drop_times(), [1100, 1200, 1271, 1329, 1379, 1424]);
}

#[test]
fn the_spacing_is_rounded_down_to_nanoseconds() {
    let mut codel = Codel::new(CONFIG);
    for (count, nanos) in [
        (0, 100_000_000),
        (1, 100_000_000),
        (2, 70_710_678),
        (3, 57_735_026),
        (4, 50_000_000),
        (1_000_000, 100_000),
    ] {
        codel.count = count;
        assert_eq!(codel.control_law(ms(7)).since(ms(7)), Duration::from_nanos(nanos), "{count}");
    }
}

#[test]
fn one_frame_below_the_target_ends_the_dropping() {
    let mut bench = Bench::new(CONFIG);
    bench.stand(1000, 1150, 20, false);
    assert_eq!(bench.drop_times(), [1100]);
    bench.stand(1150, 1151, 4, false);
    // A whole interval above the target passes before the next.
    bench.stand(1151, 1252, 20, false);
    assert_eq!(bench.drop_times(), [1100, 1251]);
}

#[test]
fn a_queue_of_one_frame_loses_nothing() {
    let mut bench = Bench::new(CONFIG);
    for now in 1000..2000 {
        bench.queue.clear();
        bench.put(ms(now - 50), 1500, false);
        bench.put(ms(now - 50), 1500, false);
        bench.take(ms(now));
    }
    assert_eq!(bench.drops, []);
}

/// RFC 8289 §5.5: dropping that is resumed within sixteen intervals begins at the rate at which it
/// had arrived; later, it begins anew.
#[test]
fn dropping_is_resumed_at_its_earlier_rate() {
    for (pause, second) in [(200, 35), (2000, 100)] {
        let mut bench = Bench::new(CONFIG);
        // Nine drops: a difference of eight to the first.
        bench.stand(1000, 1540, 20, false);
        assert_eq!(bench.drops.len(), 9);
        bench.stand(1540, 1540 + pause, 0, false);
        bench.drops.clear();
        let from = 1540 + pause;
        bench.stand(from, from + 201, 20, false);
        // 100 ÷ √8 = 35.4 ms: at the next frame.
        let spacing = if second == 35 { 36 } else { 100 };
        assert_eq!(bench.drop_times()[..2], [from + 100, from + 100 + spacing]);
    }
}

/// A backlog that a late transmitter left needs several drops at once.
#[test]
fn several_frames_are_dropped_where_several_drops_are_due() {
    let mut bench = Bench::new(CONFIG);
    bench.stand(1000, 1101, 20, false);
    bench.stand(1400, 1401, 20, false);
    // Due at 1200, 1270.7, 1328.4 and 1378.4.
    assert_eq!(bench.drop_times(), [1100, 1400, 1400, 1400, 1400]);
}

#[test]
fn marks_take_the_place_of_drops() {
    let mut bench = Bench::new(CodelConfig { ecn: true, ..CONFIG });
    bench.stand(1000, 1430, 5, true);
    assert_eq!(bench.drops, []);
    let times: Vec<_> = bench.marks.iter().map(|(at, _)| at.as_millis()).collect();
    assert_eq!(times, [1100, 1200, 1271, 1329, 1379, 1424]);
    // Frames that are not ECN-capable, and all without `ecn`, are dropped.
    let mut deaf = Bench::new(CodelConfig { ecn: true, ..CONFIG });
    deaf.stand(1000, 1101, 5, false);
    let mut off = Bench::new(CONFIG);
    off.stand(1000, 1101, 5, true);
    for bench in [deaf, off] {
        assert_eq!((bench.drop_times(), bench.marks.len()), ([1100].to_vec(), 0));
    }
}

#[test]
fn an_empty_queue_ends_the_dropping() {
    let mut bench = Bench::new(CONFIG);
    bench.stand(1000, 1150, 20, false);
    bench.queue.clear();
    assert_eq!(bench.take(ms(1150)), None);
    bench.stand(1151, 1251, 20, false);
    assert_eq!(bench.drop_times(), [1100]);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Put { bytes: u32, ecn_capable: bool },
    Take,
}

fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
    let put = (0..1500_u32, any::<bool>())
        .prop_map(|(bytes, ecn_capable)| Step::Put { bytes, ecn_capable });
    prop::collection::vec((0..30_u64, prop_oneof![3 => put, 2 => Just(Step::Take)]), 0..400)
}

proptest! {
    /// Whatever arrives and leaves: each frame leaves or is dropped once and in order; one is
    /// dropped only above the target and if more than a frame is left behind it; the first of a
    /// series comes an interval after the last frame that was below; only ECN-capable frames are
    /// marked; and a dequeue yields a frame if one is queued.
    #[test]
    fn only_a_standing_queue_is_notified(
        steps in steps(),
        target in 0..40_u64,
        interval in 0..200_u64,
        ecn: bool,
    ) {
        let config = CodelConfig {
            target: Duration::from_millis(target),
            interval: Duration::from_millis(interval),
            ecn,
        };
        let mut bench = Bench::new(config);
        let (mut now, mut frames, mut expected) = (ms(0), Vec::new(), 0);
        let mut last_below = ms(0);
        for (pause, step) in steps {
            now += Duration::from_millis(pause);
            let Step::Take = step else {
                let Step::Put { bytes, ecn_capable } = step else { continue };
                frames.push((now, bytes, ecn_capable));
                bench.put(now, bytes, ecn_capable);
                continue;
            };
            let was_empty = bench.queue.is_empty();
            let (drops, marks) = (bench.drops.len(), bench.marks.len());
            let taken = bench.take(now);
            prop_assert_eq!(taken.is_none(), was_empty);
            for (_, id) in &bench.drops[drops..] {
                prop_assert_eq!(id.number(), expected);
                expected += 1;
                let (since, bytes, ecn_capable) = frames[id.index()];
                prop_assert!(now.since(since) >= config.target);
                prop_assert!(!(ecn && ecn_capable));
                prop_assert!(now.since(last_below) >= config.interval);
                let behind: u32 = frames[id.index() + 1..].iter().map(|frame| frame.1).sum();
                prop_assert!(behind > bytes);
            }
            if let Some(id) = taken {
                prop_assert_eq!(id.number(), expected);
                expected += 1;
                let (since, _, ecn_capable) = frames[id.index()];
                if bench.marks.len() > marks {
                    prop_assert!(ecn && ecn_capable && now.since(since) >= config.target);
                    prop_assert!(now.since(last_below) >= config.interval);
                }
                if now.since(since) < config.target {
                    last_below = now;
                }
            } else {
                last_below = now;
            }
        }
    }
}
