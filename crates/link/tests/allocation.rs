//! A link does not allocate in its steady state.

use allocation_counter::measure;
use driftway_base::{Duration, Instant, LinkId, NodeId, PacketId, Rate};
use driftway_link::{
    AdhocQueue, AdhocQueueConfig, BurstConfig, Capacity, Delay, DelayProcess, DeliveryOrder,
    DirectionConfig, Discipline, Duplex, ErrorModel, Frame, LinkConfig, LinkDirections, LinkTrace,
    Opportunities, PacketClass, PathLink, Priority, QueueConfig, QueuePosition, QueuedPacket, Side,
    TraceRows,
};

#[test]
fn a_link_does_not_allocate() {
    let discipline = Discipline::DropTail { ecn_threshold: Some(20) };
    let config = LinkConfig {
        rate: Rate::from_bps(2_000_000),
        delay: Delay::Uniform { low: Duration::ZERO, high: Duration::from_millis(30) },
        errors: ErrorModel::BitErrorRate(1e-5),
        queue: QueueConfig { limit: 50, discipline, max_bytes: None, mark_loss: 0.1 },
        duplex: Duplex::Shared,
        order: DeliveryOrder::Free,
    };
    steady_state_does_not_allocate(config.into());
}

#[test]
fn a_link_with_a_trace_does_not_allocate() {
    let discipline = Discipline::DropTail { ecn_threshold: None };
    let queue = QueueConfig { limit: 50, discipline, max_bytes: None, mark_loss: 0.1 };
    let rows = TraceRows {
        times: (0..100).map(Duration::from_millis).collect(),
        rates: (0..100).map(|n| n * 100_000).collect(),
        delays: (0..100).map(Duration::from_micros).collect(),
        errors: vec![],
    };
    let direction = DirectionConfig {
        capacity: Capacity::Opportunities(Opportunities::new([1, 1, 40].into(), true).unwrap()),
        delay: DelayProcess::Steps {
            delays: [1, 2].map(Duration::from_millis).into(),
            every: Duration::from_millis(700),
        },
        errors: ErrorModel::FrameErrorRate(0.1),
        burst: Some(BurstConfig { rate: 0.1, mean_length: 3.0 }),
        loss_period: 50,
        trace: None,
        queue,
    };
    steady_state_does_not_allocate(LinkDirections {
        forward: direction.clone(),
        backward: DirectionConfig {
            capacity: Capacity::Rate(Rate::from_bps(1)),
            trace: LinkTrace::new(rows, true),
            ..direction
        },
        duplex: Duplex::Full,
        order: DeliveryOrder::Fifo,
    });
}

fn steady_state_does_not_allocate(config: LinkDirections) {
    let mut link = None;
    let made = measure(|| link = Some(PathLink::new(config, 1, LinkId::new(0))));
    assert!(made.count_total > 0, "allocations are counted");
    let mut link = link.unwrap();

    let mut arrived = 0;
    let steady = measure(|| {
        for id in 0..100_000 {
            let now = Instant::from_micros(u64::from(id) * 500);
            while let Some(at) = link.next_timeout().filter(|at| *at <= now) {
                link.on_timeout(at);
                while link.poll(at).is_some() {
                    arrived += 1;
                }
            }
            let side = if id % 2 == 0 { Side::A } else { Side::B };
            link.enqueue(
                now,
                side,
                Frame { id: PacketId::new(id), bytes: 140, ecn_capable: true, flow: 0 },
                QueuePosition::Tail,
            );
            if id == 50_000 {
                link.partition(now, driftway_link::QueueOnPartition::Wait);
                link.heal(now);
            }
        }
    });
    assert!(arrived > 80_000);
    assert_eq!(steady.count_total, 0);
}

#[test]
fn a_queue_of_classes_does_not_allocate() {
    let discipline = Discipline::DropTail { ecn_threshold: Some(20) };
    let queue = QueueConfig { limit: 50, discipline, max_bytes: None, mark_loss: 0.0 };
    let config = AdhocQueueConfig { queue, priority: Priority::Classes };
    let mut queue = AdhocQueue::new(config, 1, 0);
    let classes =
        [PacketClass::Routing, PacketClass::RealTime, PacketClass::Ack, PacketClass::Other];
    let mut taken = 0;
    let steady = measure(|| {
        for id in 0..100_000_u32 {
            let now = Instant::from_micros(u64::from(id) * 500);
            let class = classes[id as usize % 4];
            let next_hop = Some(NodeId::new(id % 7));
            let packet = QueuedPacket {
                id: PacketId::new(id),
                bytes: 1500,
                ecn_capable: true,
                next_hop,
                class,
            };
            queue.enqueue(now, packet);
            if id % 3 == 0 {
                taken += u32::from(queue.dequeue(now).is_some());
            }
            if id % 1000 == 0 {
                taken += std::iter::from_fn(|| queue.dequeue_for(NodeId::new(3))).count() as u32;
            }
        }
    });
    assert!(taken > 30_000 && queue.counters().overflows > 30_000);
    assert_eq!(steady.count_total, 0);
}
