//! Kernels at nodes with radios.

use std::io::Read;
use std::net::{SocketAddrV4, UdpSocket};
use std::thread;

use driftway_base::Ipv4Addr;
use driftway_base::NodeId;
use driftway_linux::{Emulation, EmulationReport, Namespace, RunningEmulation};
use driftway_scenario::Scenario;
use driftway_wire::{Body, IcmpMessage, IpHeader, Packet, Payload, UnreachableCode};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::peer::{Options, Peer, Step};

tests![
    every_byte_arrives_over_one_hop,
    every_byte_arrives_over_two_hops_with_each_routing,
    a_router_answers_echo_requests,
    a_node_out_of_range_is_silent_or_reported,
    a_kernel_in_the_middle_talks_to_both_ends,
    copies_do_no_harm,
    a_gateway_joins_wires_and_radios,
    broadcast_frames_reach_nodes_in_range,
];

const PORT: u16 = 7000;
const BYTES: u64 = 200_000;

/// Nodes in a row, each of which hears its neighbours only.
pub fn scenario(nodes: u32, spacing: &str, routing: &str) -> Scenario {
    scenario_with(nodes, spacing, routing, "mac = { kind = \"dcf\", data_rate = \"2 Mbit/s\" }")
}

/// The same with other keys of `[network]`.
fn scenario_with(nodes: u32, spacing: &str, routing: &str, more: &str) -> Scenario {
    let text = format!(
        "name = \"r\"\nduration = \"600 s\"\n[network]\nkind = \"adhoc\"\nnodes = {nodes}\n\
         mobility = {{ chain = \"{spacing}\" }}\n\
         routing = {{ protocol = \"{routing}\" }}\nfeedback = \"icmp-unreachable\"\n{more}\n\
         [[flow]]\nfrom = 0\nto = 1\napplication = \"ftp\"\n"
    );
    Scenario::parse("r.toml", &text, &[]).unwrap()
}

fn start(scenario: &Scenario, nodes: &[usize]) -> RunningEmulation {
    let nodes: Vec<NodeId> = nodes.iter().copied().map(NodeId::from).collect();
    Emulation::new(scenario, 1, 1500, &nodes).unwrap().start().unwrap()
}

fn address(node: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, node as u8 + 1)
}

fn at(running: &RunningEmulation, node: usize) -> &Namespace {
    running.namespace(NodeId::from(node)).unwrap()
}

/// Sends bytes between two kernels with their TCP; all arrive, which the receiver's digest shows.
fn transfer(running: &RunningEmulation, [from, to]: [usize; 2]) {
    let options = Options { congestion_control: "cubic", receive_buffer: None, sends: 0 };
    let (listens, listening) = Peer::listen(
        at(running, to),
        SocketAddrV4::new(address(to), PORT + from as u16),
        Options { sends: 1, ..options },
        &[Step::Receive(BYTES)],
    )
    .unwrap();
    let sends = Peer::connect(
        at(running, from),
        SocketAddrV4::new(address(from), 0),
        listening,
        options,
        &[Step::Send(BYTES), Step::HalfClose, Step::ReceiveAll],
    )
    .unwrap();
    let received = listens.outcome();
    assert_eq!(received.error, None);
    received.received.assert_complete(BYTES);
    assert_eq!(sends.outcome().error, None);
}

fn transfer_over(scenario: &Scenario, [from, to]: [usize; 2]) -> EmulationReport {
    let running = start(scenario, &[from, to]);
    transfer(&running, [from, to]);
    let report = running.stop().unwrap();
    let [there, back] = report.counts.by_kernel[..] else { panic!("{report:?}") };
    assert!(there.delivered <= there.entered && there.bytes > BYTES, "{report:?}");
    assert!(back.delivered > 10, "{report:?}");
    report
}

fn every_byte_arrives_over_one_hop() {
    transfer_over(&scenario(2, "200 m", "static"), [0, 1]);
}

fn every_byte_arrives_over_two_hops_with_each_routing() {
    for routing in ["static", "aodv", "dsr"] {
        println!("{routing}");
        transfer_over(&scenario(3, "200 m", routing), [0, 2]);
    }
}

/// A raw ICMP socket, which receives whole packets.
fn icmp(namespace: &Namespace) -> Socket {
    let icmp = || Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4));
    let icmp = namespace.run(icmp).unwrap().unwrap();
    icmp.set_read_timeout(Some(std::time::Duration::from_secs(2))).unwrap();
    icmp
}

/// Sends echo requests to a node; returns the sequence numbers of the answers.
fn ping(icmp: &mut Socket, node: usize, count: u16) -> Vec<u16> {
    let to = SockAddr::from(SocketAddrV4::new(address(node), 0));
    let mut answers = Vec::new();
    for sequence in 0..count {
        let payload = Payload::new(0, 0, 100);
        let body = Body::Icmp(IcmpMessage::Echo { reply: false, identifier: 9, sequence, payload });
        let packet = Packet { ip: IpHeader::new(address(0), address(node)), body };
        let mut bytes = vec![0; packet.len() as usize];
        packet.encode(&mut bytes, |_, to| to.fill(5)).unwrap();
        icmp.send_to(&bytes[20..], &to).unwrap();
        let mut buffer = [0; 2000];
        while let Ok(len) = icmp.read(&mut buffer) {
            let Ok(decoded) = Packet::decode(&buffer[..len]) else { continue };
            if let Body::Icmp(IcmpMessage::Echo { reply: true, sequence: seen, .. }) =
                decoded.packet.body
            {
                assert_eq!(decoded.payload, [5; 100]);
                answers.push(seen);
                break;
            }
        }
    }
    answers
}

