//! Packets of several segments, which the kernel or the network interface will cut.

use crate::common::timeline::*;
use driftway_shim::{FlowState, PacketAction, UntouchedReason};
use driftway_wire::{TcpFlags, UnreachableCode};

/// Payload of the segments: the negotiated 1460 bytes, less timestamps.
const PIECE: u32 = 1448;

/// The local TCP sends a large packet with a checksum that is not complete.
fn large(line: &mut Timeline, says: TestSegment) -> (PacketAction, Vec<u8>) {
    let mut bytes = line.local_now(says).bytes(line.now);
    bytes[36..38].fill(0);
    let before = bytes.clone();
    let action = line.shim.on_outgoing_large(line.now, &mut bytes);
    assert_eq!(bytes != before, action == PacketAction::Edited);
    (action, bytes)
}

#[test]
fn its_segments_are_stored_and_sent_again() {
    let mut line = Timeline::established();
    line.at(200);
    assert_eq!(large(&mut line, data(1, 4000)).0, PacketAction::Pass);
    let status = line.status();
    assert_eq!((status.outstanding, status.stored_bytes), (4000, 3 * 2048));
    assert_eq!(line.counts().passed, 3 + 3, "each segment is counted");
    let report = line.unreachable(data(1, PIECE), UnreachableCode::Host);
    assert_eq!((report, line.status().state), (PacketAction::Pass, FlowState::Disconnected));
    // New data wait, and the first segment is the probe.
    let (action, ..) = large(&mut line, data(4001, 3000));
    assert_eq!((action, line.status().outstanding), (PacketAction::Stored, 7000));
    line.at(1000);
    let probes = line.taken();
    assert!(!probes.is_empty());
    assert!(probes.iter().all(|probe| probe.contains(&format!("net 1+{PIECE} "))), "{probes:?}");
    // The path is back: the rest follows, with right bytes and checksums.
    line.peer(ack(1 + PIECE, 900));
    line.at(1500);
    let sent = line.taken().join("\n");
    for (start, len) in [(1449, PIECE), (2897, 1104), (4001, PIECE), (5449, PIECE), (6897, 104)] {
        assert!(sent.contains(&format!("net {start}+{len} ")), "{start} in {sent}");
    }
}

/// An acknowledgment of the second segment alone: they are separate.
#[test]
fn its_segments_are_acknowledged_one_by_one() {
    let mut line = Timeline::established();
    line.at(200);
    large(&mut line, data(1, 4000));
    line.at(300);
    line.peer_passes(ack(1 + 2 * PIECE, 200));
    let status = line.status();
    assert_eq!((status.outstanding, status.stored_bytes), (1104, 2048));
    line.peer_passes(ack(4001, 200));
    assert_eq!((line.status().outstanding, line.shim.memory().0), (0, 0));
}

/// The local TCP retransmits shorter segments: later packets are cut like that.
#[test]
fn a_narrower_path_is_followed() {
    let mut line = Timeline::established();
    line.at(200);
    large(&mut line, data(1, 4000));
    line.at(700);
    line.local(data(1, 900).not_capable());
    line.taken();
    large(&mut line, data(4001, 3000));
    assert_eq!(line.status().outstanding, 7000);
    line.at(900);
    line.peer(ack(4001, 800));
    line.taken();
    // Three of 900 bytes, and one of 300.
    assert_eq!(line.status().stored_bytes, 3 * 1024 + 512);
    line.let_go();
    line.taken();
}

/// The rest of a packet whose limits the kernel chose otherwise shows no narrow path: packets were cut into as short
/// pieces from then on.
#[test]
fn a_short_retransmission_shows_no_narrow_path() {
    let mut line = Timeline::established();
    line.at(200);
    large(&mut line, data(1, 4000));
    line.at(700);
    line.local(data(1441, 8).not_capable());
    line.taken();
    assert_eq!(line.status().stored_bytes, 3 * 2048);
    large(&mut line, data(4001, 3000));
    assert_eq!(line.counts().passed, 3 + 3 + 1 + 3);
    line.let_go();
    line.taken();
}

#[test]
fn a_longer_segment_shows_that_the_path_is_wide_again() {
    let mut line = Timeline::established();
    line.at(200);
    large(&mut line, data(1, 4000));
    line.at(700);
    line.local(data(1, 900).not_capable());
    line.local(data(4001, PIECE).not_capable());
    line.taken();
    line.at(900);
    line.peer(ack(4001 + PIECE, 800));
    line.taken();
    large(&mut line, data(4001 + PIECE, 3000));
    assert_eq!(line.status().stored_bytes, 2 * 2048 + 256);
    line.let_go();
    line.taken();
}

#[test]
fn the_first_intercepted_packet_may_be_large() {
    let mut line = Timeline::new(config());
    for (says, is_outgoing) in [(syn(), true), (syn_ack(), false)] {
        let bytes = says.bytes(line.now);
        line.shim.on_passed_by(line.now, &bytes, is_outgoing);
    }
    line.at(200);
    assert_eq!(large(&mut line, data(5001, 9000)).0, PacketAction::Pass);
    assert_eq!(line.status().outstanding, 14_000);
}

#[test]
fn untracked_large_packets_pass() {
    let mut line = Timeline::new(config());
    let older = PacketAction::Untouched(UntouchedReason::Preexisting);
    assert_eq!(large(&mut line, data(1, 9000)).0, older);
    assert_eq!(line.counts().preexisting, 1);
}

/// A receiver's held-back bytes: the header of the whole packet is edited, and valid once its
/// checksums are complete.
#[test]
fn edits_are_those_of_its_segments() {
    let mut line = Timeline::established_by(driftway_shim::Config { hold_back: true, ..config() });
    line.at(200);
    line.peer_passes(ack(1, 100).carrying(1, 500));
    let (action, mut bytes) = large(&mut line, data(1, 4000).acking(501));
    driftway_shim::complete_checksums(&mut bytes);
    let text = show(&bytes);
    assert_eq!(action, PacketAction::Edited);
    assert!(text.contains("a499"), "{text}");
    line.let_go();
    line.taken();
}

/// FIN is in the last segment, CWR in the first one.
#[test]
fn flags_are_those_of_segmentation() {
    let mut line = Timeline::established();
    line.at(200);
    let says = data(1, 4000).fin().with(TcpFlags::PSH).with(TcpFlags::CWR);
    assert_eq!(large(&mut line, says).0, PacketAction::Pass);
    assert_eq!(line.status().outstanding, 4001);
    line.unreachable(data(1, PIECE), UnreachableCode::Host);
    line.peer(ack(1, 200));
    line.at(1500);
    line.peer(ack(1 + PIECE, 900));
    line.at(3000);
    let sent = line.taken();
    let fins = sent.iter().filter(|packet| packet.contains("FIN"));
    assert!(sent.iter().any(|packet| packet.contains("net 2897+1104 FIN")), "{sent:?}");
    assert!(fins.clone().all(|packet| packet.contains("2897+1104")), "{sent:?}");
}
