//! Opening a connection: RFC 9293 §3.5, with its figures.

mod common;

use common::test_connection::*;
use driftway_base::{Duration, Seq};
use driftway_tcp::{Config, Event, State};
use driftway_wire::TcpFlags;

#[test]
fn active_open() {
    // RFC 9293 §3.5, figure 6.
    let mut line = TestConnection::syn_sent(&plain());
    line.is(State::SynSent);
    line.at(RTT);
    line.receives(syn_ack());
    line.sends(["ack 1"]);
    line.is(State::Established);
    assert_eq!(line.events, [Event::Connected]);
}

#[test]
fn passive_open() {
    let mut line = TestConnection::syn_received(&plain());
    assert_eq!(line.tcp.remote().port, 80);
    line.at(RTT);
    line.receives(ack(1).seq(1));
    line.quiet();
    line.is(State::Established);
    assert_eq!(line.events, [Event::Connected]);
    assert_eq!(line.tcp.view().srtt.value().flatten(), Some(Duration::from_millis(RTT)));
}

#[test]
fn data_with_the_last_acknowledgment_of_the_handshake() {
    let mut line = TestConnection::syn_received(&plain());
    line.receives(data(1, 100).fin());
    line.sends(["ack 102"]);
    line.is(State::CloseWait);
    assert_eq!(line.events, [Event::Connected, Event::PeerClosed]);
}

#[test]
fn simultaneous_open() {
    // RFC 9293 §3.5, figure 8: SYNs cross, then SYN-ACKs.
    let mut line = TestConnection::syn_sent(&plain());
    line.receives(syn());
    line.sends(["SYN-ACK 1"]);
    line.is(State::SynReceived);
    line.receives(syn_ack().window(7000));
    line.is(State::Established);
    line.quiet();
    assert_eq!(line.tcp.view().peer_window.value(), Some(7000));
    line.writes(10);
    line.sends(["1..11"]);
    line.receives(data(1, 5).acking(11));
    line.sends(["ack 6"]);
}

#[test]
fn both_ends_of_a_simultaneous_open_agree() {
    use driftway_base::{Endpoint, Instant};
    let (a, b) = (Endpoint::new(common::address(1), 4000), Endpoint::new(common::address(2), 4000));
    let config = plain();
    let connect = |from, to, iss, stream| {
        driftway_tcp::Connection::connect(&config, from, to, Seq(iss), stream, Instant::ZERO)
    };
    let mut pair = common::Pair::from_connections(connect(a, b, 7, 1), connect(b, a, u32::MAX, 2));
    for end in &mut pair.ends {
        end.tcp.write(5000);
    }
    pair.run_until(Instant::from_secs(5));
    for end in &pair.ends {
        assert_eq!((end.tcp.state(), end.read), (State::Established, 5000));
        // SYN, SYN-ACK, and no exchange without end.
        let syns = end.sent.iter().filter(|(_, t)| t.segment.flags.contains(TcpFlags::SYN));
        assert_eq!(syns.count(), 2);
    }
}

#[test]
fn an_unanswered_syn_is_retransmitted_with_back_off_until_abort() {
    // RFC 6298 §5.5; RFC 9293 §3.8.3 (R2 for SYNs).
    let mut line = TestConnection::syn_sent(&Config { max_syn_retries: 2, ..plain() });
    line.at(1000);
    line.sends(["SYN"]);
    line.at(3000);
    line.sends(["SYN"]);
    assert!(line.last[0].retransmission);
    line.quiet_until(6999);
    line.is(State::SynSent);
    line.quiet_until(7000);
    line.is(State::Closed);
    assert_eq!(line.events, [Event::TimedOut]);
}

#[test]
fn a_lost_syn_reduces_the_initial_window_and_sets_rto_to_three_seconds() {
    // RFC 5681 §3.1, RFC 6298 §5.7, Karn: its round trip is not measured.
    let mut line = TestConnection::syn_sent(&plain());
    line.at(1000);
    line.sends(["SYN"]);
    line.at(1100);
    line.receives(syn_ack());
    line.sends(["ack 1"]);
    assert_eq!(line.tcp.view().srtt.value(), Some(None));
    assert_eq!(line.rto(), Duration::from_secs(3));
    line.writes(5000);
    line.sends(["1..1001"]);
    line.at(4100);
    line.sends(["1..1001"]);
}

