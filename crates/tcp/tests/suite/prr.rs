//! Proportional rate reduction: RFC 9937.

use crate::common;
use crate::common::test_connection::*;
use crate::common::{DELAY, Pair, WireAction};
use driftway_base::RecoveryState;
use driftway_tcp::{Config, RecoveryKind};

fn config(prr: bool) -> Config {
    let recovery = RecoveryKind::Sack;
    Config { recovery, sack: true, prr, limited_transmit: false, ..plain() }
}

/// Segments sent for each SACK of 14 segments, of which the first is lost.
fn segments_per_ack(prr: bool) -> Vec<usize> {
    let mut conn = TestConnection::in_flight(&config(prr), 14);
    conn.writes(50_000);
    let reports = 2..=14;
    let counts = reports.map(|n| {
        conn.receives(ack(1).sack(&[(1001, n * 1000 + 1)]));
        conn.sends_some().len()
    });
    counts.collect()
}

#[test]
fn segments_are_sent_at_an_even_rate() {
    // RFC 6675: a pause until half of the window is delivered, then one for one.
    assert_eq!(segments_per_ack(false), [0, 0, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]);
    // RFC 9937: 7 for 12 after the early fast retransmit, then one for one.
    assert_eq!(segments_per_ack(true), [0, 0, 1, 0, 0, 1, 0, 0, 1, 1, 1, 1, 1]);
}

#[test]
fn recovery_ends_at_ssthresh() {
    let mut conn = TestConnection::in_flight(&config(true), 14);
    conn.writes(50_000);
    for n in 2..=14 {
        conn.receives(ack(1).sack(&[(1001, n * 1000 + 1)]));
        conn.sends_some();
    }
    let max = conn.tcp.view().snd_max.value().unwrap();
    conn.receives(ack(max.since(OURS)));
    assert_eq!(conn.tcp.view().recovery.value(), Some(RecoveryState::Open));
    assert_eq!((conn.cwnd(), conn.ssthresh()), (7000, 7000));
    assert_eq!(conn.sends_some().len(), 7);
}

#[test]
fn each_recovery_has_its_own_prr_state() {
    // RFC 9937 §6: the counters are reset for each recovery, with the ssthresh at which the last
    // ended.
    for recovery in [RecoveryKind::Sack, RecoveryKind::RackTlp] {
        let config = Config { recovery, initial_window: 20, ..config(true) };
        let mut conn = TestConnection::established(&config);
        conn.acts(driftway_base::Act::Resume {
            cwnd: driftway_base::Assign::Value(20_000),
            ssthresh: driftway_base::Assign::Keep,
            rto: driftway_base::Assign::Keep,
        });
        for n in 0..20 {
            conn.at(RTT + n);
            conn.writes(1000);
            assert_eq!(conn.sends_some().len(), 1);
        }
        conn.writes(100_000);
        conn.at(220);
        for n in 4..=20 {
            conn.receives(ack(1).sack(&[(1001, n * 1000 + 1)]));
            conn.sends_some();
        }
        assert_eq!(conn.ssthresh(), 10_000);
        conn.at(330);
        // The first of the new segments is lost, three after it have arrived.
        conn.receives(ack(20_001).sack(&[(21_001, 24_001)]));
        assert_eq!(conn.tcp.stats().fast_retransmits, 2, "{recovery:?}");
        assert_eq!(conn.ssthresh(), 5000);
        conn.sends(["20001..21001"]);
        // The pipe is down to ssthresh with the first SACK; the retransmission has to make room for
        // itself, and then one segment is sent for each.
        let counts = [25, 26, 27, 28].map(|n| {
            conn.receives(ack(20_001).sack(&[(21_001, n * 1000 + 1)]));
            conn.sends_some().len()
        });
        assert_eq!(counts, [0, 1, 1, 1], "{recovery:?}");
    }
}

#[test]
fn after_heavy_losses_cwnd_grows_back_to_ssthresh_faster_with_safe_acks() {
    // All but the last four of fourteen are lost, with a ssthresh of seven.
    let mut conn = TestConnection::in_flight(&config(true), 14);
    conn.writes(50_000);
    let sent = [11, 12, 13, 14].map(|n| {
        conn.receives(ack(1).sack(&[(10_001, n * 1000 + 1)]));
        conn.sends_some().join(" ")
    });
    assert_eq!(sent, ["", "", "1..1001", "1001..2001"]);
    // SafeACK: SND.UNA advances and no further loss is detected: two for one.
    conn.receives(ack(1001).sack(&[(10_001, 14_001)]));
    conn.sends(["2001..3001", "3001..4001"]);
}

#[test]
fn a_timeout_ends_prr() {
    let mut conn = TestConnection::in_flight(&config(true), 14);
    for n in 2..=5 {
        conn.receives(ack(1).sack(&[(1001, n * 1000 + 1)]));
        conn.sends_some();
    }
    let on_its_way_down = conn.cwnd();
    assert!((7001..14_000).contains(&on_its_way_down));
    conn.at(1100);
    conn.sends(["1..1001"]);
    assert_eq!((conn.cwnd(), conn.ssthresh()), (1000, on_its_way_down / 2));
    conn.receives(ack(5001));
    assert_eq!(conn.cwnd(), 2000);
    conn.sends_some();
}

/// The longest pause of the sender (ms) in the recovery from one loss, on a link with 4 ms per
/// segment.
fn longest_silence_ms(prr: bool) -> u64 {
    let config =
        Config { timestamps: true, window_scale: true, receive_buffer: 1 << 20, ..config(prr) };
    let mut pair = Pair::new(&config, &config);
    let (mut count, mut last) = (0, 0);
    pair.policy = Box::new(move |from, _, transmit| {
        if from == 1 || transmit.segment.payload.is_empty() {
            return WireAction::Deliver(DELAY);
        }
        // Our timestamps are the time in milliseconds.
        let now = transmit.segment.options.timestamps.map_or(0, |t| u64::from(t.value));
        count += 1;
        last = (now + 50).max(last + 4);
        if count == 60 { WireAction::Drop } else { WireAction::Deliver(common::MS(last - now)) }
    });
    pair.ends[0].tcp.write(400_000);
    while pair.ends[1].read < 400_000 {
        assert!(pair.step());
    }
    let stats = pair.ends[0].tcp.stats();
    assert_eq!((stats.fast_retransmits, stats.timeouts, stats.retransmissions), (1, 0, 1));
    let sent = &pair.ends[0].sent;
    let again = |t: &driftway_tcp::Transmit| t.retransmission && !t.segment.payload.is_empty();
    let first = sent.iter().position(|(_, t)| again(t)).expect("a retransmission");
    let times = sent[first..].iter().map(|(at, _)| at.as_nanos() / 1_000_000);
    let times: Vec<_> = times.take(15).collect();
    times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap()
}

#[test]
fn prr_avoids_the_pause_of_the_sender() {
    let (without, with) = (longest_silence_ms(false), longest_silence_ms(true));
    assert!(without > 5 * with, "{without} ms and {with} ms");
}
