//! The kernel's packet queue (nfnetlink_queue).

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_NETFILTER};
use nix::sys::socket::{setsockopt, sockopt::RcvBufForce};

use super::nfnetlink::{ANY_FAMILY, Attributes, Message, Messages, configure};

/// Queue number within the network namespace.
pub const QUEUE_NUMBER: u16 = 0xd71f;
/// Hooks (linux/netfilter.h).
pub const HOOK_LOCAL_IN: u8 = 1;
pub const HOOK_LOCAL_OUT: u8 = 3;
pub const HOOK_POST_ROUTING: u8 = 4;

const SUBSYSTEM: u16 = 3;
const PACKET: u16 = SUBSYSTEM << 8;
const VERDICT: u16 = SUBSYSTEM << 8 | 1;
const CONFIGURE: u16 = SUBSYSTEM << 8 | 2;
const VERDICT_BATCH: u16 = SUBSYSTEM << 8 | 3;

const BIND: u8 = 1;
const COPY_PACKET: u8 = 2;
/// Accept packets instead of dropping them if the queue is full.
const FAIL_OPEN: u32 = 1;
/// Packets are not segmented, and their checksums not completed, before they are queued.
const GSO: u32 = 4;
/// Attribute with bits about the packet, and these.
const PACKET_INFO: u16 = 14;
const CHECKSUM_NOT_READY: u32 = 1;
const IS_GSO: u32 = 2;
/// Maximum number of queued packets. The local TCP keeps few here, because they count as unsent for
/// it (TCP small queues).
const QUEUE_LEN: u32 = 4096;
/// Receive buffer for them (bytes); the kernel accounts more than their length.
const RECEIVE_BUFFER: usize = 16 << 20;

/// Maximum size of verdicts sent together (bytes), besides one with the largest packet: a third of
/// the default send buffer.
const VERDICT_BYTES_MAX: usize = 64 << 10;
/// Attribute of a packet's priority (Linux 5.18).
const PRIORITY: u16 = 21;

const DROP: u32 = 0;
const ACCEPT: u32 = 1;

/// Size of a message without its packet.
const MESSAGE_OVERHEAD: usize = 512;
const LARGEST_PACKET: usize = 65_535;

/// A packet that waits for its verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedPacket {
    id: u32,
    /// Hook at which it was intercepted.
    pub hook: u8,
    /// Packet priority.
    pub priority: u32,
    /// Index of the output interface; 0: not known.
    pub out_interface: u32,
    /// Its checksum is left to the interface.
    pub has_partial_checksum: bool,
    /// It is to be cut into several segments, or was put together from several.
    pub is_large: bool,
    /// Position of its bytes in the buffer.
    start: usize,
    end: usize,
}

/// The user-space end of the queue. Packets arrive in order; each gets a verdict, which takes
/// effect with [`flush`](NfQueue::flush) at the latest, in the order of verdicts.
pub struct NfQueue {
    socket: Socket,
    buffer: Box<[u8]>,
    verdicts: Messages,
    /// All packets up to this one without a verdict are accepted.
    accept_up_to: Option<u32>,
}

