//! Encoding and decoding of packets.

use crate::checksum::{Checksum, set_checksum};
use crate::cursor::Writer;
use crate::ip::{ICMP, NO_NEXT_HEADER, ParsedHeader, TCP, UDP};
use crate::{
    AODV_PORT, AodvMessage, Body, DSR_PROTOCOL, DecodeError, DsrHeader, EncodeError, IcmpMessage,
    IpHeader, Packet, Payload, RoutedPacket, TcpSegment, UdpDatagram,
};

/// A decoded packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The packet. Its payload is `len` bytes of stream 0 at offset 0; the caller, which knows the
    /// connection, assigns the actual stream and offset.
    pub packet: Packet,
    /// Payload bytes.
    pub payload: &'a [u8],
}

impl Packet {
    /// Encodes the packet at the start of `buf` and returns its length, which is [`Packet::len`]. `fill`
    /// writes the payload bytes (in a simulation [`Payload::fill_pattern`], on a host a copy from the
    /// driver's buffer); it is not called for an empty payload.
    ///
    /// # Errors
    /// If the packet does not fit into `buf` or into IP, or its options into the TCP header. `buf` is then
    /// unchanged.
    pub fn encode(
        &self,
        buf: &mut [u8],
        fill: impl FnOnce(Payload, &mut [u8]),
    ) -> Result<usize, EncodeError> {
        self.encode_with_dsr(None, buf, fill)
    }

    /// Encodes the packet with a DSR header between the IP header and the body.
    fn encode_with_dsr(
        &self,
        dsr: Option<&DsrHeader>,
        buf: &mut [u8],
        fill: impl FnOnce(Payload, &mut [u8]),
    ) -> Result<usize, EncodeError> {
        if let Body::Tcp(TcpSegment { options, .. }) = &self.body
            && !options.fits_header()
        {
            return Err(EncodeError::TcpOptionsTooLong { len: options.len() });
        }
        let dsr = dsr.filter(|dsr| dsr.size() > 0);
        let len = self.len().saturating_add(dsr.map_or(0, DsrHeader::size));
        let total_len = u16::try_from(len).map_err(|_| EncodeError::TooLong { len })?;
        let mut packet = Writer::new(buf, usize::from(total_len))?;
        let protocol = if dsr.is_some() { DSR_PROTOCOL } else { self.protocol() };
        self.ip.write(total_len, protocol, &mut packet)?;
        if let Some(dsr) = dsr {
            dsr.write(self.protocol(), &mut packet)?;
        }

        let body = packet.rest();
        let mut to = Writer::new(body, body.len())?;
        match &self.body {
            Body::Tcp(segment) => segment.write(&mut to)?,
            Body::Udp(datagram) => datagram.write(&mut to)?,
            Body::Icmp(message) => message.write(&mut to)?,
            Body::Aodv(message) => message.write(&mut to)?,
            Body::Control(message) => message.write(&mut to)?,
            Body::NoNextHeader => {}
        }
        let payload = self.payload();
        if !payload.is_empty() {
            fill(payload, to.slice(payload.len as usize)?);
        }
        let checksum = transport_checksum(&self.ip, self.protocol(), body);
        match self.body {
            Body::Tcp(_) => set_checksum(body, 16, checksum),
            // RFC 768: a checksum of zero is sent as all ones, because zero means that there is no checksum.
            Body::Udp(_) | Body::Aodv(_) | Body::Control(_) => {
                set_checksum(body, 6, if checksum == 0 { 0xffff } else { checksum });
            }
            Body::NoNextHeader => {}
            Body::Icmp(_) => set_checksum(body, 2, checksum),
        }
        Ok(usize::from(total_len))
    }

    /// Decodes the packet at the start of `bytes`. Bytes after its total length (padding of a short frame)
    /// and reserved bits are ignored.
    ///
    /// # Errors
    /// If the bytes are not a complete packet of a supported protocol with correct checksums. Never panics.
    pub fn decode(bytes: &[u8]) -> Result<Decoded<'_>, DecodeError> {
        let (ip, protocol, body) = read_unfragmented(bytes)?;
        let (body, payload) = read_body(&ip, protocol, body)?;
        Ok(Decoded { packet: Packet { ip, body }, payload })
    }
}

