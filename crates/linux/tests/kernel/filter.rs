//! nf_tables rules for a test network, installed over netlink because a minimal machine has no
//! `nft`.

use std::io;
use std::net::Ipv4Addr;

use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_NETFILTER};

#[path = "../../src/shim_daemon/nfnetlink.rs"]
#[allow(dead_code, unused_imports, reason = "the driver uses more of it, and tests it")]
mod message;

use message::{ACK, APPEND, Attributes, CREATE, Message, Messages};

// Messages, registers and keys (linux/netfilter/nf_tables.h).
const SUBSYSTEM: u16 = 10;
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
const NEW_TABLE: u16 = SUBSYSTEM << 8;
const NEW_CHAIN: u16 = SUBSYSTEM << 8 | 3;
const NEW_RULE: u16 = SUBSYSTEM << 8 | 6;
const IPV4: u8 = 2;
const VERDICT: u32 = 0;
const REGISTER: u32 = 1;
const META_PRIORITY: u32 = 2;
const META_MARK: u32 = 3;
const META_OIFNAME: u32 = 7;
const META_SKUID: u32 = 10;
const META_L4PROTO: u32 = 16;
const CT_STATE: u32 = 0;
const INVALID: u32 = 1;
const NETWORK_HEADER: u32 = 1;
const EQUAL: u32 = 0;
const GREATER: u32 = 4;
const DROP: u32 = 0;
const ACCEPT: u32 = 1;

/// Type, hook and priority of a chain.
#[derive(Clone, Copy, Debug)]
pub struct HookPoint(&'static str, u32, i32);

pub const INPUT: HookPoint = HookPoint("filter", 1, 0);
pub const FORWARD: HookPoint = HookPoint("filter", 2, 0);
pub const OUTPUT: HookPoint = HookPoint("filter", 3, 0);
/// A mark set here has the packet rerouted.
pub const OUTPUT_MANGLE: HookPoint = HookPoint("route", 3, -150);
pub const OUTPUT_NAT: HookPoint = HookPoint("nat", 3, -100);
pub const POSTROUTING_NAT: HookPoint = HookPoint("nat", 4, 100);

/// An expression of a rule: a match or a statement.
#[derive(Clone, Copy, Debug)]
pub enum Expression {
    /// Output interface.
    To(&'static str),
    /// Owner of the socket.
    Uid(u32),
    Protocol(u8),
    /// Connection tracking state INVALID.
    Invalid,
    /// IP total length above this (bytes).
    Longer(u16),
    SetMark(u32),
    /// Priority, as of a rule that classifies packets.
    SetPriority(u32),
    Dnat(Ipv4Addr),
    Masquerade,
    Accept,
    Drop,
}

/// Installs a table with one chain of these rules in the calling thread's namespace.
pub fn install(name: &str, place: HookPoint, rules: &[&[Expression]]) -> io::Result<()> {
    let HookPoint(kind, hook, priority) = place;
    let mut messages = Messages::default();
    messages.add(BATCH_BEGIN, 0, 0, SUBSYSTEM, |_| {});
    messages.add(NEW_TABLE, CREATE | ACK, IPV4, 0, |says| says.text(1, name));
    messages.add(NEW_CHAIN, CREATE | ACK, IPV4, 0, |says| {
        says.text(1, name);
        says.text(3, "chain");
        says.nested(4, |place| {
            place.number(1, hook);
            place.number(2, priority as u32);
        });
        says.text(7, kind);
    });
    for rule in rules {
        messages.add(NEW_RULE, CREATE | APPEND | ACK, IPV4, 0, |says| {
            says.text(1, name);
            says.text(2, "chain");
            says.nested(4, |list| rule.iter().for_each(|expression| expression.write(list)));
        });
    }
    commit(messages)
}

fn commit(mut messages: Messages) -> io::Result<()> {
    // All messages but the first are answered.
    let answers = messages.add(BATCH_END, 0, 0, SUBSYSTEM, |_| {}) - 2;
    let mut socket = Socket::new(NETLINK_NETFILTER)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    socket.send(messages.bytes(), 0)?;
    let mut buffer = [0; 8192];
    let mut answered = 0;
    while answered < answers {
        let len = socket.recv(&mut &mut buffer[..], 0)?;
        let mut rest = &buffer[..len];
        while let Some((message, behind)) = Message::parse_first(rest) {
            match message.answer() {
                Some(0) => answered += 1,
                Some(error) => return Err(io::Error::from_raw_os_error(error)),
                None => {}
            }
            rest = behind;
        }
    }
    Ok(())
}

impl Expression {
    fn write(self, list: &mut Attributes<'_>) {
        match self {
            Self::To(name) => match_meta(list, META_OIFNAME, &padded(name)),
            Self::Uid(uid) => match_meta(list, META_SKUID, &uid.to_ne_bytes()),
            Self::Protocol(number) => match_meta(list, META_L4PROTO, &[number]),
            Self::Invalid => {
                expression(list, "ct", |says| {
                    says.number(1, REGISTER);
                    says.number(2, CT_STATE);
                });
                compare(list, EQUAL, &INVALID.to_ne_bytes());
            }
            Self::Longer(bytes) => {
                expression(list, "payload", |says| {
                    says.number(1, REGISTER);
                    says.number(2, NETWORK_HEADER);
                    // Total length.
                    says.number(3, 2);
                    says.number(4, 2);
                });
                compare(list, GREATER, &bytes.to_be_bytes());
            }
            Self::SetMark(mark) => set_meta(list, META_MARK, mark),
            Self::SetPriority(priority) => set_meta(list, META_PRIORITY, priority),
            Self::Dnat(to) => {
                load_immediate(list, &to.octets());
                expression(list, "nat", |says| {
                    // IPv4 destination address.
                    says.number(1, 1);
                    says.number(2, IPV4.into());
                    says.number(3, REGISTER);
                });
            }
            Self::Masquerade => expression(list, "masq", |_| {}),
            Self::Accept => verdict(list, ACCEPT),
            Self::Drop => verdict(list, DROP),
        }
    }
}

fn set_meta(list: &mut Attributes<'_>, key: u32, value: u32) {
    load_immediate(list, &value.to_ne_bytes());
    expression(list, "meta", |says| {
        says.number(2, key);
        says.number(3, REGISTER);
    });
}

fn padded(name: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    bytes
}

fn expression(list: &mut Attributes<'_>, name: &str, write: impl FnOnce(&mut Attributes<'_>)) {
    list.nested(1, |element| {
        element.text(1, name);
        element.nested(2, write);
    });
}

fn match_meta(list: &mut Attributes<'_>, key: u32, value: &[u8]) {
    expression(list, "meta", |says| {
        says.number(1, REGISTER);
        says.number(2, key);
    });
    compare(list, EQUAL, value);
}

fn compare(list: &mut Attributes<'_>, operation: u32, value: &[u8]) {
    expression(list, "cmp", |says| {
        says.number(1, REGISTER);
        says.number(2, operation);
        says.nested(3, |data| data.bytes(1, value));
    });
}

fn load_immediate(list: &mut Attributes<'_>, value: &[u8]) {
    expression(list, "immediate", |says| {
        says.number(1, REGISTER);
        says.nested(2, |data| data.bytes(1, value));
    });
}

fn verdict(list: &mut Attributes<'_>, verdict: u32) {
    expression(list, "immediate", |says| {
        says.number(1, VERDICT);
        says.nested(2, |data| data.nested(2, |code| code.number(1, verdict)));
    });
}
