//! Contention for the medium, as time lines.

use driftway_base::{Duration, Instant, Rate, StationId};
use driftway_radio::DcfConfig;
use driftway_radio::dcf::{CaptureModel, FrameRecord, ReceptionOutcome};

use crate::air::*;

/// The standard without RTS, for the shortest time lines.
const PLAIN: DcfConfig = DcfConfig::STANDARD;

const SLOT: u64 = 20_000;
const DIFS: u64 = 50_000;
const EIFS: u64 = 364_000;

fn end(frame: &FrameRecord) -> u64 {
    (frame.at + frame.airtime).as_nanos()
}

/// Number of slots between an instant and the start of a frame, which must be whole.
fn slots(from: u64, frame: &FrameRecord) -> u64 {
    let at = frame.at.as_nanos();
    assert!(
        at >= from && (at - from).is_multiple_of(SLOT),
        "{at} is not a slot boundary after {from}"
    );
    (at - from) / SLOT
}

/// Every backoff has zero slots.
fn no_choice(config: DcfConfig) -> DcfConfig {
    DcfConfig { cw_min: 0, cw_max: 0, backoff_includes_cw: true, ..config }
}

#[test]
fn a_busy_medium_causes_a_backoff_after_a_difs() {
    let mut air = medium(PLAIN, &[(0.0, 0.0), (100.0, 0.0), (200.0, 0.0)]);
    air.send(1_000, 0, 1, 500);
    air.send(1_200, 2, 1, 500);
    let frames = air.run(100);
    assert_eq!(
        summary(&frames),
        [
            (DATA, 0, ReceptionOutcome::Received),
            (ACK, 1, ReceptionOutcome::Received),
            (DATA, 2, ReceptionOutcome::Received),
            (ACK, 1, ReceptionOutcome::Received)
        ]
    );
    // 100 m from the sender of the ACK: 334 ns.
    let waited = slots(end(&frames[1]) + 334 + DIFS, &frames[2]);
    assert!(waited <= 31);
}

#[test]
fn a_packet_during_a_difs_waits_for_its_end() {
    let mut air = medium(PLAIN, &[(0.0, 0.0), (100.0, 0.0), (200.0, 0.0)]);
    air.send(1_000, 0, None, 500);
    let first = air.run(50)[0];
    assert_eq!(end(&first), 1_000_000 + 192_000 + 536 * 8_000);
    let mut air = self::medium(PLAIN, &[(0.0, 0.0), (100.0, 0.0), (200.0, 0.0)]);
    air.send(1_000, 0, None, 500);
    // 20 µs after the end.
    air.send(end(&first) / 1_000 + 20, 2, None, 500);
    let frames = air.run(50);
    assert_eq!(frames[1].at.as_nanos(), end(&first) + 667 + DIFS);
}

#[test]
fn a_frame_during_the_difs_causes_a_backoff() {
    // Both find a DIFS in progress and are due together; the one nearer to the sender receives its
    // end first, by more than the propagation delay between the two, and the other must defer.
    let places = [(0.0, 0.0), (10.0, 0.0), (240.0, 0.0)];
    let mut air = medium(PLAIN, &places);
    air.send(1_000, 0, None, 500);
    let after = (1_000_000 + 192_000 + 536 * 8_000) / 1_000 + 20;
    air.send(after, 1, None, 500);
    air.send(after, 2, None, 500);
    let frames = air.run(50);
    let spaces: Vec<_> = frames.iter().map(|f| (f.from.number(), f.at.as_nanos())).collect();
    let ended = end(&frames[0]);
    // 10 m: 33 ns; 240 m: 801 ns; 767 ns between the two, and one nanosecond is not resolved.
    assert_eq!(spaces[1], (1, ended + 33 + DIFS));
    assert_eq!(spaces[2], (2, ended + 801 + DIFS), "in the same slot");
    assert_eq!(
        frames[1].outcome,
        ReceptionOutcome::Broadcast(1),
        "station 0 received it, station 2 was transmitting"
    );
    assert_eq!(air.counters(2).missed_while_transmitting, 1);
}

