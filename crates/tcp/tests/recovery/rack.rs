//! RFC 8985 §6 and §7. The RTT of the handshake is 100 ms, so the initial reordering window is 25
//! ms, and the probe timeout 200 ms.

use driftway_base::{Act, Assign, Release};

use super::*;

fn config() -> Config {
    Config { recovery: RecoveryKind::RackTlp, sack: true, dsack: true, ..plain() }
}

/// `segments` in flight, sent 1 ms apart from 100 ms on.
fn spaced(config: &Config, segments: u32) -> TestConnection {
    let mut line = TestConnection::established(&Config { initial_window: segments, ..*config });
    for n in 0..segments {
        line.at(RTT + u64::from(n));
        line.writes(1000);
        line.sends([format!("{}..{}", n * 1000 + 1, (n + 1) * 1000 + 1).as_str()]);
    }
    line
}

fn receive_sack(line: &mut TestConnection, number: u32, blocks: &[(u32, u32)]) {
    line.receives(ack(number).sack(blocks));
}

#[test]
fn a_later_delivered_segment_and_a_quarter_rtt_mean_a_loss() {
    // §6.2, step 5: sent at 100 ms, the next at 101 ms and acknowledged at 201 ms; 100 + 100 + 25.
    let mut line = spaced(&config(), 4);
    line.at(200 + 1);
    receive_sack(&mut line, 1, &[(1001, 2001)]);
    line.quiet_until(224);
    line.at(225);
    line.sends(["1..1001"]);
    assert_eq!((phase(&line), line.cwnd()), (RecoveryState::Recovery, 2000));
    assert_eq!(line.tcp.stats().fast_retransmits, 1);
}

#[test]
fn three_sacked_segments_need_no_wait_until_reordering_is_seen() {
    // §6.2, step 4
    let mut line = spaced(&config(), 6);
    line.at(204);
    receive_sack(&mut line, 1, &[(1001, 3001)]);
    line.quiet();
    receive_sack(&mut line, 1, &[(1001, 4001)]);
    line.sends(["1..1001"]);
}

#[test]
fn the_three_segments_may_be_of_any_size() {
    // §6.2, step 4, counts segments; RFC 6675 §4 bytes.
    let mut line = TestConnection::established(&Config { nagle: false, ..config() });
    for n in 0..6 {
        line.writes(100);
        line.sends([format!("{}..{}", n * 100 + 1, (n + 1) * 100 + 1).as_str()]);
    }
    line.at(200);
    receive_sack(&mut line, 101, &[(201, 401)]);
    line.quiet();
    receive_sack(&mut line, 101, &[(201, 501)]);
    line.sends(["101..201"]);
    // Acknowledged segments no longer count.
    line.receives(ack(601));
    for n in 6..12 {
        line.writes(100);
        line.sends([format!("{}..{}", n * 100 + 1, (n + 1) * 100 + 1).as_str()]);
    }
    line.at(300);
    receive_sack(&mut line, 601, &[(701, 901)]);
    line.quiet();
    line.receives(ack(901));
    receive_sack(&mut line, 901, &[(1001, 1101)]);
    line.quiet();
}

#[test]
fn reordering_within_the_window_has_no_effect() {
    // Three segments overtake the third; RFC 6675 would have retransmitted it.
    let mut line = spaced(&config(), 6);
    line.at(202);
    receive_sack(&mut line, 1, &[(1001, 2001)]);
    line.receives(ack(2001));
    line.at(210);
    for end in [4001, 5001, 6001] {
        // Reordering has been seen: now there is a wait even with three SACKed segments.
        receive_sack(&mut line, 2001, &[(3001, end)]);
    }
    line.quiet_until(220);
    line.receives(ack(6001));
    line.quiet_until(10_000);
    let stats = line.tcp.stats();
    assert_eq!((stats.retransmissions, stats.fast_retransmits), (0, 0));
}

#[test]
fn dsacks_widen_the_window_until_sixteen_recoveries_have_none() {
    // §6.2, step 4: half of a round trip after the first D-SACK.
    let mut line = spaced(&config(), 4);
    line.at(201);
    receive_sack(&mut line, 1, &[(1001, 2001)]);
    line.at(225);
    line.sends(["1..1001"]);
    line.receives(ack(2001));
    line.receives(ack(2001).sack(&[(1, 1001)]));
    line.sends_some();
    line.at(226);
    line.receives(ack(4001));
    // From here on as at first, but 2 · 100/4 ms after the minimum RTT.
    line.at(300);
    line.writes(1000);
    line.sends(["4001..5001"]);
    line.at(301);
    line.writes(1000);
    line.sends(["5001..6001"]);
    line.at(401);
    receive_sack(&mut line, 4001, &[(5001, 6001)]);
    let sent = line.now;
    line.quiet_until(449);
    line.at(450);
    line.sends(["4001..5001"]);
    assert!(line.now > sent);
}

