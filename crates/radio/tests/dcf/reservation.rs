//! NAV, CTS, and the conditions for a response.

use driftway_base::{Duration, Instant, PacketId, StationId};
use driftway_radio::dcf::{FrameRecord, ReceptionOutcome};
use driftway_radio::{DcfConfig, FailReason};

use crate::air::*;

const DIFS: u64 = 50_000;
const SIFS: u64 = 10_000;
const SLOT: u64 = 20_000;

fn end(frame: &FrameRecord) -> u64 {
    (frame.at + frame.airtime).as_nanos()
}

/// The configuration with a backoff of zero slots.
fn at_once(config: DcfConfig) -> DcfConfig {
    DcfConfig {
        cw_min: 0,
        cw_max: 0,
        backoff_includes_cw: true,
        backoff_before_first: false,
        ..config
    }
}

#[test]
fn rts_and_cts_set_the_nav_to_the_end_of_the_exchange() {
    for (listener, place) in [(2, (0.0, 100.0)), (2, (300.0, 0.0))] {
        // Once near the sender of the RTS, once near that of the CTS alone.
        let places = [(0.0, 0.0), (200.0, 0.0), place];
        let mut air = with_ranges(at_once(WITH_RTS), &places, 250.0, 250.0);
        air.send(1_000, 0, 1, 1000);
        air.send(2_000, listener, None, 100);
        let frames = air.run(50);
        let order: Vec<_> = frames.iter().map(|f| (f.kind, f.from.number())).collect();
        assert_eq!(order, [(RTS, 0), (CTS, 1), (DATA, 0), (ACK, 1), (DATA, 2)]);
        // Duration fields exclude propagation: the NAV ends a few times 667 ns before the ACK is
        // received, or where the ACK itself is received, with it.
        let heard = end(&frames[3]) + if place.0 == 0.0 { 746 } else { 334 };
        let at = frames[4].at.as_nanos();
        assert!(at <= heard + DIFS && at + 3_000 > heard + DIFS, "{at} {heard}");
    }
}

#[test]
fn no_cts_while_the_nav_is_set() {
    // 0 → 1 → the CTS sets the NAV of 2. 3 receives none of it and sends an RTS to 2.
    for config in [WITH_RTS, DcfConfig { cts_needs_idle: true, ..WITH_RTS }] {
        let mut air = with_ranges(at_once(config), &row(4), 250.0, 250.0);
        air.send(1_000, 0, 1, 1400);
        air.send(5_000, 3, 2, 100);
        let frames = air.run(50);
        // Refused at the end of the RTS, or when the CTS would start.
        let outcome = if config.cts_needs_idle {
            ReceptionOutcome::Received
        } else {
            ReceptionOutcome::Refused
        };
        assert_eq!((frames[3].kind, frames[3].from.number(), frames[3].outcome), (RTS, 3, outcome));
        let nav = end(&frames[1]) + 667 + u64::from(frames[1].duration_us) * 1_000;
        let cts = frames.iter().find(|f| (f.kind, f.from.number()) == (CTS, 2)).unwrap();
        assert!(cts.at.as_nanos() > nav);
        assert!(air.counters(2).cts_refused > 0);
        assert_eq!(air.sent().len(), 2, "it is answered later");
    }
}

#[test]
fn in_ns2_an_eifs_prevents_a_cts() {
    // 1 senses a frame of 0 that it cannot decode; the RTS of 2, which does not sense it, ends
    // within the EIFS after it.
    let run = |config| {
        let mut air = medium(at_once(config), &[(0.0, 0.0), (400.0, 0.0), (600.0, 0.0)]);
        air.send(1_000, 0, None, 500);
        let ended = 1_000 + 192 + (500 + 34) * 8;
        air.send(ended + 1, 2, 1, 500);
        let frames = air.run(50);
        let rts = frames.iter().filter(|frame| frame.kind == RTS).count();
        (rts, air.counters(1).cts_refused)
    };
    let standard = DcfConfig { llc_bytes: 0, header_bytes: 34, ..WITH_RTS };
    assert_eq!(run(standard), (1, 0));
    assert_eq!(run(DcfConfig::NS2), (2, 1));
    // Without the EIFS the medium is idle.
    assert_eq!(run(DcfConfig { eifs_when_only_sensed: false, ..DcfConfig::NS2 }), (1, 0));
}