#[test]
fn a_backoff_is_suspended_and_resumed() {
    // Station 1 gets a packet while station 0 transmits, draws a backoff, and is interrupted in the
    // middle of it by a broadcast of station 2.
    for seed in 1..40 {
        let places = [(0.0, 0.0), (0.0, 0.0), (0.0, 0.0)];
        let run = |interrupt: Option<u64>| {
            let mut air = seeded(PLAIN, &places, seed);
            air.send(1_000, 0, None, 100);
            air.send(1_100, 1, None, 100);
            if let Some(at) = interrupt {
                air.send(at, 2, None, 100);
            }
            air.run(50)
        };
        let alone = run(None);
        let idle = end(&alone[0]) + DIFS;
        let drawn = slots(idle, &alone[1]);
        // In the third slot, not on a slot boundary, after an idle DIFS.
        let at = idle + 2 * SLOT + 7_000;
        let frames = run(Some(at / 1_000));
        if drawn <= 2 {
            assert_eq!(frames[1].at, alone[1].at, "it was earlier");
            continue;
        }
        assert_eq!((frames[1].from.number(), frames[1].at), (2, Instant::from_micros(at / 1_000)));
        assert_eq!(slots(end(&frames[1]) + DIFS, &frames[2]), drawn - 2);
    }
}

#[test]
fn a_backoff_follows_each_packet_even_without_a_next_one() {
    for seed in 1..20 {
        let mut air = seeded(PLAIN, &row(2), seed);
        air.send(1_000, 0, None, 100);
        air.send(1_001, 0, None, 100);
        // Long after: the backoff is over, and the frame is sent immediately.
        air.send(20_000, 0, None, 100);
        let frames = air.run(50);
        assert!(slots(end(&frames[0]) + DIFS, &frames[1]) <= 31);
        assert_eq!(frames[2].at, Instant::from_millis(20));
    }
}

#[test]
fn hidden_stations_collide_and_an_rts_protects_the_data() {
    // Both ends are in range of the middle, but with a sense range of 300 m not of each other.
    let far = [(0.0, 0.0), (249.0, 0.0), (498.0, 0.0)];
    let mut air = with_ranges(PLAIN, &far, 250.0, 300.0);
    let (a, b) = (air.send(1_000, 0, 1, 1000), air.send(1_500, 2, 1, 1000));
    let frames = air.run(300);
    let lost = frames.iter().filter(|frame| frame.outcome == ReceptionOutcome::Collided).count();
    assert_eq!(air.counters(1).collisions, lost as u64);
    assert!(
        lost >= 2 && frames[..2].iter().all(|frame| frame.outcome == ReceptionOutcome::Collided)
    );
    let mut sent = air.sent();
    sent.sort_unstable();
    assert_eq!(sent, [a, b], "both are delivered in the end");

    let config = DcfConfig { rts_threshold: 0, ..PLAIN };
    let mut air = with_ranges(config, &far, 250.0, 300.0);
    air.send(1_000, 0, 1, 1000);
    air.send(1_500, 2, 1, 1000);
    let frames = air.run(300);
    let order: Vec<_> = frames.iter().map(|f| (f.kind, f.from.number())).collect();
    // Station 2 receives the CTS before its packet: it defers to the end of the exchange.
    assert_eq!(order[..4], [(RTS, 0), (CTS, 1), (DATA, 0), (ACK, 1)]);
    assert!(frames.iter().all(|frame| frame.outcome == ReceptionOutcome::Received));
    // The NAV does not include propagation; the ACK is received slightly later.
    assert!(slots(end(&frames[3]) + 831 + DIFS, &frames[4]) <= 31);
}

