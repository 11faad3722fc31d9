//! Time lines of a hop.

use crate::bench::{ACCEPTED, LinkHarness, arrived, data, default_config, lost, ms};
use Side::{A, B};
use driftway_base::{DropReason, Duration, Instant, LinkId, PacketId, Rate};
use driftway_link::{
    CodelConfig, Delay, DeliveryOrder, Discipline, Duplex, EnqueueOutcome, ErrorModel, Frame,
    FrameStage, LinkConfig, LinkEvent, PathLink, QueueConfig, QueueOnPartition, QueuePosition,
    RedConfig, Side,
};

fn no_delay() -> LinkConfig {
    LinkConfig { delay: Delay::Fixed(Duration::ZERO), ..default_config() }
}

fn shared() -> LinkConfig {
    LinkConfig { duplex: Duplex::Shared, ..no_delay() }
}

fn jittery(order: DeliveryOrder) -> LinkConfig {
    let delay = Delay::Uniform { low: Duration::ZERO, high: Duration::from_millis(200) };
    LinkConfig { delay, order, ..default_config() }
}

#[test]
fn a_frame_is_serialised_and_then_delayed() {
    let mut bench = LinkHarness::new(default_config());
    assert_eq!(bench.link.next_timeout(), None);
    assert_eq!(bench.send(0, A, 7), ACCEPTED);
    assert_eq!(bench.link.next_timeout(), Some(ms(35)));
    bench.until(ms(54));
    assert_eq!(bench.log, []);
    assert_eq!(bench.link.next_timeout(), Some(ms(55)));
    bench.finish();
    assert_eq!(bench.log, [(ms(55), arrived(A, 7))]);
}

#[test]
fn frames_follow_each_other_at_the_rate() {
    let mut bench = LinkHarness::new(default_config());
    for id in 1..=3 {
        bench.send(0, A, id);
    }
    bench.finish();
    assert_eq!(bench.events(), [(55, 1, true), (90, 2, true), (125, 3, true)]);
}

/// chandran-1998 §5.2: a packet's time depends on its size and the rate alone.
#[test]
fn per_packet_frames_do_not_wait_for_each_other() {
    let mut bench = LinkHarness::new(LinkConfig { duplex: Duplex::PerPacket, ..default_config() });
    for id in 1..=3 {
        bench.send(0, A, id);
    }
    bench.send(10, A, 4);
    bench.send(10, B, 5);
    assert_eq!(bench.link.queue_len(A), 0);
    bench.finish();
    let said = bench.events();
    assert_eq!(said, [(55, 1, true), (55, 2, true), (55, 3, true), (65, 4, true), (65, 5, true)]);
}

#[test]
fn a_cut_loses_all_per_packet_frames() {
    let mut bench = LinkHarness::new(LinkConfig { duplex: Duplex::PerPacket, ..default_config() });
    bench.send(0, A, 1);
    bench.send(30, A, 2);
    bench.link.partition(ms(54), driftway_link::QueueOnPartition::Wait);
    bench.finish();
    assert_eq!(bench.events(), [(54, 1, false), (54, 2, false)]);
    assert_eq!((bench.link.frames_in_transit(), bench.link.counters(A).partitioned), (0, 2));
}

#[test]
fn a_short_per_packet_frame_overtakes_only_with_free_order() {
    for (order, first) in [(DeliveryOrder::Free, 2), (DeliveryOrder::Fifo, 1)] {
        let mut bench =
            LinkHarness::new(LinkConfig { duplex: Duplex::PerPacket, order, ..default_config() });
        bench.send(0, A, 1);
        let short = Frame { bytes: 40, ..data(2) };
        bench.link.enqueue(ms(1), A, short, QueuePosition::Tail);
        bench.finish();
        assert_eq!(bench.events()[0].1, first, "{order:?}");
    }
}

/// Four hops take four times as long as one: each receives the whole frame before it forwards it.
#[test]
fn a_path_stores_and_forwards() {
    let mut hops: Vec<PathLink> =
        (0..4).map(|hop| PathLink::new(default_config(), 1, LinkId::new(hop))).collect();
    hops[0].enqueue(ms(0), A, data(1), QueuePosition::Tail);
    for hop in 0..4 {
        let there = ms(55 * (hop as u64 + 1));
        assert_eq!(hops[hop].poll(ms(55 * (hop as u64 + 1) - 1)), None);
        assert_eq!(hops[hop].poll(there), Some(arrived(A, 1)));
        if let Some(next) = hops.get_mut(hop + 1) {
            next.enqueue(there, A, data(1), QueuePosition::Tail);
        }
    }
}

