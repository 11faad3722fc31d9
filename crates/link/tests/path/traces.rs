//! Links with measured capacity.

use driftway_base::{DropReason, Duration, Instant, Rate};
use driftway_link::{
    Capacity, Delay, EnqueueOutcome, ErrorModel, Frame, LinkConfig, LinkDirections, LinkTrace,
    OPPORTUNITY_BYTES, Opportunities, QueueOnPartition, QueuePosition,
    Side::{self, A, B},
    TraceRows,
};

use crate::bench::{ACCEPTED, LinkHarness, data, default_config, lost, ms};

/// A link without delay that can send at these milliseconds from A to B, and at 32 kbit/s back.
fn opportunities(times: &[u32], repeats: bool) -> LinkDirections {
    let config = LinkConfig { delay: Delay::Fixed(Duration::ZERO), ..default_config() };
    let mut link = LinkDirections::from(config);
    let trace = Opportunities::new(times.into(), repeats).unwrap();
    link.forward.capacity = Capacity::Opportunities(trace);
    link
}

fn put(bench: &mut LinkHarness, millis: u64, id: u32, bytes: u32) -> EnqueueOutcome {
    bench.put(ms(millis), A, Frame { bytes, ..data(id) }, QueuePosition::Tail)
}

#[test]
fn what_an_opportunity_leaves_over_goes_to_the_next_frame() {
    let mut bench = LinkHarness::new(opportunities(&[10, 20, 30, 40], false));
    for (id, bytes) in [(1, 1000), (2, 1000), (3, 1000), (4, 1500)] {
        assert_eq!(put(&mut bench, 0, id, bytes), ACCEPTED);
    }
    // 1000 + 500, 500 + 1000, 1500.
    bench.finish();
    assert_eq!(bench.events(), [(10, 1, true), (20, 2, true), (20, 3, true), (30, 4, true)]);
}

#[test]
fn small_frames_share_an_opportunity() {
    let mut bench = LinkHarness::new(opportunities(&[10, 20], false));
    for id in 0..40 {
        put(&mut bench, 0, id, 40);
    }
    bench.finish();
    // 37 × 40 = 1480: the 38th frame needs the next one.
    let at = |millis| bench.events().iter().filter(|(at, ..)| *at == millis).count();
    assert_eq!((at(10), at(20)), (37, 3));
}

#[test]
fn an_opportunity_without_a_frame_is_lost() {
    let mut bench = LinkHarness::new(opportunities(&[0, 10, 20, 30], false));
    // What arrives at the instant of an opportunity comes too late for it.
    put(&mut bench, 0, 1, 1500);
    put(&mut bench, 20, 2, 700);
    put(&mut bench, 31, 3, 700);
    bench.finish();
    assert_eq!(bench.events(), [(10, 1, true), (30, 2, true)]);
    assert_eq!(bench.link.queue_len(A), 1, "nothing leaves after the end");
    assert_eq!(bench.link.frames_in_transit(), 1);
}

#[test]
fn a_large_frame_needs_several_opportunities() {
    let mut bench = LinkHarness::new(opportunities(&[3, 7], true));
    put(&mut bench, 0, 1, 4000);
    put(&mut bench, 0, 2, 500);
    // 3, 7 and 7 + 3; with it goes the second frame.
    bench.finish();
    assert_eq!(bench.events(), [(10, 1, true), (10, 2, true)]);
}

#[test]
fn each_frame_waits_in_the_queue_for_its_opportunity() {
    let mut config = opportunities(&[10, 20, 30], true);
    config.forward.queue.limit = 2;
    let mut bench = LinkHarness::new(config);
    let full = EnqueueOutcome::Dropped { reason: DropReason::QueueOverflow };
    let verdicts = [1, 2, 3].map(|id| put(&mut bench, 0, id, 1500));
    assert_eq!(verdicts, [ACCEPTED, ACCEPTED, full]);
    assert_eq!(put(&mut bench, 10, 4, 1500), ACCEPTED, "one has left");
    bench.finish();
    assert_eq!(bench.events(), [(10, 1, true), (20, 2, true), (30, 4, true)]);
    assert_eq!(bench.link.counters(A).queue.longest, 2);
}

#[test]
fn the_other_direction_is_its_own() {
    let mut bench = LinkHarness::new(opportunities(&[1000], true));
    bench.send(0, A, 1);
    bench.send(0, B, 2);
    bench.finish();
    assert_eq!(bench.events(), [(35, 2, true), (1000, 1, true)]);
}

#[test]
fn opportunities_during_a_cut_are_lost() {
    let mut bench = LinkHarness::new(opportunities(&[10], true));
    for id in 1..=3 {
        put(&mut bench, 0, id, 1000);
    }
    // The second frame has been sent in part.
    bench.at(ms(15), |link| link.partition(ms(15), QueueOnPartition::Wait));
    assert_eq!(bench.log.last(), Some(&(ms(15), lost(A, 2, DropReason::Partition))));
    bench.until(ms(42));
    assert_eq!(bench.link.next_timeout(), None);
    bench.at(ms(42), |link| link.heal(ms(42)));
    bench.finish();
    assert_eq!(bench.events(), [(10, 1, true), (15, 2, false), (50, 3, true)]);
}

