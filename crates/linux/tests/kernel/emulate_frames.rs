//! Hosts that have no address yet (DHCP), with packets of IP and with Ethernet frames.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Command;
use std::time::Duration;

use driftway_base::NodeId;
use driftway_linux::{EmulatedNodes, Emulation, RunningEmulation};
use socket2::{Domain, Socket, Type};

tests![a_host_gets_an_address_by_broadcasts];

const SERVER_PORT: u16 = 67;
const CLIENT_PORT: u16 = 68;
const NODES: [NodeId; 3] = [NodeId::new(0), NodeId::new(1), NodeId::new(2)];

/// A socket for broadcasts over this device, whether it has an address or not.
fn broadcaster(running: &RunningEmulation, node: NodeId, device: &str, port: u16) -> UdpSocket {
    let open = || {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap();
        socket.set_broadcast(true).unwrap();
        socket.bind_device(Some(device.as_bytes())).unwrap();
        socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)).into()).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        UdpSocket::from(socket)
    };
    running.namespace(node).unwrap().run(open).unwrap()
}

/// RFC 2131 §3.1, as far as addresses go: both ask and answer by 255.255.255.255, and then the host has an address.
fn a_host_gets_an_address_by_broadcasts() {
    for (is_ethernet, device) in [(false, "tun0"), (true, "eth0")] {
        let scenario = crate::emulate::scenario(2, "rate = \"10 Mbit/s\"\ndelay = \"1 ms\"", "");
        let setup = EmulatedNodes { mtu: 1500, nodes: &NODES, attached: &[], is_ethernet };
        let running = Emulation::build(&scenario, 1, &setup, None).unwrap().start().unwrap();
        let [server, _, client] = NODES;
        let middle = NODES[1];
        let ip = |arguments: &[&str]| {
            let mut command = Command::new("ip");
            let child = running.namespace(client).unwrap().spawn(command.args(arguments));
            assert!(child.unwrap().wait().unwrap().success());
        };
        ip(&["-4", "addr", "flush", "dev", device]);
        let ask = broadcaster(&running, client, device, CLIENT_PORT);
        let answer = broadcaster(&running, middle, device, SERVER_PORT);
        let elsewhere = broadcaster(&running, server, device, SERVER_PORT);
        ask.send_to(b"discover", (Ipv4Addr::BROADCAST, SERVER_PORT)).unwrap();
        let mut buffer = [0; 100];
        let (len, from) = answer.recv_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..len], from.ip()), (&b"discover"[..], Ipv4Addr::UNSPECIFIED.into()));
        answer.send_to(b"offer", (Ipv4Addr::BROADCAST, CLIENT_PORT)).unwrap();
        let (len, from) = ask.recv_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..len], from.ip()), (&b"offer"[..], Ipv4Addr::new(10, 0, 0, 2).into()));
        ip(&["addr", "add", "10.0.0.3/8", "dev", device]);
        answer.send_to(b"ack", (Ipv4Addr::new(10, 0, 0, 3), CLIENT_PORT)).unwrap();
        assert_eq!(ask.recv(&mut buffer).unwrap(), 3);
        // Two hops away nobody hears of it.
        elsewhere.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        assert!(elsewhere.recv(&mut buffer).is_err());
        running.stop().unwrap();
    }
}
