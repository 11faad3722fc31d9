//! `Act::Hold { freeze_timers: true }`: chandran-1998 §4, "freezes all of its timers, the send window
//! and other state variables", rule by rule. And `Act::Limit`.

mod common;

use common::line::*;
use driftway_base::{Act, Duration, RecoveryState, Release, Assign};
use driftway_tcp::{Config, RecoveryKind};

const MS: fn(u64) -> Duration = Duration::from_millis;

fn snooze() -> Act {
    let (cwnd, release) = (Assign::Keep, Release::Resume);
    Act::Hold { probe: None, rewind_snd_nxt: false, freeze_timers: true, cwnd, release }
}

fn wake() -> Act {
    Act::Resume { cwnd: Assign::Keep, ssthresh: Assign::Keep, rto: Assign::Keep }
}

fn limit(bytes: u32) -> Act {
    Act::LimitCwnd { cwnd: Some(bytes) }
}

/// RFC 6298 §5.5: two timeouts have doubled the RTO twice; the third comes 4 s after the second,
/// of which 1 s has passed before the freeze.
#[test]
fn frozen_the_timeout_keeps_its_back_off_and_what_was_left() {
    let mut line = Line::in_flight(&plain(), 4);
    for ms in [1100, 3100] {
        line.at(ms);
        line.sends(["1..1001"]);
    }
    line.at(4100);
    line.acts(snooze());
    line.quiet_until(104_100);
    line.acts(wake());
    line.quiet_until(107_099);
    line.at(107_100);
    line.sends(["1..1001"]);
    line.quiet_until(115_099);
    line.at(115_100); // doubled once more, not anew from 1 s
    line.sends(["1..1001"]);
    assert_eq!(line.tcp.stats().timeouts, 4);
}

#[test]
fn frozen_nothing_new_or_old_leaves_and_windows_are_kept() {
    let mut line = Line::in_flight(&plain(), 4);
    let windows = (line.cwnd(), line.ssthresh(), line.rto());
    line.acts(snooze());
    line.writes(5000);
    line.quiet_until(60_000);
    line.acts(wake());
    assert_eq!((line.cwnd(), line.ssthresh(), line.rto()), windows);
    line.receives(ack(1001));
    line.sends(["4001..5001", "5001..6001"]); // at the rate of before
}

#[test]
fn an_acknowledgment_while_frozen_counts_and_moves_neither_window_nor_timeout() {
    let mut line = Line::in_flight(&Config { timestamps: true, ..plain() }, 4);
    let before = (line.cwnd(), line.rto(), line.tcp.stats().rtt_samples);
    line.at(700);
    line.acts(snooze());
    line.writes(9000);
    line.at(5000);
    line.receives(ack(2001).timestamps(5900, 100));
    assert_eq!(line.tcp.view().snd_una.value(), Some(OURS + 2001));
    assert_eq!((line.cwnd(), line.rto(), line.tcp.stats().rtt_samples), before);
    line.quiet_until(50_000);
    line.acts(wake());
    assert_eq!(line.sends_some().len(), 2, "the places that the acknowledgment has made free");
    // RFC 6298 §5.3: it started the timer anew, which the freeze kept at its beginning.
    line.quiet_until(50_999);
    line.at(51_000);
    line.sends(["2001..2989"]); // 12 bytes are the timestamp's
}

#[test]
fn what_was_on_its_way_while_frozen_is_no_sample() {
    for timestamps in [false, true] {
        let mut line = Line::in_flight(&Config { timestamps, ..plain() }, 4);
        line.acts(snooze());
        line.at(50_000);
        line.acts(wake());
        let before = (line.rto(), line.tcp.stats().rtt_samples);
        // A router kept it; the echo is that of the first transmission.
        line.receives(ack(1001).options(|o| {
            o.timestamps =
                timestamps.then_some(driftway_wire::Timestamps { value: 5900, echo: 100 });
        }));
        line.sends_some();
        assert_eq!((line.rto(), line.tcp.stats().rtt_samples), before);
    }
}

