//! Who may send when, in time lines.

use driftway_base::{Duration, Instant, Rate};
use driftway_radio::DcfConfig;
use driftway_radio::dcf::{FrameRecord, CaptureModel, ReceptionOutcome};

use crate::air::*;

/// Without RTS, as the shortest stories are; the standard otherwise.
const PLAIN: DcfConfig = DcfConfig::STANDARD;

const SLOT: u64 = 20_000;
const DIFS: u64 = 50_000;
const EIFS: u64 = 364_000;

fn end(frame: &FrameRecord) -> u64 {
    (frame.at + frame.airtime).as_nanos()
}

/// Slots between an instant and a frame's start, which must be whole.
fn slots(from: u64, frame: &FrameRecord) -> u64 {
    let at = frame.at.as_nanos();
    assert!(at >= from && (at - from).is_multiple_of(SLOT), "{at} is no slot after {from}");
    (at - from) / SLOT
}

/// Every back-off is of no slots.
fn no_choice(config: DcfConfig) -> DcfConfig {
    DcfConfig { cw_min: 0, cw_max: 0, backoff_includes_cw: true, ..config }
}

#[test]
fn a_packet_that_finds_the_medium_busy_backs_off_after_a_difs() {
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
fn a_packet_that_finds_a_difs_running_waits_it_out() {
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
fn what_comes_during_the_difs_makes_it_a_backoff() {
    // Both find a DIFS running and are due together; the one that is nearer to the sender hears
    // its end first, by more than a wave needs between them, and the other must defer.
    let places = [(0.0, 0.0), (10.0, 0.0), (240.0, 0.0)];
    let mut air = medium(PLAIN, &places);
    air.send(1_000, 0, None, 500);
    let after = (1_000_000 + 192_000 + 536 * 8_000) / 1_000 + 20;
    air.send(after, 1, None, 500);
    air.send(after, 2, None, 500);
    let frames = air.run(50);
    let spaces: Vec<_> = frames.iter().map(|f| (f.from, f.at.as_nanos())).collect();
    let ended = end(&frames[0]);
    // 10 m: 33 ns; 240 m: 801 ns; in between 767 ns, and one nanosecond is not resolved.
    assert_eq!(spaces[1], (1, ended + 33 + DIFS));
    assert_eq!(spaces[2], (2, ended + 801 + DIFS), "in the same slot");
    assert_eq!(frames[1].outcome, ReceptionOutcome::Broadcast(1), "station 0 has it, station 2 was sending");
    assert_eq!(air.dcf.counters(2).missed_while_transmitting, 1);
}

#[test]
fn a_backoff_freezes_and_goes_on_where_it_was() {
    // Station 1 gets a packet while station 0 sends, draws a back-off, and is interrupted by
    // station 2's frame to all, which comes in the middle of it.
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
        // In the third slot, at a time that is no slot boundary, after a DIFS of idleness.
        let at = idle + 2 * SLOT + 7_000;
        let frames = run(Some(at / 1_000));
        if drawn <= 2 {
            assert_eq!(frames[1].at, alone[1].at, "it was faster");
            continue;
        }
        assert_eq!((frames[1].from, frames[1].at), (2, Instant::from_micros(at / 1_000)));
        assert_eq!(slots(end(&frames[1]) + DIFS, &frames[2]), drawn - 2);
    }
}

#[test]
fn after_a_packet_comes_a_backoff_even_if_nobody_waits() {
    for seed in 1..20 {
        let mut air = seeded(PLAIN, &row(2), seed);
        air.send(1_000, 0, None, 100);
        air.send(1_001, 0, None, 100);
        // Long after: the back-off is over, and the frame goes at once.
        air.send(20_000, 0, None, 100);
        let frames = air.run(50);
        assert!(slots(end(&frames[0]) + DIFS, &frames[1]) <= 31);
        assert_eq!(frames[2].at, Instant::from_millis(20));
    }
}

#[test]
fn hidden_stations_collide_and_an_rts_saves_the_data() {
    // Both ends hear the middle, and with a sense range of 300 m not each other.
    let far = [(0.0, 0.0), (249.0, 0.0), (498.0, 0.0)];
    let mut air = with_ranges(PLAIN, &far, 250.0, 300.0);
    let (a, b) = (air.send(1_000, 0, 1, 1000), air.send(1_500, 2, 1, 1000));
    let frames = air.run(300);
    let lost = frames.iter().filter(|frame| frame.outcome == ReceptionOutcome::Collided).count();
    assert_eq!(air.dcf.counters(1).collisions, lost as u64);
    assert!(lost >= 2 && frames[..2].iter().all(|frame| frame.outcome == ReceptionOutcome::Collided));
    let mut sent = air.sent();
    sent.sort_unstable();
    assert_eq!(sent, [a, b], "both come through in the end");

    let config = DcfConfig { rts_threshold: 0, ..PLAIN };
    let mut air = with_ranges(config, &far, 250.0, 300.0);
    air.send(1_000, 0, 1, 1000);
    air.send(1_500, 2, 1, 1000);
    let frames = air.run(300);
    let order: Vec<_> = frames.iter().map(|f| (f.kind, f.from)).collect();
    // Station 2 has the CTS before its packet: it waits for the end of the exchange.
    assert_eq!(order[..4], [(RTS, 0), (CTS, 1), (DATA, 0), (ACK, 1)]);
    assert!(frames.iter().all(|frame| frame.outcome == ReceptionOutcome::Received));
    // The NAV counts no ways; the ACK is heard for a little longer.
    assert!(slots(end(&frames[3]) + 831 + DIFS, &frames[4]) <= 31);
}

#[test]
fn what_is_not_understood_costs_an_eifs_and_what_is_ends_it() {
    // Two frames of hidden stations collide at station 1, which then wants to send.
    let far = [(0.0, 0.0), (249.0, 0.0), (498.0, 0.0)];
    for config in [no_choice(PLAIN), no_choice(DcfConfig { eifs_is_nav: true, ..PLAIN })] {
        let mut air = with_ranges(config, &far, 250.0, 300.0);
        air.send(1_000, 0, None, 1000);
        air.send(1_500, 2, None, 1000);
        air.send(2_000, 1, None, 100);
        let frames = air.run(50);
        let frame = frames.iter().find(|frame| frame.from == 1).unwrap();
        let last = end(&frames[1]) + 831;
        let difs = if config.eifs_is_nav { DIFS } else { 0 };
        assert_eq!(frame.at.as_nanos(), last + EIFS + difs);
    }
    // A frame that is understood during the EIFS ends it: only its DIFS is waited for.
    let places = [(0.0, 0.0), (249.0, 0.0), (498.0, 0.0), (249.0, 100.0)];
    let run = |config| {
        let mut air = with_ranges(config, &places, 250.0, 300.0);
        air.send(1_000, 0, None, 1000);
        air.send(1_500, 2, None, 1000);
        air.send(2_000, 1, None, 100);
        // 3 hears neither of the two, and does not wait.
        air.send((1_500_000 + 192_000 + 1036 * 8_000) / 1_000 + 60, 3, None, 0);
        air.run(50)
    };
    let frames = run(no_choice(PLAIN));
    let order: Vec<_> = frames.iter().map(|frame| frame.from).collect();
    assert_eq!(order, [0, 2, 3, 1]);
    assert_eq!(frames[3].at.as_nanos(), end(&frames[2]) + 334 + DIFS);
    let frames = run(no_choice(DcfConfig { eifs_is_nav: true, ..PLAIN }));
    let nav = end(&frames[1]) + 831 + EIFS;
    let last = end(&frames[2]) + 334;
    assert_eq!(frames[3].at.as_nanos(), nav.max(last) + DIFS);
}

#[test]
fn an_eifs_has_room_for_an_ack_at_the_lowest_mandatory_rate() {
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
    // An answer at a rate below is still waited for.
    assert_eq!(DcfConfig { basic_rate: Rate::from_bps(3_000_000), ..ofdm }.eifs(), of(3_000_000));
    assert_eq!(PLAIN.eifs().as_nanos(), EIFS);
    let short = DcfConfig { preamble: Duration::from_micros(96), ..PLAIN };
    assert_eq!(short.eifs().as_nanos(), EIFS - 96_000);
}

#[test]
fn a_frame_that_is_only_sensed_costs_what_the_switch_says() {
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
fn capture_as_the_switch_says() {
    // Station 1 is near 2 (50 m) and 240 m from 0, which 2 does not sense.
    let places = [(0.0, 0.0), (240.0, 0.0), (290.0, 0.0)];
    let run = |config, first: u32, gap: u64| {
        let mut air = with_ranges(config, &places, 250.0, 260.0);
        air.send(1_000, first, None, 1000);
        air.send(1_000 + gap, 2 - first, None, 1000);
        let frames = air.run(50);
        let at = |from| frames.iter().find(|frame| frame.from == from).unwrap().outcome;
        (at(0), at(2))
    };
    let (lost, got) = (ReceptionOutcome::Broadcast(0), ReceptionOutcome::Broadcast(1));
    // The strong one first: it is received in both models.
    assert_eq!(run(PLAIN, 2, 1_000), (lost, got));
    assert_eq!(run(DcfConfig::NS2, 2, 1_000).1, got);
    // The weak one first: the strong one is received if it comes within the preamble.
    assert_eq!(run(PLAIN, 0, 100), (lost, got));
    assert_eq!(run(PLAIN, 0, 300), (lost, lost));
    let ns2 = DcfConfig { first_at_once: true, ..DcfConfig::NS2 };
    assert_eq!(run(ns2, 0, 100), (lost, lost));
}

/// A station at the origin hears one at 100 m and two at 190 m, which arrive 11 dB weaker each and
/// 8 dB weaker together; 10 dB are needed. Senders do not hear each other begin.
#[test]
fn interference_adds_up_as_the_switch_says() {
    let sinr = DcfConfig { capture: CaptureModel::Sinr, ..PLAIN };
    let places = [(0.0, 0.0), (100.0, 0.0), (-180.0, 60.0), (-180.0, -60.0), (50.0, 0.0)];
    let run = |config, sent: &[(u64, u32, u32)]| {
        let mut air = with_ranges(config, &places, 250.0, 260.0);
        for &(at, from, bytes) in sent {
            air.send(at, from, None, bytes);
        }
        air.run(50);
        let at_origin = air.received().into_iter().filter(|(node, _)| *node == 0);
        at_origin.map(|(_, id)| id).collect::<Vec<_>>()
    };
    let together = [(1_000, 1, 500), (1_000, 2, 500), (1_000, 3, 500)];
    assert_eq!(run(PLAIN, &together), [1]);
    assert_eq!(run(sinr, &together), []);
    assert_eq!(run(sinr, &together[..2]), [1]);
    // Two that a stronger frame outshouted (from 50 m) go on when it is over.
    let outlast = [(1_000, 4, 50), (1_000, 2, 2_000), (1_000, 3, 2_000), (4_000, 1, 500)];
    assert_eq!(run(PLAIN, &outlast), [1, 4]);
    assert_eq!(run(sinr, &outlast), [1]);
    // When one of them is over, the rest does not matter.
    let one_ends = [(1_000, 2, 2_000), (1_000, 3, 100), (4_000, 1, 500)];
    assert_eq!(run(sinr, &one_ends), [3]);
}

#[test]
fn in_ns2_an_outshouted_frame_sets_the_nav() {
    let places = [(0.0, 0.0), (240.0, 0.0), (290.0, 0.0)];
    let config = no_choice(DcfConfig { first_at_once: true, ..DcfConfig::NS2 });
    let mut air = with_ranges(config, &places, 250.0, 260.0);
    air.send(1_000, 2, None, 1000);
    air.send(2_000, 0, None, 1000);
    air.send(3_000, 1, None, 100);
    let frames = air.run(50);
    let frame = frames.iter().find(|frame| frame.from == 1).unwrap();
    let weak = frames.iter().find(|frame| frame.from == 0).unwrap();
    // From its arrival over 240 m: its airtime and an EIFS.
    assert_eq!(frame.at.as_nanos(), end(weak) + 801 + EIFS + DIFS);
}

#[test]
fn a_lost_ack_brings_the_packet_again_and_it_is_passed_on_once() {
    let mut duplicates = 0;
    for seed in 0..60 {
        let config =
            DcfConfig { frame_error: driftway_base::Probability::from_f64(0.3), ..PLAIN };
        let mut air = seeded(config, &row(2), seed);
        let id = air.send(1_000, 0, 1, 500);
        let frames = air.run(500);
        let got = air.received();
        assert!(got.len() <= 1, "passed on once: {got:?}");
        let again = frames.iter().filter(|f| f.outcome == ReceptionOutcome::Duplicate).count() as u64;
        assert_eq!(air.dcf.counters(1).duplicates, again);
        duplicates += again;
        // Each data frame that was understood was acknowledged, a duplicate as well.
        let understood = frames.iter().filter(|f| {
            matches!((f.kind, f.outcome), (DATA, ReceptionOutcome::Received | ReceptionOutcome::Duplicate))
        });
        assert_eq!(understood.count() as u64, air.dcf.counters(1).acks);
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
fn the_limits_of_both_retry_counts() {
    // Which frame has an error is left to many seeds; the rule must hold in each.
    let config =
        DcfConfig { frame_error: driftway_base::Probability::from_f64(0.55), ..WITH_RTS };
    let (mut cts, mut ack) = (0, 0);
    for seed in 0..200 {
        let mut air = seeded(config, &row(2), seed);
        air.send(1_000, 0, 1, 500);
        let frames = air.run(2_000);
        let mut row = 0;
        let (mut short, mut long) = (0, 0);
        for (place, frame) in frames.iter().enumerate().filter(|(_, f)| f.from == 0) {
            let answered = frames
                .get(place + 1)
                .is_some_and(|next| next.from == 1 && next.outcome == ReceptionOutcome::Received);
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
                assert_eq!(air.dcf.counters(0).failed_no_cts, 1);
                cts += 1;
            }
            Some(driftway_radio::FailReason::NoAck) => {
                assert_eq!(long, 4);
                assert_eq!(air.dcf.counters(0).failed_no_ack, 1);
                ack += 1;
            }
            None => assert!(short < 7 && long < 4),
        }
    }
    assert!(cts > 5 && ack > 5, "{cts} {ack}");
}

/// What `service_time` says is what a station gets through that has the medium for itself.
#[test]
fn one_station_alone_needs_its_service_time() {
    for (config, bytes) in [(DcfConfig::STANDARD, 500), (WITH_RTS, 500), (WITH_RTS, 1500)] {
        let mut air = medium(config, &row(2));
        for _ in 0..500 {
            air.send(0, 0, 1, bytes);
        }
        let frames = air.run(10_000);
        assert_eq!(air.sent().len(), 500);
        let took = frames.last().unwrap().at.as_secs_f64() / 500.0;
        let said = config.service_time(bytes).as_secs_f64();
        // The ways there and back are not in it, and the mean of 500 back-offs is not exact.
        assert!((took / said - 1.0).abs() < 0.01, "{took} s, and not {said} s");
    }
}
