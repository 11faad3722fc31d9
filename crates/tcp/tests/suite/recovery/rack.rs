//! RFC 8985 §6 and §7. The RTT of the handshake is 100 ms, so the initial reordering window is 25
//! ms, and the probe timeout 200 ms.

use driftway_base::{Act, Assign, HeldTimers, Release};

use super::*;
use crate::common::MS;

fn config() -> Config {
    Config { recovery: RecoveryKind::RackTlp, sack: true, dsack: true, ..plain() }
}

/// `segments` in flight, sent 1 ms apart from 100 ms on.
fn spaced(config: &Config, segments: u32) -> TestConnection {
    let mut conn = TestConnection::established(&Config { initial_window: segments, ..*config });
    for n in 0..segments {
        conn.at(RTT + u64::from(n));
        conn.writes(1000);
        conn.sends([format!("{}..{}", n * 1000 + 1, (n + 1) * 1000 + 1).as_str()]);
    }
    conn
}

fn receive_sack(conn: &mut TestConnection, number: u32, blocks: &[(u32, u32)]) {
    conn.receives(ack(number).sack(blocks));
}

#[test]
fn a_later_delivered_segment_and_a_quarter_rtt_mean_a_loss() {
    // §6.2, step 5: sent at 100 ms, the next at 101 ms and acknowledged at 201 ms; 100 + 100 + 25.
    let mut conn = spaced(&config(), 4);
    conn.at(200 + 1);
    receive_sack(&mut conn, 1, &[(1001, 2001)]);
    conn.quiet_until(224);
    conn.at(225);
    conn.sends(["1..1001"]);
    assert_eq!((phase(&conn), conn.cwnd()), (RecoveryState::Recovery, 2000));
    assert_eq!(conn.tcp.stats().fast_retransmits, 1);
}

#[test]
fn three_sacked_segments_need_no_wait_until_reordering_is_seen() {
    // §6.2, step 4
    let mut conn = spaced(&config(), 6);
    conn.at(204);
    receive_sack(&mut conn, 1, &[(1001, 3001)]);
    conn.quiet();
    receive_sack(&mut conn, 1, &[(1001, 4001)]);
    conn.sends(["1..1001"]);
}

#[test]
fn the_three_segments_may_be_of_any_size() {
    // §6.2, step 4, counts segments; RFC 6675 §4 bytes.
    let mut conn = TestConnection::established(&Config { nagle: false, ..config() });
    for n in 0..6 {
        conn.writes(100);
        conn.sends([format!("{}..{}", n * 100 + 1, (n + 1) * 100 + 1).as_str()]);
    }
    conn.at(200);
    receive_sack(&mut conn, 101, &[(201, 401)]);
    conn.quiet();
    receive_sack(&mut conn, 101, &[(201, 501)]);
    conn.sends(["101..201"]);
    // Acknowledged segments no longer count.
    conn.receives(ack(601));
    for n in 6..12 {
        conn.writes(100);
        conn.sends([format!("{}..{}", n * 100 + 1, (n + 1) * 100 + 1).as_str()]);
    }
    conn.at(300);
    receive_sack(&mut conn, 601, &[(701, 901)]);
    conn.quiet();
    conn.receives(ack(901));
    receive_sack(&mut conn, 901, &[(1001, 1101)]);
    conn.quiet();
}

#[test]
fn reordering_within_the_window_has_no_effect() {
    // Three segments overtake the third; RFC 6675 would have retransmitted it.
    let mut conn = spaced(&config(), 6);
    conn.at(202);
    receive_sack(&mut conn, 1, &[(1001, 2001)]);
    conn.receives(ack(2001));
    conn.at(210);
    for end in [4001, 5001, 6001] {
        // Reordering has been seen: now there is a wait even with three SACKed segments.
        receive_sack(&mut conn, 2001, &[(3001, end)]);
    }
    conn.quiet_until(220);
    conn.receives(ack(6001));
    conn.quiet_until(10_000);
    let stats = conn.tcp.stats();
    assert_eq!((stats.retransmissions, stats.fast_retransmits), (0, 0));
}

#[test]
fn dsacks_widen_the_window_until_sixteen_recoveries_have_none() {
    // §6.2, step 4: half of a round trip after the first D-SACK.
    let mut conn = spaced(&config(), 4);
    conn.at(201);
    receive_sack(&mut conn, 1, &[(1001, 2001)]);
    conn.at(225);
    conn.sends(["1..1001"]);
    conn.receives(ack(2001));
    conn.receives(ack(2001).sack(&[(1, 1001)]));
    conn.sends_some();
    conn.at(226);
    conn.receives(ack(4001));
    // From here on as at first, but 2 · 100/4 ms after the minimum RTT.
    conn.at(300);
    conn.writes(1000);
    conn.sends(["4001..5001"]);
    conn.at(301);
    conn.writes(1000);
    conn.sends(["5001..6001"]);
    conn.at(401);
    receive_sack(&mut conn, 4001, &[(5001, 6001)]);
    let sent = conn.now;
    conn.quiet_until(449);
    conn.at(450);
    conn.sends(["4001..5001"]);
    assert!(conn.now > sent);
}