impl IpHeader {
    /// Decodes the header at the start of `bytes`, of any protocol and including fragments, and returns it
    /// with the packet's total length (bytes), all of which must be present.
    ///
    /// # Errors
    /// If the bytes do not begin with an IPv4 header with a correct checksum. Never panics.
    pub fn decode(bytes: &[u8]) -> Result<(Self, u16), DecodeError> {
        let (read, _) = read_header(bytes)?;
        Ok((read.header, read.total_len))
    }
}

impl RoutedPacket {
    /// Encodes the packet as [`Packet::encode`] does, with its DSR header;
    /// [`size_adjustment`](Self::size_adjustment) is not encoded.
    ///
    /// # Errors
    /// As for [`Packet::encode`].
    pub fn encode(
        &self,
        buf: &mut [u8],
        fill: impl FnOnce(Payload, &mut [u8]),
    ) -> Result<usize, EncodeError> {
        self.packet.encode_with_dsr(self.dsr.as_ref(), buf, fill)
    }

    /// Decodes the packet at the start of `bytes` and returns it with its payload bytes.
    ///
    /// # Errors
    /// As for [`Packet::decode`].
    pub fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), DecodeError> {
        let (ip, protocol, rest) = read_unfragmented(bytes)?;
        let (dsr, protocol, rest) = match protocol {
            DSR_PROTOCOL => {
                let (header, protocol, rest) = DsrHeader::read(rest)?;
                ((header != DsrHeader::default()).then_some(header), protocol, rest)
            }
            _ => (None, protocol, rest),
        };
        let (body, payload) = read_body(&ip, protocol, rest)?;
        Ok((Self { packet: Packet { ip, body }, dsr, size_adjustment: 0 }, payload))
    }
}

/// The IP header, the protocol number and the body of an unfragmented packet.
fn read_unfragmented(bytes: &[u8]) -> Result<(IpHeader, u8, &[u8]), DecodeError> {
    let (read, body) = read_header(bytes)?;
    if read.is_fragment() {
        return Err(DecodeError::Fragment);
    }
    Ok((read.header, read.protocol, body))
}

/// The header, with its checksum verified, and the rest of the packet.
fn read_header(bytes: &[u8]) -> Result<(ParsedHeader, &[u8]), DecodeError> {
    let read = ParsedHeader::read(bytes)?;
    let (header_bytes, _) = bytes.split_at_checked(read.len).ok_or(DecodeError::Truncated)?;
    if Checksum::of(header_bytes).finish() != 0 {
        return Err(DecodeError::HeaderChecksum);
    }
    let total_len = usize::from(read.total_len);
    if total_len < read.len {
        return Err(DecodeError::HeaderLength);
    }
    let body = bytes.get(read.len..total_len).ok_or(DecodeError::Truncated)?;
    Ok((read, body))
}

/// Decodes the body of a packet and returns it with its payload bytes.
fn read_body<'a>(
    ip: &IpHeader,
    protocol: u8,
    body: &'a [u8],
) -> Result<(Body, &'a [u8]), DecodeError> {
    let check = |body: &[u8]| match transport_checksum(ip, protocol, body) {
        0 => Ok(()),
        _ => Err(DecodeError::Checksum),
    };
    Ok(match protocol {
        TCP => {
            check(body)?;
            let (segment, payload) = TcpSegment::read(body)?;
            (Body::Tcp(segment), payload)
        }
        UDP => {
            let (datagram, has_checksum) = UdpDatagram::delimit(body)?;
            if has_checksum {
                check(datagram)?;
            }
            let (datagram, payload) = UdpDatagram::read(datagram)?;
            match datagram.destination_port {
                AODV_PORT => (Body::Aodv(AodvMessage::read(payload)?), [].as_slice()),
                _ => (Body::Udp(datagram), payload),
            }
        }
        ICMP => {
            check(body)?;
            let (message, payload) = IcmpMessage::read(body)?;
            (Body::Icmp(message), payload)
        }
        NO_NEXT_HEADER => (Body::NoNextHeader, [].as_slice()),
        other => return Err(DecodeError::Protocol(other)),
    })
}

/// The checksum of a TCP segment, UDP datagram or ICMP message; 0 if `body` includes a correct one.
fn transport_checksum(ip: &IpHeader, protocol: u8, body: &[u8]) -> u16 {
    let sum = match protocol {
        // RFC 792: the ICMP checksum covers the message only.
        ICMP => Checksum::default(),
        _ => {
            let addresses = [ip.source, ip.destination].map(|address| address.octets());
            Checksum::pseudo_header(addresses.as_flattened(), protocol, body.len())
        }
    };
    sum.and(body).finish()
}