/// Offers frames of `bytes` much faster than a link from A to B can send, and returns the bytes that
/// have arrived by `until`.
fn saturate(config: LinkDirections, bytes: u32, until: Instant) -> u64 {
    let mut bench = LinkHarness::new(config);
    bench.link.report_transmissions();
    let mut id = 0;
    while bench.link.queue_len(A) < 40 {
        put(&mut bench, 0, id, bytes);
        id += 1;
    }
    while let Some(at) = bench.link.next_timeout().filter(|at| *at <= until) {
        bench.until(at);
        while bench.link.queue_len(A) < 40 {
            let frame = Frame { bytes, ..data(id) };
            bench.put(at, A, frame, QueuePosition::Tail);
            id += 1;
        }
    }
    bench.link.counters(A).arrived * u64::from(bytes)
}

#[test]
fn a_saturated_link_delivers_its_opportunities() {
    // Several at once, a pause of 12 s, and a trace that begins again.
    let times: Vec<u32> = (1..500).flat_map(|n| [n * 3, n * 3]).chain([13_500]).collect();
    let trace = Opportunities::new(times.clone().into(), true).unwrap();
    for bytes in [100, 576, 1400, 1500, 2000] {
        let until = ms(40_000);
        let capacity = trace.count_until(until) * u64::from(OPPORTUNITY_BYTES);
        let found = saturate(opportunities(&times, true), bytes, until);
        let missing = capacity - found;
        assert!(missing <= u64::from(bytes), "{bytes}: {found} of {capacity}");
    }
}

#[test]
fn a_constant_trace_equals_its_rate() {
    let until = ms(10_000);
    let rated = LinkConfig {
        rate: Rate::from_bps(12_000_000),
        delay: Delay::Fixed(Duration::ZERO),
        ..default_config()
    };
    let each: Vec<u32> = (1..=1000).collect();
    let rows = TraceRows {
        times: [0, 3].map(Duration::from_secs).into(),
        rates: [12_000_000, 12_000_000].into(),
        ..TraceRows::default()
    };
    let mut stepped = LinkDirections::from(rated);
    stepped.forward.trace = LinkTrace::new(rows, true);
    for bytes in [100, 1400, 1500] {
        let by_rate = saturate(rated.into(), bytes, until);
        let by_opportunities = saturate(opportunities(&each, true), bytes, until);
        assert!(by_rate.abs_diff(by_opportunities) <= u64::from(bytes));
        assert_eq!(saturate(stepped.clone(), bytes, until), by_rate);
    }
}

#[test]
fn rows_set_rate_delay_and_errors() {
    let rows = TraceRows {
        times: [0, 10, 20].map(Duration::from_millis).into(),
        rates: [8_000_000, 0, 800_000].into(),
        delays: [5, 5, 1].map(Duration::from_millis).into(),
        errors: [0.0, 0.0, 1.0].into(),
    };
    let mut config = LinkDirections::from(LinkConfig {
        errors: ErrorModel::FrameErrorRate(1.0),
        ..default_config()
    });
    config.forward.trace = LinkTrace::new(rows.clone(), false);
    let mut bench = LinkHarness::new(config);
    put(&mut bench, 0, 1, 1000);
    // 1000 bytes until 10 ms, and 1000 from 20 ms on, when errors come.
    put(&mut bench, 9, 2, 2000);
    bench.finish();
    assert_eq!(bench.events(), [(6, 1, true), (30, 2, false)]);
}

#[test]
fn a_burst_loses_frames_of_one_direction() {
    let mut config = LinkDirections::from(default_config());
    config.forward.burst = Some(driftway_link::BurstConfig { rate: 0.3, mean_length: 4.0 });
    let mut bench = LinkHarness::new(config);
    let lost = |bench: &LinkHarness, from: Side| bench.link.counters(from).errors;
    for id in 0..1000 {
        bench.send(u64::from(id) * 100, if id % 2 == 0 { A } else { B }, id);
    }
    bench.finish();
    assert!((80..220).contains(&lost(&bench, A)), "{}", lost(&bench, A));
    assert_eq!(lost(&bench, B), 0);
}

#[test]
fn every_nth_frame_of_a_direction_is_lost() {
    let mut config = LinkDirections::from(default_config());
    (config.forward.loss_period, config.backward.loss_period) = (4, 3);
    // The other losses change nothing about which frames these are.
    config.forward.errors = ErrorModel::FrameErrorRate(0.5);
    let mut bench = LinkHarness::new(config);
    for id in 0..24 {
        bench.send(u64::from(id) * 100, if id % 2 == 0 { A } else { B }, id);
    }
    bench.finish();
    let lost = |from: u32| -> Vec<u32> {
        let events = bench.events();
        let of = events.iter().filter(|(_, id, arrived)| id % 2 == from && !arrived);
        of.map(|(_, id, _)| id / 2 + 1).collect()
    };
    assert_eq!(lost(1), [3, 6, 9, 12]);
    let (forward, periodic) = (lost(0), [4, 8, 12]);
    assert!(periodic.iter().all(|id| forward.contains(id)), "{forward:?}");
    assert!(forward.len() > periodic.len() && forward.len() < 12, "{forward:?}");
}
