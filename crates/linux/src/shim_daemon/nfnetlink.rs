//! nfnetlink messages, which the netlink crates do not support: the part common to nf_tables and
//! nfnetlink_queue.

use std::io;

use netlink_sys::Socket;

/// Lengths of `struct nlmsghdr` and `struct nfgenmsg`.
const HEADER: usize = 16;
const GENERIC: usize = 4;
const ATTRIBUTE: usize = 4;

/// Flags of a message (linux/netlink.h).
pub const REQUEST: u16 = 1;
pub const ACK: u16 = 4;
pub const EXCLUSIVE: u16 = 0x200;
pub const CREATE: u16 = 0x400;
pub const APPEND: u16 = 0x800;
/// All objects.
pub const DUMP: u16 = 0x300;
/// Types of the kernel's answer to a message, and of the end of a multipart message.
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// Flag of an attribute that contains attributes.
const NESTED: u16 = 0x8000;
const KIND: u16 = 0x3fff;

/// A sequence of messages sent together.
#[derive(Debug, Default)]
pub struct Messages {
    bytes: Vec<u8>,
    count: u32,
}

impl Messages {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
    }
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends a message of type `kind` for the address family and the resource (a queue number or
    /// a subsystem); returns its sequence number.
    pub fn add(
        &mut self,
        kind: u16,
        flags: u16,
        family: u8,
        resource: u16,
        write: impl FnOnce(&mut Attributes<'_>),
    ) -> u32 {
        let start = self.bytes.len();
        self.count += 1;
        self.bytes.extend([0; 4]);
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend((flags | REQUEST).to_ne_bytes());
        self.bytes.extend(self.count.to_ne_bytes());
        self.bytes.extend([0; 4]);
        self.bytes.extend([family, 0]);
        self.bytes.extend(resource.to_be_bytes());
        write(&mut Attributes(&mut self.bytes));
        let len = (self.bytes.len() - start) as u32;
        self.bytes[start..start + 4].copy_from_slice(&len.to_ne_bytes());
        self.count
    }
}

/// Writer of a message's attributes.
pub struct Attributes<'a>(&'a mut Vec<u8>);

impl Attributes<'_> {
    fn write(&mut self, kind: u16, value: impl FnOnce(&mut Vec<u8>)) {
        let start = self.0.len();
        self.0.extend([0; 2]);
        self.0.extend(kind.to_ne_bytes());
        value(self.0);
        let len = self.0.len() - start;
        self.0[start..start + 2].copy_from_slice(&(len as u16).to_ne_bytes());
        self.0.resize(start + len.next_multiple_of(4), 0);
    }
    pub fn bytes(&mut self, kind: u16, value: &[u8]) {
        self.write(kind, |bytes| bytes.extend_from_slice(value));
    }
    pub fn number(&mut self, kind: u16, value: u32) {
        self.bytes(kind, &value.to_be_bytes());
    }
    pub fn text(&mut self, kind: u16, value: &str) {
        self.write(kind, |bytes| {
            bytes.extend_from_slice(value.as_bytes());
            bytes.push(0);
        });
    }
    pub fn nested(&mut self, kind: u16, value: impl FnOnce(&mut Attributes<'_>)) {
        self.write(kind | NESTED, |bytes| value(&mut Attributes(bytes)));
    }
}

/// A received message.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    pub kind: u16,
    pub sequence: u32,
    body: &'a [u8],
}

impl<'a> Message<'a> {
    /// Parses the first message of `bytes`; returns it and the rest.
    pub fn parse_first(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let len = u32::from_ne_bytes(*bytes.first_chunk()?) as usize;
        let message = bytes.get(..len)?;
        let kind = u16::from_ne_bytes(*message.get(4..)?.first_chunk()?);
        let sequence = u32::from_ne_bytes(*message.get(8..)?.first_chunk()?);
        let body = message.get(HEADER..)?;
        let rest = bytes.get(len.next_multiple_of(4)..).unwrap_or(&[]);
        Some((Self { kind, sequence, body }, rest))
    }

