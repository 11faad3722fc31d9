//! Losses not due to congestion, on a time line: one-way delay 50 ms, segments of 1000 bytes.

use crate::common;
use crate::common::timeline::{Offers, TestSegment, Timeline, ack, config, nth_segment};
use driftway_shim::{Config, PacketAction};
use driftway_wire::TcpFlags;

/// Segments 0 to 4 leave at 200 ms; all but 1 arrive; it is retransmitted at 301 ms, and arrives
/// then. `change` is applied to the acknowledgments that report the hole.
fn one_is_lost(line: &mut Timeline, change: fn(TestSegment) -> TestSegment) {
    line.at(200);
    line.sends(0..5);
    line.at(300);
    line.peer_passes(ack(1001, 200));
    for end in [3001, 4001, 5001] {
        line.peer_passes(change(ack(1001, 200).sack(&[(2001, end)])));
    }
    line.at(301);
    line.passes(nth_segment(1).not_capable());
    line.at(401);
}

#[test]
fn the_acknowledgment_of_a_retransmission_gets_the_echo_of_the_original() {
    let mut line = Timeline::established();
    one_is_lost(&mut line, |says| says);
    line.peer_becomes(ack(5001, 301), "a5001 t401/200 w50000");
    assert_eq!((line.counts().undone, line.counts().echoes_rewritten), (1, 1));
    assert_eq!((line.status().undone, line.status().outstanding), (1, 0));
    assert_eq!(line.shim.memory().0, 0);
    // The next loss is independent.
    line.sends(5..7);
    line.at(501);
    line.peer_passes(ack(7001, 401));
    assert_eq!(line.counts().undone, 1);
}

#[test]
fn two_losses_of_one_flight_are_undone_once() {
    let mut line = Timeline::established();
    line.at(200);
    line.sends(0..5);
    line.at(300);
    for end in [3001, 4001, 5001] {
        line.peer_passes(ack(1, 200).sack(&[(2001, end)]));
    }
    line.passes(nth_segment(0).not_capable());
    line.passes(nth_segment(1).not_capable());
    line.at(400);
    line.peer_becomes(ack(1001, 300).sack(&[(2001, 5001)]), "a1001 t400/200 s2001-5001 w50000");
    line.peer_becomes(ack(5001, 300), "a5001 t400/200 w50000");
    assert_eq!((line.counts().undone, line.counts().echoes_rewritten), (1, 2));
}

/// For the local TCP, TSecr is also an RTT sample: one longer than an RTO would multiply the next
/// RTO, and after an undo the local TCP forgets other losses, so that each hole would take such an
/// RTO.
#[test]
fn a_timeout_is_not_undone() {
    let mut line = Timeline::established();
    line.at(200);
    line.sends(0..5);
    for (at, n) in [(501, 0), (602, 1)] {
        line.at(at);
        line.passes(nth_segment(n).not_capable());
        line.at(at + 100);
        line.peer_passes(ack(1001 + n * 1000, at as u32).sack(&[(2001, 5001)]));
    }
    assert_eq!((line.counts().undone, line.counts().echoes_rewritten), (0, 0));
}

#[test]
fn an_echo_of_congestion_prevents_an_undo_until_the_recovery_point() {
    let mut line = Timeline::established();
    one_is_lost(&mut line, |says| says.with(TcpFlags::ECE));
    line.peer_passes(ack(5001, 301));
    assert_eq!((line.counts().undone, line.counts().echoes_rewritten), (0, 0));

    line.sends(5..8);
    line.at(501);
    line.peer_passes(ack(6001, 401));
    line.peer_passes(ack(6001, 401).sack(&[(7001, 8001)]));
    line.at(502);
    line.passes(nth_segment(6).not_capable());
    line.at(602);
    line.peer_becomes(ack(8001, 502), "a8001 t602/401 w50000");
    assert_eq!(line.counts().undone, 1);
}

/// The peer sets ECE until it has seen CWR, one RTT later. Segments sent after the first echo meet
/// a window already reduced.
#[test]
fn a_repeated_echo_is_the_same_congestion() {
    let mut line = Timeline::established();
    line.at(200);
    line.sends(0..4);
    line.at(300);
    line.peer_passes(ack(1001, 200).with(TcpFlags::ECE));
    line.sends(4..6);
    line.at(301);
    // With 4 and 5 outstanding, which left after the reduction.
    line.peer_passes(ack(3001, 200).with(TcpFlags::ECE));
    line.peer_passes(ack(4001, 200).with(TcpFlags::ECE));
    line.at(400);
    line.peer_passes(ack(4001, 200).sack(&[(5001, 6001)]));
    line.passes(nth_segment(4).not_capable());
    line.at(500);
    line.peer_becomes(ack(6001, 400), "a6001 t500/300 w50000");
    assert_eq!(line.counts().undone, 1);
}

