//! An on-path attacker: captures packets, and forges ICMP errors.

use std::io::{self, Read};
use std::iter::from_fn;
use std::net::{Ipv4Addr, SocketAddr};

use driftway_base::Seq;
use driftway_linux::Namespace;
use driftway_wire::{
    Body, IcmpMessage, IpHeader, Packet, QuotedPacket, TcpFlags, TcpSegment, UnreachableCode,
};
use nix::libc;
use socket2::{Domain, Protocol, Socket, Type};

use crate::wired::{GATEWAYS, SERVER};

const TCP: u8 = 6;

/// A capture of all packets received in a namespace.
pub struct PacketCapture(Socket);

impl PacketCapture {
    pub fn start(namespace: &Namespace) -> io::Result<Self> {
        let ip = i32::from((libc::ETH_P_IP as u16).to_be());
        let make = || Socket::new(Domain::PACKET, Type::DGRAM, Some(Protocol::from(ip)));
        let socket = namespace.run(make)??;
        socket.set_recv_buffer_size(1 << 23)?;
        socket.set_nonblocking(true)?;
        Ok(Self(socket))
    }

    /// Packets received since the last call, as far as the buffer holds them.
    fn packets(&self) -> impl Iterator<Item = Vec<u8>> {
        from_fn(|| {
            let mut packet = vec![0; 2048];
            let len = (&self.0).read(&mut packet).ok()?;
            packet.truncate(len);
            Some(packet)
        })
    }

    /// Packets among these with data for the server.
    pub fn data(&self) -> impl Iterator<Item = Vec<u8>> {
        self.packets().filter(|packet| is_data(packet))
    }
}

fn is_data(packet: &[u8]) -> bool {
    let header = usize::from(packet[0] & 0xf) * 4;
    let offset = || usize::from(packet[header + 12] >> 4) * 4;
    packet[9] == TCP && packet[16..20] == SERVER.octets() && packet.len() > header + offset()
}

/// The socket from which a router's forged packets are sent.
pub fn forger(router: &Namespace) -> io::Result<Socket> {
    router.run(|| Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(libc::IPPROTO_RAW))))?
}

/// Forges an ICMP host unreachable message of the first router, with the sequence numbers of this
/// TCP packet.
pub fn forge_unreachable(forger: &Socket, packet: &[u8]) {
    let header = usize::from(packet[0] & 0xf) * 4;
    let word = |at: usize| {
        u32::from_be_bytes(*packet[at..].first_chunk().expect("the packet is complete"))
    };
    let [from, to] = [12, 16].map(|at| Ipv4Addr::from(word(at)));
    let ports = word(header);
    let segment = TcpSegment {
        source_port: (ports >> 16) as u16,
        destination_port: ports as u16,
        seq: Seq(word(header + 4)),
        flags: TcpFlags::ACK,
        ..TcpSegment::default()
    };
    let quoted = Packet { ip: IpHeader::new(from, to), body: Body::Tcp(segment) };
    let quoted = QuotedPacket::of(&quoted).unwrap();
    let code = UnreachableCode::Host;
    let ip = IpHeader::new(GATEWAYS[0], from);
    let forged = Packet { ip, body: Body::Icmp(IcmpMessage::Unreachable { code, quoted }) };
    let mut bytes = vec![0; forged.len() as usize];
    forged.encode(&mut bytes, |_, _| {}).unwrap();
    forger.send_to(&bytes, &SocketAddr::from((from, 0)).into()).unwrap();
}
