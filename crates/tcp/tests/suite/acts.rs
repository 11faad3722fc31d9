//! Acts of an aid, executed on a connection directly.

use crate::common::test_connection::*;
use driftway_base::{
    Act, ActResult, Assign, Duration, HeldTimers, ProbeSize, ProbeSpacing, RecoveryState, Release,
    Retransmit, SeqRange,
};
use driftway_tcp::{Config, RecoveryKind, State};

const MS: fn(u64) -> Duration = Duration::from_millis;

fn hold(release: Release) -> Act {
    let probe = Some(ProbeSpacing::new(MS(2000), MS(5000)));
    let cwnd = Assign::Keep;
    Act::Hold { probe, rewind_snd_nxt: false, timers: HeldTimers::Stop, cwnd, release }
}

fn silent() -> Act {
    let (cwnd, release) = (Assign::Keep, Release::Resume);
    Act::Hold { probe: None, rewind_snd_nxt: false, timers: HeldTimers::Stop, cwnd, release }
}

fn resume() -> Act {
    Act::Resume { cwnd: Assign::Keep, ssthresh: Assign::Keep, rto: Assign::Keep }
}

fn range(start: u32, end: u32) -> SeqRange {
    SeqRange::new(OURS + start, OURS + end)
}

fn resend(start: u32, end: u32) -> Act {
    Act::Resend { range: range(start, end), ahead_of_queue: true }
}

#[test]
fn a_hold_stops_data_and_the_retransmission_timer_and_probes() {
    let mut conn = TestConnection::in_flight(&plain(), 4);
    conn.acts(hold(Release::Resume));
    let view = conn.tcp.view();
    assert_eq!(view.retransmission_deadline.value(), Some(None));
    assert_eq!((view.is_persisting.value(), view.peer_window.value()), (Some(true), Some(0)));
    conn.writes(5000);
    conn.quiet();
    for ms in [2100, 6100, 11_100, 16_100] {
        conn.at(ms);
        conn.sends(["1..2"]);
    }
    conn.receives(ack(2)); // even new data does not end the hold
    conn.quiet();
    conn.at(21_100);
    conn.sends(["2..3"]);
    conn.acts(resume());
    assert_eq!(conn.tcp.view().is_persisting.value(), Some(false));
    assert_eq!(conn.tcp.stats().timeouts, 0);
    conn.at(22_100);
    conn.sends(["2..1002"]);
}

#[test]
fn any_acknowledgment_with_an_open_window_releases() {
    let mut conn = TestConnection::in_flight(&plain(), 4);
    conn.acts(hold(Release::AnyAck));
    conn.receives(ack(1).window(0));
    conn.receives(ack(0)); // old
    assert_eq!(conn.tcp.view().is_persisting.value(), Some(true));
    conn.at(2100);
    conn.sends(["1..2"]);
    conn.receives(ack(1));
    assert_eq!(conn.tcp.view().is_persisting.value(), Some(false));
    assert_eq!(conn.tcp.stats().fast_retransmits, 0);
    conn.at(3100);
    conn.sends(["1..1001"]);
}

#[test]
fn rewinding_snd_nxt_retransmits_everything() {
    // liu-singh-2001 §IV: one segment, from SND.UNA, under every recovery.
    for (recovery, sack) in
        [(RecoveryKind::Reno, false), (RecoveryKind::NewReno, false), (RecoveryKind::Sack, true)]
    {
        let mut conn = TestConnection::in_flight(&Config { recovery, sack, ..plain() }, 4);
        conn.acts(Act::Hold {
            probe: None,
            rewind_snd_nxt: true,
            timers: HeldTimers::Stop,
            cwnd: Assign::Value(1000),
            release: Release::AnyAck,
        });
        conn.at(60_000);
        conn.receives(ack(1));
        conn.sends(["1..1001"]);
        assert_eq!(conn.cwnd(), 1000);
        conn.receives(ack(1001));
        conn.sends(["1001..2001", "2001..3001"]);
        // Data received before the hold causes duplicates; they start no recovery.
        for _ in 0..4 {
            conn.receives(ack(2001));
            conn.sends_some();
        }
        assert_eq!(conn.tcp.stats().fast_retransmits, 0);
        assert_eq!(conn.tcp.view().recovery.value(), Some(RecoveryState::Open));
    }
}

