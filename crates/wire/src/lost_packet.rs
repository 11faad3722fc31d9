//! Lost packets as entries of a connection list, and the acknowledgment that an entry describes.

use driftway_base::{Endpoint, FlowKey};

use crate::conn_list::{ConnInfo, ConnPackets, LostAck, SegmentRuns};
use crate::{AddressList, Body, IpHeader, Packet, TcpFlags, TcpSegment};

impl ConnInfo {
    /// The entry for a TCP packet; `None` for other packets, resets, and segments with neither data nor an
    /// acknowledgment.
    pub fn from_packet(packet: &Packet, salvaged: bool) -> Option<Self> {
        let Body::Tcp(segment) = &packet.body else { return None };
        if segment.flags.contains(TcpFlags::RST) {
            return None;
        }
        let flow = FlowKey {
            source: Endpoint::new(packet.ip.source, segment.source_port),
            destination: Endpoint::new(packet.ip.destination, segment.destination_port),
        };
        let packets = if segment.sequence_len() > 0 {
            let mut runs = SegmentRuns::default();
            let len = u16::try_from(segment.sequence_len()).ok()?;
            runs.push(segment.seq, len);
            ConnPackets::Data { salvaged, runs }
        } else if segment.flags.contains(TcpFlags::ACK) {
            let highest = LostAck {
                seq: segment.seq,
                ack: segment.ack,
                window: segment.window,
                timestamps: segment.options.timestamps,
                ece: segment.flags.contains(TcpFlags::ECE),
            };
            ConnPackets::Acks { ack_sent: false, count: 1, highest }
        } else {
            return None;
        };
        Some(Self { flow, relays: AddressList::EMPTY, packets })
    }

    /// The acknowledgment to send again (yu-2004 §4.3.2), with the addresses of the connection's endpoints;
    /// `None` if there is none, or if it has been sent.
    pub fn ack_to_resend(&self) -> Option<Packet> {
        let ConnPackets::Acks { ack_sent: false, highest, .. } = self.packets else { return None };
        let FlowKey { source, destination } = self.flow;
        let mut segment = TcpSegment {
            source_port: source.port,
            destination_port: destination.port,
            seq: highest.seq,
            ack: highest.ack,
            flags: TcpFlags::ACK,
            window: highest.window,
            ..TcpSegment::default()
        };
        if highest.ece {
            segment.flags = segment.flags.with(TcpFlags::ECE);
        }
        segment.options.timestamps = highest.timestamps;
        let ip = IpHeader::new(source.address, destination.address);
        Some(Packet { ip, body: Body::Tcp(segment) })
    }
}
