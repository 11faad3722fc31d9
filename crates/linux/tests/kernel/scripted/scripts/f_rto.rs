//! F-RTO: RFC 5682.

use crate::scripted::script::Script;
use crate::scripted::segment::{ack, acks};

pub fn scripts() -> Vec<Script> {
    vec![
        spurious_by_timestamps(),
        spurious(),
        spurious_without_sack(),
        spurious_with_one_ack(),
        loss_after_all(),
        loss_shown_by_sack(),
        spurious_without_new_data(),
        originals_by_sack(),
        original_then_silence(),
        bbr_original_then_silence(),
    ]
}

fn spurious_by_timestamps() -> Script {
    Script::new("f_rto_spurious_by_timestamps", "a delay of a second, echoes of the originals")
        .in_flight(40)
        .at(800)
        .receives(ack(1001).of_first())
        .receives_all(acks(1001, 10001).map(|ack| ack.of_first()))
        .later(50)
}

fn spurious() -> Script {
    Script::new("f_rto_spurious", "the originals arrive late, without timestamps")
        .without_timestamps()
        .in_flight(40)
        .at(800)
        .receives_all(acks(1, 10001))
        .later(50)
}

fn spurious_without_sack() -> Script {
    Script::new("f_rto_spurious_without_sack", "RFC 5682 §2")
        .without_timestamps()
        .without_sack()
        .in_flight(40)
        .at(800)
        .receives_all(acks(1, 10001))
        .later(50)
}

fn spurious_with_one_ack() -> Script {
    Script::new("f_rto_spurious_with_one_ack", "one acknowledgment covers all originals")
        .without_timestamps()
        .in_flight(40)
        .at(800)
        .receives(ack(10001))
        .later(50)
        .receives(ack(12001))
        .later(50)
}

fn loss_after_all() -> Script {
    Script::new("f_rto_loss_after_all", "only the retransmission arrives, new data is in a gap")
        .without_timestamps()
        .without_sack()
        .in_flight(40)
        .at(800)
        .receives(ack(1001))
        .later(100)
        .receives(ack(1001))
        .receives(ack(1001))
        .later(100)
        .receives(ack(2001))
        .later(50)
}

fn loss_shown_by_sack() -> Script {
    Script::new("f_rto_loss_shown_by_sack", "the new data is reported beyond the gap")
        .in_flight(40)
        .at(800)
        .receives(ack(1001))
        .later(100)
        .receives(ack(1001).sack(&[(10001, 11001)]))
        .receives(ack(1001).sack(&[(10001, 12001)]))
        .later(100)
        .receives(ack(3001).sack(&[(10001, 12001)]))
        .later(50)
}

fn spurious_without_new_data() -> Script {
    Script::new("f_rto_spurious_without_new_data", "nothing new to send: RFC 5682 §2.1, step 2b")
        .without_timestamps()
        .in_flight(10)
        .at(800)
        .receives_all(acks(1, 10001))
        .later(20)
        .writes(20_000)
        .later(20)
}

fn originals_by_sack() -> Script {
    Script::new("f_rto_originals_by_sack", "after the timeout SACK reports originals: RFC 5682 §3")
        .without_timestamps()
        .in_flight(40)
        .at(800)
        .receives(ack(1).sack(&[(1001, 2001)]))
        .receives(ack(1).sack(&[(1001, 3001)]))
        .receives(ack(3001))
        .receives_all(acks(3001, 10001))
        .later(50)
}

fn original_then_silence() -> Script {
    Script::new(
        "f_rto_original_then_silence",
        "one original arrives, the others are lost: RFC 8985 §6.2",
    )
    .in_flight(40)
    .at(800)
    .receives(ack(1).sack(&[(5001, 6001)]).of_first())
    .later(400)
}

/// The window of PROBE_RTT, in which the round trip is measured again after ten seconds, permits no retransmission of
/// what the reordering timer finds lost: the retransmission timer is that of the first segment.
fn bbr_original_then_silence() -> Script {
    Script::new(
        "bbr_f_rto_original_then_silence",
        "the same with BBR after an outage of twelve seconds",
    )
    .bbr()
    .in_flight(40)
    .at(200)
    .receives(ack(1001).of_first())
    .at(12_000)
    .receives(ack(2001).sack(&[(6001, 7001)]).of_first())
    .later(2200)
}