#[test]
fn without_guard_duplicates_after_a_rewind_start_a_recovery() {
    // westin-2003 §4.8.1
    for (step_back_guard, fast_retransmits) in [(true, 0), (false, 1)] {
        let config = Config { step_back_guard, recovery: RecoveryKind::Tahoe, ..plain() };
        let mut conn = TestConnection::in_flight(&config, 4);
        let (cwnd, release) = (Assign::Value(1000), Release::AnyAck);
        conn.acts(Act::Hold {
            probe: None,
            rewind_snd_nxt: true,
            timers: HeldTimers::Stop,
            cwnd,
            release,
        });
        conn.receives(ack(1001));
        conn.sends_some();
        for _ in 0..3 {
            conn.receives(ack(1001));
            conn.sends_some();
        }
        assert_eq!(conn.tcp.stats().fast_retransmits, fast_retransmits, "{step_back_guard}");
    }
}

#[test]
fn rewinding_snd_nxt_ends_fast_recovery_and_its_inflation() {
    let mut conn =
        TestConnection::in_flight(&Config { recovery: RecoveryKind::Reno, ..plain() }, 8);
    for _ in 0..3 {
        conn.receives(ack(1));
    }
    conn.sends(["1..1001"]);
    assert_eq!(conn.cwnd(), 7000);
    let (cwnd, release) = (Assign::Keep, Release::Resume);
    conn.acts(Act::Hold {
        probe: None,
        rewind_snd_nxt: true,
        timers: HeldTimers::Stop,
        cwnd,
        release,
    });
    conn.acts(resume());
    assert_eq!(conn.cwnd(), 4000);
    conn.sends(["1..1001", "1001..2001", "2001..3001", "3001..4001"]);
}

#[test]
fn frozen_timers_keep_their_remaining_time() {
    // chandran-1998 §4
    let mut conn = TestConnection::in_flight(&plain(), 4);
    conn.at(700); // 400 ms remain of the retransmission timer
    let (cwnd, release) = (Assign::Keep, Release::Resume);
    conn.acts(Act::Hold {
        probe: None,
        rewind_snd_nxt: false,
        timers: HeldTimers::Freeze,
        cwnd,
        release,
    });
    conn.quiet_until(50_000);
    conn.acts(resume());
    conn.quiet_until(50_399);
    conn.at(50_400);
    conn.sends(["1..1001"]);
}

#[test]
fn a_frozen_timer_does_not_return_for_data_acknowledged_meanwhile() {
    let mut conn = TestConnection::in_flight(&plain(), 4);
    let (cwnd, release) = (Assign::Keep, Release::Resume);
    conn.acts(Act::Hold {
        probe: None,
        rewind_snd_nxt: false,
        timers: HeldTimers::Freeze,
        cwnd,
        release,
    });
    conn.receives(ack(4001));
    conn.acts(resume());
    conn.quiet_until(100_000);
    assert_eq!(conn.tcp.stats().timeouts, 0);
}

#[test]
fn resume_sets_windows_and_timeout() {
    let mut conn = TestConnection::in_flight(&plain(), 4);
    conn.acts(silent());
    conn.acts(Act::Resume {
        cwnd: Assign::Value(2000),
        ssthresh: Assign::Value(9000),
        rto: Assign::Value(MS(6000)),
    });
    assert_eq!((conn.cwnd(), conn.ssthresh(), conn.rto()), (2000, 9000, MS(6000)));
    conn.at(6100);
    conn.sends(["1..1001"]);
    conn.acts(Act::Resume {
        cwnd: Assign::Initial,
        ssthresh: Assign::Initial,
        rto: Assign::Initial,
    });
    assert_eq!((conn.cwnd(), conn.rto()), (4000, MS(1000)));
    assert!(conn.ssthresh() > 1 << 29);
    conn.sends_some();
    // Invalid values become the nearest valid ones.
    conn.acts(Act::Resume {
        cwnd: Assign::Value(0),
        ssthresh: Assign::Value(0),
        rto: Assign::Value(MS(0)),
    });
    assert_eq!((conn.cwnd(), conn.ssthresh(), conn.rto()), (1000, 2000, MS(1000)));
}

