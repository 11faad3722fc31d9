//! Opening a connection.

use crate::scripted::script::Script;
use crate::scripted::segment::{ack, data, syn, syn_ack};

pub fn scripts() -> Vec<Script> {
    vec![
        syn_series(),
        syn_retransmitted(),
        syn_ack_series(),
        syn_ack_retransmitted(),
        passive_transfer(),
        simultaneous_open(),
        wrong_ack_in_syn_sent(),
        repeated_syn_ack(),
        data_with_the_handshake(),
        no_options(),
    ]
}

fn syn_series() -> Script {
    Script::new("syn_series", "no answer to a SYN: RFC 6298 §5.5").at(12_000)
}

fn syn_retransmitted() -> Script {
    Script::new("syn_retransmitted", "the second SYN is answered: RFC 6298 §5.7, RFC 6928 §2")
        .at(1100)
        .receives(syn_ack())
        .writes(20_000)
        .at(1200)
        .receives(ack(2001))
        .later(20)
}

fn syn_ack_series() -> Script {
    Script::new("syn_ack_series", "no answer to a SYN-ACK").passive().receives(syn()).at(8000)
}

fn syn_ack_retransmitted() -> Script {
    Script::new("syn_ack_retransmitted", "the second SYN-ACK is answered")
        .passive()
        .receives(syn())
        .at(1100)
        .receives(ack(1))
        .writes(20_000)
        .at(1200)
        .receives(ack(2001))
        .later(20)
}

fn passive_transfer() -> Script {
    Script::new("passive_transfer", "the listening end sends")
        .passive()
        .in_flight(20)
        .at(200)
        .receives(ack(2001))
        .later(20)
}

fn simultaneous_open() -> Script {
    Script::new("simultaneous_open", "both ends send a SYN: RFC 9293 §3.5, figure 8")
        .at(50)
        .receives(syn())
        .at(100)
        .receives(syn_ack())
        .later(10)
        .writes(2000)
        .later(20)
}

fn wrong_ack_in_syn_sent() -> Script {
    Script::new("wrong_ack_in_syn_sent", "RFC 9293 §3.10.7.3: a reset, and the SYN again")
        .at(50)
        .receives(ack(500))
        .at(100)
        .receives(syn_ack())
        .later(20)
}

fn repeated_syn_ack() -> Script {
    Script::new("repeated_syn_ack", "our ACK was lost: RFC 9293 §3.10.7.4, RFC 5961 §4")
        .established()
        .at(1100)
        .receives(syn_ack())
        .later(100)
}

fn data_with_the_handshake() -> Script {
    Script::new("data_with_the_handshake", "the third segment of the handshake carries data")
        .passive()
        .receives(syn())
        .at(100)
        .receives(data(1, 1000))
        .later(300)
}

fn no_options() -> Script {
    Script::new("no_options", "a peer without any option but MSS")
        .without_window_scale()
        .without_sack()
        .without_timestamps()
        .window(30_000)
        .in_flight(40)
        .at(200)
        .receives(ack(4001))
        .later(20)
}
