//! `Act::Hold { timers: HeldTimers::Freeze }`: chandran-1998 §4, "freezes all of its timers, the send
//! window and other state variables", rule by rule. And `Act::LimitCwnd`.

use crate::common::test_connection::*;
use driftway_base::{Act, Assign, Duration, HeldTimers, RecoveryState, Release};
use driftway_tcp::{Config, RecoveryKind};

const MS: fn(u64) -> Duration = Duration::from_millis;

fn snooze() -> Act {
    let (cwnd, release) = (Assign::Keep, Release::Resume);
    Act::Hold { probe: None, rewind_snd_nxt: false, timers: HeldTimers::Freeze, cwnd, release }
}

fn wake() -> Act {
    Act::Resume { cwnd: Assign::Keep, ssthresh: Assign::Keep, rto: Assign::Keep }
}

fn limit(bytes: u32) -> Act {
    Act::LimitCwnd { cwnd: Some(bytes) }
}

/// RFC 6298 §5.5: two timeouts have doubled the RTO twice; the third would expire 4 s after the
/// second, 1 s of which has passed before the freeze.
#[test]
fn the_frozen_timeout_keeps_its_back_off_and_remaining_time() {
    let mut conn = TestConnection::in_flight(&plain(), 4);
    for ms in [1100, 3100] {
        conn.at(ms);
        conn.sends(["1..1001"]);
    }
    conn.at(4100);
    conn.acts(snooze());
    conn.quiet_until(104_100);
    conn.acts(wake());
    conn.quiet_until(107_099);
    conn.at(107_100);
    conn.sends(["1..1001"]);
    conn.quiet_until(115_099);
    conn.at(115_100); // doubled once more, not restarted from 1 s
    conn.sends(["1..1001"]);
    assert_eq!(conn.tcp.stats().timeouts, 4);
}

#[test]
fn while_frozen_nothing_is_sent_and_the_windows_are_kept() {
    let mut conn = TestConnection::in_flight(&plain(), 4);
    let windows = (conn.cwnd(), conn.ssthresh(), conn.rto());
    conn.acts(snooze());
    conn.writes(5000);
    conn.quiet_until(60_000);
    conn.acts(wake());
    assert_eq!((conn.cwnd(), conn.ssthresh(), conn.rto()), windows);
    conn.receives(ack(1001));
    conn.sends(["4001..5001", "5001..6001"]); // at the previous rate
}

#[test]
fn while_frozen_an_acknowledgment_changes_neither_window_nor_back_off() {
    let mut conn = TestConnection::in_flight(&Config { timestamps: true, ..plain() }, 4);
    let before = (conn.cwnd(), conn.rto(), conn.tcp.stats().rtt_samples);
    conn.at(700);
    conn.acts(snooze());
    conn.writes(9000);
    conn.at(5000);
    conn.receives(ack(2001).timestamps(5900, 100));
    assert_eq!(conn.tcp.view().snd_una.value(), Some(OURS + 2001));
    assert_eq!((conn.cwnd(), conn.rto(), conn.tcp.stats().rtt_samples), before);
    conn.quiet_until(50_000);
    conn.acts(wake());
    assert_eq!(conn.sends_some().len(), 2, "the room that the acknowledgment has freed");
    // RFC 6298 §5.3: it restarted the timer, which the freeze kept at its full time.
    conn.quiet_until(50_999);
    conn.at(51_000);
    conn.sends(["2001..2989"]); // 12 bytes are for the timestamp
}

#[test]
fn segments_in_flight_while_frozen_give_no_rtt_sample() {
    for timestamps in [false, true] {
        let mut conn = TestConnection::in_flight(&Config { timestamps, ..plain() }, 4);
        conn.acts(snooze());
        conn.at(50_000);
        conn.acts(wake());
        let before = (conn.rto(), conn.tcp.stats().rtt_samples);
        // A router has delayed it; the echo is that of the first transmission.
        conn.receives(ack(1001).options(|o| {
            o.timestamps =
                timestamps.then_some(driftway_wire::Timestamps { value: 5900, echo: 100 });
        }));
        conn.sends_some();
        assert_eq!((conn.rto(), conn.tcp.stats().rtt_samples), before);
    }
}

