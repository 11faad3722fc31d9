//! One exchange, to the nanosecond.

use driftway_base::{Duration, Instant, Rate, StationId};
use driftway_radio::dcf::ReceptionOutcome;
use driftway_radio::{DcfConfig, FailReason};

use crate::air::*;

/// Propagation delay over 200 m at 299,792,458 m/s.
const WAY: u64 = 667;

/// RTS, CTS and ACK at 1 Mbit/s with a preamble of 192 µs; data of `bytes` at 2 Mbit/s.
const RTS_TIME: u64 = 352_000;
const CTS_TIME: u64 = 304_000;
const ACK_TIME: u64 = 304_000;
const SIFS: u64 = 10_000;

fn data_time(frame: u64) -> u64 {
    192_000 + frame * 4_000
}

#[test]
fn four_frames_in_closed_form() {
    let mut air = medium(WITH_RTS, &row(2));
    let id = air.send(1_000, 0, 1, 1000);
    let frames = air.run(100);
    let got: Vec<_> = frames.iter().map(|f| (f.kind, f.from.number(), f.at.as_nanos())).collect();
    // The medium has been idle for longer than a DIFS: the RTS is sent immediately.
    let rts = 1_000_000;
    let cts = rts + RTS_TIME + WAY + SIFS;
    let data = cts + CTS_TIME + WAY + SIFS;
    let ack = data + data_time(1036) + WAY + SIFS;
    assert_eq!(got, [(RTS, 0, rts), (CTS, 1, cts), (DATA, 0, data), (ACK, 1, ack)]);
    assert_eq!(air.received(), [(1, id)]);
    assert_eq!(air.sent(), [id]);
    let at = |report: &driftway_radio::MacReport| match *report {
        driftway_radio::MacReport::Received { at, .. }
        | driftway_radio::MacReport::Sent { at, .. } => at.as_nanos(),
        ref other => panic!("{other:?}"),
    };
    let times: Vec<_> = air.reports.iter().map(at).collect();
    assert_eq!(times, [data + data_time(1036) + WAY, ack + ACK_TIME + WAY]);
    // Duration fields (§7.2): the rest of the exchange.
    let durations: Vec<_> = frames.iter().map(|f| f.duration_us).collect();
    let data = data_time(1036) / 1_000;
    assert_eq!(
        durations,
        [u64::from(3u32) * 10 + 304 + data + 304, 20 + data + 304, 314, 0].map(|d| d as u32)
    );
    let counted = air.dcf.total_counters();
    assert_eq!((counted.rts, counted.cts, counted.data, counted.acks), (1, 1, 1, 1));
    assert_eq!((counted.acknowledged, counted.retries, counted.collisions), (1, 0, 0));
    let airtime = RTS_TIME + CTS_TIME + data_time(1036) + ACK_TIME;
    assert_eq!(counted.airtime.as_nanos(), airtime);
}

#[test]
fn ns2_backs_off_first() {
    let mut air = medium(DcfConfig::NS2, &row(2));
    air.send(1_000, 0, 1, 1000);
    let frames = air.run(100);
    assert_eq!(frames.len(), 4);
    let after = frames[0].at.since(Instant::from_micros(1_000)).as_nanos();
    assert!(
        after >= 50_000 && (after - 50_000).is_multiple_of(20_000),
        "DIFS and whole slots: {after}"
    );
    assert_eq!(frames[2].bytes, 1034);
    assert_eq!(frames[3].at.since(frames[2].at).as_nanos(), data_time(1034) + WAY + SIFS);
}

/// The switch alone decides: without it a frame that finds the medium idle is sent immediately, with
/// it after a DIFS and a backoff.
#[test]
fn a_backoff_before_the_first_attempt_is_configurable() {
    for base in [DcfConfig::STANDARD, DcfConfig::NS2] {
        for backoff_before_first in [false, true] {
            let mut air = medium(DcfConfig { backoff_before_first, ..base }, &row(2));
            air.send(1_000, 0, 1, 1000);
            let waited = air.run(100)[0].at.since(Instant::from_micros(1_000)).as_nanos();
            assert_eq!(waited >= 50_000, backoff_before_first, "{waited}");
            assert_eq!(waited == 0, !backoff_before_first, "{waited}");
        }
    }
}

#[test]
fn a_short_frame_goes_without_rts() {
    let mut air = medium(DcfConfig::STANDARD, &row(2));
    let id = air.send(1_000, 0, 1, 1000);
    let frames = air.run(100);
    let kinds: Vec<_> = frames.iter().map(|f| (f.kind, f.from.number(), f.outcome)).collect();
    assert_eq!(
        kinds,
        [(DATA, 0, ReceptionOutcome::Received), (ACK, 1, ReceptionOutcome::Received)]
    );
    assert_eq!(frames[1].at.as_nanos(), 1_000_000 + data_time(1036) + WAY + SIFS);
    assert_eq!(air.sent(), [id]);
}