#[test]
fn full_duplex_gives_each_direction_the_full_rate() {
    for (config, second) in [(no_delay(), 35), (shared(), 70)] {
        let mut bench = LinkHarness::new(config);
        bench.send(0, A, 1);
        bench.send(0, B, 2);
        bench.finish();
        assert_eq!(bench.events(), [(35, 1, true), (second, 2, true)]);
    }
}

#[test]
fn the_sides_of_a_shared_link_alternate() {
    let mut bench = LinkHarness::new(shared());
    bench.send(0, B, 1);
    bench.send(1, B, 2);
    bench.send(2, A, 3);
    bench.send(3, B, 4);
    bench.send(3, A, 5);
    bench.finish();
    let order: Vec<u32> = bench.events().iter().map(|(_, id, _)| *id).collect();
    // 1 is in transmission when the others arrive; a long queue at B does not starve A.
    assert_eq!(order, [1, 3, 2, 5, 4]);
    assert_eq!(bench.events().last(), Some(&(175, 4, true)));
}

#[test]
fn on_a_shared_link_the_front_is_that_of_one_side() {
    let mut bench = LinkHarness::new(shared());
    bench.send(0, A, 1);
    bench.send(1, B, 2);
    bench.send(2, A, 3);
    bench.put(ms(3), A, data(4), QueuePosition::Front);
    bench.finish();
    let order: Vec<u32> = bench.events().iter().map(|(_, id, _)| *id).collect();
    assert_eq!(order, [1, 2, 4, 3]);
}

#[test]
fn only_free_order_lets_a_frame_overtake() {
    let arrivals = |order| {
        let mut bench = LinkHarness::new(jittery(order));
        for id in 0..50 {
            bench.send(0, A, id);
        }
        bench.finish();
        bench.log
    };
    let id = |event: &LinkEvent| match *event {
        LinkEvent::Arrived { id, .. } => id,
        other => panic!("nothing is lost here: {other:?}"),
    };
    let (fifo, mut free) = (arrivals(DeliveryOrder::Fifo), arrivals(DeliveryOrder::Free));
    assert!(fifo.is_sorted_by_key(|(_, event)| id(event)));
    assert!(!free.is_sorted_by_key(|(_, event)| id(event)));
    assert!(free.is_sorted_by_key(|(at, _)| *at));

    // The draws are the same: a frame that may not overtake arrives with the latest before it.
    free.sort_by_key(|(_, event)| id(event));
    let mut latest = ms(0);
    for ((fifo, _), (free, _)) in fifo.iter().zip(&free) {
        latest = latest.max(*free);
        assert_eq!(*fifo, latest);
    }
}

#[test]
fn the_limit_counts_queued_frames_only() {
    let mut config = default_config();
    config.queue.limit = 2;
    config.queue.discipline = Discipline::DropTail { ecn_threshold: Some(1) };
    let mut bench = LinkHarness::new(config);
    let full = EnqueueOutcome::Dropped { reason: DropReason::QueueOverflow };
    let marked = EnqueueOutcome::Accepted { mark: true, evicted: None };
    let capable = |id| Frame { ecn_capable: true, ..data(id) };
    let verdicts = [0, 1, 2, 3].map(|id| bench.put(ms(0), A, capable(id), QueuePosition::Tail));
    assert_eq!(verdicts, [ACCEPTED, ACCEPTED, marked, full]);
    assert_eq!(bench.link.queue_len(A), 2);
    assert_eq!(bench.put(ms(35), A, capable(4), QueuePosition::Tail), marked);
    bench.finish();
    assert_eq!(bench.events().len(), 4);
}

#[test]
fn due_work_precedes_a_call() {
    let mut config = default_config();
    config.queue.limit = 0;
    let mut link = PathLink::new(config, 1, LinkId::new(0));
    link.enqueue(ms(0), A, data(1), QueuePosition::Tail);
    // The transmitter becomes free at this instant, without a call of the driver.
    assert_eq!(link.enqueue(ms(35), A, data(2), QueuePosition::Tail), ACCEPTED);
    link.partition(ms(55), driftway_link::QueueOnPartition::Wait);
    assert_eq!(link.poll(ms(55)), Some(arrived(A, 1)));
    let reason = DropReason::Partition;
    assert_eq!(link.poll(ms(55)), Some(lost(A, 2, reason)));
    assert_eq!(link.poll(ms(55)), None);
}

