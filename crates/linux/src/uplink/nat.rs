//! Address translation by the kernel (nf_tables), removed with the socket that requested it.

use std::io;

use driftway_base::Ipv4Addr;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_NETFILTER};

use crate::shim_daemon::nfnetlink::{ACK, APPEND, CREATE, EXCLUSIVE, Message, Messages};

// Messages, hooks, expressions and keys (linux/netfilter/nf_tables.h).
const IP: u8 = 2;
const SUBSYSTEM: u16 = 10;
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
const NEW_TABLE: u16 = SUBSYSTEM << 8;
const NEW_CHAIN: u16 = SUBSYSTEM << 8 | 3;
const NEW_RULE: u16 = SUBSYSTEM << 8 | 6;
/// The table is removed with the socket that created it (Linux 5.12).
const OWNED: u32 = 2;
const POST_ROUTING: u32 = 4;
/// Priority of source address translation.
const SOURCE_NAT: u32 = 100;
const CHAIN: &str = "postrouting";
const DATA_REGISTER: u32 = 1;
const EQUAL: u32 = 0;
const META_OIFNAME: u32 = 7;
const NETWORK_HEADER: u32 = 1;
const SOURCE_ADDRESS: u32 = 12;
/// Length of an interface name, zero-padded (bytes).
const INTERFACE_NAME_LEN: usize = 16;
/// Number of answers: for the table, the chain and the rule.
const ANSWERS: usize = 3;

/// Packets that leave over an interface get its address as source.
#[derive(Debug)]
pub struct Masquerade {
    /// It owns the table.
    _socket: Socket,
}

impl Masquerade {
    /// Adds a table of this name to the calling thread's namespace, which translates what leaves over
    /// `interface`, or only what has this source.
    ///
    /// # Errors
    /// `EEXIST`: there is such a table. Otherwise any error of the kernel, for example one without address
    /// translation.
    pub fn install(table: &str, interface: &str, source: Option<Ipv4Addr>) -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_NETFILTER)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        socket.send(batch(table, interface, source).bytes(), 0)?;
        let mut buffer = vec![0; 65_536];
        let mut answers = 0;
        while answers < ANSWERS {
            let len = socket.recv(&mut &mut buffer[..], 0)?;
            let mut rest = &buffer[..len];
            while let Some((message, behind)) = Message::parse_first(rest) {
                match message.answer() {
                    Some(0) => answers += 1,
                    Some(number) => return Err(io::Error::from_raw_os_error(number)),
                    None => {}
                }
                rest = behind;
            }
        }
        Ok(Self { _socket: socket })
    }
}

fn batch(table: &str, interface: &str, source: Option<Ipv4Addr>) -> Messages {
    let mut name = [0; INTERFACE_NAME_LEN];
    name.iter_mut().zip(interface.bytes()).for_each(|(to, from)| *to = from);
    let mut messages = Messages::default();
    messages.add(BATCH_BEGIN, 0, 0, SUBSYSTEM, |_| {});
    messages.add(NEW_TABLE, CREATE | EXCLUSIVE | ACK, IP, 0, |says| {
        says.text(1, table);
        says.number(2, OWNED);
    });
    messages.add(NEW_CHAIN, CREATE | ACK, IP, 0, |says| {
        says.text(1, table);
        says.text(3, CHAIN);
        says.nested(4, |place| {
            place.number(1, POST_ROUTING);
            place.number(2, SOURCE_NAT);
        });
        says.text(7, "nat");
    });
    messages.add(NEW_RULE, CREATE | APPEND | ACK, IP, 0, |says| {
        says.text(1, table);
        says.text(2, CHAIN);
        says.nested(4, |rule| {
            let mut expression = |name: &str, numbers: &[(u16, u32)], value: Option<&[u8]>| {
                rule.nested(1, |element| {
                    element.text(1, name);
                    element.nested(2, |says| {
                        numbers.iter().for_each(|(kind, number)| says.number(*kind, *number));
                        if let Some(value) = value {
                            says.nested(3, |data| data.bytes(1, value));
                        }
                    });
                });
            };
            let compare = [(1, DATA_REGISTER), (2, EQUAL)];
            expression("meta", &[(1, DATA_REGISTER), (2, META_OIFNAME)], None);
            expression("cmp", &compare, Some(&name));
            if let Some(source) = source {
                let field = [(1, DATA_REGISTER), (2, NETWORK_HEADER), (3, SOURCE_ADDRESS), (4, 4)];
                expression("payload", &field, None);
                expression("cmp", &compare, Some(&source.octets()));
            }
            expression("masq", &[], None);
        });
    });
    messages.add(BATCH_END, 0, 0, SUBSYSTEM, |_| {});
    messages
}