#[test]
fn an_aids_retransmission_changes_neither_window_nor_samples() {
    let mut conn = TestConnection::in_flight(&plain(), 4);
    let (cwnd, samples) = (conn.cwnd(), conn.tcp.stats().rtt_samples);
    conn.acts(resend(501, 2501));
    conn.sends(["501..1501", "1501..2501"]);
    for sent in &conn.last {
        assert!(sent.ahead_of_queue && sent.requested_by_aid && sent.retransmission);
    }
    assert_eq!(conn.cwnd(), cwnd);
    conn.receives(ack(1001)); // Karn
    assert_eq!(conn.tcp.stats().rtt_samples, samples);
    assert_eq!(conn.tcp.view().snd_nxt, conn.tcp.view().snd_max);
}

#[test]
fn an_aids_retransmissions_queue_and_are_limited_to_outstanding_data() {
    let mut conn = TestConnection::in_flight(&plain(), 4);
    conn.does(|tcp, now| {
        assert_eq!(tcp.act(now, &resend(0, 1001)), ActResult::Done);
        assert_eq!(tcp.act(now, &resend(3001, 9001)), ActResult::Done);
        assert_eq!(tcp.act(now, &resend(4001, 9001)), ActResult::Unsupported);
    });
    conn.sends(["1..1001", "3001..4001"]);
    conn.does(|tcp, now| {
        for _ in 0..64 {
            assert_eq!(tcp.act(now, &resend(1, 2)), ActResult::Done);
        }
        assert_eq!(tcp.act(now, &resend(1, 2)), ActResult::Unsupported);
    });
    assert_eq!(conn.sends_some().len(), 64);
}

#[test]
fn a_retransmission_during_a_hold_leaves_its_probes_running() {
    let mut conn = TestConnection::in_flight(&plain(), 4);
    conn.acts(hold(Release::AnyAck));
    conn.acts(resend(1, 1001));
    conn.sends(["1..1001"]);
    conn.at(2100);
    conn.sends(["1..2"]);
    assert_eq!(conn.tcp.view().retransmission_deadline.value(), Some(None));
}

#[test]
fn sacked_data_is_not_retransmitted_and_holes_between_remain_for_recovery() {
    let config = Config { recovery: RecoveryKind::Sack, sack: true, ..plain() };
    let mut conn = TestConnection::in_flight(&config, 10);
    for blocks in [[(1001, 2001)], [(1001, 3001)], [(1001, 4001)]] {
        conn.receives(ack(1).sack(&blocks));
    }
    conn.sends(["1..1001"]);
    conn.acts(resend(1, 5001));
    conn.sends(["1..1001", "4001..5001"]);
    // The aid has retransmitted beyond a hole that recovery has yet to fill.
    conn.receives(ack(1).sack(&[(5001, 9001), (1001, 4001)]));
    assert!(conn.sends_some().contains(&"4001..5001".to_string()));
}

#[test]
fn undo_restores_the_previous_windows() {
    let mut conn = TestConnection::in_flight(&plain(), 8);
    let before = (conn.cwnd(), conn.ssthresh());
    conn.does(|tcp, now| assert_eq!(tcp.act(now, &Act::Undo), ActResult::Unsupported));
    conn.at(1100);
    conn.sends(["1..1001"]);
    conn.acts(Act::Undo);
    assert_eq!((conn.cwnd(), conn.ssthresh()), before);
    assert_eq!(conn.tcp.view().snd_nxt, conn.tcp.view().snd_max);
    conn.does(|tcp, now| assert_eq!(tcp.act(now, &Act::Undo), ActResult::Unsupported));
    // The next timeout reduces the window again, even for the same segment.
    conn.at(3100);
    conn.sends(["1..1001"]);
    assert_eq!((conn.cwnd(), conn.ssthresh()), (1000, 4000));
}

