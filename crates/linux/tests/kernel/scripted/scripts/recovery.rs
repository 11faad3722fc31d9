//! Fast recovery: RFC 6675, RFC 8985, RFC 9937, and without SACK RFC 6582.

use crate::scripted::receiver::{CLEAN, Path};
use crate::scripted::script::Script;
use crate::scripted::segment::{ack, acks, duplicates, growing_block};

pub fn scripts() -> Vec<Script> {
    vec![
        one_loss(),
        one_loss_reno(),
        one_loss_without_timestamps(),
        one_loss_without_sack(),
        two_losses(),
        two_losses_without_sack(),
        burst_of_losses(),
        lost_retransmission(),
        limited_transmit(),
        limited_transmit_without_sack(),
        three_in_flight(),
        loss_at_the_end_of_a_window(),
        recovery_without_new_data(),
        after_recovery(),
        reneging(),
    ]
}

/// The first of ten segments is lost, and the rest of the window arrives.
fn first_of_ten(script: Script) -> Script {
    script
        .in_flight(40)
        .at(200)
        .receives_all(growing_block(1, 1001, 10001))
        // What limited transmit has sent, then the retransmission.
        .at(302)
        .receives(ack(1).sack(&[(1001, 11001)]))
        .receives(ack(1).sack(&[(1001, 12001)]))
        .receives_all(acks(11001, 16001))
        .at(410)
        .receives_all(acks(16001, 20001))
        .later(20)
}

fn one_loss() -> Script {
    first_of_ten(Script::new("one_loss", "the first of ten segments is lost"))
}

fn one_loss_reno() -> Script {
    first_of_ten(Script::new("one_loss_reno", "the same with Reno").reno())
}

fn one_loss_without_timestamps() -> Script {
    let script = Script::new("one_loss_without_timestamps", "the same without timestamps");
    first_of_ten(script.without_timestamps())
}

fn one_loss_without_sack() -> Script {
    Script::new("one_loss_without_sack", "the first of ten is lost: three duplicates, RFC 6582")
        .without_sack()
        .in_flight(40)
        .at(200)
        .receives_all(duplicates(1, 9))
        .at(302)
        .receives_all(duplicates(1, 2))
        .receives(ack(12001))
        .receives_all(acks(12001, 15001))
        .later(20)
}

fn two_losses() -> Script {
    Script::new("two_losses", "the first and the fifth of ten are lost")
        .in_flight(40)
        .at(200)
        .receives_all(growing_block(1, 1001, 4001))
        .receives(ack(1).sack(&[(5001, 6001), (1001, 4001)]))
        .receives(ack(1).sack(&[(5001, 7001), (1001, 4001)]))
        .receives(ack(1).sack(&[(5001, 8001), (1001, 4001)]))
        .receives(ack(1).sack(&[(5001, 9001), (1001, 4001)]))
        .receives(ack(1).sack(&[(5001, 10001), (1001, 4001)]))
        .at(310)
        .receives(ack(4001).sack(&[(5001, 10001)]))
        .at(320)
        .receives(ack(12001))
        .receives_all(acks(12001, 15001))
        .later(20)
}

fn two_losses_without_sack() -> Script {
    Script::new("two_losses_without_sack", "a partial acknowledgment: RFC 6582 §3.2")
        .without_sack()
        .in_flight(40)
        .at(200)
        .receives_all(duplicates(1, 8))
        .at(300)
        .receives(ack(5001))
        .receives_all(duplicates(5001, 2))
        .at(400)
        .receives(ack(11001))
        .later(20)
}

fn burst_of_losses() -> Script {
    Script::new("burst_of_losses", "segments 3 to 7 of ten are lost")
        .in_flight(40)
        .at(200)
        .receives_all(acks(1, 2001))
        .receives_all(growing_block(2001, 7001, 14001))
        .at(302)
        .receives(ack(3001).sack(&[(7001, 14001)]))
        .receives(ack(4001).sack(&[(7001, 14001)]))
        .receives(ack(5001).sack(&[(7001, 14001)]))
        .at(320)
        .receives(ack(6001).sack(&[(7001, 14001)]))
        .at(420)
        .receives(ack(14001))
        .later(20)
}

fn lost_retransmission() -> Script {
    Script::new("lost_retransmission", "the retransmission is lost, too: RFC 8985 §3")
        .in_flight(40)
        .at(200)
        .receives_all(growing_block(1, 1001, 10001))
        .at(310)
        .receives_all(growing_block(1, 1001, 13001).skip(9))
        .at(420)
        .receives(ack(13001))
        .later(20)
}

fn limited_transmit() -> Script {
    Script::new("limited_transmit", "RFC 3042: new data for the first two, then recovery")
        .in_flight(40)
        .at(200)
        .receives(ack(1).sack(&[(1001, 2001)]))
        .later(10)
        .receives(ack(1).sack(&[(1001, 3001)]))
        .later(10)
        .receives(ack(1).sack(&[(1001, 4001)]))
        .later(10)
        .receives(ack(1).sack(&[(1001, 5001)]))
        .at(330)
        .receives(ack(5001))
        .later(60)
}

fn limited_transmit_without_sack() -> Script {
    Script::new("limited_transmit_without_sack", "RFC 3042 without SACK")
        .without_sack()
        .in_flight(40)
        .at(200)
        .receives(ack(1))
        .later(10)
        .receives(ack(1))
        .later(10)
        .receives(ack(1))
        .later(10)
        .receives(ack(1))
        .at(330)
        .receives(ack(5001))
        .later(20)
}

fn three_in_flight() -> Script {
    Script::new("three_in_flight", "the first of three is lost: too few for three duplicates")
        .in_flight(3)
        .at(200)
        .receives(ack(1).sack(&[(1001, 2001)]))
        .receives(ack(1).sack(&[(1001, 3001)]))
        .at(320)
        .receives(ack(3001))
        .later(20)
}

fn loss_at_the_end_of_a_window() -> Script {
    Script::new("loss_at_the_end_of_a_window", "eight of ten arrive, then the last: one block")
        .in_flight(10)
        .at(200)
        .receives_all(acks(1, 8001))
        .receives(ack(8001).sack(&[(9001, 10001)]))
        .at(700)
}

fn recovery_without_new_data() -> Script {
    Script::new("recovery_without_new_data", "the second of ten is lost, and nothing more to send")
        .in_flight(10)
        .at(200)
        .receives(ack(1001))
        .receives_all(growing_block(1001, 2001, 10001))
        .at(310)
        .receives(ack(10001))
        .later(10)
        .writes(20_000)
        .later(20)
}

fn after_recovery() -> Script {
    let path = Path { lost: &[12], serialisation: 2.0, ..CLEAN };
    Script::new(
        "after_recovery",
        "the window's growth after one loss, over a path of 2 ms a segment",
    )
    .established()
    .receiver(path)
    .writes(80_000)
    .at(1000)
}

fn reneging() -> Script {
    Script::new("reneging", "the peer discards what it had reported: RFC 2018 §8")
        .in_flight(10)
        .at(200)
        .receives(ack(1).sack(&[(1001, 3001)]))
        .later(8)
        .receives(ack(1001))
        .at(700)
}
