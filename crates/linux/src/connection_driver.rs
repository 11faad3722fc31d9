//! A driver for one connection of driftway's TCP over a TUN device.

mod impair;
mod impaired_tun;

use std::{fmt, io};

use driftway_base::{Endpoint, Instant, Seq, Signal};
use driftway_endpoint::Socket;
use driftway_tcp::{Config, Connection, Event, State, Transmit, reset_for};
use driftway_wire::{
    Body, Decoded, IcmpMessage, IpHeader, IpOptions, Packet, TcpFlags, TcpSegment, UnreachableCode,
};

use crate::{ByteRing, OutsideWindow};
pub use impair::{Impairer, Impairment, ImpairmentCounts};
pub use impaired_tun::ImpairedTun;

/// Time to live of sent packets (default of RFC 1700 and of Linux).
const TTL: u8 = 64;

/// Packets received that do not belong to the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnmatchedPackets {
    /// Rejected by [`Packet::decode`].
    pub undecodable: u64,
    /// Packets for another destination, or of a kind that a TCP connection does not process.
    pub not_for_connection: u64,
}

/// One connection of driftway's TCP, with or without an aid, its buffers, and an [`ImpairedTun`] to
/// the kernel at the other end.
///
/// The application's interface is that of a non-blocking socket: [`read`](ConnectionDriver::read),
/// [`write`](ConnectionDriver::write), [`close`](ConnectionDriver::close). Everything else happens
/// in [`step`](ConnectionDriver::step), in the order network, the timers of the aid and of TCP, and,
/// after it, the application.
pub struct ConnectionDriver {
    cable: ImpairedTun,
    socket: Socket,
    outgoing: ByteRing,
    incoming: ByteRing,
    /// Stream offset of the next byte to be written.
    written: u64,
    /// Stream offset of the next byte to be read.
    read: u64,
    /// Sequence number of the peer's first byte.
    peer_first_seq: Seq,
    identification: u16,
    unmatched: UnmatchedPackets,
    arrived: Vec<u8>,
    leaving: Box<[u8]>,
}

impl ConnectionDriver {
    /// Opens a connection from `local` to `remote` with a send buffer of `send_buffer` bytes. `iss`
    /// is the initial send sequence number.
    pub fn connect(
        cable: ImpairedTun,
        config: &Config,
        local: Endpoint,
        remote: Endpoint,
        iss: Seq,
        send_buffer: usize,
    ) -> Self {
        let connection = Connection::connect(config, local, remote, iss, 0, cable.now());
        Self::new(cable, Socket::new(connection, None), send_buffer)
    }

    /// Listens for one connection at `local`; otherwise as [`connect`](ConnectionDriver::connect).
    pub fn listen(
        cable: ImpairedTun,
        config: &Config,
        local: Endpoint,
        iss: Seq,
        send_buffer: usize,
    ) -> Self {
        let connection = Connection::listen(config, local, iss, 0);
        Self::new(cable, Socket::new(connection, None), send_buffer)
    }

    /// Drives this socket, which may have an aid that holds no segments. The time of its connection
    /// is that of the device.
    pub fn new(cable: ImpairedTun, socket: Socket, send_buffer: usize) -> Self {
        let receive_buffer = socket.tcp().config().receive_buffer as usize;
        Self {
            leaving: vec![0; usize::from(cable.mtu())].into_boxed_slice(),
            cable,
            socket,
            outgoing: ByteRing::new(send_buffer),
            incoming: ByteRing::new(receive_buffer),
            written: 0,
            read: 0,
            peer_first_seq: Seq(0),
            identification: 0,
            unmatched: UnmatchedPackets::default(),
            arrived: Vec::new(),
        }
    }

    /// Returns the connection.
    pub fn connection(&self) -> &Connection {
        self.socket.tcp()
    }

    /// Passes a signal of this host to the aid, and sends what that requests.
    ///
    /// # Errors
    /// Any error of the device.
    pub fn on_signal(&mut self, signal: &Signal) -> io::Result<()> {
        self.socket.on_signal(self.cable.now(), signal);
        self.transmit()
    }