#[test]
fn reduce_cwnd_halves_once_and_sends_cwr() {
    let mut conn = TestConnection::in_flight(&Config { ecn: true, ..plain() }, 8);
    conn.acts(Act::ReduceCwnd);
    assert_eq!((conn.cwnd(), conn.ssthresh()), (4000, 4000));
    conn.writes(1000);
    conn.receives(ack(6001));
    conn.sends(["8001..9001 CWR"]);
}

#[test]
fn a_timeout_may_keep_the_rto() {
    // singh-iyer-2002: for one timeout only.
    let mut conn = TestConnection::in_flight(&plain(), 1);
    conn.acts(SET_TIMER);
    for ms in [1100, 2100, 4100] {
        conn.at(ms);
        conn.sends(["1..1001"]);
    }
}

const SET_TIMER: Act = Act::SetTimeoutResponse {
    keep_rto: true,
    retransmit: Retransmit::LossRecovery,
    cwnd: Assign::Keep,
    ssthresh: Assign::Keep,
};

#[test]
fn a_timeout_may_set_the_windows_to_given_values() {
    let mut conn = TestConnection::in_flight(&plain(), 8);
    let (cwnd, ssthresh) = (Assign::Value(3000), Assign::Value(7000));
    let retransmit = Retransmit::LossRecovery;
    conn.acts(Act::SetTimeoutResponse { keep_rto: false, retransmit, cwnd, ssthresh });
    conn.at(1100);
    assert_eq!((conn.cwnd(), conn.ssthresh()), (3000, 7000));
    conn.sends(["1..1001", "1001..2001", "2001..3001"]);
    // For one timeout only.
    conn.at(3100);
    assert_eq!(conn.cwnd(), 1000);
}

#[test]
fn a_timeout_may_retransmit_only_the_oldest_segment() {
    for (name, recovery) in RecoveryKind::ALL {
        let mut conn = TestConnection::in_flight(&Config { recovery: *recovery, ..plain() }, 8);
        let (cwnd, ssthresh) = (conn.cwnd(), conn.ssthresh());
        let (keep, retransmit) = (Assign::Keep, Retransmit::Oldest);
        conn.acts(Act::SetTimeoutResponse {
            keep_rto: true,
            retransmit,
            cwnd: keep,
            ssthresh: keep,
        });
        conn.at(1100);
        conn.sends(["1..1001"]);
        assert_eq!((conn.cwnd(), conn.ssthresh()), (cwnd, ssthresh), "{name}");
        conn.receives(ack(8001));
        conn.sends([""; 0]);
    }
}

#[test]
fn a_probe_may_be_a_whole_segment() {
    for (size, probe) in [(ProbeSize::Byte, "1..2"), (ProbeSize::Segment, "1..1001")] {
        let mut conn = TestConnection::in_flight(&plain(), 4);
        let spacing = ProbeSpacing { first: MS(2000), max: MS(2000), size };
        conn.acts(Act::Hold {
            probe: Some(spacing),
            rewind_snd_nxt: false,
            timers: HeldTimers::Freeze,
            cwnd: Assign::Keep,
            release: Release::Resume,
        });
        for ms in [2100, 4100] {
            conn.at(ms);
            conn.sends([probe]);
        }
    }
}

#[test]
fn a_probe_ends_at_sacked_data() {
    for recovery in [RecoveryKind::Sack, RecoveryKind::RackTlp] {
        let mut conn =
            TestConnection::established(&Config { recovery, sack: true, nagle: false, ..plain() });
        for bytes in [500, 1000] {
            conn.writes(bytes);
            conn.sends_some();
        }
        conn.receives(ack(1).sack(&[(501, 1501)]));
        conn.sends_some();
        conn.acts(Act::Hold {
            probe: Some(ProbeSpacing { first: MS(100), max: MS(100), size: ProbeSize::Segment }),
            rewind_snd_nxt: false,
            timers: HeldTimers::Freeze,
            cwnd: Assign::Keep,
            release: Release::Resume,
        });
        conn.at(200);
        conn.sends(["1..501"]);
        conn.receives(ack(1).sack(&[(501, 1501)]));
    }
}