#[test]
fn a_lost_syn_ack_is_retransmitted_by_timer_and_on_a_retransmitted_syn() {
    let mut line = TestConnection::syn_received(&plain());
    line.at(500);
    line.receives(syn());
    line.sends(["SYN-ACK 1"]);
    line.at(1500);
    line.sends(["SYN-ACK 1"]);
    line.receives(ack(1).seq(1));
    line.is(State::Established);
    line.writes(5000);
    line.sends(["1..1001"]);
}

#[test]
fn a_wrong_acknowledgment_in_syn_sent_is_reset() {
    // RFC 9293 §3.10.7.3, first check; §3.5, figure 9 (recovery from an old duplicate).
    for wrong in [0, 2, 1 << 30] {
        let mut line = TestConnection::syn_sent(&plain());
        line.receives(ack(wrong).seq(0).with(TcpFlags::SYN));
        line.sends([format!("RST {wrong}").as_str()]);
        line.is(State::SynSent);
        line.receives(ack(wrong).flags(TcpFlags::RST.with(TcpFlags::ACK)));
        line.quiet();
        line.is(State::SynSent);
        line.receives(syn_ack());
        line.sends(["ack 1"]);
    }
}

#[test]
fn a_syn_not_yet_sent_cannot_be_acknowledged() {
    use driftway_base::{Ecn, Endpoint, Instant};
    let (a, b) = (Endpoint::new(common::address(1), 4000), Endpoint::new(common::address(2), 80));
    let mut tcp = driftway_tcp::Connection::connect(&plain(), a, b, OURS, 1, Instant::ZERO);
    tcp.on_segment(Instant::ZERO, b.address, &syn_ack().segment, Ecn::NotEct);
    assert_eq!(tcp.state(), State::SynSent);
}

#[test]
fn listen_resets_acknowledgments_and_ignores_resets() {
    // RFC 9293 §3.10.7.2
    let mut line = TestConnection::listening(&plain());
    line.receives(rst(1));
    line.quiet();
    line.receives(ack(77));
    line.sends(["RST 77"]);
    line.receives(ack(1).flags(TcpFlags::FIN));
    line.quiet();
    line.is(State::Listen);
}

#[test]
fn another_syn_in_syn_received_returns_to_listen() {
    // RFC 9293 §3.10.7.4, fourth check.
    let mut line = TestConnection::syn_received(&plain());
    line.receives(syn().seq(500));
    line.quiet();
    line.is(State::Listen);
    line.receives(syn().seq(500));
    line.sends(["SYN-ACK 501"]);
    line.is(State::SynReceived);
}

#[test]
fn data_written_before_the_connection_is_open_is_sent_afterwards() {
    let mut line = TestConnection::syn_sent(&plain());
    line.writes(1500);
    line.quiet();
    line.at(RTT);
    line.receives(syn_ack());
    // It acknowledges the SYN-ACK; Nagle's algorithm delays the rest.
    line.sends(["1..1001"]);
}

#[test]
fn an_unacceptable_segment_in_syn_received_is_acknowledged() {
    // RFC 9293 §3.10.7.4: the first check applies in SYN-RECEIVED, too.
    let mut line = TestConnection::syn_received(&plain());
    line.receives(data(1, 10).seq(70_000));
    line.sends(["ack 1"]);
    line.receives(ack(9).seq(1));
    line.sends(["RST 9"]);
    line.is(State::SynReceived);
}

#[test]
fn a_hard_error_aborts_only_an_attempt_to_connect() {
    // RFC 9293 §3.9.2.2, RFC 5927 §6.1
    let mut line = TestConnection::syn_sent(&plain());
    line.does(|tcp, now| tcp.on_unreachable(now, false, Some(OURS)));
    line.is(State::SynSent);
    line.does(|tcp, now| tcp.on_unreachable(now, true, None));
    line.is(State::Closed);
    assert_eq!(line.events, [Event::Reset]);
    let mut line = TestConnection::established(&plain());
    line.does(|tcp, now| tcp.on_unreachable(now, true, None));
    line.is(State::Established);
}