    /// If this answers a request: its error number, 0 for success.
    pub fn answer(&self) -> Option<i32> {
        (self.kind == ERROR).then(|| self.body.first_chunk().map(|b| -i32::from_ne_bytes(*b)))?
    }

    /// Returns whether it is the end of a multipart message.
    pub fn is_done(&self) -> bool {
        self.kind == DONE
    }

    /// Type and value of each attribute.
    pub fn attributes(&self) -> impl Iterator<Item = (u16, &'a [u8])> + use<'a> {
        attributes(self.body.get(GENERIC..).unwrap_or(&[]))
    }
}

/// Type and value of each attribute in `rest`, the content of a message or of an attribute.
pub fn attributes<'a>(mut rest: &'a [u8]) -> impl Iterator<Item = (u16, &'a [u8])> + use<'a> {
    std::iter::from_fn(move || {
        let len = usize::from(u16::from_ne_bytes(*rest.first_chunk()?));
        let kind = u16::from_ne_bytes(*rest.get(2..)?.first_chunk()?) & KIND;
        let value = rest.get(ATTRIBUTE..len)?;
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind, value))
    })
}

/// Any family of addresses.
pub const ANY_FAMILY: u8 = 0;

/// Configures a packet queue or a log group, by its number, and waits for the kernel's answer.
///
/// # Errors
/// `AddrInUse`: it belongs to another process (EBUSY, EPERM). Otherwise any error of the kernel.
pub fn configure(
    socket: &Socket,
    kind: u16,
    number: u16,
    write: impl FnOnce(&mut Attributes<'_>),
) -> io::Result<()> {
    let mut messages = Messages::default();
    messages.add(kind, ACK, ANY_FAMILY, number, write);
    socket.send(messages.bytes(), 0)?;
    let mut buffer = [0; 4096];
    let len = socket.recv(&mut &mut buffer[..], 0)?;
    let answer = Message::parse_first(&buffer[..len]).and_then(|(message, _)| message.answer());
    match answer {
        Some(0) => Ok(()),
        Some(16 | 1) => Err(io::ErrorKind::AddrInUse.into()),
        Some(number) => Err(io::Error::from_raw_os_error(number)),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn written_messages_are_parsed() {
        let mut messages = Messages::default();
        messages.add(7, ACK, 2, 9, |says| {
            says.text(1, "abc");
            says.nested(2, |inner| inner.number(3, 0x0102_0304));
        });
        assert_eq!(messages.add(8, 0, 2, 9, |says| says.bytes(4, &[5])), 2);
        let (first, rest) = Message::parse_first(messages.bytes()).unwrap();
        assert_eq!((first.kind, first.sequence, first.answer()), (7, 1, None));
        let said: Vec<_> = first.attributes().collect();
        assert_eq!(said, [(1, &b"abc\0"[..]), (2, &[8, 0, 3, 0, 1, 2, 3, 4])]);
        let (second, rest) = Message::parse_first(rest).unwrap();
        assert_eq!(second.attributes().collect::<Vec<_>>(), [(4, &[5][..])]);
        assert!(rest.is_empty());
    }

    #[test]
    fn truncated_messages_are_ignored() {
        let mut messages = Messages::default();
        messages.add(7, 0, 2, 9, |says| says.text(1, "abc"));
        let bytes = messages.bytes();
        assert!((0..bytes.len()).all(|len| Message::parse_first(&bytes[..len]).is_none()));
        let lying = [24, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 9, 99, 0, 1, 0];
        assert_eq!(Message::parse_first(&lying).unwrap().0.attributes().count(), 0);
    }

    #[test]
    fn an_answer_has_an_error_number() {
        let mut bytes = vec![20, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend((-17_i32).to_ne_bytes());
        let (message, _) = Message::parse_first(&bytes).unwrap();
        assert_eq!((message.answer(), message.sequence), (Some(17), 3));
    }
}