/// Of 16 segments the first four are lost, more than an eighth: that counts as congestion until the
/// path is known to mark.
#[test]
fn heavy_loss_is_congestion_unless_the_path_is_known_to_mark() {
    for marked in [false, true] {
        let mut line = Timeline::established_by(Config { queues_mark: false, ..config() });
        line.at(200);
        line.sends(0..2);
        line.at(300);
        let first = ack(2001, 200);
        line.peer_passes(if marked { first.with(TcpFlags::ECE) } else { first });
        line.sends(2..18);
        line.at(400);
        line.peer_passes(ack(2001, 200).sack(&[(6001, 18_001)]));
        (2..6).for_each(|n| line.passes(nth_segment(n).not_capable()));
        line.at(500);
        if marked {
            line.peer_becomes(ack(18_001, 400), "a18001 t500/300 w50000");
        } else {
            line.peer_passes(ack(18_001, 400));
        }
        assert_eq!(line.counts().undone, u64::from(marked));
    }
}

/// Without ECN, congestion cannot be distinguished from other losses.
#[test]
fn without_ecn_nothing_is_undone() {
    let offers = Offers { ecn: false, sack: true };
    let mut line = Timeline::established_with(Config::default(), offers);
    one_is_lost(&mut line, |says| says);
    line.peer_passes(ack(5001, 301));
    assert_eq!(line.counts().undone, 0);
}

/// It could not have been marked, so it may have been dropped for congestion.
#[test]
fn segments_without_ect_are_not_undone() {
    let mut line = Timeline::established();
    line.at(200);
    line.passes(nth_segment(0).not_capable());
    line.at(500);
    line.passes(nth_segment(0).not_capable());
    line.at(600);
    line.peer_passes(ack(1001, 500));
    assert_eq!(line.counts().undone, 0);
}

#[test]
fn undo_can_be_disabled() {
    let mut line = Timeline::established_by(Config { undo_losses: false, ..Config::default() });
    one_is_lost(&mut line, |says| says);
    line.peer_passes(ack(5001, 301));
    assert_eq!(line.counts().undone, 0);
}

/// The peer answers the original: the local TCP detects that by itself (RFC 3522).
#[test]
fn an_older_echo_is_not_rewritten() {
    let mut line = Timeline::established();
    one_is_lost(&mut line, |says| says);
    line.peer_passes(ack(5001, 200));
    assert_eq!(line.counts().echoes_rewritten, 0);
}

/// Linux' keep-alive is an empty segment from before SND.UNA, that of BSD has one byte.
#[test]
fn keep_alives_and_window_probes_are_no_losses() {
    let mut line = Timeline::established();
    line.at(200);
    line.sends(0..1);
    line.at(300);
    line.peer_passes(ack(1001, 200).window(0));
    for probe in [common::timeline::data(1000, 0), common::timeline::data(1000, 1)] {
        assert_eq!(line.local(probe), PacketAction::Pass);
    }
    line.at(400);
    line.peer_passes(ack(1001, 200).window(9000));
    line.sends(1..2);
    line.at(500);
    line.peer_passes(ack(2001, 400));
    assert_eq!(line.counts().echoes_rewritten, 0);
    assert_eq!(line.counts().tracking_lost, 0);
}

/// A queue above the shim has dropped segment 1: the flow continues, and its retransmission is a
/// normal one.
#[test]
fn an_unseen_segment_is_not_stored() {
    let mut line = Timeline::established();
    line.at(200);
    line.sends(0..1);
    line.sends(2..4);
    assert_eq!((line.status().outstanding, line.counts().not_stored), (4000, 1));
    line.at(300);
    line.peer_passes(ack(1001, 200).sack(&[(2001, 4001)]));
    line.passes(nth_segment(1).not_capable());
    line.at(400);
    line.peer_passes(ack(4001, 300));
    assert_eq!((line.counts().tracking_lost, line.shim.memory().0), (0, 0));
}