#[test]
fn a_reception_failure_starts_an_eifs_and_a_reception_ends_it() {
    // Two frames of hidden stations collide at station 1, which then contends.
    let far = [(0.0, 0.0), (249.0, 0.0), (498.0, 0.0)];
    for config in [no_choice(PLAIN), no_choice(DcfConfig { eifs_is_nav: true, ..PLAIN })] {
        let mut air = with_ranges(config, &far, 250.0, 300.0);
        air.send(1_000, 0, None, 1000);
        air.send(1_500, 2, None, 1000);
        air.send(2_000, 1, None, 100);
        let frames = air.run(50);
        let frame = frames.iter().find(|frame| frame.from == StationId::new(1)).unwrap();
        let last = end(&frames[1]) + 831;
        let difs = if config.eifs_is_nav { DIFS } else { 0 };
        assert_eq!(frame.at.as_nanos(), last + EIFS + difs);
    }
    // A frame received correctly during the EIFS ends it: only its DIFS remains.
    let places = [(0.0, 0.0), (249.0, 0.0), (498.0, 0.0), (249.0, 100.0)];
    let run = |config| {
        let mut air = with_ranges(config, &places, 250.0, 300.0);
        air.send(1_000, 0, None, 1000);
        air.send(1_500, 2, None, 1000);
        air.send(2_000, 1, None, 100);
        // Station 3 senses neither of the two, and does not defer.
        air.send((1_500_000 + 192_000 + 1036 * 8_000) / 1_000 + 60, 3, None, 0);
        air.run(50)
    };
    let frames = run(no_choice(PLAIN));
    let order: Vec<_> = frames.iter().map(|frame| frame.from.number()).collect();
    assert_eq!(order, [0, 2, 3, 1]);
    assert_eq!(frames[3].at.as_nanos(), end(&frames[2]) + 334 + DIFS);
    let frames = run(no_choice(DcfConfig { eifs_is_nav: true, ..PLAIN }));
    let nav = end(&frames[1]) + 831 + EIFS;
    let last = end(&frames[2]) + 334;
    assert_eq!(frames[3].at.as_nanos(), nav.max(last) + DIFS);
}

#[test]
fn an_eifs_includes_an_ack_at_the_lowest_mandatory_rate() {
    let (sifs, slot, preamble) = (16, 9, 20);
    let ofdm = DcfConfig {
        basic_rate: Rate::from_bps(24_000_000),
        preamble: Duration::from_micros(preamble),
        slot: Duration::from_micros(slot),
        sifs: Duration::from_micros(sifs),
        ..PLAIN
    };
    let of = |rate: u64| {
        Duration::from_nanos((sifs + preamble + sifs + 2 * slot) * 1_000)
            + Rate::from_bps(rate).transmission_time(14)
    };
    assert_eq!(ofdm.eifs(), of(6_000_000));
    assert_eq!(DcfConfig { eifs_at_1_mbps: true, ..ofdm }.eifs(), of(1_000_000));
    // A response at a lower rate is still allowed for.
    assert_eq!(DcfConfig { basic_rate: Rate::from_bps(3_000_000), ..ofdm }.eifs(), of(3_000_000));
    assert_eq!(PLAIN.eifs().as_nanos(), EIFS);
    let short = DcfConfig { preamble: Duration::from_micros(96), ..PLAIN };
    assert_eq!(short.eifs().as_nanos(), EIFS - 96_000);
}

#[test]
fn an_eifs_after_a_sensed_frame_is_configurable() {
    for (on, space) in [(false, DIFS), (true, EIFS)] {
        let config = no_choice(DcfConfig { eifs_when_only_sensed: on, ..PLAIN });
        let mut air = medium(config, &[(0.0, 0.0), (500.0, 0.0)]);
        air.send(1_000, 0, None, 1000);
        air.send(2_000, 1, None, 100);
        let frames = air.run(50);
        // 500 m: 1668 ns.
        assert_eq!(frames[1].at.as_nanos(), end(&frames[0]) + 1_668 + space);
    }
}