#[test]
fn a_lost_retransmission_is_detected_by_later_segments() {
    let mut conn = spaced(&config(), 8);
    conn.writes(9000);
    conn.at(204);
    receive_sack(&mut conn, 1, &[(1001, 4001)]);
    conn.sends(["1..1001"]);
    conn.at(207);
    receive_sack(&mut conn, 1, &[(1001, 8001)]);
    let new = conn.sends_some();
    assert_eq!(new[0], "8001..9001");
    // The new data arrives a round trip later, the retransmission does not.
    conn.at(307);
    receive_sack(&mut conn, 1, &[(1001, 9001)]);
    conn.sends_some();
    assert_eq!(conn.tcp.stats().retransmissions, 2);
    assert_eq!(conn.tcp.stats().timeouts, 0);
}

/// §6.2: "sent after" is the order of transmission, which sequence numbers are only without
/// retransmissions.
#[test]
fn a_retransmission_at_the_instant_of_new_data_is_not_lost_when_that_arrives() {
    let mut conn = spaced(&config(), 8);
    conn.writes(9000);
    conn.at(204);
    receive_sack(&mut conn, 1, &[(1001, 2001)]);
    conn.sends(["8001..9001"]);
    receive_sack(&mut conn, 1, &[(1001, 8001)]);
    assert_eq!(conn.sends_some()[0], "1..1001");
    conn.at(304);
    receive_sack(&mut conn, 1, &[(1001, 9001)]);
    assert!(conn.sends_some().iter().all(|sent| sent != "1..1001"));
    conn.receives(ack(9001));
    conn.sends_some();
    assert_eq!(conn.tcp.stats().retransmissions, 1);
}

#[test]
fn an_acknowledgment_of_the_original_gives_no_rtt_of_the_retransmission() {
    // §6.2, step 2: less than the minimum RTT after the retransmission.
    let mut conn = spaced(&config(), 6);
    conn.at(204);
    receive_sack(&mut conn, 1, &[(1001, 4001)]);
    conn.sends(["1..1001"]);
    conn.at(210);
    conn.receives(ack(4001));
    // Otherwise the segments sent before the retransmission, at 104 and 105 ms, would count as
    // lost.
    conn.quiet_until(228);
    assert_eq!(conn.tcp.stats().retransmissions, 1);
}

#[test]
fn after_a_timeout_only_old_segments_are_lost() {
    // §6.3: the first, and all sent at least a round trip ago.
    let mut conn = spaced(&Config { min_rto: MS(50), ..config() }, 3);
    let deadline = conn.tcp.view().retransmission_deadline.value().flatten().unwrap();
    assert!(deadline.as_nanos() > 0);
    // The probe is sent first, then the timer expires.
    conn.at(302);
    conn.sends(["2001..3001"]);
    let timeout = conn.tcp.next_timeout().unwrap();
    conn.at(timeout.as_nanos() / 1_000_000);
    conn.sends(["1..1001"]);
    assert_eq!((phase(&conn), conn.cwnd()), (RecoveryState::Loss, 1000));
    conn.receives(ack(1001));
    conn.sends(["1001..2001", "2001..3001"]);
}

#[test]
fn after_a_timeout_sacked_data_is_not_retransmitted_unless_the_peer_reneges() {
    let mut conn = spaced(&config(), 5);
    conn.at(204);
    receive_sack(&mut conn, 1, &[(3001, 5001)]);
    conn.at(227);
    conn.sends(["1..1001", "1001..2001"]);
    conn.at(1227);
    conn.sends(["1..1001"]);
    conn.receives(ack(1001).sack(&[(3001, 5001)]));
    conn.sends(["1001..2001", "2001..3001"]);
    // RFC 2018 §8
    conn.receives(ack(3001));
    conn.at(1227 + 2000);
    conn.sends(["3001..4001"]);
    conn.receives(ack(4001));
    conn.sends(["4001..5001"]);
}

// §7