#[test]
fn forged_acknowledgments() {
    let mut conn = TestConnection::established(&Config { timestamps: true, ..plain() });
    conn.keep_unread();
    conn.receives(data(1, 1000).timestamps(5001, 1));
    conn.sends(["ack 1001"]);
    let emit = |ack, window, copies| Act::SendAcks { ack: THEIRS + ack, window, copies };
    conn.acts(emit(1001, 0, 1));
    conn.sends(["ack 1001"]);
    assert!(conn.last[0].requested_by_aid && conn.last[0].segment.options.timestamps.is_some());
    assert_eq!(conn.announced(), 0);
    conn.acts(emit(501, 60_000, 3));
    conn.sends(["ack 501"; 3]);
    // Never for data that has not arrived (liu-singh-2001 §III-B), never beyond the advertised
    // window.
    conn.does(|tcp, now| assert_eq!(tcp.act(now, &emit(1002, 9, 1)), ActResult::Unsupported));
    conn.acts(emit(1001, 1 << 20, 1));
    conn.sends(["ack 1001"]);
    assert_eq!(conn.announced(), 64_535);
    conn.receives(data(1001, 10).timestamps(5002, 1)); // a forged zero window rejects nothing
    conn.sends(["ack 1011"]);
}

#[test]
fn acts_are_unsupported_before_the_connection_is_synchronized() {
    for mut conn in [TestConnection::listening(&plain()), TestConnection::syn_received(&plain())] {
        for act in [silent(), resume(), resend(0, 9), Act::Undo, Act::ReduceCwnd] {
            conn.does(|tcp, now| assert_eq!(tcp.act(now, &act), ActResult::Unsupported));
        }
        assert!(!matches!(conn.tcp.state(), State::Established));
    }
}

#[test]
fn timestamp_echoes_across_a_hold_are_no_rtt_samples() {
    // Karn: data sent before an outage of a minute is acknowledged after it.
    for timers in [HeldTimers::Stop, HeldTimers::Freeze] {
        let mut conn = TestConnection::in_flight(&Config { timestamps: true, ..plain() }, 4);
        let rto = conn.rto();
        let (probe, cwnd) = (None, Assign::Keep);
        let release = Release::Resume;
        conn.acts(Act::Hold { probe, rewind_snd_nxt: false, timers, cwnd, release });
        conn.at(60_000);
        conn.receives(ack(1977).timestamps(5001, 100));
        let (ssthresh, rto_kept) = (Assign::Keep, Assign::Keep);
        conn.acts(Act::Resume { cwnd, ssthresh, rto: rto_kept });
        conn.sends_some();
        assert_eq!(conn.rto(), rto, "{timers:?}");
    }
}

/// A hold that keeps the retransmission timer.
fn waiting() -> Act {
    let (timers, release) = (HeldTimers::KeepRetransmission, Release::Resume);
    Act::Hold { probe: None, rewind_snd_nxt: false, timers, cwnd: Assign::Keep, release }
}

#[test]
fn a_hold_may_keep_the_retransmission_timer() {
    // singh-iyer-2002 §III: one timeout, and nothing is sent.
    for (name, recovery) in RecoveryKind::ALL {
        let mut conn = TestConnection::in_flight(&Config { recovery: *recovery, ..plain() }, 8);
        let deadline = conn.tcp.view().retransmission_deadline;
        conn.acts(waiting());
        assert_eq!(conn.tcp.view().retransmission_deadline, deadline, "{name}");
        conn.acts(SET_TIMER);
        for ms in [1100, 2100, 60_000] {
            conn.at(ms);
            conn.quiet();
        }
        assert_eq!((conn.tcp.stats().timeouts, conn.cwnd()), (1, 1000), "{name}");
        assert_eq!(conn.tcp.view().retransmission_deadline.value(), Some(None), "{name}");
        conn.acts(resume());
        if *recovery == RecoveryKind::SegmentTimers {
            // chandran-1998 §5.2: the timer of each segment has expired.
            conn.sends_some();
            continue;
        }
        conn.sends(["1..1001"]);
        conn.at(61_000);
        assert_eq!(conn.tcp.stats().timeouts, 2, "{name}: the timer runs again");
    }
}