#[test]
fn duplicates_are_counted_on_from_where_they_were() {
    let mut line = Line::in_flight(&plain(), 6);
    line.receives(ack(1));
    line.receives(ack(1));
    line.acts(snooze());
    for _ in 0..5 {
        line.receives(ack(1)); // congestion control rests
    }
    line.acts(wake());
    assert_eq!(line.tcp.stats().fast_retransmits, 0);
    line.receives(ack(1));
    line.sends(["1..1001"]);
    assert_eq!(line.tcp.stats().fast_retransmits, 1);
}

fn rack() -> Config {
    let recovery = RecoveryKind::RackTlp;
    Config { recovery, sack: true, prr: true, initial_window: 10, ..plain() }
}

/// `segments` in flight, a millisecond from one to the next, the first at 100 ms.
fn spaced(segments: u32) -> Line {
    let mut line = Line::established(&rack());
    for n in 0..segments {
        line.at(RTT + u64::from(n));
        line.writes(1000);
        line.sends([format!("{}..{}", n * 1000 + 1, (n + 1) * 1000 + 1).as_str()]);
    }
    line
}

/// Both kinds of hold: chandran-1998 §4's, and the one of liu-singh-2001 §III-B, which does not
/// freeze timers and yet stops what congestion control decides.
fn holds() -> [Act; 2] {
    let (cwnd, release) = (Assign::Keep, Release::Resume);
    [snooze(), Act::Hold { probe: None, rewind_snd_nxt: false, freeze_timers: false, cwnd, release }]
}

#[test]
fn held_time_measured_segments_are_not_found_lost_until_tcp_goes_on() {
    // RFC 8985 §6.2 rests as counted duplicates do.
    for hold in holds() {
        let mut line = spaced(10);
        let before = (line.cwnd(), line.ssthresh());
        line.at(250);
        line.acts(hold);
        line.at(260);
        line.receives(ack(1).sack(&[(1001, 4001)]));
        line.receives(ack(1).sack(&[(1001, 9001)]));
        assert_eq!((line.cwnd(), line.ssthresh()), before);
        assert_eq!(line.tcp.stats().fast_retransmits, 0);
        assert_eq!(line.tcp.view().recovery.value(), Some(RecoveryState::Open));
        line.at(2000);
        line.acts(wake());
        // Its time was over before, and what was reported since counts now.
        line.sends(["1..1001"]);
        assert_eq!(line.tcp.stats().fast_retransmits, 1);
    }
}

#[test]
fn frozen_the_reordering_window_keeps_what_was_left() {
    // chandran-1998 §4 for RFC 8985 §6.2: 25 ms after a round trip, of which 20 are left.
    let mut line = spaced(4);
    line.at(201);
    line.receives(ack(1).sack(&[(1001, 2001)]));
    line.at(205);
    line.acts(snooze());
    line.at(5000);
    line.acts(wake());
    line.quiet_until(5019);
    line.at(5020);
    line.sends(["1..1001"]);
    // What was reported while frozen opens the window for what was sent before it, no further.
    let mut line = spaced(4);
    line.at(205);
    line.acts(snooze());
    line.at(4000);
    line.receives(ack(1).sack(&[(1001, 2001)]));
    line.at(5000);
    line.acts(wake());
    line.quiet_until(5019);
    line.at(5020);
    line.sends(["1..1001"]);
}

#[test]
fn what_a_freeze_interrupts_is_no_round_trip_for_the_reordering_window() {
    // Neither a short one, of the time before it, nor a long one: RFC 8985 §6.2 goes by the last.
    let mut line = spaced(4);
    line.at(101 + 3);
    line.acts(snooze());
    line.at(5000);
    line.acts(wake());
    line.at(5001);
    line.receives(ack(1).sack(&[(1001, 2001)]));
    // Sent 4 ms before the freeze: of the handshake's round trip and a quarter of it 121 are left.
    line.quiet_until(5120);
    line.at(5121);
    line.sends(["1..1001"]);
}