#[test]
fn the_duplicate_count_continues_after_a_freeze() {
    let mut conn = TestConnection::in_flight(&plain(), 6);
    conn.receives(ack(1));
    conn.receives(ack(1));
    conn.acts(snooze());
    for _ in 0..5 {
        conn.receives(ack(1)); // congestion control is suspended
    }
    conn.acts(wake());
    assert_eq!(conn.tcp.stats().fast_retransmits, 0);
    conn.receives(ack(1));
    conn.sends(["1..1001"]);
    assert_eq!(conn.tcp.stats().fast_retransmits, 1);
}

fn rack() -> Config {
    let recovery = RecoveryKind::RackTlp;
    Config { recovery, sack: true, prr: true, initial_window: 10, ..plain() }
}

/// `segments` in flight, sent 1 ms apart from 100 ms on.
fn spaced(segments: u32) -> TestConnection {
    let mut conn = TestConnection::established(&rack());
    for n in 0..segments {
        conn.at(RTT + u64::from(n));
        conn.writes(1000);
        conn.sends([format!("{}..{}", n * 1000 + 1, (n + 1) * 1000 + 1).as_str()]);
    }
    conn
}

/// Both kinds of hold: that of chandran-1998 §4, and that of liu-singh-2001 §III-B, which does not
/// freeze timers but suspends congestion control.
fn holds() -> [Act; 2] {
    let (cwnd, release) = (Assign::Keep, Release::Resume);
    [
        snooze(),
        Act::Hold { probe: None, rewind_snd_nxt: false, timers: HeldTimers::Stop, cwnd, release },
    ]
}

#[test]
fn rack_detects_no_loss_during_a_hold() {
    // RFC 8985 §6.2 is suspended as the duplicate count is.
    for hold in holds() {
        let mut conn = spaced(10);
        let before = (conn.cwnd(), conn.ssthresh());
        conn.at(250);
        conn.acts(hold);
        conn.at(260);
        conn.receives(ack(1).sack(&[(1001, 4001)]));
        conn.receives(ack(1).sack(&[(1001, 9001)]));
        assert_eq!((conn.cwnd(), conn.ssthresh()), before);
        assert_eq!(conn.tcp.stats().fast_retransmits, 0);
        assert_eq!(conn.tcp.view().recovery.value(), Some(RecoveryState::Open));
        conn.at(2000);
        conn.acts(wake());
        // Its time had passed before, and data SACKed since then counts now.
        conn.sends(["1..1001"]);
        assert_eq!(conn.tcp.stats().fast_retransmits, 1);
    }
}

#[test]
fn the_frozen_reordering_timer_keeps_its_remaining_time() {
    // chandran-1998 §4 for RFC 8985 §6.2: 25 ms after a round trip, of which 20 remain.
    let mut conn = spaced(4);
    conn.at(201);
    conn.receives(ack(1).sack(&[(1001, 2001)]));
    conn.at(205);
    conn.acts(snooze());
    conn.at(5000);
    conn.acts(wake());
    conn.quiet_until(5019);
    conn.at(5020);
    conn.sends(["1..1001"]);
    // Data SACKed while frozen starts the reordering timer of segments sent before it only.
    let mut conn = spaced(4);
    conn.at(205);
    conn.acts(snooze());
    conn.at(4000);
    conn.receives(ack(1).sack(&[(1001, 2001)]));
    conn.at(5000);
    conn.acts(wake());
    conn.quiet_until(5019);
    conn.at(5020);
    conn.sends(["1..1001"]);
}

#[test]
fn a_round_trip_across_a_freeze_does_not_set_racks_rtt() {
    // Neither the short one before the freeze nor the long one: RFC 8985 §6.2 uses the last sample.
    let mut conn = spaced(4);
    conn.at(101 + 3);
    conn.acts(snooze());
    conn.at(5000);
    conn.acts(wake());
    conn.at(5001);
    conn.receives(ack(1).sack(&[(1001, 2001)]));
    // Sent 4 ms before the freeze: of the handshake's RTT and a quarter of it 121 ms remain.
    conn.quiet_until(5120);
    conn.at(5121);
    conn.sends(["1..1001"]);
}