#[test]
fn unpolled_events_are_a_timeout_now() {
    let mut link = PathLink::new(default_config(), 1, LinkId::new(0));
    link.enqueue(ms(0), A, data(1), QueuePosition::Tail);
    link.on_timeout(ms(60));
    assert_eq!(link.next_timeout(), Some(ms(60)));
    assert!(link.poll(ms(60)).is_some());
    assert_eq!(link.next_timeout(), None);
}

#[test]
fn a_late_driver_has_no_effect() {
    let mut link = PathLink::new(default_config(), 1, LinkId::new(0));
    for id in 1..=3 {
        link.enqueue(ms(0), A, data(id), QueuePosition::Tail);
    }
    // 3 is in transmission since 70 ms, without a call in between.
    link.on_timeout(ms(80));
    assert_eq!(link.poll(ms(80)), Some(arrived(A, 1)));
    assert_eq!(link.poll(ms(80)), None);
    assert_eq!(link.next_timeout(), Some(ms(90)));
    assert_eq!(link.poll(ms(124)), Some(arrived(A, 2)));
    assert_eq!(link.poll(ms(124)), None);
    assert_eq!(link.poll(ms(125)), Some(arrived(A, 3)));
    // Time never goes back.
    link.enqueue(ms(10), A, data(4), QueuePosition::Tail);
    assert_eq!(link.next_timeout(), Some(ms(160)));
}

#[test]
fn a_partition_loses_frames_in_transmission_and_in_flight() {
    let mut bench = LinkHarness::new(default_config());
    for id in 1..=3 {
        bench.send(0, A, id);
    }
    bench.send(0, B, 4);
    bench.send(30, B, 5);
    // At 40 ms: 1 and 4 in flight, 2 and 5 in transmission, 3 queued.
    bench.until(ms(40));
    let held: Vec<_> =
        bench.link.pending_frames().map(|held| (held.frame.id.number(), held.stage)).collect();
    let (flying, serving) = (FrameStage::InFlight, FrameStage::InService);
    let waiting = (3, FrameStage::Queued);
    assert_eq!(held, [(1, flying), (2, serving), waiting, (4, flying), (5, serving)]);

    bench.at(ms(40), |link| link.partition(ms(40), driftway_link::QueueOnPartition::Wait));
    let cut = |from, id| (ms(40), lost(from, id, DropReason::Partition));
    assert_eq!(bench.log, [cut(A, 1), cut(A, 2), cut(B, 4), cut(B, 5)]);
    assert!(bench.link.is_partitioned());
    assert_eq!(bench.send(50, A, 6), EnqueueOutcome::Refused);
    assert_eq!(bench.link.next_timeout(), None);

    bench.at(ms(100), |link| link.heal(ms(100)));
    assert_eq!(bench.send(100, B, 7), ACCEPTED);
    bench.finish();
    assert_eq!(bench.events().split_off(4), [(155, 3, true), (155, 7, true)]);
    let counters = bench.link.counters(A);
    assert_eq!((counters.partitioned, counters.refused, counters.arrived), (2, 1, 1));
    // 35 ms for 1, 5 ms of 2 until the cut, 35 ms for 3.
    assert_eq!(counters.busy, Duration::from_millis(75));
}

#[test]
fn a_partition_can_flush_the_queues() {
    let mut bench = LinkHarness::new(shared());
    for id in 1..=3 {
        bench.send(0, A, id);
    }
    bench.send(0, B, 4);
    bench.at(ms(10), |link| link.partition(ms(10), driftway_link::QueueOnPartition::Drop));
    assert_eq!(bench.events(), [(10, 1, false), (10, 2, false), (10, 3, false), (10, 4, false)]);
    assert_eq!(bench.link.frames_in_transit(), 0);
    // A second cut has no effect, and a single heal suffices.
    bench.at(ms(20), |link| link.partition(ms(20), driftway_link::QueueOnPartition::Wait));
    bench.at(ms(30), |link| link.heal(ms(30)));
    bench.send(30, B, 5);
    bench.finish();
    assert_eq!(bench.events().split_off(4), [(65, 5, true)]);
}

