//! Connections whose first segments pass by: the flow begins in the middle, with what copies of the
//! handshake show.

use crate::common::timeline::*;
use driftway_base::Instant;
use driftway_shim::{Config, FlowState, PacketAction, UNSEEN_MAX, UntouchedReason};
use driftway_wire::TcpFlags;

const OLDER: PacketAction = PacketAction::Untouched(UntouchedReason::Preexisting);
const ECN_SYN: TcpFlags = TcpFlags(TcpFlags::SYN.0 | TcpFlags::ECE.0 | TcpFlags::CWR.0);
const ECN_SYN_ACK: TcpFlags = TcpFlags(TcpFlags::SYN.0 | TcpFlags::ACK.0 | TcpFlags::ECE.0);

/// The shim gets a copy.
fn copy(line: &mut Timeline, says: TestSegment, is_outgoing: bool) {
    let bytes = says.bytes(line.now);
    // Headers only, as the kernel copies them.
    let len = bytes.len().min(120);
    line.shim.on_passed_by(line.now, &bytes[..len], is_outgoing);
}

/// A connection that was opened by the local TCP, with ECN, and has passed by.
fn opened() -> Timeline {
    let mut line = Timeline::new(config());
    let scaled = |says: TestSegment| says.options(|options| options.window_scale = Some(7));
    copy(&mut line, scaled(syn().flags(ECN_SYN)), true);
    copy(&mut line, scaled(syn_ack().flags(ECN_SYN_ACK)), false);
    assert_eq!(line.shim.flows().count(), 0, "there is no flow before the first segment");
    line
}

#[test]
fn the_flow_begins_with_the_first_intercepted_segment() {
    let mut line = opened();
    line.at(500);
    // The peer has sent 299 bytes, of which nothing says what the local TCP has received.
    line.peer_passes(ack(2001, 400).carrying(200, 100));
    assert_eq!(line.shim.flows().count(), 0);
    line.passes(data(5001, 1000).acking(300));
    let status = line.status();
    assert_eq!((status.state, status.ecn, status.outstanding), (FlowState::Open, true, 6000));
    assert_eq!(status.srtt, None, "the copies have no time");
    // It acknowledges segments that were not seen.
    line.at(550);
    line.peer_passes(ack(5001, 450).carrying(300, 0));
    assert_eq!((line.status().outstanding, line.status().srtt), (1000, None));
    line.at(600);
    line.peer_passes(ack(6001, 500).carrying(300, 0));
    assert_eq!(line.status().srtt.map(|rtt| rtt.as_millis()), Some(100));
    assert_eq!((line.counts().flows, line.counts().preexisting), (1, 0));
}

/// The first intercepted segment is a retransmission: the peer acknowledges more than was seen.
#[test]
fn data_that_were_not_seen_are_acknowledged() {
    let mut line = opened();
    line.at(500);
    line.passes(data(1001, 1000).not_capable());
    line.at(520);
    line.peer_passes(ack(4001, 420));
    assert_eq!((line.status().outstanding, line.status().srtt), (0, None));
    // What goes on from there is new.
    line.passes(data(4001, 1000));
    assert_eq!((line.status().outstanding, line.counts().tracking_lost), (1000, 0));
    // More than can have passed by is implausible.
    let implausible = PacketAction::Untouched(UntouchedReason::Implausible);
    assert_eq!(line.peer(ack(UNSEEN_MAX + 2, 500)).0, implausible);
    assert_eq!(line.status().outstanding, 1000);
}

/// A receiver acknowledges late what was intercepted before: more than can have passed by.
#[test]
fn a_receiver_begins_with_an_acknowledgment() {
    let mut line = opened();
    for start in [10_001, 25_001, 40_001] {
        line.peer_passes(ack(1, 0).carrying(start, 10_000));
    }
    line.passes(data(1, 0).acking(50_001));
    assert_eq!((line.shim.flows().count(), line.counts().preexisting), (1, 0));
    // No more than was intercepted, and can have passed by.
    let mut line = opened();
    line.peer_passes(ack(1, 0).carrying(10_001, 10_000));
    assert_eq!(line.local(data(1, 0).acking(20_001 + UNSEEN_MAX + 1)), OLDER);
}

/// Losses are undone as on a flow that was seen from its beginning.
#[test]
fn an_outage_after_the_beginning_is_survived() {
    let mut line = opened();
    line.at(500);
    line.passes(data(5001, 1000));
    line.at(600);
    line.peer_passes(ack(6001, 500));
    line.at(700);
    line.passes(data(6001, 1000));
    line.at(750);
    let report = line.unreachable(data(6001, 1000), driftway_wire::UnreachableCode::Host);
    assert_eq!(report, PacketAction::Pass);
    assert_eq!(line.status().state, FlowState::Disconnected);
    line.stores(data(7001, 1000));
    line.let_go();
    line.taken();
}

#[test]
fn a_passive_open_that_has_passed_by() {
    let mut line = Timeline::new(Config::default());
    copy(&mut line, syn().flags(ECN_SYN_ACK).acking(1), true);
    line.at(300);
    line.peer_passes(ack(1, 200).carrying(1, 300));
    assert_eq!(line.shim.flows().count(), 0, "the local TCP's clock is not known yet");
    line.passes(data(1, 1000).acking(301));
    let status = line.status();
    assert_eq!((status.state, status.ecn, status.outstanding), (FlowState::Open, true, 1000));
}

