//! Properties of a hop under any sequence of operations.

use crate::bench::LinkHarness;
use driftway_base::{Duration, Instant, LinkId, PacketId, Rate};
use driftway_link::{
    CodelConfig, Delay, DeliveryOrder, Discipline, Duplex, EnqueueOutcome, ErrorModel,
    FqCodelConfig, Frame, LinkConfig, LinkEvent, PathLink, PieConfig, QueueConfig,
    QueueOnPartition, QueuePosition, RedConfig, Side,
};
use proptest::prelude::*;

/// An operation on a link.
#[derive(Clone, Debug)]
enum Operation {
    Enqueue { side: Side, bytes: u32, ecn_capable: bool, place: QueuePosition },
    Partition(QueueOnPartition),
    Heal,
    Rate(Rate),
    Delay(Delay),
    Errors(ErrorModel),
    FrontNext(Side, u32),
    ReverseNext(Side, u32, Duration),
    MarkAll(Side, bool),
}

fn sides() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Side::A), Just(Side::B)]
}

fn rates() -> impl Strategy<Value = Rate> {
    prop_oneof![Just(8_000), Just(32_000), Just(2_000_000), Just(u64::MAX)].prop_map(Rate::from_bps)
}

fn delays() -> impl Strategy<Value = Delay> {
    let span = |millis| Duration::from_millis(millis);
    prop_oneof![
        (0..50_u64).prop_map(move |delay| Delay::Fixed(span(delay))),
        (0..50_u64, 0..200_u64)
            .prop_map(move |(low, high)| Delay::Uniform { low: span(low), high: span(high) }),
    ]
}

fn errors() -> impl Strategy<Value = ErrorModel> {
    let packets = (0.0..1.0).prop_map(ErrorModel::FrameErrorRate);
    prop_oneof![Just(ErrorModel::None), (0.0..1e-3).prop_map(ErrorModel::BitErrorRate), packets]
}

fn disciplines() -> impl Strategy<Value = Discipline> {
    let drop_tail = proptest::option::of(0..6_usize)
        .prop_map(|ecn_threshold| Discipline::DropTail { ecn_threshold });
    let red = (0.0..3.0, 0.0..3.0, 0.0..1.0, 0.0..1.0, 0..50_u64, any::<bool>()).prop_map(
        |(min_threshold, width, max_probability, weight, frame_time, ecn)| {
            Discipline::Red(RedConfig {
                min_threshold,
                max_threshold: min_threshold + width,
                max_probability,
                weight,
                frame_time: Duration::from_millis(frame_time),
                ecn,
            })
        },
    );
    let codel = (0..100_u64, 0..200_u64, any::<bool>()).prop_map(|(target, interval, ecn)| {
        Discipline::Codel(CodelConfig {
            target: Duration::from_millis(target),
            interval: Duration::from_millis(interval),
            ecn,
        })
    });
    let pie = (0..100_u64, 0..100_u64, any::<bool>()).prop_map(|(target, interval, ecn)| {
        Discipline::Pie(PieConfig {
            target: Duration::from_millis(target),
            interval: Duration::from_millis(interval),
            ecn,
        })
    });
    let fq_codel = (0..100_u64, 0..200_u64, 0..3000_u32, 1..4_u16, any::<bool>()).prop_map(
        |(target, interval, quantum, flows, ecn)| {
            let (target, interval) =
                (Duration::from_millis(target), Duration::from_millis(interval));
            let codel = CodelConfig { target, interval, ecn };
            Discipline::FqCodel(FqCodelConfig { codel, quantum, flows })
        },
    );
    prop_oneof![drop_tail, red, codel, pie, fq_codel]
}

fn configs() -> impl Strategy<Value = LinkConfig> {
    let max_bytes = prop_oneof![Just(None), (0..6000_u64).prop_map(Some)];
    let queue = (0..8_usize, max_bytes, disciplines(), 0.0..1.0).prop_map(
        |(limit, max_bytes, discipline, mark_loss)| QueueConfig {
            limit,
            max_bytes,
            discipline,
            mark_loss,
        },
    );
    let duplex = prop_oneof![Just(Duplex::Full), Just(Duplex::Shared), Just(Duplex::PerPacket)];
    let order = prop_oneof![Just(DeliveryOrder::Fifo), Just(DeliveryOrder::Free)];
    (rates(), delays(), errors(), queue, duplex, order).prop_map(
        |(rate, delay, errors, queue, duplex, order)| LinkConfig {
            rate,
            delay,
            errors,
            queue,
            duplex,
            order,
        },
    )
}