#[test]
fn a_healed_shared_link_resumes_the_alternation() {
    let mut bench = LinkHarness::new(shared());
    bench.send(0, A, 1);
    bench.send(1, B, 2);
    bench.send(2, A, 3);
    bench.at(ms(10), |link| link.partition(ms(10), driftway_link::QueueOnPartition::Wait));
    bench.at(ms(20), |link| link.heal(ms(20)));
    bench.finish();
    assert_eq!(bench.events(), [(10, 1, false), (55, 2, true), (90, 3, true)]);
}

#[test]
fn a_corrupted_frame_is_lost_at_the_end_of_transmission() {
    let mut bench = LinkHarness::new(LinkConfig {
        errors: ErrorModel::FrameErrorRate(1.0),
        ..default_config()
    });
    bench.send(0, A, 1);
    bench.finish();
    let reason = DropReason::BitError;
    assert_eq!(bench.log, [(ms(35), lost(A, 1, reason))]);
    assert_eq!(bench.link.counters(A).errors, 1);
}

#[test]
fn bit_errors_have_the_rate_of_the_formula() {
    let errors = ErrorModel::BitErrorRate(1e-5);
    let mut config = LinkConfig { rate: Rate::from_bps(u64::MAX), errors, ..default_config() };
    config.queue.limit = usize::MAX;
    let mut bench = LinkHarness::new(config);
    for id in 0..100_000 {
        bench.send(0, A, id);
    }
    bench.finish();
    // 1 − (1 − 10⁻⁵)¹¹²⁰ = 1.1138 %, ± 3 σ.
    let lost = bench.link.counters(A).errors;
    assert!((1014..=1213).contains(&lost), "{lost}");
    assert_eq!(bench.link.counters(A).arrived, 100_000 - lost);
}

/// Common random numbers: the corrupted frames and the nth frame's delay do not depend on the rate,
/// the delay, the duplex, the other direction or the sizes.
#[test]
fn the_nth_frame_has_the_nth_error_and_the_nth_delay() {
    let outcomes = |config: LinkConfig, bytes: u32, noise: bool| {
        let mut bench = LinkHarness::new(config);
        for id in 0..200 {
            bench.put(ms(u64::from(id) * 500), A, Frame { bytes, ..data(id) }, QueuePosition::Tail);
            if noise {
                bench.put(ms(u64::from(id) * 500 + 1), B, data(1000 + id), QueuePosition::Tail);
            }
        }
        bench.finish();
        bench.log.retain(|(_, event)| {
            matches!(event, LinkEvent::Arrived { from: A, .. } | LinkEvent::Lost { from: A, .. })
        });
        bench.events()
    };
    let lossy = LinkConfig { errors: ErrorModel::FrameErrorRate(0.2), ..default_config() };
    let lost = |outcomes: Vec<(u64, u32, bool)>| -> Vec<u32> {
        outcomes.iter().filter(|(.., arrived)| !arrived).map(|(_, id, _)| *id).collect()
    };
    let plain = lost(outcomes(lossy, 140, false));
    assert!((20..60).contains(&plain.len()));
    assert_eq!(plain, lost(outcomes(LinkConfig { duplex: Duplex::Shared, ..lossy }, 40, true)));
    let fast = LinkConfig { rate: Rate::from_bps(2_000_000), ..jittery(DeliveryOrder::Free) };
    assert_eq!(plain, lost(outcomes(LinkConfig { errors: lossy.errors, ..fast }, 1500, true)));

    let undamaged = outcomes(jittery(DeliveryOrder::Fifo), 140, false);
    let damaged =
        outcomes(LinkConfig { errors: lossy.errors, ..jittery(DeliveryOrder::Fifo) }, 140, true);
    let arrived: Vec<_> = damaged.iter().filter(|(.., arrived)| *arrived).collect();
    assert_eq!(arrived.len(), 200 - plain.len());
    assert!(arrived.iter().all(|arrival| undamaged.contains(arrival)));
}