fn a_router_answers_echo_requests() {
    let running = start(&scenario(3, "200 m", "aodv"), &[0]);
    let mut socket = icmp(at(&running, 0));
    assert_eq!(ping(&mut socket, 2, 5), [0, 1, 2, 3, 4]);
    let report = running.stop().unwrap();
    assert_eq!((report.counts.to_routers, report.counts.icmp_from_routers), (5, 5), "{report:?}");
}

fn a_node_out_of_range_is_silent_or_reported() {
    for routing in ["static", "aodv", "dsr"] {
        let running = start(&scenario(2, "900 m", routing), &[0, 1]);
        let mut errors = icmp(at(&running, 0));
        errors.set_read_timeout(Some(std::time::Duration::from_secs(4))).unwrap();
        let here = at(&running, 0).run(|| UdpSocket::bind((address(0), PORT))).unwrap().unwrap();
        let there = at(&running, 1).run(|| UdpSocket::bind((address(1), PORT))).unwrap().unwrap();
        there.set_read_timeout(Some(std::time::Duration::from_millis(100))).unwrap();
        here.send_to(&[1; 100], (address(1), PORT)).unwrap();
        // Out of range, too.
        here.send_to(&[1; 100], (Ipv4Addr::new(224, 0, 0, 1), PORT)).unwrap();
        let mut buffer = [0; 2000];
        if let Ok(len) = errors.read(&mut buffer) {
            let error = Packet::decode(&buffer[..len]).unwrap().packet;
            let Body::Icmp(IcmpMessage::Unreachable { code, quoted }) = error.body else {
                panic!("{error:?}")
            };
            assert_eq!((code, quoted.destination), (UnreachableCode::Host, address(1)));
        }
        assert!(there.recv(&mut buffer).is_err(), "{routing}");
        let report = running.stop().unwrap();
        let [counts, _] = report.counts.by_kernel[..] else { panic!("{report:?}") };
        assert_eq!((counts.delivered, report.overflows), (0, 0), "{report:?}");
    }
}

/// The middle kernel does not see what is forwarded: it would answer with resets.
fn a_kernel_in_the_middle_talks_to_both_ends() {
    let running = start(&scenario(3, "200 m", "aodv"), &[0, 1, 2]);
    thread::scope(|scope| {
        for pair in [[0, 2], [1, 0]] {
            let running = &running;
            scope.spawn(move || transfer(running, pair));
        }
    });
    transfer(&running, [1, 2]);
    let report = running.stop().unwrap();
    assert!(report.counts.by_kernel.iter().all(|counts| counts.delivered > 10), "{report:?}");
}

/// A link layer that misses ACKs and then sends packets again, so that copies of them arrive.
fn copies_do_no_harm() {
    let lossy = "radio = { packet_error_rate = 0.1 }\n\
                 mac = { kind = \"dcf\", data_rate = \"2 Mbit/s\", short_retry_limit = 1, \
                 long_retry_limit = 1 }\nlink_retry = { most = 5 }";
    let running = start(&scenario_with(3, "200 m", "static", lossy), &[0, 1, 2]);
    thread::scope(|scope| {
        for pair in [[0, 1], [2, 0]] {
            let running = &running;
            scope.spawn(move || transfer(running, pair));
        }
    });
    let report = running.stop().unwrap();
    for counts in &report.counts.by_kernel {
        assert!(counts.delivered <= counts.entered, "{report:?}");
    }
    assert_eq!(report.refused, 0, "{report:?}");
}

/// A host behind two wires and a gateway, and a node two radio hops away, with each routing.
fn a_gateway_joins_wires_and_radios() {
    for routing in ["static", "aodv", "dsr"] {
        let text = format!(
            r#"
            name = "m"
            duration = "600 s"
            [network]
            kind = "mixed"
            nodes = ["host", "router", "gateway", "a", "b"]
            wire = [
                {{ between = ["host", "router"], rate = "10 Mbit/s", delay = "1 ms" }},
                {{ between = ["router", "gateway"], rate = "10 Mbit/s", delay = "1 ms" }},
            ]
            [network.air]
            radios = ["gateway", "a", "b"]
            mobility = {{ chain = "200 m" }}
            routing = {{ protocol = "{routing}" }}
            [[flow]]
            from = "host"
            to = "b"
            application = "ftp"
            "#
        );
        let running = start(&Scenario::parse("m.toml", &text, &[]).unwrap(), &[0, 4]);
        transfer(&running, [0, 4]);
        transfer(&running, [4, 0]);
        running.stop().unwrap();
    }
}

/// Over the air with each routing: one frame for all in range.
fn broadcast_frames_reach_nodes_in_range() {
    for routing in ["static", "aodv", "dsr"] {
        let running = start(&scenario(4, "200 m", routing), &[0, 1, 2, 3]);
        let heard = crate::emulate::heard_by_others(&running, 1, &crate::emulate::TO_MANY);
        assert_eq!(heard, [vec![0, 1, 2], vec![], vec![0, 1, 2], vec![]], "{routing}");
        running.stop().unwrap();
    }
}
