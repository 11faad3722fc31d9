//! Timestamps: RFC 7323.

use crate::scripted::script::Script;
use crate::scripted::segment::{PeerTimestamps, ack, data, rst};

pub fn scripts() -> Vec<Script> {
    vec![
        unacceptable_ack(),
        unacceptable_ack_without_data(),
        old_timestamp(),
        old_timestamp_of_an_ack(),
        missing_timestamp(),
        echo_of_delayed_ack(),
        echo_over_a_gap(),
        reset_with_an_old_timestamp(),
    ]
}

fn unacceptable_ack() -> Script {
    Script::new("unacceptable_ack", "a FIN that acknowledges what was never sent: TS.Recent stays")
        .established()
        .receives(data(1, 1).acking(50_000).fin().timestamps(PeerTimestamps::Value(900_000)))
        .later(100)
        .receives(data(1, 1000).timestamps(PeerTimestamps::Value(5201)))
        .later(200)
}

fn unacceptable_ack_without_data() -> Script {
    Script::new("unacceptable_ack_without_data", "the same, and nothing but the FIN")
        .in_flight(3)
        .at(200)
        .receives(ack(50_000).fin().at(1).timestamps(PeerTimestamps::Value(900_000)))
        .later(50)
        .receives(data(1, 1000).acking(3001))
        .receives(data(1001, 1000).acking(3001))
        .later(200)
}

fn old_timestamp() -> Script {
    Script::new("old_timestamp", "PAWS: RFC 7323 §5")
        .established()
        .receives(data(1, 1000))
        .later(100)
        .receives(data(1001, 1000).timestamps(PeerTimestamps::Value(4000)))
        .later(100)
        .receives(data(1001, 1000))
        .later(200)
}

fn old_timestamp_of_an_ack() -> Script {
    Script::new("old_timestamp_of_an_ack", "a pure acknowledgment that others have overtaken")
        .in_flight(20)
        .at(200)
        .receives(ack(2001))
        .receives(ack(3001).timestamps(PeerTimestamps::Value(5199)))
        .receives(ack(4001).timestamps(PeerTimestamps::Value(4000)))
        .later(50)
}

fn missing_timestamp() -> Script {
    Script::new("missing_timestamp", "RFC 7323 §3.2: a segment without the negotiated option")
        .in_flight(20)
        .at(200)
        .receives(ack(2001).timestamps(PeerTimestamps::Absent))
        .later(10)
        .receives(data(1, 1000).acking(3001).timestamps(PeerTimestamps::Absent))
        .later(100)
}

fn echo_of_delayed_ack() -> Script {
    let script =
        Script::new("echo_of_delayed_ack", "the earliest of the acknowledged: RFC 7323 §4.3");
    let script =
        (0..30).fold(script.established(), |script, n| script.receives(data(1 + n * 1000, 1000)));
    script.later(100).receives(data(30_001, 1000)).later(10).receives(data(31_001, 1000)).later(200)
}

fn echo_over_a_gap() -> Script {
    Script::new("echo_over_a_gap", "the last in order, then the one that ends the gap")
        .established()
        .receives(data(1, 1000))
        .later(10)
        .receives(data(2001, 1000))
        .later(10)
        .receives(data(1001, 1000))
        .later(10)
        .receives(data(3001, 1000))
        .later(200)
}

fn reset_with_an_old_timestamp() -> Script {
    Script::new("reset_with_an_old_timestamp", "PAWS does not protect from resets: RFC 7323 §5.2")
        .established()
        .receives(data(1, 1000))
        .later(50)
        .receives(rst(1001).timestamps(PeerTimestamps::Value(4000)))
        .later(50)
}