#[test]
fn errors_of_directions_and_links_are_independent() {
    let lost = |link, side| -> Vec<PacketId> {
        let mut config = LinkConfig { errors: ErrorModel::FrameErrorRate(0.5), ..default_config() };
        config.queue.limit = 100;
        let mut link = PathLink::new(config, 1, LinkId::new(link));
        for id in 0..64 {
            link.enqueue(ms(0), side, data(id), QueuePosition::Tail);
        }
        let events = std::iter::from_fn(|| link.poll(ms(10_000)));
        let lost = events.filter_map(|event| match event {
            LinkEvent::Lost { id, .. } => Some(id),
            _ => None,
        });
        lost.collect()
    };
    assert_ne!(lost(0, A), lost(0, B));
    assert_ne!(lost(0, A), lost(1, A));
    assert_ne!(lost(0, B), lost(1, A));
}

#[test]
fn changes_apply_from_the_next_frame_on() {
    let mut bench = LinkHarness::new(default_config());
    for id in 1..=3 {
        bench.send(0, A, id);
    }
    bench.at(ms(10), |link| link.set_rate(ms(10), Rate::from_bps(64_000)));
    bench.at(ms(10), |link| link.set_delay(ms(10), Delay::Fixed(Duration::from_millis(5))));
    bench.at(ms(10), |link| link.set_errors(ms(10), ErrorModel::FrameErrorRate(1.0)));
    // 1 is sent as it began. 2 began at 35 ms, at twice the rate, and is corrupted. 3 is not.
    bench.at(ms(40), |link| link.set_errors(ms(40), ErrorModel::None));
    bench.finish();
    assert_eq!(bench.events(), [(52, 2, false), (55, 1, true), (75, 3, true)]);
}

#[test]
fn reordering_puts_each_of_the_next_frames_at_the_front() {
    let mut bench = LinkHarness::new(no_delay());
    bench.send(0, A, 1);
    bench.send(0, A, 2);
    bench.link.move_next_to_front(A, 3);
    for id in 3..=6 {
        bench.send(1, A, id);
    }
    bench.send(1, B, 7);
    bench.send(1, B, 8);
    bench.finish();
    let ids = |side| -> Vec<u32> {
        let of = |(_, event): &(_, LinkEvent)| match *event {
            LinkEvent::Arrived { from, id } if from == side => Some(id.number()),
            _ => None,
        };
        bench.log.iter().filter_map(of).collect()
    };
    assert_eq!(ids(A), [1, 5, 4, 3, 2, 6]);
    assert_eq!(ids(B), [7, 8]);
}

/// A link whose side A holds its next frames back for at most 1 s.
fn reversing(limit: usize, frames: u32) -> LinkHarness {
    let mut config = no_delay();
    config.queue.limit = limit;
    let mut bench = LinkHarness::new(config);
    bench.link.reverse_next(Instant::ZERO, A, frames, Duration::from_secs(1));
    bench
}

fn said(arrivals: &[(u64, u32)]) -> Vec<(u64, u32, bool)> {
    arrivals.iter().map(|(at, id)| (*at, *id, true)).collect()
}

#[test]
fn a_reversal_holds_frames_back_until_all_have_arrived() {
    let mut bench = reversing(9, 3);
    for (at, id) in [(0, 1), (100, 2)] {
        assert_eq!(bench.send(at, A, id), ACCEPTED);
    }
    bench.send(110, B, 9);
    assert_eq!((bench.link.queue_len(A), bench.link.frames_in_transit()), (2, 3));
    assert!(bench.link.pending_frames().any(|held| held.stage == FrameStage::Queued));
    bench.send(200, A, 3);
    bench.send(201, A, 4);
    bench.finish();
    assert_eq!(bench.events(), said(&[(145, 9), (235, 3), (270, 2), (305, 1), (340, 4)]));
}

#[test]
fn a_reversal_is_appended_to_the_queue() {
    let mut bench = LinkHarness::new(no_delay());
    bench.send(0, A, 1);
    bench.send(0, A, 2);
    bench.link.reverse_next(ms(0), A, 2, Duration::from_secs(1));
    for id in 3..=5 {
        bench.send(1, A, id);
    }
    bench.finish();
    assert_eq!(bench.events(), said(&[(35, 1), (70, 2), (105, 4), (140, 3), (175, 5)]));
}

/// The time counts from the first frame, however late that arrives.
#[test]
fn a_reversal_ends_at_its_deadline() {
    let mut bench = reversing(9, 4);
    assert_eq!(bench.link.next_timeout(), None);
    bench.send(5_000, A, 1);
    bench.send(5_500, A, 2);
    assert_eq!(bench.link.next_timeout(), Some(ms(6_000)));
    bench.send(6_001, A, 3);
    bench.finish();
    assert_eq!(bench.events(), said(&[(6_035, 2), (6_070, 1), (6_105, 3)]));
}

