//! Limited transmit: RFC 3042.

use crate::common::test_connection::*;
use driftway_tcp::{Config, RecoveryKind};

/// Four segments fill the window, more data is waiting.
fn full(config: &Config) -> TestConnection {
    let mut conn = TestConnection::established(&Config { initial_window: 4, ..*config });
    conn.writes(20_000);
    conn.sends(["1..1001", "1001..2001", "2001..3001", "3001..4001"]);
    conn
}

#[test]
fn two_duplicates_send_one_new_segment_each() {
    for recovery in [RecoveryKind::Tahoe, RecoveryKind::Reno, RecoveryKind::NewReno] {
        let mut conn = full(&Config { recovery, ..plain() });
        conn.receives(ack(1));
        conn.sends(["4001..5001"]);
        conn.receives(ack(1));
        conn.sends(["5001..6001"]);
        assert_eq!(conn.cwnd(), 4000); // §2: cwnd is unchanged
        conn.receives(ack(1));
        let sent = conn.sends_some();
        assert_eq!(sent[0], "1..1001");
        // RFC 5681 §3.2, step 2: the two segments do not count in FlightSize.
        assert_eq!(conn.ssthresh(), 2000);
    }
}

#[test]
fn switched_off() {
    for recovery in [RecoveryKind::Reno, RecoveryKind::Sack] {
        let sack = recovery == RecoveryKind::Sack;
        let mut conn = full(&Config { recovery, sack, limited_transmit: false, ..plain() });
        conn.receives(if sack { ack(1).sack(&[(1001, 2001)]) } else { ack(1) });
        conn.quiet();
        conn.receives(if sack { ack(1).sack(&[(1001, 3001)]) } else { ack(1) });
        conn.quiet();
    }
}

#[test]
fn with_sack_the_pipe_decides() {
    // RFC 6675 §5, step 3
    let mut conn = full(&Config { recovery: RecoveryKind::Sack, sack: true, ..plain() });
    conn.receives(ack(1).sack(&[(1001, 2001)]));
    conn.sends(["4001..5001"]);
    conn.receives(ack(1)); // without new SACK information it is no duplicate
    conn.quiet();
    conn.receives(ack(1).sack(&[(1001, 3001)]));
    conn.sends(["5001..6001"]);
}

#[test]
fn not_beyond_the_peers_window() {
    let config = Config { initial_window: 4, ..plain() };
    let mut conn = TestConnection::established_by(&config, syn_ack().window(4000));
    conn.writes(20_000);
    assert_eq!(conn.sends_some().len(), 4);
    conn.receives(ack(1).window(4000));
    conn.quiet();
}
