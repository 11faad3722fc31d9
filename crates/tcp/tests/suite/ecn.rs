//! Explicit congestion notification: RFC 3168 §6.1.

use crate::common::test_connection::*;
use driftway_base::Ecn;
use driftway_tcp::Config;
use driftway_wire::TcpFlags;

fn with_ecn() -> Config {
    Config { ecn: true, ..plain() }
}

fn echo(number: u32) -> Peer {
    ack(number).with(TcpFlags::ECE)
}

#[test]
fn client_handshake() {
    // §6.1.1: ECE and CWR request ECN, ECE alone accepts it, both together are a reflection.
    for (answer, agreed) in [
        (TcpFlags::ECE, true),
        (TcpFlags(0), false),
        (TcpFlags::ECE.with(TcpFlags::CWR), false),
        (TcpFlags::CWR, false),
    ] {
        let mut conn = TestConnection::syn_sent(&with_ecn());
        conn.receives(syn_ack().with(answer));
        conn.sends(["ack 1"]);
        assert_eq!(conn.tcp.negotiated().ecn, agreed, "{answer:?}");
        conn.writes(10);
        conn.sends(["1..11"]);
        assert_eq!(conn.last[0].ecn == Ecn::Ect0, agreed);
    }
}

#[test]
fn server_handshake() {
    for (offer, answer) in [
        (TcpFlags::ECE.with(TcpFlags::CWR), "SYN-ACK 1 ECE"),
        (TcpFlags::ECE, "SYN-ACK 1"),
        (TcpFlags(0), "SYN-ACK 1"),
    ] {
        let mut conn = TestConnection::listening(&with_ecn());
        conn.receives(syn().with(offer));
        conn.sends([answer]);
        assert_eq!(conn.last[0].ecn, Ecn::NotEct);
    }
}

#[test]
fn a_retransmitted_syn_does_not_offer_ecn() {
    // §6.1.1.1, in case a middlebox drops the offer; the server then must not use ECN either.
    let mut conn = TestConnection::syn_sent(&with_ecn());
    conn.at(1000);
    conn.sends(["SYN"]);
    conn.receives(syn_ack().with(TcpFlags::ECE));
    conn.sends(["ack 1"]);
    assert!(!conn.tcp.negotiated().ecn);
    // Marks on the server's data are echoed all the same.
    conn.receives(data(1, 10).marked());
    conn.sends(["ack 11 ECE"]);

    let mut conn = TestConnection::listening(&with_ecn());
    conn.receives(syn().with(TcpFlags::ECE.with(TcpFlags::CWR)));
    conn.sends(["SYN-ACK 1 ECE"]);
    conn.receives(syn());
    conn.sends(["SYN-ACK 1"]);
    conn.receives(ack(1).seq(1));
    conn.writes(10);
    conn.sends(["1..11"]);
    assert_eq!(conn.last[0].ecn, Ecn::NotEct);
}

#[test]
fn a_mark_is_echoed_until_the_sender_has_reduced() {
    // §6.1.3
    let mut conn = TestConnection::established(&with_ecn());
    conn.receives(data(1, 10).marked());
    conn.sends(["ack 11 ECE"]);
    conn.receives(data(11, 10));
    conn.sends(["ack 21 ECE"]);
    conn.receives(data(21, 10).with(TcpFlags::CWR));
    conn.sends(["ack 31"]);
    // CWR and a mark together: the reduction was for an earlier mark.
    conn.receives(data(31, 10).marked());
    conn.sends(["ack 41 ECE"]);
    conn.receives(data(41, 10).with(TcpFlags::CWR).marked());
    conn.sends(["ack 51 ECE"]);
}

#[test]
fn an_echo_halves_the_window_once_per_round_trip() {
    // §6.1.2
    let mut conn = TestConnection::in_flight(&with_ecn(), 8);
    conn.receives(echo(1001));
    conn.quiet();
    assert_eq!((conn.cwnd(), conn.ssthresh()), (4000, 4000));
    conn.writes(10_000);
    conn.receives(echo(2001));
    conn.receives(echo(6001));
    conn.sends(["8001..9001 CWR", "9001..10001"]);
    conn.receives(echo(8001));
    conn.sends_some();
    assert_eq!(conn.tcp.stats().ecn_reductions, 1);
    assert_eq!(conn.ssthresh(), 4000);
    conn.receives(echo(9001));
    assert_eq!(conn.tcp.stats().ecn_reductions, 2);
    assert_eq!(conn.tcp.stats().retransmissions, 0);
}

#[test]
fn a_loss_sends_cwr_and_covers_marks_of_its_window() {
    // §6.1.2: CWR after a reduction for any reason.
    let mut conn = TestConnection::in_flight(&with_ecn(), 8);
    for _ in 0..2 {
        conn.receives(ack(1));
        conn.quiet();
    }
    conn.receives(ack(1));
    conn.sends(["1..1001"]);
    assert_eq!(conn.last[0].ecn, Ecn::NotEct, "§6.1.5");
    conn.receives(echo(8001));
    assert_eq!(conn.tcp.stats().ecn_reductions, 0);
    conn.writes(2000);
    conn.sends(["8001..9001 CWR", "9001..10001"]);
    assert_eq!(conn.last[0].ecn, Ecn::Ect0);
}

#[test]
fn acknowledgments_probes_and_retransmissions_are_not_ecn_capable() {
    // §6.1.4, §6.1.5, §6.1.6
    let mut conn = TestConnection::established_by(&with_ecn(), syn_ack().window(1000));
    assert_eq!(conn.last[0].ecn, Ecn::NotEct);
    conn.writes(3000);
    conn.sends(["1..1001"]);
    conn.at(1100);
    conn.sends(["1..1001"]);
    assert_eq!(conn.last[0].ecn, Ecn::NotEct);
    conn.receives(ack(1001).window(0));
    conn.at(3100);
    conn.sends(["1001..1002"]);
    assert_eq!(conn.last[0].ecn, Ecn::NotEct);
}

#[test]
fn an_echo_never_raises_the_window() {
    let mut conn = TestConnection::in_flight(&Config { source_quench: true, ..with_ecn() }, 8);
    conn.does(|tcp, _| tcp.on_source_quench());
    assert_eq!(conn.cwnd(), 1000);
    conn.receives(echo(1));
    assert_eq!(conn.cwnd(), 1000);
}

/// The meaning of "invoke slow start" in liu-singh-2001 §III-A, as one may read it.
#[test]
fn an_echo_may_start_slow_start_with_ssthresh_unchanged() {
    for (ece_slow_start, cwnd) in [(false, 4000), (true, 1000)] {
        let config = Config { ece_slow_start, initial_window: 8, ..with_ecn() };
        let answer = syn_ack().with(TcpFlags::ECE);
        let mut conn = TestConnection::established_by(&config, answer);
        conn.writes(8000);
        conn.sends_some();
        let before = conn.ssthresh();
        conn.receives(echo(1));
        let kept = if ece_slow_start { before } else { 4000 };
        assert_eq!((conn.cwnd(), conn.ssthresh()), (cwnd, kept));
        assert_eq!((conn.tcp.stats().ecn_reductions, conn.tcp.cwnd_reductions()), (1, 1));
        // Once per window of data.
        conn.receives(echo(1001));
        assert_eq!(conn.tcp.stats().ecn_reductions, 1);
    }
}