#[test]
fn a_new_reversal_ends_the_previous_one() {
    let mut bench = reversing(9, 4);
    bench.send(0, A, 1);
    bench.send(0, A, 2);
    bench.at(ms(100), |link| link.reverse_next(ms(100), A, 2, Duration::from_secs(1)));
    for (at, id) in [(200, 3), (210, 4)] {
        bench.send(at, A, id);
    }
    bench.finish();
    assert_eq!(bench.events(), said(&[(135, 2), (170, 1), (245, 4), (280, 3)]));
}

/// A transmission of two seconds leaves the deadline of the previous one as the link's next step.
#[test]
fn the_deadline_of_a_previous_reversal_does_not_count() {
    let mut bench = LinkHarness::new(no_delay());
    bench.put(ms(0), A, Frame { bytes: 8000, ..data(9) }, QueuePosition::Tail);
    bench.at(ms(0), |link| link.reverse_next(ms(0), A, 2, Duration::from_secs(1)));
    bench.send(100, A, 1);
    bench.at(ms(200), |link| link.reverse_next(ms(200), A, 2, Duration::from_secs(3)));
    bench.send(300, A, 2);
    bench.send(1_500, A, 3);
    bench.finish();
    assert_eq!(bench.events(), said(&[(2_000, 9), (2_035, 1), (2_070, 3), (2_105, 2)]));
}

#[test]
fn frames_held_back_wait_for_the_end_of_a_cut_or_are_lost() {
    for (queue, expected) in [
        (QueueOnPartition::Wait, vec![(335, 2, true), (370, 1, true), (405, 3, true)]),
        (QueueOnPartition::Drop, vec![(100, 2, false), (100, 1, false), (335, 3, true)]),
    ] {
        let mut bench = reversing(9, 3);
        bench.send(0, A, 1);
        bench.send(0, A, 2);
        bench.at(ms(100), |link| link.partition(ms(100), queue));
        assert_eq!(bench.link.next_timeout(), None);
        bench.at(ms(300), |link| link.heal(ms(300)));
        bench.send(300, A, 3);
        bench.finish();
        assert_eq!(bench.events(), expected);
    }
}

/// No frame is dropped that would not have been without the reversal.
#[test]
fn a_full_queue_ends_a_reversal() {
    let mut bench = reversing(2, 4);
    for id in 1..=3 {
        assert_eq!(bench.send(0, A, id), ACCEPTED);
    }
    bench.finish();
    assert_eq!(bench.events(), said(&[(35, 2), (70, 1), (105, 3)]));
    let mut none = reversing(0, 4);
    assert_eq!(none.send(0, A, 1), ACCEPTED);
    none.finish();
    assert_eq!(none.events(), said(&[(35, 1)]));
}

#[test]
fn a_side_marks_every_capable_frame_on_request() {
    let mut bench = LinkHarness::new(no_delay());
    let marked = |bench: &mut LinkHarness, id, side, ecn_capable| {
        let frame = Frame { ecn_capable, ..data(id) };
        let verdict = bench.link.enqueue(ms(0), side, frame, QueuePosition::Tail);
        verdict == EnqueueOutcome::Accepted { mark: true, evicted: None }
    };
    bench.link.force_marks(A, true);
    bench.link.force_marks(A, true);
    assert!(marked(&mut bench, 1, A, true));
    assert!(!marked(&mut bench, 2, A, false));
    assert!(!marked(&mut bench, 3, B, true));
    bench.link.force_marks(A, false);
    assert!(marked(&mut bench, 4, A, true), "another request is active");
    bench.link.force_marks(A, false);
    assert!(!marked(&mut bench, 5, A, true));
    assert_eq!((bench.link.counters(A).queue.marks, bench.link.counters(B).queue.marks), (2, 0));
}

#[test]
fn counters_are_complete() {
    let mut config = default_config();
    config.queue.limit = 1;
    let mut bench = LinkHarness::new(config);
    for id in 0..4 {
        bench.send(0, A, id);
    }
    bench.finish();
    let counters = bench.link.counters(A);
    assert_eq!((counters.frames, counters.bits, counters.arrived), (2, 2 * 1120, 2));
    assert_eq!(counters.busy, Duration::from_millis(70));
    assert_eq!((counters.queue.overflows, counters.queue.longest), (2, 1));
    assert_eq!(bench.link.counters(B), driftway_link::LinkCounters::default());
}