impl NfQueue {
    /// Opens the queue of the calling thread's namespace.
    ///
    /// # Errors
    /// `AddrInUse`: it has an owner. Otherwise any error of the kernel.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_NETFILTER)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        socket.set_non_blocking(true)?;
        // With fail-open, an overflow is no error of the socket.
        socket.set_no_enobufs(true)?;
        setsockopt(&socket, RcvBufForce, &RECEIVE_BUFFER)?;
        let queue = Self {
            socket,
            buffer: vec![0; LARGEST_PACKET + MESSAGE_OVERHEAD].into_boxed_slice(),
            verdicts: Messages::default(),
            accept_up_to: None,
        };
        queue.configure(|says| says.bytes(1, &[BIND, 0, 0, 0]))?;
        queue.configure(|says| {
            let [a, b, c, d] = (LARGEST_PACKET as u32).to_be_bytes();
            says.bytes(2, &[a, b, c, d, COPY_PACKET]);
            says.number(3, QUEUE_LEN);
            says.number(4, FAIL_OPEN | GSO);
            says.number(5, FAIL_OPEN | GSO);
        })?;
        Ok(queue)
    }

    fn configure(&self, write: impl FnOnce(&mut Attributes<'_>)) -> io::Result<()> {
        configure(&self.socket, CONFIGURE, QUEUE_NUMBER, write)
    }

    /// The next queued packet; `None` if there is none.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn receive(&mut self) -> io::Result<Option<QueuedPacket>> {
        loop {
            let len = match self.socket.recv(&mut &mut self.buffer[..], 0) {
                Ok(len) => len,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            };
            if let Some(waiting) = parse_packet(&self.buffer[..len]) {
                return Ok(Some(waiting));
            }
        }
    }

    /// The bytes of the last received packet.
    pub fn bytes(&mut self, waiting: QueuedPacket) -> &mut [u8] {
        &mut self.buffer[waiting.start..waiting.end]
    }

    /// Accepts the packet unchanged.
    pub fn accept(&mut self, waiting: QueuedPacket) {
        self.accept_up_to = Some(waiting.id);
    }

    /// Accepts the last received packet with its present bytes.
    ///
    /// # Errors
    /// Any error of earlier verdicts.
    pub fn accept_modified(&mut self, waiting: QueuedPacket) -> io::Result<()> {
        self.make_room()?;
        let changed = &self.buffer[waiting.start..waiting.end];
        self.verdicts.add(VERDICT, 0, ANY_FAMILY, QUEUE_NUMBER, |says| {
            says.bytes(2, &verdict(ACCEPT, waiting.id));
            says.bytes(10, changed);
        });
        Ok(())
    }

    /// Accepts the last received packet with its present bytes and this priority.
    ///
    /// # Errors
    /// Any error of earlier verdicts.
    pub fn accept_modified_with_priority(
        &mut self,
        waiting: QueuedPacket,
        priority: u32,
    ) -> io::Result<()> {
        self.make_room()?;
        let changed = &self.buffer[waiting.start..waiting.end];
        self.verdicts.add(VERDICT, 0, ANY_FAMILY, QUEUE_NUMBER, |says| {
            says.bytes(2, &verdict(ACCEPT, waiting.id));
            says.bytes(10, changed);
            says.number(PRIORITY, priority);
        });
        Ok(())
    }

    /// Accepts these bytes in place of the packet, with this priority.
    ///
    /// # Errors
    /// Any error of earlier verdicts.
    pub fn accept_replaced(
        &mut self,
        waiting: QueuedPacket,
        bytes: &[u8],
        priority: u32,
    ) -> io::Result<()> {
        self.make_room()?;
        self.verdicts.add(VERDICT, 0, ANY_FAMILY, QUEUE_NUMBER, |says| {
            says.bytes(2, &verdict(ACCEPT, waiting.id));
            says.bytes(10, bytes);
            says.number(PRIORITY, priority);
        });
        Ok(())
    }

    /// Drops the packet.
    pub fn drop(&mut self, waiting: QueuedPacket) {
        self.write_batch_verdict();
        self.verdicts.add(VERDICT, 0, ANY_FAMILY, QUEUE_NUMBER, |says| {
            says.bytes(2, &verdict(DROP, waiting.id));
        });
    }

    /// Sends all verdicts.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn flush(&mut self) -> io::Result<()> {
        self.write_batch_verdict();
        if self.verdicts.is_empty() {
            return Ok(());
        }
        let sent = self.socket.send(self.verdicts.bytes(), 0);
        self.verdicts.clear();
        sent.map(drop)
    }

    /// Makes room for a verdict with a packet. A socket accepts no more at once than its send
    /// buffer (`wmem_default`).
    fn make_room(&mut self) -> io::Result<()> {
        self.write_batch_verdict();
        if self.verdicts.bytes().len() > VERDICT_BYTES_MAX { self.flush() } else { Ok(()) }
    }

    /// Writes one verdict that accepts all packets up to a number.
    fn write_batch_verdict(&mut self) {
        let Some(id) = self.accept_up_to.take() else { return };
        self.verdicts.add(VERDICT_BATCH, 0, ANY_FAMILY, QUEUE_NUMBER, |says| {
            says.bytes(2, &verdict(ACCEPT, id));
        });
    }
}

impl AsFd for NfQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn verdict(what: u32, id: u32) -> [u8; 8] {
    (u64::from(what) << 32 | u64::from(id)).to_be_bytes()
}

/// Parses a packet message.
fn parse_packet(bytes: &[u8]) -> Option<QueuedPacket> {
    let (message, _) = Message::parse_first(bytes)?;
    if message.kind != PACKET {
        return None;
    }
    let (mut header, mut payload, mut out_interface, mut priority) = (None, None, 0, 0);
    let mut info = 0;
    for (kind, value) in message.attributes() {
        match kind {
            // struct nfqnl_msg_packet_hdr: id, protocol, hook.
            1 => header = Some((u32::from_be_bytes(*value.first_chunk()?), *value.get(6)?)),
            6 => out_interface = u32::from_be_bytes(*value.first_chunk()?),
            PACKET_INFO => info = u32::from_be_bytes(*value.first_chunk()?),
            PRIORITY => priority = u32::from_be_bytes(*value.first_chunk()?),
            10 => {
                let start = value.as_ptr().addr() - bytes.as_ptr().addr();
                payload = Some((start, start + value.len()));
            }
            _ => {}
        }
    }
    let ((id, hook), (start, end)) = (header?, payload?);
    Some(QueuedPacket {
        id,
        hook,
        priority,
        out_interface,
        has_partial_checksum: info & CHECKSUM_NOT_READY != 0,
        is_large: info & IS_GSO != 0,
        start,
        end,
    })
}
