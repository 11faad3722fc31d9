//! ICMP destination unreachable: RFC 9293 §3.9.2.2, RFC 6069.

use driftway_wire::UnreachableCode::{Host, Net, Port};

use crate::scripted::script::Script;
use crate::scripted::segment::ack;

pub fn scripts() -> Vec<Script> {
    vec![
        while_open(),
        after_timeouts(),
        about_other_data(),
        repeated(),
        port_while_open(),
        port_in_syn_sent(),
        host_in_syn_sent(),
    ]
}

fn while_open() -> Script {
    Script::new("icmp_while_open", "no timeout yet: nothing changes")
        .in_flight(20)
        .at(150)
        .unreachable(Host, 1)
        .at(200)
        .receives(ack(2001))
        .later(50)
}

fn after_timeouts() -> Script {
    Script::new("icmp_after_timeouts", "one back-off is reverted: RFC 6069 §3")
        .in_flight(10)
        .at(1500)
        .unreachable(Host, 1)
        .at(4500)
}

fn about_other_data() -> Script {
    Script::new("icmp_about_other_data", "not about the retransmitted segment: RFC 6069 §3")
        .in_flight(10)
        .at(1500)
        .unreachable(Net, 1001)
        .at(4000)
}

fn repeated() -> Script {
    Script::new("icmp_repeated", "a message for each retransmission")
        .in_flight(10)
        .at(700)
        .unreachable(Net, 1)
        .at(1500)
        .unreachable(Net, 1)
        .at(2300)
        .unreachable(Net, 1)
        .at(4500)
}

fn port_while_open() -> Script {
    Script::new("icmp_port_while_open", "a hard error on a synchronized connection: RFC 5927 §5.2")
        .in_flight(20)
        .at(150)
        .unreachable(Port, 1)
        .at(200)
        .receives(ack(2001))
        .later(50)
}

fn port_in_syn_sent() -> Script {
    Script::new("icmp_port_in_syn_sent", "a hard error aborts").at(50).unreachable(Port, 0).at(1500)
}

fn host_in_syn_sent() -> Script {
    Script::new("icmp_host_in_syn_sent", "a soft error: RFC 5461")
        .at(50)
        .unreachable(Host, 0)
        .at(2500)
}