#[test]
fn held_no_recovery_is_paced_and_its_end_leaves_the_window() {
    for hold in holds() {
        let mut line = spaced(10);
        line.at(210);
        line.receives(ack(1).sack(&[(1001, 4001)]));
        line.sends(["1..1001"]);
        let windows = (line.cwnd(), line.ssthresh());
        line.acts(hold);
        line.at(300);
        line.receives(ack(1).sack(&[(1001, 6001)]));
        assert_eq!((line.cwnd(), line.ssthresh()), windows);
        line.receives(ack(10_001));
        assert_eq!((line.cwnd(), line.ssthresh()), windows);
        line.acts(wake());
        // RFC 9937 §6: at the end of the recovery the window is ssthresh.
        assert_eq!((line.cwnd(), line.ssthresh()), (5000, 5000));
    }
}

#[test]
fn probes_of_a_closed_window_freeze_too() {
    let mut line = Line::in_flight(&plain(), 1);
    line.receives(ack(1001).window(0));
    line.writes(1000);
    line.at(1000);
    let next = line.tcp.next_timeout().unwrap();
    line.acts(snooze());
    line.quiet_until(60_000);
    line.acts(wake());
    let left = next.since(driftway_base::Instant::from_millis(1000));
    assert_eq!(line.tcp.next_timeout(), Some(line.now + left));
}

#[test]
fn what_a_delayed_acknowledgment_waited_for_goes_on() {
    let config = Config { delayed_ack: Config::default().delayed_ack, ..plain() };
    let mut line = Line::established(&config);
    line.receives(data(1, 1000));
    line.acts(snooze());
    line.quiet_until(60_000);
    line.receives(data(1001, 1000)); // who hears the peer answers it
    line.sends(["ack 2001"]);
    line.acts(wake());
    line.quiet_until(120_000);
}

/// RFC 5681 §4.1 would start over after an idle period; a snooze is none.
#[test]
fn standing_still_is_not_idleness() {
    let mut line = Line::in_flight(&plain(), 4);
    for number in [1001, 2001, 3001, 4001] {
        line.receives(ack(number));
    }
    let cwnd = line.cwnd();
    assert!(cwnd > 4000);
    line.acts(snooze());
    line.at(60_000);
    line.acts(wake());
    line.writes(20_000);
    assert_eq!(line.sends_some().len() as u32 * 1000, cwnd);
}

#[test]
fn nor_is_it_the_silence_of_a_peer() {
    let config = Config { keep_alive: Some(MS(5000)), max_retries: 2, ..plain() };
    let mut line = Line::established(&config);
    line.at(4100);
    line.acts(snooze());
    line.quiet_until(600_000);
    line.acts(wake());
    line.quiet_until(600_999);
    line.at(601_000);
    assert_eq!(line.sends_some().len(), 1, "a keep-alive, not the end");
    assert!(line.events.is_empty(), "{:?}", line.events);
}

#[test]
fn another_kind_of_hold_takes_the_back_off_back() {
    let mut line = Line::in_flight(&plain(), 4);
    for ms in [1100, 3100] {
        line.at(ms);
        line.sends(["1..1001"]);
    }
    let (cwnd, release) = (Assign::Keep, Release::Resume);
    line.acts(Act::Hold { probe: None, rewind_snd_nxt: false, freeze_timers: false, cwnd, release });
    line.acts(wake());
    line.at(4100);
    line.sends(["1..1001"]);
}

#[test]
fn a_limit_bounds_what_is_outstanding_whatever_the_window() {
    for recovery in [RecoveryKind::Tahoe, RecoveryKind::Reno, RecoveryKind::NewReno] {
        let mut line = Line::established(&Config { recovery, initial_window: 10, ..plain() });
        line.acts(limit(2000));
        line.writes(20_000);
        line.sends(["1..1001", "1001..2001"]);
        line.receives(ack(1001));
        line.sends(["2001..3001"]);
        assert!(line.cwnd() >= 10_000);
        line.acts(Act::LimitCwnd { cwnd: None });
        assert!(line.sends_some().len() >= 8, "TCP's own windows hold again");
    }
}

#[test]
fn a_limit_below_a_segment_is_a_segment() {
    let mut line = Line::established(&plain());
    line.acts(limit(0));
    line.writes(2000);
    line.sends(["1..1001"]);
    line.closes();
    line.receives(ack(1001));
    line.sends(["1001..2001"]);
    line.receives(ack(2001));
    line.sends(["2001..2001 FIN"]);
}