#[test]
fn in_ns2_data_waits_for_an_idle_medium_and_repeats_the_rts() {
    // 0 sends an RTS to 1, which is near. 2 senses 0, but cannot decode its RTS, and begins a
    // broadcast a DIFS after it: during the CTS, which captures over it at 0. The NAV that this
    // sets at 0 holds the data back.
    let ns2 = at_once(DcfConfig::NS2);
    let places = [(0.0, 0.0), (50.0, 0.0), (-255.0, 0.0)];
    let run = |config| {
        let mut air = with_ranges(config, &places, 250.0, 260.0);
        air.send(1_000, 0, 1, 1000);
        air.send(1_100, 2, None, 20);
        let frames = air.run(50);
        (summary(&frames), air.dcf.total_counters().data_held_back)
    };
    let quick = DcfConfig { eifs_when_only_sensed: false, ..ns2 };
    let (frames, held) = run(quick);
    let order: Vec<_> = frames.iter().map(|f| (f.0, f.1)).collect();
    assert_eq!(order[..4], [(RTS, 0), (CTS, 1), (DATA, 2), (RTS, 0)], "the RTS is repeated");
    assert_eq!(held, 1);
    let (frames, held) = run(DcfConfig { data_needs_idle: false, ..quick });
    let order: Vec<_> = frames.iter().map(|f| (f.0, f.1)).collect();
    assert_eq!(order[..4], [(RTS, 0), (CTS, 1), (DATA, 2), (DATA, 0)]);
    assert_eq!(held, 0);
}

#[test]
fn a_nav_set_by_an_rts_is_reset_when_no_frame_follows() {
    // 1 is out of range, so that no frame follows the RTS that 2 receives.
    let places = [(0.0, 0.0), (300.0, 0.0), (0.0, 100.0)];
    let run = |config, packet_comes| {
        let mut air = with_ranges(at_once(config), &places, 250.0, 250.0);
        air.send(1_000, 0, 1, 1400);
        air.send(packet_comes, 2, None, 20);
        let frames = air.run(50);
        frames.iter().find(|frame| frame.from == StationId::new(2)).unwrap().at.as_nanos()
    };
    let heard = 1_000_000 + 352_000 + 334;
    // 2 × SIFS + CTS + 2 slots after the RTS, and a DIFS. One attempt, as 0 would retry before.
    let limited = DcfConfig { short_retry_limit: 1, ..WITH_RTS };
    let never = DcfConfig { rts_nav_ends: false, ..limited };
    let duration = 3 * 10 + 304 + 192 + 1436 * 4 + 304;
    // During the RTS, and before its deadline.
    for packet_comes in [1_100, 1_400] {
        let waited = run(limited, packet_comes) - heard;
        assert_eq!(waited, 2 * SIFS + 304_000 + 2 * SLOT + DIFS, "{packet_comes} µs");
        assert_eq!(run(never, packet_comes), heard + duration * 1_000 + DIFS);
    }
}

#[test]
fn an_eifs_ends_with_a_correct_reception() {
    // 2 senses the data of 0, and decodes the acknowledgment of 1, which ends before the EIFS does.
    let config = DcfConfig {
        eifs_when_only_sensed: true,
        eifs_at_1_mbps: true,
        basic_rate: driftway_base::Rate::from_bps(2_000_000),
        ..at_once(DcfConfig::STANDARD)
    };
    let mut air = with_ranges(config, &row(3), 250.0, 550.0);
    air.send(1_000, 0, 1, 1000);
    air.send(2_000, 2, None, 100);
    let frames = air.run(50);
    let order: Vec<_> = frames.iter().map(|frame| (frame.kind, frame.from.number())).collect();
    assert_eq!(order, [(DATA, 0), (ACK, 1), (DATA, 2)]);
    assert_eq!(frames[2].at.as_nanos(), end(&frames[1]) + 667 + DIFS);
}