fn operations() -> impl Strategy<Value = Vec<(Duration, Operation)>> {
    let place = prop_oneof![8 => Just(QueuePosition::Tail), 1 => Just(QueuePosition::Front)];
    let enqueue = (sides(), 0..1500_u32, any::<bool>(), place).prop_map(
        |(side, bytes, ecn_capable, place)| Operation::Enqueue { side, bytes, ecn_capable, place },
    );
    let operation = prop_oneof![
        20 => enqueue,
        1 => prop_oneof![Just(QueueOnPartition::Wait), Just(QueueOnPartition::Drop)].prop_map(Operation::Partition),
        2 => Just(Operation::Heal),
        1 => rates().prop_map(Operation::Rate),
        1 => delays().prop_map(Operation::Delay),
        1 => errors().prop_map(Operation::Errors),
        1 => (sides(), 0..4_u32).prop_map(|(side, frames)| Operation::FrontNext(side, frames)),
        1 => (sides(), 0..4_u32, 0..100_u64).prop_map(|(side, frames, ms)| {
            Operation::ReverseNext(side, frames, Duration::from_millis(ms))
        }),
        1 => (sides(), any::<bool>()).prop_map(|(side, on)| Operation::MarkAll(side, on)),
    ];
    let pause = prop_oneof![1 => Just(0_u64), 3 => 0..40_000_000_u64];
    proptest::collection::vec((pause.prop_map(Duration::from_nanos), operation), 0..120)
}

fn apply(
    link: &mut PathLink,
    now: Instant,
    id: PacketId,
    operation: &Operation,
) -> Option<EnqueueOutcome> {
    match *operation {
        Operation::Enqueue { side, bytes, ecn_capable, place } => {
            return Some(link.enqueue(
                now,
                side,
                Frame { id, bytes, ecn_capable, flow: bytes % 3 },
                place,
            ));
        }
        Operation::Partition(queue) => link.partition(now, queue),
        Operation::Heal => link.heal(now),
        Operation::Rate(rate) => link.set_rate(now, rate),
        Operation::Delay(delay) => link.set_delay(now, delay),
        Operation::Errors(errors) => link.set_errors(now, errors),
        Operation::FrontNext(side, frames) => link.move_next_to_front(side, frames),
        Operation::ReverseNext(side, frames, at_most) => {
            link.reverse_next(now, side, frames, at_most)
        }
        Operation::MarkAll(side, on) => link.force_marks(side, on),
    }
    None
}

/// Accounting of the frames: how many ends each has had.
struct FrameAccounting {
    ends: Vec<u32>,
    accepted: Vec<bool>,
    /// Marks of frames that left a queue, and of those that entered one.
    marks: u64,
}

impl FrameAccounting {
    fn verdict(&mut self, id: PacketId, verdict: EnqueueOutcome) {
        match verdict {
            EnqueueOutcome::Accepted { evicted: pushed_out, mark } => {
                self.marks += u64::from(mark);
                self.accepted[id.index()] = true;
                if let Some(victim) = pushed_out {
                    self.ends[victim.index()] += 1;
                }
            }
            EnqueueOutcome::Dropped { .. } | EnqueueOutcome::Refused => {}
        }
    }

    fn event(&mut self, event: &LinkEvent) {
        match event {
            LinkEvent::Arrived { id, .. } | LinkEvent::Lost { id, .. } => {
                self.ends[id.index()] += 1;
            }
            LinkEvent::Marked { id, .. } => {
                assert!(self.accepted[id.index()]);
                self.marks += 1;
            }
            LinkEvent::Sent { id, .. } => panic!("frame {id}: reported on request only"),
        }
    }

    /// Checks that each accepted frame has ended once or is pending, and that no other frame has or
    /// is.
    fn check_conservation(&self, link: &PathLink) {
        let mut seen = self.ends.clone();
        for held in link.pending_frames() {
            seen[held.frame.id.index()] += 1;
        }
        let owed: Vec<u32> = self.accepted.iter().map(|accepted| u32::from(*accepted)).collect();
        assert_eq!(seen, owed);
        assert_eq!(link.pending_frames().count(), link.frames_in_transit());
    }
}

