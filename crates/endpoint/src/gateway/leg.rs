//! A leg of a split connection: a socket towards one end, which speaks in the name of the other end.

use driftway_base::{Ecn, Endpoint, Instant};
use driftway_tcp::{Event, State, Transmit};
use driftway_wire::{Body, IpHeader, Packet, Payload, TcpSegment};

use crate::Socket;

/// The connection between the gateway and one end.
pub(super) struct Leg {
    pub socket: Socket,
    /// The end on this side.
    pub peer: Endpoint,
    /// The end on the other side, in whose name the gateway sends.
    pub own: Endpoint,
    /// The stream of the data that have been read, with the offset of its first byte.
    received_stream: Option<(u32, u64)>,
    /// Bytes read.
    read: u64,
    /// The stream of the data written, with the offset of its first byte: that of the other leg.
    sent_stream: Option<(u32, u64)>,
    /// Bytes written.
    written: u64,
    /// True once the end of the other leg's stream has been passed on.
    is_closed: bool,
}

/// Data that are not the next ones of their stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Damage;

impl Leg {
    pub fn new(socket: Socket, peer: Endpoint, own: Endpoint) -> Self {
        Self {
            socket,
            peer,
            own,
            received_stream: None,
            read: 0,
            sent_stream: None,
            written: 0,
            is_closed: false,
        }
    }

    pub fn state(&self) -> State {
        self.socket.tcp().state()
    }

    /// Returns true if the connection is over, or was never opened.
    pub fn is_over(&self) -> bool {
        self.state() == State::Closed
    }

    pub fn poll_event(&mut self) -> Option<Event> {
        self.socket.tcp_mut().poll_event()
    }

    pub fn on_segment(&mut self, now: Instant, segment: &TcpSegment, ecn: Ecn) {
        self.socket.on_segment(now, self.peer.address, segment, ecn);
    }

    /// Bytes that have arrived in order from the peer: what may be acknowledged to it.
    pub fn accepted_bytes(&self) -> u64 {
        self.read + u64::from(self.socket.tcp().readable_bytes())
    }

    /// Bytes written that the peer has acknowledged.
    pub fn acknowledged_bytes(&self) -> u64 {
        self.socket.tcp().acknowledged_bytes()
    }

    /// Bytes written that the peer has not acknowledged yet: what the buffer of this leg holds.
    pub fn buffered_bytes(&self) -> u64 {
        self.written.saturating_sub(self.acknowledged_bytes())
    }

    /// Reads the next data from `from` that this leg's buffer has room for, and writes them to this
    /// leg; false if there are none.
    pub fn relay_from(&mut self, from: &mut Self, buffer: u32) -> Result<bool, Damage> {
        let room = u64::from(buffer).saturating_sub(self.buffered_bytes());
        let room = u32::try_from(room).unwrap_or(u32::MAX);
        if room == 0 || self.is_closed {
            return Ok(false);
        }
        let Some(part) = from.read(room)? else { return Ok(false) };
        self.sent_stream = from.received_stream;
        let len = u64::from(part.len);
        self.written = self.written.saturating_add(len);
        // The stream is not closed, so that only a connection that is over takes no data.
        self.socket.tcp_mut().write(len);
        Ok(true)
    }

    /// Reads at most `most` bytes, and checks that they are the next ones of the peer's stream.
    fn read(&mut self, most: u32) -> Result<Option<Payload>, Damage> {
        let Some(part) = self.socket.tcp_mut().read(most) else { return Ok(None) };
        let (stream, first) = *self.received_stream.get_or_insert((part.stream, part.offset));
        if (part.stream, part.offset) != (stream, first.wrapping_add(self.read)) {
            return Err(Damage);
        }
        self.read = self.read.saturating_add(u64::from(part.len));
        Ok(Some(part))
    }

    /// Closes this leg once the other leg's stream has ended and was relayed as a whole; true if that
    /// is now.
    pub fn close_after(&mut self, from: &Self) -> bool {
        let tcp = from.socket.tcp();
        let ends = tcp.peer_closed() && tcp.readable_bytes() == 0 && !self.is_closed;
        if ends {
            self.is_closed = true;
            self.socket.tcp_mut().close();
        }
        ends
    }

    /// Returns the next packet. Its payload has the name that it had on the other leg.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<(Packet, Transmit)> {
        let mut transmit = self.socket.poll_transmit(now)?;
        let payload = &mut transmit.segment.payload;
        if let Some((stream, first)) = self.sent_stream.filter(|_| !payload.is_empty()) {
            payload.stream = stream;
            payload.offset = first.wrapping_add(payload.offset);
        }
        let mut packet = self.packet(transmit.segment);
        packet.ip.ecn = transmit.ecn;
        Some((packet, transmit))
    }

    /// Returns a packet to the peer in the name of the other end.
    pub fn packet(&self, segment: TcpSegment) -> Packet {
        let ip = IpHeader::new(self.own.address, self.peer.address);
        Packet { ip, body: Body::Tcp(segment) }
    }
}
