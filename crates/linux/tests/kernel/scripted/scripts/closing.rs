//! Closing a connection: RFC 9293 §3.6.

use crate::scripted::script::Script;
use crate::scripted::segment::{ack, data, syn, syn_ack};

pub fn scripts() -> Vec<Script> {
    vec![
        we_close_first(),
        peer_closes_first(),
        simultaneous_close(),
        fin_after_data(),
        fin_is_lost(),
        fin_in_the_last_segment_is_lost(),
        peers_fin_beyond_a_gap(),
        repeated_fin_in_time_wait(),
        repeated_fin_in_close_wait(),
        repeated_fin_in_last_ack(),
        repeated_fin_in_closing(),
        fin_in_syn_received(),
        fin_in_syn_sent(),
        data_in_fin_wait_2(),
        fin_with_a_closed_window(),
        aborts(),
        aborts_with_data_in_flight(),
    ]
}

fn we_close_first() -> Script {
    Script::new("we_close_first", "FIN-WAIT-1, FIN-WAIT-2, TIME-WAIT")
        .established()
        .closes()
        .at(200)
        .receives(ack(2))
        .at(250)
        .receives(data(1, 0).acking(2).fin())
        .later(300)
}

fn peer_closes_first() -> Script {
    Script::new("peer_closes_first", "CLOSE-WAIT, LAST-ACK")
        .established()
        .at(150)
        .receives(data(1, 0).fin())
        .at(250)
        .closes()
        .at(350)
        .receives(ack(2))
        .later(100)
}

fn simultaneous_close() -> Script {
    Script::new("simultaneous_close", "CLOSING")
        .established()
        .closes()
        .at(150)
        .receives(data(1, 0).fin())
        .at(200)
        .receives(ack(2))
        .later(100)
}

fn fin_after_data() -> Script {
    Script::new("fin_after_data", "the FIN waits for the data before it")
        .in_flight(15)
        .closes()
        .at(200)
        .receives(ack(5001))
        .at(220)
        .receives(ack(10001))
        .at(300)
        .receives(ack(15002))
        .later(50)
}

fn fin_is_lost() -> Script {
    Script::new("fin_is_lost", "the FIN is retransmitted as data is")
        .established()
        .closes()
        .at(3000)
}

fn fin_in_the_last_segment_is_lost() -> Script {
    Script::new("fin_with_data_is_lost", "a probe with the FIN")
        .in_flight(3)
        .closes()
        .at(200)
        .receives(ack(2001))
        .at(1200)
}

fn peers_fin_beyond_a_gap() -> Script {
    Script::new("peers_fin_beyond_a_gap", "the FIN counts when the gap is closed")
        .established()
        .receives(data(1001, 500).fin())
        .later(50)
        .receives(data(1, 1000))
        .later(100)
        .closes()
        .later(100)
}

fn repeated_fin_in_time_wait() -> Script {
    Script::new("repeated_fin_in_time_wait", "the last ACK was lost")
        .established()
        .closes()
        .at(200)
        .receives(data(1, 0).acking(2).fin())
        .at(600)
        .receives(data(1, 0).acking(2).fin())
        .later(100)
}

fn repeated_fin_in_close_wait() -> Script {
    Script::new("repeated_fin_in_close_wait", "the ACK of the FIN was lost")
        .established()
        .at(150)
        .receives(data(1, 0).fin())
        .at(450)
        .receives(data(1, 0).fin())
        .later(100)
}

fn repeated_fin_in_last_ack() -> Script {
    Script::new("repeated_fin_in_last_ack", "both FINs are unacknowledged")
        .established()
        .at(150)
        .receives(data(1, 0).fin())
        .at(200)
        .closes()
        .at(300)
        .receives(data(1, 0).fin())
        .later(50)
        .receives(ack(2))
        .later(50)
}

fn repeated_fin_in_closing() -> Script {
    Script::new("repeated_fin_in_closing", "a simultaneous close, and the peer's FIN again")
        .established()
        .closes()
        .at(150)
        .receives(data(1, 0).fin())
        .at(250)
        .receives(data(1, 0).fin())
        .later(30)
        .receives(ack(2))
        .later(100)
}

fn fin_in_syn_received() -> Script {
    Script::new("fin_in_syn_received", "the handshake's last segment carries the peer's FIN")
        .passive()
        .receives(syn())
        .at(100)
        .receives(data(1, 0).fin())
        .at(200)
        .closes()
        .at(300)
        .receives(ack(2))
        .later(50)
}

fn fin_in_syn_sent() -> Script {
    Script::new("fin_in_syn_sent", "a FIN without a SYN: RFC 9293 §3.10.7.3")
        .at(50)
        .receives(data(1, 0).fin())
        .at(100)
        .receives(syn_ack())
        .later(100)
}

fn data_in_fin_wait_2() -> Script {
    Script::new("data_in_fin_wait_2", "the other direction is still open")
        .established()
        .closes()
        .at(200)
        .receives(ack(2))
        .receives(data(1, 1000).acking(2))
        .receives(data(1001, 1000).acking(2))
        .later(100)
        .receives(data(2001, 100).acking(2).fin())
        .later(100)
}

fn fin_with_a_closed_window() -> Script {
    Script::new("fin_with_a_closed_window", "the last data and the FIN wait for the window")
        .in_flight(10)
        .at(200)
        .receives(ack(10001).window(0))
        .writes(500)
        .closes()
        .at(1200)
        .receives(ack(10001).window(10_240))
        .later(100)
}

fn aborts() -> Script {
    Script::new("aborts", "RFC 9293 §3.10.5").established().at(200).aborts().later(100)
}

fn aborts_with_data_in_flight() -> Script {
    Script::new("aborts_with_data_in_flight", "the sequence number of the reset")
        .in_flight(20)
        .at(150)
        .aborts()
        .later(100)
}
