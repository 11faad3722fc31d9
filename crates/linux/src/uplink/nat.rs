//! Address translation by the kernel (nf_tables), removed with the socket that requested it.

use std::io;

use driftway_base::Ipv4Addr;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_NETFILTER};

use crate::shim_daemon::nf_tables::{
    BATCH_BEGIN, BATCH_END, DATA_REGISTER, IP, META_OIFNAME, NETWORK_HEADER, NEW_CHAIN, NEW_RULE,
    NEW_TABLE, OWNED, Rule, SOURCE_ADDRESS, SUBSYSTEM,
};
use crate::shim_daemon::nfnetlink::{ACK, APPEND, CREATE, EXCLUSIVE, Message, Messages};

const POST_ROUTING: u32 = 4;
/// Priority of source address translation.
const SOURCE_NAT: u32 = 100;
const CHAIN: &str = "postrouting";
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
        says.nested(4, |expressions| {
            let mut rule = Rule(expressions);
            rule.match_interface(META_OIFNAME, Some(interface));
            if let Some(source) = source {
                rule.load_field(DATA_REGISTER, NETWORK_HEADER, SOURCE_ADDRESS, 4);
                rule.compare(&source.octets());
            }
            rule.expression("masq", |_| {});
        });
    });
    messages.add(BATCH_END, 0, 0, SUBSYSTEM, |_| {});
    messages
}