/// Nothing is assumed that the copies do not show.
#[test]
fn without_all_copies_a_connection_is_an_older_one() {
    // No SYN-ACK; none at all.
    let mut line = Timeline::new(Config::default());
    copy(&mut line, syn(), true);
    assert_eq!(line.local(data(1001, 1000)), OLDER);
    copy(&mut line, syn_ack(), false);
    assert_eq!(line.local(data(2001, 1000)), OLDER);
    // Copies were lost.
    let mut line = opened();
    line.shim.on_copies_lost();
    assert_eq!(line.local(data(1001, 1000)), OLDER);
    // A SYN-ACK that answers another SYN, one that is corrupt, and a second one.
    let mut line = Timeline::new(Config::default());
    copy(&mut line, syn().flags(ECN_SYN), true);
    copy(&mut line, ack(2, 0).seq(0).flags(ECN_SYN_ACK), false);
    let mut corrupt = syn_ack().flags(ECN_SYN_ACK).bytes(Instant::ZERO);
    corrupt[33] ^= TcpFlags::ECE.0;
    line.shim.on_passed_by(line.now, &corrupt, false);
    copy(&mut line, syn_ack(), false);
    copy(&mut line, syn_ack().flags(ECN_SYN_ACK), false);
    line.passes(data(1001, 1000));
    assert!(!line.status().ecn, "the first valid one counts");
}

/// A packet that has not left its machine has no checksum of its own yet.
#[test]
fn a_partial_checksum_is_valid() {
    let mut line = Timeline::new(Config::default());
    copy(&mut line, syn(), true);
    let mut bytes = syn_ack().bytes(Instant::ZERO);
    let words = bytes[12..20].chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let pseudo = words.sum::<u32>() + 6 + (bytes.len() as u32 - 20);
    bytes[36..38]
        .copy_from_slice(&((pseudo & 0xffff) as u16 + (pseudo >> 16) as u16).to_be_bytes());
    line.shim.on_passed_by(line.now, &bytes, false);
    line.passes(data(1001, 1000));
    assert_eq!(line.shim.flows().count(), 1);
}

/// Numbers that the connection of the copies cannot have reached.
#[test]
fn numbers_of_another_connection() {
    for says in [
        data(UNSEEN_MAX + 2, 1000),
        data(1, 1000).acking(UNSEEN_MAX + 2),
        data(0x9000_0000, 10),
        data(1, 1000).with(TcpFlags::RST),
    ] {
        let mut line = opened();
        assert_eq!(line.local(says), OLDER);
        assert_eq!(line.local(data(1, 1000)), OLDER, "it is forgotten");
    }
}

/// A keep-alive, which repeats the number of the SYN, shows nothing.
#[test]
fn a_keep_alive_does_not_begin_a_flow() {
    let mut line = opened();
    line.passes(data(0, 0));
    assert_eq!(line.shim.flows().count(), 0);
    line.passes(data(1, 1000));
    assert_eq!(line.shim.flows().count(), 1);
}

#[test]
fn a_connection_that_has_ended_leaves_nothing() {
    let older = |line: &mut Timeline| assert_eq!(line.local(data(1001, 1000)), OLDER);
    let mut line = opened();
    copy(&mut line, data(1001, 0).fin(), true);
    copy(&mut line, ack(1002, 0).fin(), false);
    older(&mut line);
    let mut line = opened();
    copy(&mut line, data(1001, 0).with(TcpFlags::RST), true);
    older(&mut line);
    let mut line = opened();
    copy(&mut line, ack(1001, 0).with(TcpFlags::RST), false);
    older(&mut line);
    // The peer refuses the connection.
    let mut line = Timeline::new(Config::default());
    copy(&mut line, syn(), true);
    copy(&mut line, ack(1, 0).seq(0).with(TcpFlags::RST), false);
    copy(&mut line, syn_ack(), false);
    older(&mut line);
    // A forged reset, and one FIN, do not end it.
    let mut line = opened();
    copy(&mut line, ack(1001, 0).seq(0x7000_0000).with(TcpFlags::RST), false);
    copy(&mut line, ack(1001, 0).carrying(1, 1400).fin(), false);
    line.passes(data(1001, 1000).acking(1402));
    // The local TCP closes, too, and both FINs are acknowledged.
    line.passes(data(2001, 0).acking(1402).fin());
    line.peer_passes(ack(2002, 0).carrying(1402, 0));
    assert_eq!(line.shim.flows().count(), 0);
}

/// A new connection between the same endpoints replaces the old one, whose end was not seen.
#[test]
fn a_port_is_used_again() {
    const LATER: u32 = 0x1000_0000;
    let mut line = opened();
    line.passes(data(5001, 1000));
    assert!(line.status().ecn && line.shim.memory().0 > 0);
    copy(&mut line, syn().seq(LATER), true);
    assert_eq!((line.shim.flows().count(), line.shim.memory().0), (0, 0));
    let answer = ack(LATER + 1, 0).seq(0).flags(TcpFlags::SYN.with(TcpFlags::ACK));
    copy(&mut line, answer, false);
    line.passes(data(LATER + 1001, 1000));
    assert_eq!((line.status().outstanding, line.status().ecn), (2000, false));
}

#[test]
fn connections_that_the_shim_cannot_support() {
    let none = PacketAction::Untouched(UntouchedReason::NoTimestamps);
    let mut line = Timeline::new(Config::default());
    copy(&mut line, syn(), true);
    copy(&mut line, syn_ack().without_timestamps(), false);
    assert_eq!([line.local(data(1, 1000)), line.local(data(1001, 1000))], [none, OLDER]);
    // A SYN with data (Fast Open) is refused at once, and counted.
    let mut line = Timeline::new(Config::default());
    let mut fast = syn();
    fast.segment.payload = driftway_wire::Payload::new(1, 0, 500);
    copy(&mut line, fast, true);
    assert_eq!(line.counts().unknown_option, 1);
    assert_eq!(line.local(data(501, 1000)), OLDER);
}