proptest! {
    #[test]
    fn each_frame_ends_once(config in configs(), operations in operations(), seed: u64) {
        let mut link = PathLink::new(config, seed, LinkId::new(3));
        let mut accounting = FrameAccounting { ends: vec![0; operations.len()], accepted: vec![false; operations.len()], marks: 0 };
        let mut now = Instant::ZERO;
        for (id, (pause, operation)) in operations.iter().enumerate() {
            let then = now + *pause;
            while let Some(at) = link.next_timeout().filter(|at| *at <= then) {
                prop_assert!(at >= now);
                now = at;
                link.on_timeout(now);
                while let Some(event) = link.poll(now) {
                    accounting.event(&event);
                }
                prop_assert!(link.next_timeout().is_none_or(|at| at > now));
                accounting.check_conservation(&link);
            }
            now = then;
            if let Some(verdict) = apply(&mut link, now, PacketId::from(id), operation) {
                accounting.verdict(PacketId::from(id), verdict);
            }
            while let Some(event) = link.poll(now) {
                accounting.event(&event);
            }
            prop_assert!(link.next_timeout().is_none_or(|at| at > now));
            accounting.check_conservation(&link);
            prop_assert!(link.queue_len(Side::A) <= config.queue.limit);
            prop_assert!(link.queue_len(Side::B) <= config.queue.limit);
        }

        link.heal(now);
        while let Some(event) = link.poll(Instant::FAR_FUTURE) {
            accounting.event(&event);
        }
        prop_assert_eq!(link.frames_in_transit(), 0);
        prop_assert_eq!(link.next_timeout(), None);
        accounting.check_conservation(&link);

        // The counters agree with the events.
        let sum = |f: fn(driftway_link::LinkCounters) -> u64| f(link.counters(Side::A)) + f(link.counters(Side::B));
        prop_assert_eq!(sum(|c| c.queue.marks), accounting.marks);
        let ended = sum(|c| c.arrived + c.errors + c.partitioned + c.queue.codel_drops);
        let pushed_out = accounting.ends.iter().map(|n| u64::from(*n)).sum::<u64>() - ended;
        let dropped = sum(|c| c.queue.overflows + c.queue.red_drops + c.queue.pie_drops + c.refused) - pushed_out;
        let offered = operations.iter().filter(|(_, operation)| matches!(operation, Operation::Enqueue { .. })).count();
        let accepted = accounting.accepted.iter().filter(|accepted| **accepted).count();
        prop_assert_eq!(accepted as u64 + dropped, offered as u64);
    }

    /// Drivers that step from timeout to timeout, that call only with an operation, and that poll
    /// only at the end get the same events.
    #[test]
    fn events_do_not_depend_on_the_driver(config in configs(), operations in operations(), seed: u64) {
        let run = |steps: bool, polls: bool| {
            let mut link = PathLink::new(config, seed, LinkId::new(0));
            let (mut events, mut verdicts, mut now) = (Vec::new(), Vec::new(), Instant::ZERO);
            for (id, (pause, operation)) in operations.iter().enumerate() {
                let then = now + *pause;
                while let Some(at) = link.next_timeout().filter(|at| steps && *at <= then) {
                    link.on_timeout(at);
                    events.extend(std::iter::from_fn(|| link.poll(at)));
                }
                now = then;
                verdicts.push(apply(&mut link, now, PacketId::from(id), operation));
                if polls {
                    events.extend(std::iter::from_fn(|| link.poll(now)));
                }
            }
            events.extend(std::iter::from_fn(|| link.poll(Instant::FAR_FUTURE)));
            let counters = (link.counters(Side::A), link.counters(Side::B));
            (events, verdicts, counters)
        };
        let stepped = run(true, true);
        prop_assert_eq!(&stepped, &run(true, true));
        prop_assert_eq!(&stepped, &run(false, true));
        prop_assert_eq!(&stepped, &run(false, false));
    }

    #[test]
    fn fifo_links_keep_the_order_of_each_side(config in configs(), operations in operations()) {
        let config = LinkConfig { order: DeliveryOrder::Fifo, ..config };
        let mut bench = LinkHarness::new(config);
        let mut now = Instant::ZERO;
        for (id, (pause, operation)) in operations.iter().enumerate() {
            now += *pause;
            bench.until(now);
            match operation {
                Operation::FrontNext(..) | Operation::ReverseNext(..) => {}
                Operation::Enqueue { side, bytes, ecn_capable, .. } => {
                    let frame = Frame { id: PacketId::from(id), bytes: *bytes, ecn_capable: *ecn_capable, flow: 0 };
                    bench.put(now, *side, frame, QueuePosition::Tail);
                }
                operation => bench.at(now, |link| {
                    apply(link, now, PacketId::from(id), operation);
                }),
            }
        }
        bench.finish();
        prop_assert!(bench.log.is_sorted_by_key(|(at, _)| *at));
        for side in [Side::A, Side::B] {
            let arrived = bench.log.iter().filter_map(|(_, event)| match *event {
                LinkEvent::Arrived { from, id } if from == side => Some(id),
                _ => None,
            });
            prop_assert!(arrived.is_sorted());
        }
    }
}