#[test]
fn during_a_hold_prr_is_suspended_and_the_end_of_recovery_sets_the_window() {
    for hold in holds() {
        let mut conn = spaced(10);
        conn.at(210);
        conn.receives(ack(1).sack(&[(1001, 4001)]));
        conn.sends(["1..1001"]);
        let windows = (conn.cwnd(), conn.ssthresh());
        conn.acts(hold);
        conn.at(300);
        conn.receives(ack(1).sack(&[(1001, 6001)]));
        assert_eq!((conn.cwnd(), conn.ssthresh()), windows);
        conn.receives(ack(10_001));
        assert_eq!((conn.cwnd(), conn.ssthresh()), windows);
        conn.acts(wake());
        // RFC 9937 §6: at the end of recovery cwnd is ssthresh.
        assert_eq!((conn.cwnd(), conn.ssthresh()), (5000, 5000));
    }
}

#[test]
fn window_probes_freeze_too() {
    let mut conn = TestConnection::in_flight(&plain(), 1);
    conn.receives(ack(1001).window(0));
    conn.writes(1000);
    conn.at(1000);
    let next = conn.tcp.next_timeout().unwrap();
    conn.acts(snooze());
    conn.quiet_until(60_000);
    conn.acts(wake());
    let left = next.since(driftway_base::Instant::from_millis(1000));
    assert_eq!(conn.tcp.next_timeout(), Some(conn.now + left));
}

#[test]
fn a_delayed_acknowledgment_is_sent_while_frozen() {
    let config = Config { delayed_ack: Config::default().delayed_ack, ..plain() };
    let mut conn = TestConnection::established(&config);
    conn.receives(data(1, 1000));
    conn.acts(snooze());
    conn.quiet_until(60_000);
    conn.receives(data(1001, 1000)); // received segments are acknowledged all the same
    conn.sends(["ack 2001"]);
    conn.acts(wake());
    conn.quiet_until(120_000);
}

/// RFC 5681 §4.1 restarts after an idle period; frozen time does not count as one.
#[test]
fn frozen_time_is_not_idle_time() {
    let mut conn = TestConnection::in_flight(&plain(), 4);
    for number in [1001, 2001, 3001, 4001] {
        conn.receives(ack(number));
    }
    let cwnd = conn.cwnd();
    assert!(cwnd > 4000);
    conn.acts(snooze());
    conn.at(60_000);
    conn.acts(wake());
    conn.writes(20_000);
    assert_eq!(conn.sends_some().len() as u32 * 1000, cwnd);
}

#[test]
fn frozen_time_is_not_silence_of_the_peer() {
    let config = Config { keep_alive: Some(MS(5000)), max_retries: 2, ..plain() };
    let mut conn = TestConnection::established(&config);
    conn.at(4100);
    conn.acts(snooze());
    conn.quiet_until(600_000);
    conn.acts(wake());
    conn.quiet_until(600_999);
    conn.at(601_000);
    assert_eq!(conn.sends_some().len(), 1, "a keep-alive, no abort");
    assert!(conn.events.is_empty(), "{:?}", conn.events);
}

#[test]
fn a_hold_without_freeze_reverts_the_back_off() {
    let mut conn = TestConnection::in_flight(&plain(), 4);
    for ms in [1100, 3100] {
        conn.at(ms);
        conn.sends(["1..1001"]);
    }
    let (cwnd, release) = (Assign::Keep, Release::Resume);
    conn.acts(Act::Hold {
        probe: None,
        rewind_snd_nxt: false,
        timers: HeldTimers::Stop,
        cwnd,
        release,
    });
    conn.acts(wake());
    conn.at(4100);
    conn.sends(["1..1001"]);
}

#[test]
fn a_limit_bounds_outstanding_data_regardless_of_the_window() {
    for recovery in [RecoveryKind::Tahoe, RecoveryKind::Reno, RecoveryKind::NewReno] {
        let mut conn =
            TestConnection::established(&Config { recovery, initial_window: 10, ..plain() });
        conn.acts(limit(2000));
        conn.writes(20_000);
        conn.sends(["1..1001", "1001..2001"]);
        conn.receives(ack(1001));
        conn.sends(["2001..3001"]);
        assert!(conn.cwnd() >= 10_000);
        conn.acts(Act::LimitCwnd { cwnd: None });
        assert!(conn.sends_some().len() >= 8, "TCP's own windows apply again");
    }
}

#[test]
fn a_limit_below_a_segment_permits_one_segment() {
    let mut conn = TestConnection::established(&plain());
    conn.acts(limit(0));
    conn.writes(2000);
    conn.sends(["1..1001"]);
    conn.closes();
    conn.receives(ack(1001));
    conn.sends(["1001..2001"]);
    conn.receives(ack(2001));
    conn.sends(["2001..2001 FIN"]);
}