#[test]
fn a_tail_is_probed_with_its_last_segment_after_two_round_trips() {
    let mut conn = TestConnection::in_flight(&config(), 3);
    conn.quiet_until(299);
    conn.at(300);
    conn.sends(["2001..3001"]);
    assert_eq!((conn.tcp.stats().tail_probes, conn.cwnd()), (1, 3000));
    // Its acknowledgment lets RACK repair the rest.
    conn.at(400);
    receive_sack(&mut conn, 1, &[(2001, 3001)]);
    conn.sends(["1..1001", "1001..2001"]);
    assert_eq!(conn.tcp.stats().timeouts, 0);
}

#[test]
fn new_data_is_preferred_as_a_probe_regardless_of_the_window() {
    let mut conn = TestConnection::in_flight(&config(), 3);
    conn.writes(5000);
    conn.quiet_until(299);
    conn.at(300);
    conn.sends(["3001..4001"]);
    assert_eq!(conn.tcp.stats().tail_probes, 1);
    conn.at(310);
    conn.receives(ack(4001));
    conn.sends_some();
    assert_eq!(conn.tcp.stats().fast_retransmits, 0);
}

#[test]
fn the_probe_of_a_single_segment_waits_for_a_delayed_acknowledgment() {
    // §7.2: 2 · 100 + 200 ms
    let mut conn = TestConnection::in_flight(&config(), 1);
    conn.quiet_until(499);
    conn.at(500);
    conn.sends(["1..1001"]);
}

#[test]
fn one_probe_then_the_restarted_timeout() {
    // §7.3: the timeout of 1 s starts with the probe.
    let mut conn = TestConnection::in_flight(&config(), 3);
    conn.at(300);
    conn.sends(["2001..3001"]);
    conn.quiet_until(1299);
    conn.at(1300);
    conn.sends(["1..1001"]);
    assert_eq!((conn.tcp.stats().tail_probes, conn.tcp.stats().timeouts), (1, 1));
}

#[test]
fn a_probe_is_never_later_than_the_timeout() {
    // §7.2, last step: with a timeout of 150 ms, it is sent then.
    let short = Config { max_rto: MS(150), min_rto: MS(150), ..config() };
    let mut conn = TestConnection::in_flight(&short, 3);
    conn.at(250);
    conn.sends(["2001..3001"]);
    conn.quiet_until(399);
    conn.at(400);
    assert_eq!(conn.sends_some()[0], "1..1001");
    assert_eq!(conn.tcp.stats().timeouts, 1);
}

#[test]
fn a_probe_that_repairs_a_loss_reduces_the_window() {
    // §7.4: acknowledged beyond the probe, without a D-SACK for the last segment.
    let mut conn = TestConnection::in_flight(&config(), 4);
    conn.at(300);
    conn.sends(["3001..4001"]);
    conn.at(400);
    conn.receives(ack(4001));
    conn.writes(3000);
    conn.sends_some();
    conn.at(500);
    conn.receives(ack(5001));
    assert_eq!(conn.ssthresh(), 2000);
    // With a D-SACK, nothing was lost.
    let mut conn = TestConnection::in_flight(&config(), 4);
    conn.at(300);
    conn.sends(["3001..4001"]);
    conn.at(400);
    conn.receives(ack(4001));
    conn.receives(ack(4001).sack(&[(3001, 4001)]));
    conn.writes(3000);
    conn.sends_some();
    conn.at(500);
    conn.receives(ack(5001));
    assert!(conn.ssthresh() > 100_000);
}

#[test]
fn the_response_to_a_repaired_loss_uses_the_flight_size_before_the_acknowledgment() {
    // §7.4, RFC 5681 §3.2: ten segments are outstanding when all of them are acknowledged.
    let mut conn = TestConnection::in_flight(&config(), 10);
    conn.at(300);
    conn.sends(["9001..10001"]);
    conn.at(400);
    conn.receives(ack(10001));
    conn.writes(10_000);
    conn.sends_some();
    conn.at(500);
    conn.receives(ack(20001));
    assert_eq!(conn.ssthresh(), 5000);
}

#[test]
fn new_data_is_preferred_as_a_probe_even_if_small() {
    // §7.3: the lowest unsent data, up to a segment; Nagle's algorithm would delay it.
    let mut conn = TestConnection::in_flight(&config(), 3);
    conn.writes(10);
    conn.quiet_until(299);
    conn.at(300);
    conn.sends(["3001..3011"]);
}

#[test]
fn a_dsack_for_a_probe_does_not_widen_the_reordering_window() {
    // §6.2, step 4, is about retransmissions of a recovery; a probe is none.
    let mut conn = TestConnection::in_flight(&config(), 4);
    conn.at(300);
    conn.sends(["3001..4001"]);
    conn.at(400);
    conn.receives(ack(4001));
    conn.receives(ack(4001).sack(&[(3001, 4001)]));
    for ms in [500, 501] {
        conn.at(ms);
        conn.writes(1000);
        assert_eq!(conn.sends_some().len(), 1);
    }
    conn.at(601);
    receive_sack(&mut conn, 4001, &[(5001, 6001)]);
    // A quarter of the minimum RTT of 100 ms instead of half of it.
    conn.quiet_until(624);
    conn.at(625);
    conn.sends(["4001..5001"]);
}