#[test]
fn capture_models_differ() {
    // Station 1 is near 2 (50 m) and 240 m from 0, which 2 does not sense.
    let places = [(0.0, 0.0), (240.0, 0.0), (290.0, 0.0)];
    let run = |config, first: u32, gap: u64| {
        let mut air = with_ranges(config, &places, 250.0, 260.0);
        air.send(1_000, first, None, 1000);
        air.send(1_000 + gap, 2 - first, None, 1000);
        let frames = air.run(50);
        let at = |from| frames.iter().find(|frame| frame.from.number() == from).unwrap().outcome;
        (at(0), at(2))
    };
    let (lost, got) = (ReceptionOutcome::Broadcast(0), ReceptionOutcome::Broadcast(1));
    // The strong frame first: it is received in both models.
    assert_eq!(run(PLAIN, 2, 1_000), (lost, got));
    assert_eq!(run(DcfConfig::NS2, 2, 1_000).1, got);
    // The weak frame first: the strong one is received if it arrives within the preamble.
    assert_eq!(run(PLAIN, 0, 100), (lost, got));
    assert_eq!(run(PLAIN, 0, 300), (lost, lost));
    let ns2 = DcfConfig { backoff_before_first: false, ..DcfConfig::NS2 };
    assert_eq!(run(ns2, 0, 100), (lost, lost));
}

/// A station at the origin receives one at 100 m and two at 190 m, which are 11 dB weaker each and
/// 8 dB weaker together; 10 dB are needed. The senders do not sense each other's start.
#[test]
fn interference_is_summed_with_sinr_only() {
    let sinr = DcfConfig { capture: CaptureModel::Sinr, ..PLAIN };
    let places = [(0.0, 0.0), (100.0, 0.0), (-180.0, 60.0), (-180.0, -60.0), (50.0, 0.0)];
    let run = |config, sent: &[(u64, u32, u32)]| {
        let mut air = with_ranges(config, &places, 250.0, 260.0);
        for &(at, from, bytes) in sent {
            air.send(at, from, None, bytes);
        }
        air.run(50);
        let at_origin = air.received().into_iter().filter(|(station, _)| *station == 0);
        at_origin.map(|(_, id)| id).collect::<Vec<_>>()
    };
    let together = [(1_000, 1, 500), (1_000, 2, 500), (1_000, 3, 500)];
    assert_eq!(run(PLAIN, &together), [1]);
    assert_eq!(run(sinr, &together), []);
    assert_eq!(run(sinr, &together[..2]), [1]);
    // Two frames that a stronger one (from 50 m) was captured over continue when it has ended.
    let outlast = [(1_000, 4, 50), (1_000, 2, 2_000), (1_000, 3, 2_000), (4_000, 1, 500)];
    assert_eq!(run(PLAIN, &outlast), [1, 4]);
    assert_eq!(run(sinr, &outlast), [1]);
    // When one of them has ended, the other alone does not matter.
    let one_ends = [(1_000, 2, 2_000), (1_000, 3, 100), (4_000, 1, 500)];
    assert_eq!(run(sinr, &one_ends), [3]);
}

#[test]
fn in_ns2_a_captured_over_frame_sets_the_nav() {
    let places = [(0.0, 0.0), (240.0, 0.0), (290.0, 0.0)];
    let config = no_choice(DcfConfig { backoff_before_first: false, ..DcfConfig::NS2 });
    let mut air = with_ranges(config, &places, 250.0, 260.0);
    air.send(1_000, 2, None, 1000);
    air.send(2_000, 0, None, 1000);
    air.send(3_000, 1, None, 100);
    let frames = air.run(50);
    let frame = frames.iter().find(|frame| frame.from == StationId::new(1)).unwrap();
    let weak = frames.iter().find(|frame| frame.from == StationId::new(0)).unwrap();
    // From its arrival over 240 m: its airtime and an EIFS.
    assert_eq!(frame.at.as_nanos(), end(weak) + 801 + EIFS + DIFS);
}