#[test]
fn before_2003_every_seventh_failed_rts_cost_a_packet() {
    let error = driftway_base::Probability::from_f64(0.2);
    let base = DcfConfig { frame_error: error, ..DcfConfig::NS2 };
    let old = DcfConfig { cts_resets_short_count: false, ..base };
    let run = |config| {
        let mut air = seeded(config, &row(2), 3);
        for _ in 0..200 {
            air.send(1_000, 0, 1, 200);
        }
        air.run(20_000);
        let short = air.failed().iter().filter(|f| f.1 == FailReason::NoCts).count() as u64;
        (short, air.counters(0).cts_timeouts)
    };
    let (lost, missing) = run(old);
    assert_eq!(lost, missing / 7);
    assert!(lost > 3);
    let (lost, missing) = run(base);
    assert!(missing > 20 && lost == 0, "{lost} of {missing}");
}

#[test]
fn in_ns2_a_cts_suspends_the_backoff_until_the_data() {
    // Seeds in which 1 answers an RTS and its CTS has an error at 0.
    let run = |config: DcfConfig| {
        let mut waits = Vec::new();
        for seed in 0..200 {
            let error = driftway_base::Probability::from_f64(0.3);
            let config = DcfConfig { frame_error: error, ..at_once(config) };
            let mut air = seeded(config, &[(0.0, 0.0), (0.0, 0.0)], seed);
            air.send(1_000, 0, 1, 1000);
            air.send(1_100, 1, None, 20);
            let frames = air.run(50);
            // RTS, lost CTS, and then station 1's own frame.
            if frames[1].outcome == ReceptionOutcome::Damaged && frames[2].from == StationId::new(1)
            {
                waits.push(frames[2].at.as_nanos() - end(&frames[1]));
            }
        }
        waits.dedup();
        waits
    };
    let base = DcfConfig { short_retry_limit: 1, ..WITH_RTS };
    assert_eq!(run(base), [DIFS]);
    let holds = DcfConfig { cts_holds_backoff: true, ..base };
    // SIFS + data, no propagation with this timeout; then a DIFS.
    assert_eq!(run(holds), [SIFS + 192_000 + 1036 * 4_000 + DIFS]);
}

#[test]
fn three_co_located_contenders_transmit_by_their_slots() {
    for seed in 0..30 {
        let mut air = seeded(DcfConfig::STANDARD, &[(0.0, 0.0); 4], seed);
        air.send(1_000, 3, None, 100);
        for station in 0..3 {
            air.send(1_500, station, 3, 100);
        }
        let frames = air.run(100);
        // Every frame but an ACK begins a whole number of slots after a DIFS, or, where two were in
        // the same slot, after an EIFS for the stations that received them and a timeout for the
        // two.
        let mut last = end(&frames[0]);
        let mut clean = true;
        for frame in &frames[1..] {
            let at = frame.at.as_nanos();
            if frame.kind == ACK {
                assert_eq!(at, last + SIFS);
            } else if clean
                && frame.outcome != ReceptionOutcome::Collided
                && frame.outcome != ReceptionOutcome::Transmitting
            {
                assert!((at - last - DIFS).is_multiple_of(SLOT), "{} ns", at - last);
            }
            clean &= frame.outcome == ReceptionOutcome::Received;
            last = end(frame);
        }
        let mut sent = air.sent();
        sent.sort_unstable();
        assert_eq!(sent, [1, 2, 3, 4]);
        assert_eq!(air.received().iter().filter(|got| got.0 == 3).count(), 3);
    }
}

#[test]
fn promiscuous_stations_report_overheard_packets() {
    let mut air = medium(DcfConfig::STANDARD, &row(3));
    air.dcf.set_promiscuous(StationId::new(2), true);
    let first = air.send(1_000, 0, 1, 100);
    air.run(50);
    let overheard = |report: &&driftway_radio::MacReport| {
        matches!(report, driftway_radio::MacReport::Overheard { .. })
    };
    assert_eq!(air.reports.iter().filter(overheard).count(), 0, "400 m");
    let second = air.send(60_000, 1, 0, 100);
    air.run(100);
    let at = Instant::from_micros(60_000) + Duration::from_nanos(192_000 + 136 * 4_000 + 667);
    let all: Vec<_> = air.reports.iter().filter(overheard).collect();
    let [to, from, station] = [0, 1, 2].map(StationId::new);
    let id = PacketId::new(second);
    assert_eq!(all, [&driftway_radio::MacReport::Overheard { station, from, to, id, at }]);
    assert_ne!(first, second);
}