#[test]
fn a_lost_retransmission_is_detected_by_later_segments() {
    let mut line = spaced(&config(), 8);
    line.writes(9000);
    line.at(204);
    receive_sack(&mut line, 1, &[(1001, 4001)]);
    line.sends(["1..1001"]);
    line.at(207);
    receive_sack(&mut line, 1, &[(1001, 8001)]);
    let new = line.sends_some();
    assert_eq!(new[0], "8001..9001");
    // The new data arrives a round trip later, the retransmission does not.
    line.at(307);
    receive_sack(&mut line, 1, &[(1001, 9001)]);
    line.sends_some();
    assert_eq!(line.tcp.stats().retransmissions, 2);
    assert_eq!(line.tcp.stats().timeouts, 0);
}

/// §6.2: "sent after" is the order of transmission, which sequence numbers are only without
/// retransmissions.
#[test]
fn a_retransmission_at_the_instant_of_new_data_is_not_lost_when_that_arrives() {
    let mut line = spaced(&config(), 8);
    line.writes(9000);
    line.at(204);
    receive_sack(&mut line, 1, &[(1001, 2001)]);
    line.sends(["8001..9001"]);
    receive_sack(&mut line, 1, &[(1001, 8001)]);
    assert_eq!(line.sends_some()[0], "1..1001");
    line.at(304);
    receive_sack(&mut line, 1, &[(1001, 9001)]);
    assert!(line.sends_some().iter().all(|sent| sent != "1..1001"));
    line.receives(ack(9001));
    line.sends_some();
    assert_eq!(line.tcp.stats().retransmissions, 1);
}

#[test]
fn an_acknowledgment_of_the_original_gives_no_rtt_of_the_retransmission() {
    // §6.2, step 2: less than the minimum RTT after the retransmission.
    let mut line = spaced(&config(), 6);
    line.at(204);
    receive_sack(&mut line, 1, &[(1001, 4001)]);
    line.sends(["1..1001"]);
    line.at(210);
    line.receives(ack(4001));
    // Otherwise the segments sent before the retransmission, at 104 and 105 ms, would count as
    // lost.
    line.quiet_until(228);
    assert_eq!(line.tcp.stats().retransmissions, 1);
}

#[test]
fn after_a_timeout_only_old_segments_are_lost() {
    // §6.3: the first, and all sent at least a round trip ago.
    let mut line = spaced(&Config { min_rto: common::MS(50), ..config() }, 3);
    let deadline = line.tcp.view().retransmission_deadline.value().flatten().unwrap();
    assert!(deadline.as_nanos() > 0);
    // The probe is sent first, then the timer expires.
    line.at(302);
    line.sends(["2001..3001"]);
    let timeout = line.tcp.next_timeout().unwrap();
    line.at(timeout.as_nanos() / 1_000_000);
    line.sends(["1..1001"]);
    assert_eq!((phase(&line), line.cwnd()), (RecoveryState::Loss, 1000));
    line.receives(ack(1001));
    line.sends(["1001..2001", "2001..3001"]);
}

#[test]
fn after_a_timeout_sacked_data_is_not_retransmitted_unless_the_peer_reneges() {
    let mut line = spaced(&config(), 5);
    line.at(204);
    receive_sack(&mut line, 1, &[(3001, 5001)]);
    line.at(227);
    line.sends(["1..1001", "1001..2001"]);
    line.at(1227);
    line.sends(["1..1001"]);
    line.receives(ack(1001).sack(&[(3001, 5001)]));
    line.sends(["1001..2001", "2001..3001"]);
    // RFC 2018 §8
    line.receives(ack(3001));
    line.at(1227 + 2000);
    line.sends(["3001..4001"]);
    line.receives(ack(4001));
    line.sends(["4001..5001"]);
}

// §7

#[test]
fn a_tail_is_probed_with_its_last_segment_after_two_round_trips() {
    let mut line = TestConnection::in_flight(&config(), 3);
    line.quiet_until(299);
    line.at(300);
    line.sends(["2001..3001"]);
    assert_eq!((line.tcp.stats().tail_probes, line.cwnd()), (1, 3000));
    // Its acknowledgment lets RACK repair the rest.
    line.at(400);
    receive_sack(&mut line, 1, &[(2001, 3001)]);
    line.sends(["1..1001", "1001..2001"]);
    assert_eq!(line.tcp.stats().timeouts, 0);
}