    /// Returns the TUN device, with its impairments.
    pub const fn device(&mut self) -> &mut ImpairedTun {
        &mut self.cable
    }

    /// Counters of packets that do not belong to the connection.
    pub const fn unmatched(&self) -> UnmatchedPackets {
        self.unmatched
    }

    /// The next event of the connection.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.socket.tcp_mut().poll_event()
    }

    /// Accepts as many of `bytes` as fit into the send buffer, and returns their number.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        self.outgoing.release(self.connection().acknowledged_bytes());
        let room = self.outgoing.end().saturating_sub(self.written);
        let fits = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        let taken = match self.outgoing.write(self.written, &bytes[..fits]) {
            Ok(()) => self.socket.tcp_mut().write(fits as u64),
            Err(OutsideWindow { .. }) => 0,
        };
        self.written += taken;
        taken as usize
    }

    /// Copies received in-order data to `bytes`, and returns their length.
    ///
    /// # Errors
    /// A bug in TCP: it delivers bytes that it has not received.
    pub fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut len = 0;
        while len < bytes.len() {
            let most = u32::try_from(bytes.len() - len).unwrap_or(u32::MAX);
            let Some(part) = self.socket.tcp_mut().read(most) else { break };
            if part.offset != self.read {
                return Err(tcp_bug(format_args!("read {part:?} after offset {}", self.read)));
            }
            let end = len + part.len as usize;
            self.incoming.read(part.offset, &mut bytes[len..end]).map_err(tcp_bug)?;
            self.read += u64::from(part.len);
            self.incoming.release(self.read);
            len = end;
        }
        Ok(len)
    }

    /// Sends no more data.
    pub fn close(&mut self) {
        self.socket.tcp_mut().close();
    }

    /// Aborts the connection with a reset.
    pub fn abort(&mut self) {
        self.socket.tcp_mut().abort();
    }

    /// Sends what is due, waits for a packet, a timer or `deadline`, and processes it.
    ///
    /// # Errors
    /// Any error of the device, or a bug in TCP.
    pub fn step(&mut self, deadline: Instant) -> io::Result<()> {
        self.step_with(deadline, |_| Ok(()))
    }

    /// A [`step`](Self::step) in which `application` runs after each packet, before TCP answers,
    /// and takes no time, as in the simulator. An application that reads later opens the window
    /// later, which TCP then announces in separate acknowledgments.
    ///
    /// # Errors
    /// Those of `step`, and the application's.
    pub fn step_with(
        &mut self,
        deadline: Instant,
        mut application: impl FnMut(&mut Self) -> io::Result<()>,
    ) -> io::Result<()> {
        self.transmit()?;
        let timers = [self.socket.next_aid_timeout(), self.socket.next_tcp_timeout()];
        self.cable.wait(timers.into_iter().flatten().fold(deadline, Instant::min))?;
        let mut arrived = std::mem::take(&mut self.arrived);
        while self.cable.receive(&mut arrived)? {
            self.on_packet(&arrived)?;
            application(self)?;
            self.transmit()?;
        }
        self.arrived = arrived;
        let now = self.cable.now();
        if self.socket.next_aid_timeout().is_some_and(|due| due <= now) {
            self.socket.on_aid_timeout(now);
            self.transmit()?;
        }
        if self.socket.next_tcp_timeout().is_some_and(|due| due <= now) {
            self.socket.on_tcp_timeout(now);
            self.transmit()?;
        }
        Ok(())
    }

    fn on_packet(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Ok(Decoded { packet, payload }) = Packet::decode(bytes) else {
            self.unmatched.undecodable += 1;
            return Ok(());
        };
        let Packet { ip, body } = packet;
        let local = self.connection().local();
        match body {
            Body::Tcp(segment)
                if Endpoint::new(ip.destination, segment.destination_port) == local =>
            {
                let remote = self.connection().remote();
                let known = self.connection().state() != State::Listen;
                if known && Endpoint::new(ip.source, segment.source_port) != remote {
                    self.unmatched.not_for_connection += 1;
                    return match reset_for(&segment) {
                        Some(reset) => self.send(&reply_packet(&ip, reset)),
                        None => Ok(()),
                    };
                }
                self.on_segment(&ip, segment, payload)
            }
            Body::Icmp(IcmpMessage::Unreachable { code, quoted })
                if self.connection().may_have_sent(quoted.seq())
                    && (quoted.source, quoted.destination)
                        == (local.address, self.connection().remote().address)
                    && quoted.ports() == (local.port, self.connection().remote().port) =>
            {
                // RFC 9293 §3.9.2.2: protocol and port unreachable are hard errors.
                let hard = matches!(code, UnreachableCode::Protocol | UnreachableCode::Port);
                let no_route = matches!(code, UnreachableCode::Net | UnreachableCode::Host);
                let now = self.cable.now();
                self.socket.tcp_mut().on_unreachable(now, hard, no_route.then_some(quoted.seq()));
                self.transmit()
            }
            _ => {
                self.unmatched.not_for_connection += 1;
                Ok(())
            }
        }
    }

    fn on_segment(
        &mut self,
        ip: &IpHeader,
        mut segment: TcpSegment,
        bytes: &[u8],
    ) -> io::Result<()> {
        let synchronizing = matches!(self.connection().state(), State::Listen | State::SynSent);
        let offset = if synchronizing { 0 } else { self.offset_of(segment.seq) };
        segment.payload.offset = offset;
        let now = self.cable.now();
        let taken = self.socket.on_segment(now, ip.source, &segment, ip.ecn).accepted;
        if synchronizing && segment.flags.contains(TcpFlags::SYN) {
            self.peer_first_seq = segment.seq + 1;
        }
        if taken.is_empty() {
            return Ok(());
        }
        let from = taken.offset.wrapping_sub(offset);
        let part = usize::try_from(from)
            .ok()
            .and_then(|from| bytes.get(from..from.checked_add(taken.len as usize)?))
            .ok_or_else(|| tcp_bug(format_args!("{taken:?} is no part of {segment:?}")))?;
        self.incoming.write(taken.offset, part).map_err(tcp_bug)
    }

    /// Offset of `seq` in the peer's stream: of all with these 32 bits the one closest to the
    /// application's read position. Numbers before the stream wrap to its far end, outside of any
    /// window.
    fn offset_of(&self, seq: Seq) -> u64 {
        let reading = self.peer_first_seq + self.read as u32;
        self.read.wrapping_add_signed(i64::from(seq.distance(reading)))
    }

    fn transmit(&mut self) -> io::Result<()> {
        while let Some(transmit) = self.socket.poll_transmit(self.cable.now()) {
            let Transmit { segment, ecn, .. } = transmit;
            let ip = IpHeader {
                source: self.connection().local().address,
                destination: self.connection().remote().address,
                ecn,
                dscp: 0,
                ttl: TTL,
                identification: self.identification,
                dont_fragment: true,
                options: IpOptions::EMPTY,
            };
            self.identification = self.identification.wrapping_add(1);
            self.send(&Packet { ip, body: Body::Tcp(segment) })?;
        }
        Ok(())
    }

    fn send(&mut self, packet: &Packet) -> io::Result<()> {
        let (outgoing, mut filled) = (&self.outgoing, Ok(()));
        let len = packet
            .encode(&mut self.leaving, |payload, bytes| {
                filled = outgoing.read(payload.offset, bytes);
            })
            .map_err(tcp_bug)?;
        filled.map_err(tcp_bug)?;
        self.cable.send(&self.leaving[..len])
    }
}

/// `segment` as an answer to a packet with this header.
fn reply_packet(ip: &IpHeader, segment: TcpSegment) -> Packet {
    let ip = IpHeader {
        source: ip.destination,
        destination: ip.source,
        ecn: driftway_base::Ecn::NotEct,
        ttl: TTL,
        options: IpOptions::EMPTY,
        ..*ip
    };
    Packet { ip, body: Body::Tcp(segment) }
}

/// An error for a contract violation by TCP.
fn tcp_bug(what: impl fmt::Display) -> io::Error {
    io::Error::other(format!("a bug in driftway's TCP: {what}"))
}