#[test]
fn a_broadcast_uses_the_basic_rate_without_an_ack() {
    let mut air = medium(WITH_RTS, &row(4));
    let id = air.send(1_000, 1, None, 100);
    let frames = air.run(100);
    assert_eq!(summary(&frames), [(DATA, 1, ReceptionOutcome::Broadcast(2))]);
    assert_eq!(frames[0].airtime.as_nanos(), 192_000 + 136 * 8_000);
    assert_eq!(air.received(), [(0, id), (2, id)]);
    assert_eq!(air.sent(), [id]);
}

#[test]
fn a_packet_is_discarded_after_seven_rts_without_a_cts() {
    for config in [WITH_RTS, DcfConfig::NS2] {
        let mut air = medium(config, &[(0.0, 0.0), (251.0, 0.0)]);
        let (lost, next) = (air.send(1_000, 0, 1, 1000), air.send(1_000, 0, None, 10));
        let frames = air.run(200);
        assert_eq!(summary(&frames)[..7], [(RTS, 0, ReceptionOutcome::OutOfRange); 7]);
        assert_eq!(frames.len(), 8);
        let failed = air.failed();
        assert_eq!(
            failed.iter().map(|f| (f.0, f.1)).collect::<Vec<_>>(),
            [(lost, FailReason::NoCts)]
        );
        assert_eq!(air.sent(), [next]);
        // The contention window doubles from 31 to 1023, and every attempt ends with its timeout.
        assert!(failed[0].2 > frames[6].at + frames[6].airtime);
        let counted = air.counters(0);
        assert_eq!((counted.cts_timeouts, counted.retries), (7, 6));
        assert_eq!((counted.failed_no_cts, counted.failed_no_ack), (1, 0));
    }
}

/// A short frame without an ACK is discarded at the short retry limit.
#[test]
fn a_frame_without_rts_fails_for_its_ack() {
    let config = DcfConfig { short_retry_limit: 5, long_retry_limit: 2, ..DcfConfig::STANDARD };
    let mut air = medium(config, &[(0.0, 0.0), (251.0, 0.0)]);
    let lost = air.send(1_000, 0, 1, 1000);
    let frames = air.run(200);
    assert_eq!(summary(&frames), [(DATA, 0, ReceptionOutcome::OutOfRange); 5]);
    let failed: Vec<_> = air.failed().iter().map(|f| (f.0, f.1)).collect();
    assert_eq!(failed, [(lost, FailReason::NoAck)]);
    let counted = air.counters(0);
    assert_eq!((counted.ack_timeouts, counted.cts_timeouts), (5, 0));
    assert_eq!((counted.failed_no_ack, counted.failed_no_cts), (1, 0));
}

/// 2 is hidden from 0 and has begun to transmit before 1's CTS: the CTS arrives, the data does not.
#[test]
fn a_frame_after_rts_and_cts_fails_at_the_long_limit() {
    let config = DcfConfig { short_retry_limit: 5, long_retry_limit: 1, ..WITH_RTS };
    let mut air = with_ranges(config, &[(0.0, 0.0), (200.0, 0.0), (440.0, 0.0)], 250.0, 250.0);
    let lost = air.send(1_000, 0, 1, 1000);
    air.send(1_360, 2, None, 1000);
    let frames = air.run(200);
    let failed: Vec<_> = air.failed().iter().map(|f| (f.0, f.1)).collect();
    assert_eq!(failed, [(lost, FailReason::NoAck)]);
    let own: Vec<_> = frames
        .iter()
        .filter(|f| f.from == StationId::new(0))
        .map(|f| (f.kind, f.outcome))
        .collect();
    assert_eq!(own, [(RTS, ReceptionOutcome::Received), (DATA, ReceptionOutcome::Collided)]);
    let counted = air.counters(0);
    assert_eq!((counted.failed_no_ack, counted.failed_no_cts), (1, 0));
}

/// Frames of 108 ns: 2, which is out of range of 0, finishes while 1 switches to answer 0.
#[test]
fn a_station_with_a_pending_response_receives_nothing() {
    let rate = Rate::from_bps(10_000_000_000);
    let config = DcfConfig {
        preamble: Duration::ZERO,
        data_rate: rate,
        basic_rate: rate,
        ..DcfConfig::STANDARD
    };
    let mut air = with_ranges(config, &row(3), 250.0, 250.0);
    let (first, second) = (air.send(1_000, 0, 1, 99), air.send(1_003, 2, 1, 99));
    let frames = air.run(100);
    let begin = [
        (DATA, 0, ReceptionOutcome::Received),
        (DATA, 2, ReceptionOutcome::Transmitting),
        (ACK, 1, ReceptionOutcome::Received),
    ];
    assert_eq!(summary(&frames)[..3], begin);
    assert_eq!(frames[2].to, Some(StationId::new(0)));
    assert_eq!(air.received(), [(1, first), (1, second)]);
    assert_eq!(air.sent(), [first, second]);
    assert_eq!(air.counters(1).missed_while_transmitting, 1);
}
