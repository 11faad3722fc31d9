//! Fuzz targets. Each takes arbitrary bytes and must not panic; wrong results panic, too.

mod aids;
mod aodv;
mod decode;
mod dsr;
mod ipv6;
mod movement;
mod router;
mod scenario_file;
mod shim_packets;
mod tcp_pair;
mod traces;

use driftway_base::Seq;
use driftway_wire::{Body, ConnInfo, ConnList, IpHeader, Packet, Payload, TcpFlags, TcpSegment};

/// A fuzz target.
pub struct Target {
    /// Name of the target and of its directory in `corpus/`.
    pub name: &'static str,
    /// Runs one input.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "decode", run: decode::run },
    Target { name: "ipv6", run: ipv6::run },
    Target { name: "scenario", run: scenario_file::run },
    Target { name: "movement", run: movement::run },
    Target { name: "movement-fcd", run: movement::sumo_fcd },
    Target { name: "movement-gpx", run: movement::gpx },
    Target { name: "movement-csv", run: movement::csv },
    Target { name: "trace", run: traces::run },
    Target { name: "tcp", run: tcp_pair::run },
    Target { name: "atcp", run: aids::atcp },
    Target { name: "atcp-partial", run: aids::atcp_partial },
    Target { name: "tcp-f", run: aids::tcp_f },
    Target { name: "elfn", run: aids::elfn },
    Target { name: "epln", run: aids::epln },
    Target { name: "cwnd-limit", run: aids::cwnd_limit },
    Target { name: "carry", run: aids::carry },
    Target { name: "dsr", run: dsr::run },
    Target { name: "router", run: router::run },
    Target { name: "aodv", run: aodv::run },
    Target { name: "shim", run: shim_packets::run },
];

/// A connection list with lost packets of connections between eight nodes.
pub(crate) fn conn_list(bytes: &mut Bytes) -> ConnList {
    let address = |bytes: &mut Bytes| driftway_base::Ipv4Addr::new(10, 0, 0, bytes.u8() % 8);
    let mut list = ConnList::EMPTY;
    for _ in 0..=bytes.u8() % 3 {
        let mut segment = TcpSegment {
            seq: Seq(bytes.u32()),
            ack: Seq(bytes.u32()),
            flags: TcpFlags(bytes.u8()),
            payload: Payload::new(0, 0, u32::from(bytes.u8()) % 3),
            ..TcpSegment::default()
        };
        let mut ip = IpHeader::new(address(bytes), address(bytes));
        ip.ttl = 9;
        let salvaged = bytes.u8() & 1 != 0;
        let mut info = ConnInfo::from_packet(&Packet { ip, body: Body::Tcp(segment) }, salvaged);
        segment.seq += 1;
        let more = ConnInfo::from_packet(&Packet { ip, body: Body::Tcp(segment) }, salvaged);
        if let (Some(info), Some(more)) = (&mut info, more) {
            info.merge(&more);
            for _ in 0..bytes.u8() % 3 {
                info.relays.push(address(bytes));
            }
            if salvaged {
                info.mark_ack_sent();
            }
            list.push(info);
        }
    }
    list
}

/// Reads numbers from the front of an input; returns zeros at its end.
pub(crate) struct Bytes<'a>(pub &'a [u8]);

impl Bytes<'_> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    pub fn u8(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }
    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes([self.u8(), self.u8()])
    }
    pub fn u32(&mut self) -> u32 {
        u32::from(self.u16()) << 16 | u32::from(self.u16())
    }
}