#[test]
fn new_data_is_preferred_as_a_probe_regardless_of_the_window() {
    let mut line = TestConnection::in_flight(&config(), 3);
    line.writes(5000);
    line.quiet_until(299);
    line.at(300);
    line.sends(["3001..4001"]);
    assert_eq!(line.tcp.stats().tail_probes, 1);
    line.at(310);
    line.receives(ack(4001));
    line.sends_some();
    assert_eq!(line.tcp.stats().fast_retransmits, 0);
}

#[test]
fn the_probe_of_a_single_segment_waits_for_a_delayed_acknowledgment() {
    // §7.2: 2 · 100 + 200 ms
    let mut line = TestConnection::in_flight(&config(), 1);
    line.quiet_until(499);
    line.at(500);
    line.sends(["1..1001"]);
}

#[test]
fn one_probe_then_the_restarted_timeout() {
    // §7.3: the timeout of 1 s starts with the probe.
    let mut line = TestConnection::in_flight(&config(), 3);
    line.at(300);
    line.sends(["2001..3001"]);
    line.quiet_until(1299);
    line.at(1300);
    line.sends(["1..1001"]);
    assert_eq!((line.tcp.stats().tail_probes, line.tcp.stats().timeouts), (1, 1));
}

#[test]
fn a_probe_is_never_later_than_the_timeout() {
    // §7.2, last step: with a timeout of 150 ms, it is sent then.
    let short = Config { max_rto: common::MS(150), min_rto: common::MS(150), ..config() };
    let mut line = TestConnection::in_flight(&short, 3);
    line.at(250);
    line.sends(["2001..3001"]);
    line.quiet_until(399);
    line.at(400);
    assert_eq!(line.sends_some()[0], "1..1001");
    assert_eq!(line.tcp.stats().timeouts, 1);
}

#[test]
fn a_probe_that_repairs_a_loss_reduces_the_window() {
    // §7.4: acknowledged beyond the probe, without a D-SACK for the last segment.
    let mut line = TestConnection::in_flight(&config(), 4);
    line.at(300);
    line.sends(["3001..4001"]);
    line.at(400);
    line.receives(ack(4001));
    line.writes(3000);
    line.sends_some();
    line.at(500);
    line.receives(ack(5001));
    assert_eq!(line.ssthresh(), 2000);
    // With a D-SACK, nothing was lost.
    let mut line = TestConnection::in_flight(&config(), 4);
    line.at(300);
    line.sends(["3001..4001"]);
    line.at(400);
    line.receives(ack(4001));
    line.receives(ack(4001).sack(&[(3001, 4001)]));
    line.writes(3000);
    line.sends_some();
    line.at(500);
    line.receives(ack(5001));
    assert!(line.ssthresh() > 100_000);
}

#[test]
fn the_response_to_a_repaired_loss_uses_the_flight_size_before_the_acknowledgment() {
    // §7.4, RFC 5681 §3.2: ten segments are outstanding when all of them are acknowledged.
    let mut line = TestConnection::in_flight(&config(), 10);
    line.at(300);
    line.sends(["9001..10001"]);
    line.at(400);
    line.receives(ack(10001));
    line.writes(10_000);
    line.sends_some();
    line.at(500);
    line.receives(ack(20001));
    assert_eq!(line.ssthresh(), 5000);
}

#[test]
fn new_data_is_preferred_as_a_probe_even_if_small() {
    // §7.3: the lowest unsent data, up to a segment; Nagle's algorithm would delay it.
    let mut line = TestConnection::in_flight(&config(), 3);
    line.writes(10);
    line.quiet_until(299);
    line.at(300);
    line.sends(["3001..3011"]);
}

#[test]
fn a_dsack_for_a_probe_does_not_widen_the_reordering_window() {
    // §6.2, step 4, is about retransmissions of a recovery; a probe is none.
    let mut line = TestConnection::in_flight(&config(), 4);
    line.at(300);
    line.sends(["3001..4001"]);
    line.at(400);
    line.receives(ack(4001));
    line.receives(ack(4001).sack(&[(3001, 4001)]));
    for ms in [500, 501] {
        line.at(ms);
        line.writes(1000);
        assert_eq!(line.sends_some().len(), 1);
    }
    line.at(601);
    receive_sack(&mut line, 4001, &[(5001, 6001)]);
    // A quarter of the minimum RTT of 100 ms instead of half of it.
    line.quiet_until(624);
    line.at(625);
    line.sends(["4001..5001"]);
}

