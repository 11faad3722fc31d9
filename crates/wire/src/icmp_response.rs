//! ICMP messages in response to a packet: errors about it, which quote it, and echo replies.

use driftway_base::Ipv4Addr;

use crate::cursor::Writer;
use crate::{Body, IcmpMessage, IpHeader, Packet, QuotedPacket};

/// The three bits of the DSCP that RFC 791 defined as precedence.
const PRECEDENCE: u8 = 0b111_000;
const INTERNETWORK_CONTROL: u8 = 0b110_000;

impl QuotedPacket {
    /// The quotation of `offending`; `None` if no error may be sent about it (RFC 1122 §3.2.2): it is an ICMP
    /// error itself, its destination is not a single host, or its source is not a unicast address.
    ///
    /// IP options are omitted. Packets have no payload bytes here, therefore the checksum among the first
    /// bytes of a UDP datagram or an echo message is quoted as 0.
    pub fn of(offending: &Packet) -> Option<Self> {
        let ip = &offending.ip;
        let (destination, source) = (ip.destination, ip.source);
        if destination.is_multicast()
            || destination.is_broadcast()
            || source.is_unspecified()
            || source.is_loopback()
            || source.octets().first().is_some_and(|&first| first >= 224)
        {
            return None;
        }
        // Larger than any transport header, of which only the first 8 bytes are needed.
        let mut headers = [0; 80];
        let mut to = Writer::new(&mut headers, 80).ok()?;
        match &offending.body {
            Body::Tcp(segment) => segment.write(&mut to),
            Body::Udp(datagram) => datagram.write(&mut to),
            Body::Icmp(message) if message.quoted().is_none() => message.write(&mut to),
            Body::Icmp(_) | Body::Aodv(_) | Body::Control(_) | Body::NoNextHeader => return None,
        }
        .ok()?;
        Some(Self {
            source,
            destination,
            protocol: offending.protocol(),
            total_len: offending.len().try_into().unwrap_or(u16::MAX),
            identification: ip.identification,
            ttl: ip.ttl,
            tos: ip.tos(),
            dont_fragment: ip.dont_fragment,
            transport_head: *headers.first_chunk()?,
        })
    }
}

impl Packet {
    /// The ICMP error that `reporter` sends about `offending`; `message` builds it from the quotation. `None`
    /// where [`QuotedPacket::of`] forbids it.
    pub fn icmp_error(
        reporter: Ipv4Addr,
        offending: &Self,
        message: impl FnOnce(QuotedPacket) -> IcmpMessage,
    ) -> Option<Self> {
        Self::icmp_error_from(reporter, message(QuotedPacket::of(offending)?))
    }

    /// The packet in which `reporter` sends the ICMP error `message` to the source of the packet that it
    /// quotes; `None` for a message without quotation.
    pub fn icmp_error_from(reporter: Ipv4Addr, message: IcmpMessage) -> Option<Self> {
        let quoted = message.quoted()?;
        let mut ip = IpHeader::new(reporter, quoted.source);
        // RFC 1812 §4.3.2.5: ICMP errors have the precedence of internetwork control, except a source quench,
        // which has that of the offending packet.
        ip.dscp = match message {
            IcmpMessage::SourceQuench { .. } => (quoted.tos >> 2) & PRECEDENCE,
            _ => INTERNETWORK_CONTROL,
        };
        Some(Self { ip, body: Body::Icmp(message) })
    }

    /// The reply to an echo request to a single host; `None` for other packets. It has the request's payload
    /// and DSCP (RFC 792, RFC 1349 §5.1) and no IP options.
    pub fn echo_reply(&self) -> Option<Self> {
        let Body::Icmp(IcmpMessage::Echo { reply: false, identifier, sequence, payload }) =
            self.body
        else {
            return None;
        };
        if self.ip.destination.is_multicast() || self.ip.destination.is_broadcast() {
            return None;
        }
        let ip =
            IpHeader { dscp: self.ip.dscp, ..IpHeader::new(self.ip.destination, self.ip.source) };
        let message = IcmpMessage::Echo { reply: true, identifier, sequence, payload };
        Some(Self { ip, body: Body::Icmp(message) })
    }
}
