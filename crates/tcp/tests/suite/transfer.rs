//! Complete transfers over a lossy wire, under each recovery.

use crate::common::{MS, Pair, WireAction, WirePolicy};
use driftway_base::{Instant, RandomStream};
use driftway_tcp::{Config, Event, State, recovery_control_pairs};

fn config(recovery: driftway_tcp::RecoveryKind, growth: driftway_tcp::ControlKind) -> Config {
    Config {
        recovery,
        growth,
        sack: recovery == driftway_tcp::RecoveryKind::Sack,
        mss: 1000,
        ..Config::default()
    }
}

/// Drops, duplicates and delays at random.
fn bad_wire(seed: u64) -> WirePolicy {
    let mut random = RandomStream::new(seed, "bad-wire", 0);
    Box::new(move |_, _, _| match random.uniform_below(100) {
        0..4 => WireAction::Drop,
        4..6 => WireAction::Duplicate(MS(50), MS(50 + random.uniform_below(100))),
        6..10 => WireAction::Deliver(MS(50 + random.uniform_below(60))),
        _ => WireAction::Deliver(MS(50)),
    })
}

#[test]
fn both_streams_arrive_complete_under_every_recovery() {
    for (n, (recovery, growth)) in recovery_control_pairs().enumerate() {
        for timestamps in [false, true] {
            let config = Config {
                timestamps,
                window_scale: timestamps,
                receive_buffer: if timestamps { 200_000 } else { 20_000 },
                ..config(recovery, growth)
            };
            let mut pair = Pair::new(&config, &config);
            pair.policy = bad_wire(n as u64);
            while !pair.ends.iter().all(|end| end.tcp.state() == State::Established) {
                assert!(pair.step(), "the connection is established");
            }
            pair.ends[0].tcp.write(500_000);
            pair.ends[0].tcp.close();
            pair.ends[1].tcp.write(300_000);
            pair.ends[1].tcp.close();
            pair.run();
            assert_eq!(pair.ends[1].read, 500_000, "{recovery:?} {growth:?}");
            assert_eq!(pair.ends[0].read, 300_000, "{recovery:?} {growth:?}");
            for end in &pair.ends {
                assert_eq!(end.tcp.state(), State::Closed);
                assert_eq!(end.events.last(), Some(&Event::Closed), "{:?}", end.events);
            }
        }
    }
}

#[test]
fn a_perfect_wire_needs_no_retransmission() {
    for (recovery, growth) in recovery_control_pairs() {
        let config = config(recovery, growth);
        let mut pair = Pair::new(&config, &config);
        pair.ends[0].tcp.write(1_000_000);
        pair.run_until(Instant::from_secs(1000));
        assert_eq!(pair.ends[1].read, 1_000_000);
        let stats = pair.ends[0].tcp.stats();
        assert_eq!((stats.retransmissions, stats.timeouts), (0, 0), "{recovery:?} {growth:?}");
        assert_eq!(stats.segments_sent, 1000);
    }
}

#[test]
fn sequence_numbers_wrap_and_offsets_do_not() {
    // 2³² − 1 is 65,537 segments of 65,535 bytes: SND.UNA returns exactly to its first value.
    let config = Config {
        mss: 65_535,
        window_scale: true,
        receive_buffer: 4_000_000,
        delayed_ack: None,
        ..Config::default()
    };
    let mut pair = Pair::new(&config, &config);
    let mut count = 0_u64;
    pair.policy = Box::new(move |_, _, t| {
        count += u64::from(!t.segment.payload.is_empty());
        let lost = !t.segment.payload.is_empty() && count.is_multiple_of(5_000);
        if lost { WireAction::Drop } else { WireAction::Deliver(MS(5)) }
    });
    let bytes = 66_000 * 65_535;
    pair.ends[0].tcp.write(bytes);
    while pair.ends[1].read < bytes {
        assert!(pair.step());
        // The log is the only thing that grows.
        pair.ends.iter_mut().for_each(|end| end.sent.clear());
    }
    let stats = pair.ends[0].tcp.stats();
    assert_eq!(stats.timeouts, 0);
    // A loss 2 GiB after the last one is still detected by its duplicates.
    assert!(stats.fast_retransmits >= 13, "{stats:?}");
    assert!(stats.retransmissions < 3 * 14, "{stats:?}");
}

#[test]
fn state_of_old_sequence_numbers_is_forgotten_before_they_wrap() {
    // NewReno's recover (RFC 6582 §3.2) is more than 2 GiB old at the second loss.
    let config = Config {
        recovery: driftway_tcp::RecoveryKind::NewReno,
        sack: false,
        mss: 65_535,
        window_scale: true,
        receive_buffer: 4_000_000,
        delayed_ack: None,
        ..Config::default()
    };
    let mut pair = Pair::new(&config, &config);
    let mut count = 0_u64;
    pair.policy = Box::new(move |_, _, t| {
        count += u64::from(!t.segment.payload.is_empty());
        let lost = !t.segment.payload.is_empty() && [200, 45_000].contains(&count);
        if lost { WireAction::Drop } else { WireAction::Deliver(MS(5)) }
    });
    let bytes = 46_000 * 65_535;
    pair.ends[0].tcp.write(bytes);
    while pair.ends[1].read < bytes {
        assert!(pair.step());
        pair.ends.iter_mut().for_each(|end| end.sent.clear());
    }
    let stats = pair.ends[0].tcp.stats();
    assert_eq!((stats.fast_retransmits, stats.timeouts), (2, 0));
}
