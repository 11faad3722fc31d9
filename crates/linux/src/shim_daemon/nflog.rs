//! Copies of packets that are not intercepted (nfnetlink_log).

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_NETFILTER};
use nix::errno::Errno;
use nix::sys::socket::{setsockopt, sockopt::RcvBufForce};

use super::nfnetlink::{Attributes, Message, configure};
use super::nfqueue::HOOK_LOCAL_OUT;

/// A log group, by its number within the network namespace.
#[derive(Clone, Copy, Debug)]
pub struct LogGroup {
    pub number: u16,
    /// Maximum length of a copy (bytes).
    copy_len: u32,
}

/// SYNs, FINs and RSTs of connections that pass by: the longest headers of IP and TCP.
pub const HANDSHAKES: LogGroup = LogGroup { number: 0xd71f, copy_len: 120 };
/// All packets of watched flows, as long as an attribute may be.
pub const WATCHED: LogGroup = LogGroup { number: 0xd720, copy_len: 0xffff - 4 };

const SUBSYSTEM: u16 = 4;
const PACKET: u16 = SUBSYSTEM << 8;
const CONFIGURE: u16 = SUBSYSTEM << 8 | 1;

const BIND: u8 = 1;
const COPY_PACKET: u8 = 2;
/// Buffer of one message, unless its packet is longer; by default the kernel allocates a page.
const MESSAGE_LEN: u32 = 512;
/// Receive buffer: a second of the handshakes of 4000 connections.
const RECEIVE_BUFFER: usize = 32 << 20;
/// Buffer for the longest message.
const BUFFER_LEN: usize = 0x1_1000;

/// A packet that has passed by, or its beginning.
pub struct PacketCopy<'a> {
    pub is_outgoing: bool,
    /// Index of the output interface; 0: not known.
    pub out_interface: u32,
    pub bytes: &'a mut [u8],
}

/// The user-space end of a group. A copy is readable before its packet is where the next rule
/// sees it.
pub struct NfLog {
    socket: Socket,
    buffer: Box<[u8]>,
}

impl NfLog {
    /// Opens the group in the calling thread's namespace.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn open(group: LogGroup) -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_NETFILTER)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        socket.set_non_blocking(true)?;
        setsockopt(&socket, RcvBufForce, &RECEIVE_BUFFER)?;
        let log = Self { socket, buffer: vec![0; BUFFER_LEN].into_boxed_slice() };
        log.configure(group, |says| says.bytes(1, &[BIND]))?;
        log.configure(group, |says| {
            let [a, b, c, d] = group.copy_len.to_be_bytes();
            says.bytes(2, &[a, b, c, d, COPY_PACKET, 0]);
            says.number(3, MESSAGE_LEN);
            // Each message at once: it has to precede what is intercepted later.
            says.number(5, 1);
        })?;
        Ok(log)
    }

    fn configure(
        &self,
        group: LogGroup,
        write: impl FnOnce(&mut Attributes<'_>),
    ) -> io::Result<()> {
        configure(&self.socket, CONFIGURE, group.number, write)
    }

    /// The next copy; `None` if there is none.
    ///
    /// # Errors
    /// `OutOfMemory`: copies were lost. Otherwise any error of the kernel.
    pub fn receive(&mut self) -> io::Result<Option<PacketCopy<'_>>> {
        loop {
            let len = match self.socket.recv(&mut &mut self.buffer[..], 0) {
                Ok(len) => len,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.raw_os_error() == Some(Errno::ENOBUFS as i32) => {
                    return Err(io::ErrorKind::OutOfMemory.into());
                }
                Err(error) => return Err(error),
            };
            if let Some((hook, out_interface, start, end)) = parse_copy(&self.buffer[..len]) {
                let is_outgoing = hook == HOOK_LOCAL_OUT;
                let bytes = &mut self.buffer[start..end];
                return Ok(Some(PacketCopy { is_outgoing, out_interface, bytes }));
            }
        }
    }
}

impl AsFd for NfLog {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Parses a message: the hook, the output interface, and where the bytes are.
fn parse_copy(bytes: &[u8]) -> Option<(u8, u32, usize, usize)> {
    let (message, _) = Message::parse_first(bytes)?;
    if message.kind != PACKET {
        return None;
    }
    let (mut hook, mut out_interface, mut payload) = (None, 0, None);
    for (kind, value) in message.attributes() {
        match kind {
            // struct nfulnl_msg_packet_hdr: protocol, hook.
            1 => hook = value.get(2).copied(),
            5 => out_interface = u32::from_be_bytes(*value.first_chunk()?),
            9 => {
                let start = value.as_ptr().addr() - bytes.as_ptr().addr();
                payload = Some((start, start + value.len()));
            }
            _ => {}
        }
    }
    let (start, end) = payload?;
    Some((hook?, out_interface, start, end))
}