#[test]
fn during_a_hold_neither_probe_nor_reordering_timer_sends() {
    for (blocks, due) in [(&[][..], 300), (&[(1001, 2001)][..], 225)] {
        for freeze_timers in [false, true] {
            let mut line = spaced(&config(), 4);
            line.at(204);
            if !blocks.is_empty() {
                receive_sack(&mut line, 1, blocks);
            }
            let (cwnd, release) = (driftway_base::Assign::Keep, driftway_base::Release::Resume);
            let (probe, step_back) = (None, false);
            line.acts(driftway_base::Act::Hold {
                probe,
                rewind_snd_nxt: step_back,
                freeze_timers,
                cwnd,
                release,
            });
            // An acknowledgment starts none either.
            line.at(210);
            receive_sack(&mut line, 1, &[(2001, 3001)]);
            line.quiet_until(due + 60_000);
            assert_eq!(phase(&line), RecoveryState::Open);
            let keep = driftway_base::Assign::Keep;
            let rto = driftway_base::Assign::Keep;
            line.acts(driftway_base::Act::Resume { cwnd: keep, ssthresh: keep, rto });
            if line.sends_some().is_empty() {
                let next = line.tcp.next_timeout().unwrap().as_nanos() / 1_000_000;
                line.at(next);
                assert!(!line.sends_some().is_empty());
            }
        }
    }
}

#[test]
fn the_views_retransmission_deadline_is_not_that_of_the_probe() {
    let line = TestConnection::in_flight(&config(), 3);
    let timeout = driftway_base::Instant::from_millis(1100);
    assert_eq!(line.tcp.view().retransmission_deadline, Known::Exact(Some(timeout)));
    assert_eq!(line.tcp.next_timeout(), Some(driftway_base::Instant::from_millis(300)));
}

#[test]
fn without_sack_it_is_newreno() {
    let mut line = TestConnection::in_flight(&Config { sack: false, ..config() }, 8);
    duplicates(&mut line, 1, 3);
    line.sends(["1..1001"]);
    line.receives(ack(3001));
    assert_eq!(line.sends_some()[0], "3001..4001");
    assert_eq!(line.tcp.stats().tail_probes, 0);
}

#[test]
fn an_undone_response_counts_nothing_as_lost() {
    let mut line = spaced(&Config { eifel: true, ..config() }, 6);
    line.at(204);
    receive_sack(&mut line, 1, &[(1001, 4001)]);
    line.sends(["1..1001"]);
    line.receives(ack(4001));
    line.receives(ack(4001).sack(&[(1, 1001)]));
    assert_eq!((line.tcp.stats().responses_undone, phase(&line)), (1, RecoveryState::Open));
    assert!(line.cwnd() >= 6000);
}

#[test]
fn after_a_timeout_retransmissions_are_cut_to_a_shrunk_window() {
    let mut line = TestConnection::in_flight(&config(), 3);
    line.at(300);
    line.sends(["2001..3001"]);
    line.receives(ack(1).window(400));
    line.at(1300);
    line.sends(["1..401"]);
    line.receives(ack(401).window(1600));
    line.sends(["401..1001"]);
}

#[test]
fn a_sack_block_of_half_of_the_sequence_space_is_ignored() {
    let mut line = TestConnection::in_flight(&config(), 3);
    receive_sack(&mut line, 1, &[(711_504_529, 2_858_988_176)]);
    assert_eq!(line.tcp.stats().fast_retransmits, 0);
    line.at(300);
    line.sends(["2001..3001"]);
}

/// A SACKed FIN is neither retransmitted nor outstanding.
#[test]
fn a_sacked_fin_is_not_retransmitted() {
    let mut line = spaced(&config(), 2);
    line.at(110);
    line.closes();
    line.sends_some();
    line.at(211);
    receive_sack(&mut line, 1, &[(2001, 2002)]);
    let (cwnd, release) = (Assign::Keep, Release::Resume);
    line.acts(Act::Hold { probe: None, rewind_snd_nxt: true, freeze_timers: false, cwnd, release });
    line.acts(Act::Resume { cwnd: Assign::Keep, ssthresh: Assign::Keep, rto: Assign::Keep });
    line.sends(["1..1001", "1001..2001"]);
}
