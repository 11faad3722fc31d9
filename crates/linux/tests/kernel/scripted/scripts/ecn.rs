//! Explicit congestion notification: RFC 3168.

use driftway_wire::TcpFlags;

use crate::scripted::script::Script;
use crate::scripted::segment::{ack, acks, data, growing_block, syn_ack};

pub fn scripts() -> Vec<Script> {
    vec![
        ten_in_flight(),
        ten_in_flight_reno(),
        repeated_echo(),
        echo_in_the_next_window(),
        echo_then_loss(),
        loss_then_echo(),
        marks_are_echoed(),
        refused(),
        timeout(),
        echo_then_spurious_timeouts(),
    ]
}

/// Every acknowledgment of the window echoes the mark.
fn marked_window(script: Script) -> Script {
    script
        .ecn()
        .in_flight(40)
        .at(200)
        .receives_all(acks(1, 10001).map(|ack| ack.ece()))
        .at(310)
        .receives_all(acks(10001, 16001))
        .later(20)
}

fn ten_in_flight() -> Script {
    marked_window(Script::new("ece_ten_in_flight", "an echo with ten in flight: one reduction"))
}

fn ten_in_flight_reno() -> Script {
    marked_window(Script::new("ece_ten_in_flight_reno", "the same with Reno").reno())
}

fn repeated_echo() -> Script {
    Script::new("ece_once", "one echo, then acknowledgments without")
        .ecn()
        .in_flight(40)
        .at(200)
        .receives(ack(1001))
        .receives(ack(2001).ece())
        .receives_all(acks(2001, 10001))
        .later(20)
}

fn echo_in_the_next_window() -> Script {
    Script::new("ece_in_the_next_window", "a second echo about data sent after the first")
        .ecn()
        .in_flight(40)
        .at(200)
        .receives(ack(1001).ece())
        .receives_all(acks(1001, 10001))
        .at(310)
        .receives_all(acks(10001, 13001))
        .receives(ack(14001).ece())
        .receives_all(acks(14001, 16001))
        .later(20)
}

fn echo_then_loss() -> Script {
    Script::new("ece_then_loss", "a mark and a loss in the same window: one reduction")
        .ecn()
        .in_flight(40)
        .at(200)
        .receives(ack(1001).ece())
        .receives_all(growing_block(1001, 2001, 10001))
        .at(310)
        .receives(ack(10001))
        .later(20)
}

/// As when the interface has dropped a segment: Linux then begins the same reduction, and keeps no window to restore.
fn echo_then_spurious_timeouts() -> Script {
    let about = "timeouts in a reduction turn out spurious: the window is not restored";
    Script::new("ece_then_spurious_timeouts", about)
        .ecn()
        .in_flight(40)
        .at(200)
        .receives(ack(1001).ece())
        .at(1400)
        .receives(ack(6001).of_first())
        .later(900)
        .receives(ack(7001))
        .later(50)
}

fn loss_then_echo() -> Script {
    Script::new("loss_then_ece", "a mark on data sent before the recovery")
        .ecn()
        .in_flight(40)
        .at(200)
        .receives_all(growing_block(1, 1001, 5001))
        .receives_all(growing_block(1, 1001, 10001).skip(4).map(|ack| ack.ece()))
        .at(310)
        .receives(ack(10001).ece())
        .later(20)
}

fn marks_are_echoed() -> Script {
    let cwr = |start| data(start, 1000).with(TcpFlags::CWR);
    Script::new("marks_are_echoed", "ECE from a mark until CWR arrives: RFC 3168 §6.1.3")
        .ecn()
        .established()
        .at(150)
        .receives(data(1, 1000))
        .later(10)
        .receives(data(1001, 1000).marked())
        .later(10)
        .receives(data(2001, 1000))
        .later(10)
        .receives(cwr(3001))
        .later(10)
        .receives(data(4001, 1000))
        .later(10)
        .receives(cwr(5001).marked())
        .later(10)
        .receives(data(6001, 1000))
        .later(100)
}

fn refused() -> Script {
    Script::new("ecn_refused", "the peer does not echo the offer: no ECT")
        .ecn()
        .at(100)
        .receives(syn_ack())
        .writes(20_000)
        .at(200)
        .receives(ack(1001).ece())
        .later(20)
}

fn timeout() -> Script {
    Script::new("ecn_timeout", "retransmissions are not ECT, new data has CWR: RFC 3168 §6.1.5")
        .ecn()
        .in_flight(40)
        .at(700)
        .receives(ack(1001))
        .at(810)
        .receives(ack(10001))
        .later(20)
}
