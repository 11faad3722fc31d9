//! Opening a connection: RFC 9293 §3.5, with its figures.

use crate::common;
use crate::common::test_connection::*;
use driftway_base::{Duration, Seq};
use driftway_tcp::{Config, Event, State};
use driftway_wire::TcpFlags;

#[test]
fn active_open() {
    // RFC 9293 §3.5, figure 6.
    let mut conn = TestConnection::syn_sent(&plain());
    conn.is(State::SynSent);
    conn.at(RTT);
    conn.receives(syn_ack());
    conn.sends(["ack 1"]);
    conn.is(State::Established);
    assert_eq!(conn.events, [Event::Connected]);
}

#[test]
fn passive_open() {
    let mut conn = TestConnection::syn_received(&plain());
    assert_eq!(conn.tcp.remote().port, 80);
    conn.at(RTT);
    conn.receives(ack(1).seq(1));
    conn.quiet();
    conn.is(State::Established);
    assert_eq!(conn.events, [Event::Connected]);
    assert_eq!(conn.tcp.view().srtt.value().flatten(), Some(Duration::from_millis(RTT)));
}

#[test]
fn data_with_the_last_acknowledgment_of_the_handshake() {
    let mut conn = TestConnection::syn_received(&plain());
    conn.receives(data(1, 100).fin());
    conn.sends(["ack 102"]);
    conn.is(State::CloseWait);
    assert_eq!(conn.events, [Event::Connected, Event::PeerClosed]);
}

#[test]
fn simultaneous_open() {
    // RFC 9293 §3.5, figure 8: SYNs cross, then SYN-ACKs.
    let mut conn = TestConnection::syn_sent(&plain());
    conn.receives(syn());
    conn.sends(["SYN-ACK 1"]);
    conn.is(State::SynReceived);
    conn.receives(syn_ack().window(7000));
    conn.is(State::Established);
    conn.quiet();
    assert_eq!(conn.tcp.view().peer_window.value(), Some(7000));
    conn.writes(10);
    conn.sends(["1..11"]);
    conn.receives(data(1, 5).acking(11));
    conn.sends(["ack 6"]);
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
    let mut conn = TestConnection::syn_sent(&Config { max_syn_retries: 2, ..plain() });
    conn.at(1000);
    conn.sends(["SYN"]);
    conn.at(3000);
    conn.sends(["SYN"]);
    assert!(conn.last[0].retransmission);
    conn.quiet_until(6999);
    conn.is(State::SynSent);
    conn.quiet_until(7000);
    conn.is(State::Closed);
    assert_eq!(conn.events, [Event::TimedOut]);
}

#[test]
fn a_lost_syn_reduces_the_initial_window_and_sets_rto_to_three_seconds() {
    // RFC 5681 §3.1, RFC 6298 §5.7, Karn: its round trip is not measured.
    let mut conn = TestConnection::syn_sent(&plain());
    conn.at(1000);
    conn.sends(["SYN"]);
    conn.at(1100);
    conn.receives(syn_ack());
    conn.sends(["ack 1"]);
    assert_eq!(conn.tcp.view().srtt.value(), Some(None));
    assert_eq!(conn.rto(), Duration::from_secs(3));
    conn.writes(5000);
    conn.sends(["1..1001"]);
    conn.at(4100);
    conn.sends(["1..1001"]);
}

#[test]
fn a_lost_syn_ack_is_retransmitted_by_timer_and_on_a_retransmitted_syn() {
    let mut conn = TestConnection::syn_received(&plain());
    conn.at(500);
    conn.receives(syn());
    conn.sends(["SYN-ACK 1"]);
    conn.at(1500);
    conn.sends(["SYN-ACK 1"]);
    conn.receives(ack(1).seq(1));
    conn.is(State::Established);
    conn.writes(5000);
    conn.sends(["1..1001"]);
}

#[test]
fn a_wrong_acknowledgment_in_syn_sent_is_reset() {
    // RFC 9293 §3.10.7.3, first check; §3.5, figure 9 (recovery from an old duplicate).
    for wrong in [0, 2, 1 << 30] {
        let mut conn = TestConnection::syn_sent(&plain());
        conn.receives(ack(wrong).seq(0).with(TcpFlags::SYN));
        conn.sends([format!("RST {wrong}").as_str()]);
        conn.is(State::SynSent);
        conn.receives(ack(wrong).flags(TcpFlags::RST.with(TcpFlags::ACK)));
        conn.quiet();
        conn.is(State::SynSent);
        conn.receives(syn_ack());
        conn.sends(["ack 1"]);
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
    let mut conn = TestConnection::listening(&plain());
    conn.receives(rst(1));
    conn.quiet();
    conn.receives(ack(77));
    conn.sends(["RST 77"]);
    conn.receives(ack(1).flags(TcpFlags::FIN));
    conn.quiet();
    conn.is(State::Listen);
}

#[test]
fn another_syn_in_syn_received_returns_to_listen() {
    // RFC 9293 §3.10.7.4, fourth check.
    let mut conn = TestConnection::syn_received(&plain());
    conn.receives(syn().seq(500));
    conn.quiet();
    conn.is(State::Listen);
    conn.receives(syn().seq(500));
    conn.sends(["SYN-ACK 501"]);
    conn.is(State::SynReceived);
}

#[test]
fn data_written_before_the_connection_is_open_is_sent_afterwards() {
    let mut conn = TestConnection::syn_sent(&plain());
    conn.writes(1500);
    conn.quiet();
    conn.at(RTT);
    conn.receives(syn_ack());
    // It acknowledges the SYN-ACK; Nagle's algorithm delays the rest.
    conn.sends(["1..1001"]);
}

#[test]
fn an_unacceptable_segment_in_syn_received_is_acknowledged() {
    // RFC 9293 §3.10.7.4: the first check applies in SYN-RECEIVED, too.
    let mut conn = TestConnection::syn_received(&plain());
    conn.receives(data(1, 10).seq(70_000));
    conn.sends(["ack 1"]);
    conn.receives(ack(9).seq(1));
    conn.sends(["RST 9"]);
    conn.is(State::SynReceived);
}

#[test]
fn a_hard_error_aborts_only_an_attempt_to_connect() {
    // RFC 9293 §3.9.2.2, RFC 5927 §6.1
    let mut conn = TestConnection::syn_sent(&plain());
    conn.does(|tcp, now| tcp.on_unreachable(now, false, Some(OURS)));
    conn.is(State::SynSent);
    conn.does(|tcp, now| tcp.on_unreachable(now, true, None));
    conn.is(State::Closed);
    assert_eq!(conn.events, [Event::Reset]);
    let mut conn = TestConnection::established(&plain());
    conn.does(|tcp, now| tcp.on_unreachable(now, true, None));
    conn.is(State::Established);
}
