//! Copies of packets that are not intercepted (nfnetlink_log).

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_NETFILTER};
use nix::errno::Errno;
use nix::sys::socket::{setsockopt, sockopt::RcvBufForce};

use super::nfnetlink::{ACK, Attributes, Message, Messages};
use super::nfqueue::HOOK_LOCAL_OUT;

/// Group number within the network namespace.
pub const GROUP: u16 = 0xd71f;

const SUBSYSTEM: u16 = 4;
const PACKET: u16 = SUBSYSTEM << 8;
const CONFIGURE: u16 = SUBSYSTEM << 8 | 1;
const ANY_FAMILY: u8 = 0;

const BIND: u8 = 1;
const COPY_PACKET: u8 = 2;
/// Length of a copy (bytes): the longest headers of IP and TCP.
const COPY_LEN: u32 = 120;
/// Buffer of one message; by default the kernel allocates a page.
const MESSAGE_LEN: u32 = 512;
/// Receive buffer: a second of 4000 connections.
const RECEIVE_BUFFER: usize = 32 << 20;

/// The headers of a packet that has passed by.
pub struct PassedBy<'a> {
    pub is_outgoing: bool,
    pub headers: &'a [u8],
}

/// The user-space end of the group. A copy is readable before its packet is where the next rule
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
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_NETFILTER)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        socket.set_non_blocking(true)?;
        setsockopt(&socket, RcvBufForce, &RECEIVE_BUFFER)?;
        let log = Self { socket, buffer: vec![0; 4096].into_boxed_slice() };
        log.configure(|says| says.bytes(1, &[BIND]))?;
        log.configure(|says| {
            let [a, b, c, d] = COPY_LEN.to_be_bytes();
            says.bytes(2, &[a, b, c, d, COPY_PACKET, 0]);
            says.number(3, MESSAGE_LEN);
            // Each message at once: it has to precede what is intercepted later.
            says.number(5, 1);
        })?;
        Ok(log)
    }

    fn configure(&self, write: impl FnOnce(&mut Attributes<'_>)) -> io::Result<()> {
        let mut messages = Messages::default();
        messages.add(CONFIGURE, ACK, ANY_FAMILY, GROUP, write);
        self.socket.send(messages.bytes(), 0)?;
        let mut buffer = [0; 4096];
        let len = self.socket.recv(&mut &mut buffer[..], 0)?;
        let answer = Message::parse_first(&buffer[..len]).and_then(|(message, _)| message.answer());
        match answer {
            Some(0) => Ok(()),
            Some(16 | 1) => Err(io::ErrorKind::AddrInUse.into()),
            Some(number) => Err(io::Error::from_raw_os_error(number)),
            None => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// The next copy; `None` if there is none.
    ///
    /// # Errors
    /// `OutOfMemory`: copies were lost. Otherwise any error of the kernel.
    pub fn receive(&mut self) -> io::Result<Option<PassedBy<'_>>> {
        loop {
            let len = match self.socket.recv(&mut &mut self.buffer[..], 0) {
                Ok(len) => len,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.raw_os_error() == Some(Errno::ENOBUFS as i32) => {
                    return Err(io::ErrorKind::OutOfMemory.into());
                }
                Err(error) => return Err(error),
            };
            if let Some((is_outgoing, start, end)) = parse_copy(&self.buffer[..len]) {
                return Ok(Some(PassedBy { is_outgoing, headers: &self.buffer[start..end] }));
            }
        }
    }
}

impl AsFd for NfLog {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Parses a message: whether its packet is outgoing, and where its bytes are.
fn parse_copy(bytes: &[u8]) -> Option<(bool, usize, usize)> {
    let (message, _) = Message::parse_first(bytes)?;
    if message.kind != PACKET {
        return None;
    }
    let (mut hook, mut payload) = (None, None);
    for (kind, value) in message.attributes() {
        match kind {
            // struct nfulnl_msg_packet_hdr: protocol, hook.
            1 => hook = value.get(2).copied(),
            9 => {
                let start = value.as_ptr().addr() - bytes.as_ptr().addr();
                payload = Some((start, start + value.len()));
            }
            _ => {}
        }
    }
    let (start, end) = payload?;
    Some((hook? == HOOK_LOCAL_OUT, start, end))
}
