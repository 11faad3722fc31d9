//! Undoing the response to a loss that was none: by D-SACK (RFC 3708) and by timestamps (RFC 3522).

use crate::scripted::script::Script;
use crate::scripted::segment::{ack, acks, growing_block};

pub fn scripts() -> Vec<Script> {
    vec![
        by_timestamps(),
        by_duplicate_report(),
        duplicate_report_after_recovery(),
        one_of_two_was_lost(),
        after_a_timeout_by_duplicate_report(),
    ]
}

fn by_timestamps() -> Script {
    Script::new("undo_by_timestamps", "the first acknowledgment echoes the original")
        .in_flight(40)
        .at(200)
        .receives_all(growing_block(1, 1001, 5001))
        .receives(ack(5001).of_first())
        .receives_all(acks(5001, 10001))
        .later(50)
}

fn by_duplicate_report() -> Script {
    Script::new("undo_by_duplicate_report", "a D-SACK for the only retransmission, in recovery")
        .without_timestamps()
        .in_flight(40)
        .at(200)
        .receives_all(growing_block(1, 1001, 5001))
        .receives(ack(5001))
        .receives_all(acks(5001, 9001))
        .at(300)
        .receives(ack(9001).sack(&[(1, 1001)]))
        .later(10)
        .receives(ack(10001))
        .later(50)
}

fn duplicate_report_after_recovery() -> Script {
    Script::new("undo_after_recovery", "the D-SACK arrives when the recovery is over")
        .without_timestamps()
        .in_flight(20)
        .at(200)
        .receives_all(growing_block(1, 1001, 5001))
        .receives(ack(5001))
        .receives_all(acks(5001, 14001))
        .at(310)
        .receives(ack(14001).sack(&[(1, 1001)]))
        .later(50)
}

fn one_of_two_was_lost() -> Script {
    Script::new("no_undo_for_one_of_two", "two retransmissions, one D-SACK: the other was needed")
        .without_timestamps()
        .in_flight(40)
        .at(200)
        .receives_all(growing_block(1, 2001, 7001))
        .at(300)
        .receives(ack(2001).sack(&[(2001, 7001)]))
        .receives(ack(7001))
        .receives(ack(7001).sack(&[(1, 1001)]))
        .receives_all(acks(7001, 12001))
        .later(50)
}

fn after_a_timeout_by_duplicate_report() -> Script {
    Script::new("undo_of_a_timeout", "D-SACKs for everything that a timeout retransmitted")
        .without_timestamps()
        .in_flight(10)
        .at(700)
        .receives(ack(10001))
        .later(50)
        .receives(ack(10001).sack(&[(9001, 10001)]))
        .receives(ack(10001).sack(&[(1, 1001)]))
        .later(10)
        .writes(20_000)
        .later(50)
}
