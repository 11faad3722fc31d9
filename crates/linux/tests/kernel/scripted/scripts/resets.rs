//! Resets and blind attacks in each state: RFC 9293 §3.10.7, RFC 5961.

use crate::scripted::script::Script;
use crate::scripted::segment::{ack, data, rst, syn};
use driftway_wire::TcpFlags;

pub fn scripts() -> Vec<Script> {
    vec![
        in_syn_sent(),
        in_syn_sent_without_ack(),
        in_listen(),
        in_syn_received(),
        while_open(),
        in_the_window(),
        outside_the_window(),
        in_fin_wait_1(),
        in_fin_wait_2(),
        in_close_wait(),
        in_last_ack(),
        in_closing(),
        in_time_wait(),
        syn_while_open(),
        old_ack(),
        ack_of_the_future(),
        ack_to_a_closed_connection(),
    ]
}

fn in_syn_sent() -> Script {
    Script::new("reset_in_syn_sent", "an acceptable reset refuses the connection")
        .at(100)
        .receives(rst(0).with(TcpFlags::ACK))
        .later(1200)
}

fn in_syn_sent_without_ack() -> Script {
    Script::new("reset_in_syn_sent_without_ack", "it is ignored")
        .at(100)
        .receives(rst(0))
        .later(1200)
}

fn in_listen() -> Script {
    Script::new("reset_in_listen", "a reset is ignored, an acknowledgment reset")
        .passive()
        .at(50)
        .receives(rst(0))
        .receives(ack(500).at(700))
        .later(20)
        .receives(syn())
        .later(20)
}

fn in_syn_received() -> Script {
    Script::new("reset_in_syn_received", "back to LISTEN")
        .passive()
        .receives(syn())
        .at(100)
        .receives(rst(1))
        .later(1200)
}

fn while_open() -> Script {
    Script::new("reset_while_open", "at RCV.NXT").in_flight(20).at(150).receives(rst(1)).later(600)
}

fn in_the_window() -> Script {
    Script::new("reset_in_the_window", "a challenge ACK: RFC 5961 §3.2")
        .in_flight(5)
        .at(150)
        .receives(rst(1000))
        .later(100)
}

fn outside_the_window() -> Script {
    Script::new("reset_outside_the_window", "it is ignored")
        .in_flight(5)
        .at(150)
        .receives(rst(90_000_000))
        .later(100)
}

fn in_fin_wait_1() -> Script {
    Script::new("reset_in_fin_wait_1", "CLOSED")
        .established()
        .closes()
        .at(150)
        .receives(rst(1))
        .later(600)
}

fn in_fin_wait_2() -> Script {
    Script::new("reset_in_fin_wait_2", "CLOSED")
        .established()
        .closes()
        .at(150)
        .receives(ack(2))
        .at(200)
        .receives(rst(1))
        .later(100)
}

fn in_close_wait() -> Script {
    Script::new("reset_in_close_wait", "CLOSED")
        .established()
        .at(150)
        .receives(data(1, 0).fin())
        .at(200)
        .receives(rst(2))
        .later(100)
}

fn in_last_ack() -> Script {
    Script::new("reset_in_last_ack", "CLOSED")
        .established()
        .at(150)
        .receives(data(1, 0).fin())
        .at(200)
        .closes()
        .later(10)
        .receives(rst(2))
        .later(600)
}

fn in_closing() -> Script {
    Script::new("reset_in_closing", "CLOSED")
        .established()
        .closes()
        .at(150)
        .receives(data(1, 0).fin())
        .at(200)
        .receives(rst(2))
        .later(600)
}

fn in_time_wait() -> Script {
    Script::new("reset_in_time_wait", "RFC 1337 describes the hazard")
        .established()
        .closes()
        .at(150)
        .receives(data(1, 0).acking(2).fin())
        .at(200)
        .receives(rst(2))
        .later(100)
}

fn syn_while_open() -> Script {
    Script::new("syn_while_open", "a challenge ACK: RFC 5961 §4.2")
        .in_flight(5)
        .at(150)
        .receives(syn().at(1000))
        .later(100)
}

fn old_ack() -> Script {
    Script::new("old_ack", "older than any window: RFC 5961 §5.2")
        .in_flight(20)
        .at(200)
        .receives(ack(5001))
        .later(10)
        .receives(data(1, 100).acking(1_000_000_u32.wrapping_neg()))
        .later(100)
}

fn ack_of_the_future() -> Script {
    Script::new("ack_of_the_future", "of what was not sent: RFC 9293 §3.10.7.4")
        .in_flight(5)
        .at(150)
        .receives(data(1, 100).acking(50_000))
        .later(100)
}

fn ack_to_a_closed_connection() -> Script {
    Script::new("ack_to_a_closed_connection", "a reset: RFC 9293 §3.10.7.1")
        .established()
        .at(150)
        .receives(rst(1))
        .later(20)
        .receives(data(1, 100))
        .later(20)
        .receives(ack(1))
        .later(100)
}