#[test]
fn during_a_hold_neither_probe_nor_reordering_timer_sends() {
    for (blocks, due) in [(&[][..], 300), (&[(1001, 2001)][..], 225)] {
        for timers in [HeldTimers::Stop, HeldTimers::Freeze] {
            let mut conn = spaced(&config(), 4);
            conn.at(204);
            if !blocks.is_empty() {
                receive_sack(&mut conn, 1, blocks);
            }
            let (cwnd, release) = (driftway_base::Assign::Keep, driftway_base::Release::Resume);
            let (probe, rewind_snd_nxt) = (None, false);
            conn.acts(driftway_base::Act::Hold { probe, rewind_snd_nxt, timers, cwnd, release });
            // An acknowledgment starts none either.
            conn.at(210);
            receive_sack(&mut conn, 1, &[(2001, 3001)]);
            conn.quiet_until(due + 60_000);
            assert_eq!(phase(&conn), RecoveryState::Open);
            let keep = driftway_base::Assign::Keep;
            let rto = driftway_base::Assign::Keep;
            conn.acts(driftway_base::Act::Resume { cwnd: keep, ssthresh: keep, rto });
            if conn.sends_some().is_empty() {
                let next = conn.tcp.next_timeout().unwrap().as_nanos() / 1_000_000;
                conn.at(next);
                assert!(!conn.sends_some().is_empty());
            }
        }
    }
}

#[test]
fn the_views_retransmission_deadline_is_not_that_of_the_probe() {
    let conn = TestConnection::in_flight(&config(), 3);
    let timeout = driftway_base::Instant::from_millis(1100);
    assert_eq!(conn.tcp.view().retransmission_deadline, Known::Exact(Some(timeout)));
    assert_eq!(conn.tcp.next_timeout(), Some(driftway_base::Instant::from_millis(300)));
}

#[test]
fn without_sack_it_is_newreno() {
    let mut conn = TestConnection::in_flight(&Config { sack: false, ..config() }, 8);
    duplicates(&mut conn, 1, 3);
    conn.sends(["1..1001"]);
    conn.receives(ack(3001));
    assert_eq!(conn.sends_some()[0], "3001..4001");
    assert_eq!(conn.tcp.stats().tail_probes, 0);
}

#[test]
fn an_undone_response_counts_nothing_as_lost() {
    let mut conn = spaced(&Config { eifel: true, ..config() }, 6);
    conn.at(204);
    receive_sack(&mut conn, 1, &[(1001, 4001)]);
    conn.sends(["1..1001"]);
    conn.receives(ack(4001));
    conn.receives(ack(4001).sack(&[(1, 1001)]));
    assert_eq!((conn.tcp.stats().responses_undone, phase(&conn)), (1, RecoveryState::Open));
    assert!(conn.cwnd() >= 6000);
}

#[test]
fn after_a_timeout_retransmissions_are_cut_to_a_shrunk_window() {
    let mut conn = TestConnection::in_flight(&config(), 3);
    conn.at(300);
    conn.sends(["2001..3001"]);
    conn.receives(ack(1).window(400));
    conn.at(1300);
    conn.sends(["1..401"]);
    conn.receives(ack(401).window(1600));
    conn.sends(["401..1001"]);
}

#[test]
fn a_sack_block_of_half_of_the_sequence_space_is_ignored() {
    let mut conn = TestConnection::in_flight(&config(), 3);
    receive_sack(&mut conn, 1, &[(711_504_529, 2_858_988_176)]);
    assert_eq!(conn.tcp.stats().fast_retransmits, 0);
    conn.at(300);
    conn.sends(["2001..3001"]);
}

/// A SACKed FIN is neither retransmitted nor outstanding.
#[test]
fn a_sacked_fin_is_not_retransmitted() {
    let mut conn = spaced(&config(), 2);
    conn.at(110);
    conn.closes();
    conn.sends_some();
    conn.at(211);
    receive_sack(&mut conn, 1, &[(2001, 2002)]);
    let (cwnd, release) = (Assign::Keep, Release::Resume);
    conn.acts(Act::Hold {
        probe: None,
        rewind_snd_nxt: true,
        timers: HeldTimers::Stop,
        cwnd,
        release,
    });
    conn.acts(Act::Resume { cwnd: Assign::Keep, ssthresh: Assign::Keep, rto: Assign::Keep });
    conn.sends(["1..1001", "1001..2001"]);
}