#[test]
fn the_end_of_a_hold_leaves_a_kept_timer_alone() {
    let mut conn = TestConnection::in_flight(&plain(), 8);
    let deadline = conn.tcp.view().retransmission_deadline;
    conn.acts(waiting());
    conn.at(600);
    conn.acts(resume());
    assert_eq!(conn.tcp.view().retransmission_deadline, deadline);
    conn.at(1100);
    conn.sends(["1..1001"]);
}

#[test]
fn a_timeout_may_retransmit_only_the_newest_segment_or_nothing() {
    for (name, recovery) in RecoveryKind::ALL {
        for retransmit in [Retransmit::Newest, Retransmit::Nothing] {
            let mut conn = TestConnection::in_flight(&Config { recovery: *recovery, ..plain() }, 8);
            let (cwnd, ssthresh) = (conn.cwnd(), conn.ssthresh());
            let keep = Assign::Keep;
            let (keep_rto, set) = (true, (keep, keep));
            conn.acts(Act::SetTimeoutResponse {
                keep_rto,
                retransmit,
                cwnd: set.0,
                ssthresh: set.1,
            });
            conn.at(1100);
            match retransmit {
                Retransmit::Newest => conn.sends(["7001..8001"]),
                _ => conn.quiet(),
            }
            assert_eq!((conn.cwnd(), conn.ssthresh()), (cwnd, ssthresh), "{name}");
            conn.at(2100);
            assert_eq!(conn.tcp.stats().timeouts, 2, "{name}: an ordinary one");
        }
    }
}

/// The echo of an acknowledgment that the aid has discarded counts: PAWS would drop an older one.
#[test]
fn a_retransmission_carries_the_last_timestamp_that_the_peer_has() {
    let sent = |discarded: &[(u32, u32)]| {
        let mut conn = TestConnection::in_flight(&Config { timestamps: true, ..plain() }, 4);
        for (value, echo) in discarded {
            let segment = ack(1).timestamps(*value, *echo).segment;
            conn.does(|tcp, now| tcp.on_discarded_segment(now, &segment));
        }
        conn.acts(resend(1, 989));
        conn.sends(["1..989"]);
        conn.last[0].segment.options.timestamps.unwrap().value
    };
    let before = sent(&[]);
    assert_eq!(sent(&[(5001, before + 1)]), before + 1);
    // Neither an older one, nor one that was never sent.
    assert_eq!(sent(&[(5001, before.wrapping_sub(1))]), before);
    assert_eq!(sent(&[(5001, 1_000_000)]), before);
}

/// A sample that spans a hold is none, and later ones are: also where the log of sent segments measures (Linux).
#[test]
fn round_trips_are_measured_again_after_a_hold() {
    for linux_rto in [false, true] {
        let recovery = RecoveryKind::RackTlp;
        let config = Config { recovery, sack: true, linux_rto, ..plain() };
        let mut conn = TestConnection::in_flight(&config, 2);
        let samples = |conn: &TestConnection| conn.tcp.stats().rtt_samples;
        let before = samples(&conn);
        conn.acts(silent());
        conn.at(5000);
        conn.acts(resume());
        conn.receives(ack(2001));
        assert_eq!(samples(&conn), before, "{linux_rto}");
        conn.writes(1000);
        conn.sends(["2001..3001"]);
        conn.at(5100);
        conn.receives(ack(3001));
        assert_eq!(samples(&conn), before + 1, "{linux_rto}");
    }
}