#[test]
fn a_lost_ack_causes_a_duplicate_that_is_discarded() {
    let mut duplicates = 0;
    for seed in 0..60 {
        let config = DcfConfig { frame_error: driftway_base::Probability::from_f64(0.3), ..PLAIN };
        let mut air = seeded(config, &row(2), seed);
        let id = air.send(1_000, 0, 1, 500);
        let frames = air.run(500);
        let got = air.received();
        assert!(got.len() <= 1, "reported once: {got:?}");
        let again =
            frames.iter().filter(|f| f.outcome == ReceptionOutcome::Duplicate).count() as u64;
        assert_eq!(air.counters(1).duplicates, again);
        duplicates += again;
        // Each data frame received was acknowledged, including duplicates.
        let understood = frames.iter().filter(|f| {
            matches!(
                (f.kind, f.outcome),
                (DATA, ReceptionOutcome::Received | ReceptionOutcome::Duplicate)
            )
        });
        assert_eq!(understood.count() as u64, air.counters(1).acks);
        let retries: Vec<_> = frames.iter().filter(|f| f.kind == DATA).map(|f| f.retry).collect();
        assert!(!retries[0] && retries[1..].iter().all(|&retry| retry));
        let numbers: Vec<_> =
            frames.iter().filter(|f| f.kind == DATA).map(|f| f.sequence).collect();
        assert!(numbers.iter().all(|&number| number == numbers[0]));
        assert_eq!(air.sent().len() + air.failed().len(), 1);
        assert!(air.sent() == [id] || air.failed()[0].0 == id);
    }
    assert!(duplicates > 10);
}

#[test]
fn both_retry_limits_hold() {
    // The frame with the error depends on the seed; the rule must hold for each.
    let config = DcfConfig { frame_error: driftway_base::Probability::from_f64(0.55), ..WITH_RTS };
    let (mut cts, mut ack) = (0, 0);
    for seed in 0..200 {
        let mut air = seeded(config, &row(2), seed);
        air.send(1_000, 0, 1, 500);
        let frames = air.run(2_000);
        let mut row = 0;
        let (mut short, mut long) = (0, 0);
        for (place, frame) in frames.iter().enumerate().filter(|(_, f)| f.from == StationId::new(0))
        {
            let answered = frames.get(place + 1).is_some_and(|next| {
                next.from == StationId::new(1) && next.outcome == ReceptionOutcome::Received
            });
            row += 1;
            match (frame.kind, answered) {
                (RTS, true) => short = 0,
                (RTS, false) => short += 1,
                (_, true) => long = 0,
                (_, false) => long += 1,
            }
        }
        assert!(row > 0);
        match air.failed().first().map(|failed| failed.1) {
            Some(driftway_radio::FailReason::NoCts) => {
                assert_eq!(short, 7);
                assert!(long < 4);
                assert_eq!(air.counters(0).failed_no_cts, 1);
                cts += 1;
            }
            Some(driftway_radio::FailReason::NoAck) => {
                assert_eq!(long, 4);
                assert_eq!(air.counters(0).failed_no_ack, 1);
                ack += 1;
            }
            None => assert!(short < 7 && long < 4),
        }
    }
    assert!(cts > 5 && ack > 5, "{cts} {ack}");
}

/// The throughput of a station alone matches `service_time`.
#[test]
fn one_station_alone_has_its_service_time() {
    for (config, bytes) in [(DcfConfig::STANDARD, 500), (WITH_RTS, 500), (WITH_RTS, 1500)] {
        let mut air = medium(config, &row(2));
        for _ in 0..500 {
            air.send(0, 0, 1, bytes);
        }
        let frames = air.run(10_000);
        assert_eq!(air.sent().len(), 500);
        let took = frames.last().unwrap().at.as_secs_f64() / 500.0;
        let said = config.service_time(bytes).as_secs_f64();
        // It excludes propagation, and the mean of 500 backoffs is not exact.
        assert!((took / said - 1.0).abs() < 0.01, "{took} s instead of {said} s");
    }
}
