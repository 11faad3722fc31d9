//! RFC 2883 §4, RFC 3708 §2.

use super::*;

fn dsack() -> Config {
    let recovery = RecoveryKind::Sack;
    Config { recovery, sack: true, dsack: true, limited_transmit: false, ..plain() }
}

/// Eight segments in flight; the first is delayed, and retransmitted.
fn late(config: &Config) -> TestConnection {
    let mut conn = TestConnection::in_flight(config, 8);
    for end in [2001, 3001, 4001] {
        conn.receives(ack(1).sack(&[(1001, end)]));
    }
    conn.sends(["1..1001"]);
    assert_eq!(windows(&conn), (4000, 4000));
    conn.receives(ack(4001));
    conn.sends_some();
    conn
}

#[test]
fn when_all_retransmissions_were_duplicates_the_window_is_restored() {
    let mut conn = late(&dsack());
    conn.receives(ack(5001).sack(&[(1, 1001)]));
    assert_eq!(undo_count(&conn), 1);
    assert_eq!(conn.cwnd(), 8000);
    assert!(conn.ssthresh() > 100_000);
}

#[test]
fn after_the_recovery_the_window_is_restored_too() {
    let mut conn = late(&dsack());
    conn.receives(ack(8001));
    conn.receives(ack(8001).sack(&[(1, 1001)]));
    assert_eq!((undo_count(&conn), conn.cwnd()), (1, 8000));
}

#[test]
fn no_undo_while_a_dsack_is_missing() {
    let mut conn = late(&dsack());
    conn.receives(ack(5001).sack(&[(1, 501)]));
    conn.sends(["7001..8001"]); // a rescue retransmission, which was not needed either
    conn.receives(ack(5001).sack(&[(501, 1001)]));
    assert_eq!(undo_count(&conn), 0);
    conn.receives(ack(8001).sack(&[(7001, 8001)]));
    assert_eq!(undo_count(&conn), 1);
}

#[test]
fn no_undo_for_duplicates_made_by_the_network() {
    let mut conn = late(&dsack());
    // Never retransmitted, and not even sent.
    conn.receives(ack(5001).sack(&[(2001, 3001)]));
    conn.sends_some();
    conn.receives(ack(5001).sack(&[(u32::MAX - 2000, u32::MAX - 1000)]));
    assert_eq!(undo_count(&conn), 0);
}

#[test]
fn a_dsack_above_the_acknowledgment_is_within_the_second_block() {
    // RFC 2883 §4.2. Two holes, both delayed.
    let mut conn = TestConnection::in_flight(&dsack(), 10);
    conn.receives(ack(1).sack(&[(1001, 2001)]));
    conn.receives(ack(1).sack(&[(1001, 2001), (3001, 4001)]));
    conn.receives(ack(1).sack(&[(1001, 2001), (3001, 6001)]));
    conn.sends(["1..1001"]);
    conn.receives(ack(1).sack(&[(1001, 2001), (3001, 7001)]));
    conn.sends(["2001..3001"]);
    conn.receives(ack(1).sack(&[(2001, 3001), (1001, 8001)]));
    assert_eq!(undo_count(&conn), 0);
    conn.sends(["9001..10001"]);
    conn.receives(ack(8001).sack(&[(1, 1001)]));
    assert_eq!(undo_count(&conn), 0);
    conn.receives(ack(10_001).sack(&[(9001, 10_001)]));
    assert_eq!(undo_count(&conn), 1);
    conn.sends_some();
}

#[test]
fn a_timeout_is_undone_once_all_retransmissions_were_duplicates() {
    let mut conn = TestConnection::in_flight(&dsack(), 3);
    conn.at(1100);
    conn.sends(["1..1001"]);
    conn.receives(ack(1001));
    conn.sends(["1001..2001", "2001..3001"]);
    conn.receives(ack(3001));
    for end in [1001, 2001] {
        conn.receives(ack(3001).sack(&[(end - 1000, end)]));
        assert_eq!(undo_count(&conn), 0);
    }
    conn.receives(ack(3001).sack(&[(2001, 3001)]));
    assert_eq!((undo_count(&conn), conn.tcp.stats().timeouts), (1, 1));
    assert!(conn.ssthresh() > 100_000);
}

#[test]
fn a_retransmitted_fin_is_in_no_dsack() {
    // RFC 2883 §4: blocks are of data, without the FIN.
    let mut conn = TestConnection::in_flight(&dsack(), 2);
    conn.closes();
    conn.sends(["2001..2001 FIN"]);
    conn.at(1100);
    conn.sends(["1..1001"]);
    conn.receives(ack(1001));
    conn.sends(["1001..2001 FIN"]);
    conn.receives(ack(2002));
    conn.receives(ack(2002).sack(&[(1, 1001)]));
    assert_eq!(undo_count(&conn), 0);
    conn.receives(ack(2002).sack(&[(1001, 2001)]));
    assert_eq!(undo_count(&conn), 1);
}

#[test]
fn other_congestion_is_not_undone() {
    let mut conn = late(&Config { ecn: true, ..dsack() });
    conn.receives(ack(8001));
    conn.writes(8000);
    conn.sends_some();
    conn.receives(ack(9001).with(driftway_wire::TcpFlags::ECE));
    conn.sends_some();
    let after = windows(&conn);
    conn.receives(ack(9001).sack(&[(1, 1001)]));
    assert_eq!((undo_count(&conn), windows(&conn)), (0, after));
}

#[test]
fn without_the_option_dsacks_are_neither_sent_nor_used() {
    let mut conn = late(&Config { dsack: false, ..dsack() });
    conn.receives(ack(5001).sack(&[(1, 1001)]));
    assert_eq!(undo_count(&conn), 0);
    for dsack in [true, false] {
        let mut conn = TestConnection::established(&Config { dsack, ..self::dsack() });
        for _ in 0..2 {
            conn.receives(data(1, 1000));
            conn.sends_some();
        }
        let reported = render(&conn.last[0].segment) == "ack 1001 sack 1..1001";
        assert_eq!(reported, dsack);
    }
}