/// An hour between two frames is idle time for RED, an hour of partition is not.
#[test]
fn a_cut_link_is_not_idle_for_red() {
    let red = RedConfig {
        min_threshold: 0.4,
        max_threshold: 0.5,
        max_probability: 1.0,
        weight: 0.5,
        frame_time: Duration::from_millis(35),
        ecn: false,
    };
    let queue =
        QueueConfig { limit: 9, discipline: Discipline::Red(red), max_bytes: None, mark_loss: 0.0 };
    let last_verdict = |cut_at: Option<u64>| {
        let mut bench = LinkHarness::new(LinkConfig { queue, ..no_delay() });
        // The third and the fourth find one queued: averages 0.5 and 0.75.
        let verdicts = [1, 2, 3, 4].map(|id| bench.send(0, A, id));
        let early = EnqueueOutcome::Dropped { reason: DropReason::Red };
        assert_eq!(verdicts, [ACCEPTED, ACCEPTED, early, early]);
        if let Some(millis) = cut_at {
            bench.at(ms(millis), |link| {
                link.partition(ms(millis), driftway_link::QueueOnPartition::Drop)
            });
            bench.at(ms(3_600_000), |link| link.heal(ms(3_600_000)));
        }
        bench.send(3_600_000, A, 5)
    };
    let early = EnqueueOutcome::Dropped { reason: DropReason::Red };
    assert_eq!(last_verdict(None), ACCEPTED);
    // During a transmission, and a millisecond after the last one.
    assert_eq!(last_verdict(Some(10)), early);
    assert_eq!(last_verdict(Some(71)), early);
}

/// RFC 8289: frames leave every 35 ms; the second to leave has waited for 35 ms. An interval of
/// 100 ms later, at 140 ms, the fifth is due; the next one 100 ms after that, at 245 ms.
#[test]
fn codel_drops_or_marks_a_frame_as_it_leaves() {
    let with = |ecn| {
        let mut config = no_delay();
        config.queue.discipline = Discipline::Codel(CodelConfig {
            target: Duration::from_millis(20),
            interval: Duration::from_millis(100),
            ecn,
        });
        let mut bench = LinkHarness::new(config);
        for id in 0..12 {
            let frame = Frame { ecn_capable: true, ..data(id) };
            assert_eq!(bench.put(ms(0), A, frame, QueuePosition::Tail), ACCEPTED);
        }
        bench.finish();
        bench
    };
    let bench = with(false);
    let reason = DropReason::Codel;
    let dropped: Vec<_> =
        bench.log.iter().filter(|(_, event)| matches!(event, LinkEvent::Lost { .. })).collect();
    let late = |at, id| (ms(at), lost(A, id, reason));
    assert_eq!(dropped, [&late(140, 4), &late(245, 8)]);
    let counters = bench.link.counters(A);
    assert_eq!((counters.queue.codel_drops, counters.queue.marks, counters.arrived), (2, 0, 10));

    let bench = with(true);
    let marked: Vec<_> =
        bench.log.iter().filter(|(_, event)| matches!(event, LinkEvent::Marked { .. })).collect();
    let mark = |at, id| (ms(at), LinkEvent::Marked { from: A, id: PacketId::new(id) });
    assert_eq!(marked, [&mark(140, 4), &mark(245, 7), &mark(315, 9)]);
    let counters = bench.link.counters(A);
    assert_eq!((counters.queue.codel_drops, counters.queue.marks, counters.arrived), (0, 3, 12));
}

#[test]
fn a_shared_link_is_idle_or_busy_for_both_sides() {
    let mut config = shared();
    config.queue.limit = 0;
    let mut bench = LinkHarness::new(config);
    let full = EnqueueOutcome::Dropped { reason: DropReason::QueueOverflow };
    assert_eq!(bench.send(0, A, 1), ACCEPTED);
    assert_eq!(bench.send(34, B, 2), full);
    assert_eq!(bench.send(35, B, 3), ACCEPTED);
    assert_eq!(bench.send(69, A, 4), full);
    assert_eq!(bench.send(70, A, 5), ACCEPTED);
    bench.finish();
    assert_eq!(bench.events(), [(35, 1, true), (70, 3, true), (105, 5, true)]);
}
