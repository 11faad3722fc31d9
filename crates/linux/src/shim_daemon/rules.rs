//! Interception rules: an nf_tables table that is removed with its owner.

use std::io;

use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_NETFILTER};
use tracing::warn;

use super::carrier_acks::{CARRIER_ID, TAG, TAG_MASK};
use super::dead_man_switch;
use super::inject::INJECTED_PRIORITY;
use super::nf_tables::{
    BATCH_BEGIN, BATCH_END, DATA_REGISTER, EQUAL, IP, META_OIFNAME, NETWORK_HEADER, NEW_CHAIN,
    NEW_RULE, NEW_TABLE, OWNED, Rule, SOURCE_ADDRESS, SUBSYSTEM,
};
use super::nflog::{self, LogGroup};
use super::nfnetlink::{ACK, APPEND, Attributes, CREATE, DUMP, EXCLUSIVE, Message, Messages};
use super::nfqueue::{HOOK_LOCAL_IN, HOOK_LOCAL_OUT, HOOK_POST_ROUTING, QUEUE_NUMBER};
use super::unseen::{IPV4, IPV6, ProtocolClass, comment_attribute, parse_counter_rule};
use super::watched_flows;

/// Name of the table, one per network namespace.
const TABLE: &str = "driftway";
/// Chains with hooks and priorities: outgoing packets before connection tracking (-200) and address
/// translation, incoming ones after them, so that addresses are those of the local TCP.
const CHAINS: [ChainSpec; 2] = [("output", HOOK_LOCAL_OUT, -300), ("input", HOOK_LOCAL_IN, 225)];
/// The last chain, after everything that decides on a packet's route, or changes it (address translation: 100).
const EXIT: ChainSpec = ("exit", HOOK_POST_ROUTING, i32::MAX - 1);
type ChainSpec = (&'static str, u8, i32);

/// Families. IPv6 packets are only counted, in a table of their own, because tools that list tables
/// do not support queues in an inet table.
const IP6: u8 = 10;
const GET_TABLE: u16 = SUBSYSTEM << 8 | 1;
const DELETE_TABLE: u16 = SUBSYSTEM << 8 | 2;
const NEW_SET: u16 = SUBSYSTEM << 8 | 9;
const GET_RULE: u16 = SUBSYSTEM << 8 | 7;
const DELETE_RULE: u16 = SUBSYSTEM << 8 | 8;

// Registers, expressions and keys (linux/netfilter/nf_tables.h).
const NOT_EQUAL: u32 = 1;
const UPDATE: u32 = 1;
const DELETE: u32 = 2;
const DROP: u32 = 0;
const ACCEPT: u32 = 1;
const META_PROTOCOL: u32 = 1;
const META_PRIORITY: u32 = 2;
const META_IIF: u32 = 4;
const META_OIF: u32 = 5;
const META_IIFNAME: u32 = 6;
const META_L4PROTO: u32 = 16;
const TRANSPORT_HEADER: u32 = 2;
/// The first of the registers of four bytes, which [`DATA_REGISTER`] overlaps.
const WORD_REGISTER: u32 = 8;

/// Name of the set that holds an element while the daemon works; its key is the packet's protocol,
/// always IPv4, of the type `ether_type` (nftables).
const LIVENESS_SET: &str = "alive";
const KEY_LEN: u32 = 2;
const KEY_TYPE: u32 = 10;
/// Elements have a timeout, and rules may add some.
const EXPIRING: u32 = 0x10 | 0x20;
/// Size limit; expired elements are collected later.
const ELEMENTS: u32 = 16;

/// Sets of connections: local address, remote address, local port, remote port.
const CONNECTION_LEN: u32 = 16;
/// `ipv4_addr . ipv4_addr . inet_service . inet_service`: six bits each.
const CONNECTION_TYPE: u32 = 7 << 18 | 7 << 12 | 13 << 6 | 13;
/// Size limit. Where it is reached, connections are intercepted.
const CONNECTIONS_MAX: u32 = 65_536;

/// Name of the set of connections whose packets pass while the log group gets copies.
const WATCHED_SET: &str = "watched";
/// Lifetime of an element. The packet after it is intercepted, and renews the element.
const WATCHED_MS: u64 = 60_000;

/// Name of the set of young connections.
const YOUNG_SET: &str = "young";
/// Lifetime of an element. Within about a second the shim does not distinguish an outage from losses, and
/// RFC 6298 §2.1 has no earlier timeout for a SYN.
const YOUNG_MS: u64 = 1000;
/// Name of the counter of packets that pass by.
pub const YOUNG_COUNTER: &str = "young";

/// Offsets of addresses and ports in their headers.
const DESTINATION_ADDRESS: u32 = 16;
const SOURCE_PORT: u32 = 0;
const DESTINATION_PORT: u32 = 2;
/// Offset and bits of TCP's flags.
const FLAGS: u32 = 13;
const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK_FLAG: u8 = 0x10;

const LOOPBACK: u32 = 1;
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UNREACHABLE: u8 = 3;

/// `xt_NFQ_info_v3`: packets are accepted if the queue has no owner.
const BYPASS: u16 = 1;

/// The tables, which exist as long as this value and the process.
pub struct Rules {
    socket: Socket,
    /// There is a table for IPv6.
    ipv6: bool,
}

impl Rules {
    /// Installs rules that queue the host's TCP packets and ICMP errors on these interfaces, or on
    /// all but the loopback interface. With `has_logs` young connections and watched flows pass by,
    /// and the log groups get copies, if the kernel has what that needs.
    ///
    /// # Errors
    /// `AddrInUse`: a table by that name exists. Otherwise any error of the kernel.
    pub fn install(interfaces: &[String], has_logs: bool) -> io::Result<Self> {
        let mut rules = Self { socket: open()?, ipv6: false };
        rules.install_interception(interfaces, has_logs)?;
        match rules.commit(ipv6_counter_rules(interfaces)) {
            Ok(()) => rules.ipv6 = true,
            Err(error) => warn!(%error, "IPv6 packets are not counted"),
        }
        Ok(rules)
    }

    fn install_interception(&self, interfaces: &[String], has_logs: bool) -> io::Result<()> {
        // A kernel without connection tracking needs no `notrack`.
        let variants = [(true, has_logs), (false, has_logs), (true, false), (false, false)];
        let mut refused = None;
        for (untracked, uses_logs) in variants {
            match self.commit(interception_rules(interfaces, untracked, uses_logs)) {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Err(error),
                Err(error) => refused = Some(error),
                Ok(()) if has_logs && !uses_logs => {
                    warn!(?refused, "all packets of all connections are intercepted");
                    return Ok(());
                }
                Ok(()) => return Ok(()),
            }
        }
        refused.map_or(Ok(()), Err)
    }

    /// Counters of the kernel: name and number of packets of each counting rule.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn counts(&self) -> io::Result<Vec<(String, u64)>> {
        let mut counts = Vec::new();
        for family in self.families() {
            self.read_counts(family, &mut counts)?;
        }
        Ok(counts)
    }

    fn read_counts(&self, family: u8, counts: &mut Vec<(String, u64)>) -> io::Result<()> {
        let mut question = Messages::default();
        question.add(GET_RULE, DUMP, family, 0, |says| says.text(1, TABLE));
        self.socket.send(question.bytes(), 0)?;
        let mut buffer = vec![0; 65_536];
        loop {
            // netlink answers are available as soon as the request is sent.
            let len = self.socket.recv(&mut &mut buffer[..], 0)?;
            let mut rest = &buffer[..len];
            while let Some((message, behind)) = Message::parse_first(rest) {
                match message.answer() {
                    _ if message.is_done() => return Ok(()),
                    Some(number) => return Err(io::Error::from_raw_os_error(number)),
                    None => counts.extend(parse_counter_rule(&message)),
                }
                rest = behind;
            }
        }
    }

    fn families(&self) -> impl Iterator<Item = u8> {
        [Some(IP), self.ipv6.then_some(IP6)].into_iter().flatten()
    }

    /// Removes all rules, but not the tables: on removal of the first one the kernel would drop the
    /// queued packets.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn clear(&self) -> io::Result<()> {
        for family in self.families() {
            let mut batch = Batch::new(family);
            let exit = (family == IP).then_some(EXIT);
            for (chain, ..) in CHAINS.into_iter().chain(exit) {
                batch.add(DELETE_RULE, 0, |says| {
                    says.text(1, TABLE);
                    says.text(2, chain);
                });
            }
            self.commit(batch)?;
        }
        Ok(())
    }

    /// Removes tables without an owner; returns whether there were any.
    ///
    /// # Errors
    /// `AddrInUse`: it has an owner. Otherwise any error of the kernel.
    pub fn remove_orphaned() -> io::Result<bool> {
        let rules = Self { socket: open()?, ipv6: false };
        let mut found = false;
        for family in [IP, IP6] {
            let mut batch = Batch::new(family);
            batch.add(DELETE_TABLE, 0, |says| says.text(1, TABLE));
            match rules.commit(batch) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                done => {
                    done?;
                    found = true;
                }
            }
        }
        Ok(found)
    }

    fn commit(&self, mut batch: Batch) -> io::Result<()> {
        let last = batch.end();
        self.socket.send(batch.messages.bytes(), 0)?;
        // All answers are available when `send` returns, in the order of messages.
        let mut buffer = vec![0; 65_536];
        let mut answers = 0;
        let mut first_error = None;
        while answers < last {
            let len = self.socket.recv(&mut &mut buffer[..], 0)?;
            let mut rest = &buffer[..len];
            while let Some((message, behind)) = Message::parse_first(rest) {
                if let Some(number) = message.answer() {
                    answers += 1;
                    if number != 0 {
                        first_error.get_or_insert((number, message.sequence));
                        // After an invalid begin of the batch there are no further answers.
                        answers = answers.max(if message.sequence == 1 { last } else { 0 });
                    }
                }
                rest = behind;
            }
        }
        match first_error {
            None => Ok(()),
            // A foreign table: visible (EEXIST), or protected (EPERM).
            Some((17 | 1, 2)) => Err(io::ErrorKind::AddrInUse.into()),
            Some((number, sequence)) => Err(describe(number, &batch, sequence)),
        }
    }
}

/// netlink port of the table's owner; `None` if there is no table.
///
/// # Errors
/// Any error of the kernel.
pub fn table_owner() -> io::Result<Option<u32>> {
    let socket = open()?;
    let mut question = Messages::default();
    question.add(GET_TABLE, 0, IP, 0, |says| says.text(1, TABLE));
    socket.send(question.bytes(), 0)?;
    let mut buffer = [0; 4096];
    let len = socket.recv(&mut &mut buffer[..], 0)?;
    let (message, _) = Message::parse_first(&buffer[..len]).ok_or(io::ErrorKind::InvalidData)?;
    match message.answer().map(io::Error::from_raw_os_error) {
        Some(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Some(error) => return Err(error),
        None => {}
    }
    let owner = message.attributes().find(|(kind, _)| *kind == 7);
    let port =
        owner.and_then(|(_, value)| value.first_chunk()).map(|port| u32::from_be_bytes(*port));
    // A table without an owner belongs to no process.
    Ok(port)
}

/// Interception and counting rules for IPv4.
fn interception_rules(interfaces: &[String], untracked: bool, uses_logs: bool) -> Batch {
    let mut batch = Batch::new(IP);
    batch.add_table();
    batch.add_liveness_set();
    if uses_logs {
        batch.add_connection_set(YOUNG_SET, 2, YOUNG_MS);
        batch.add_connection_set(WATCHED_SET, 3, WATCHED_MS);
    }
    batch.add_rule("output", |rule| {
        rule.match_meta(META_PRIORITY, &dead_man_switch::PRIORITY.to_ne_bytes());
        rule.renew_liveness();
        rule.verdict(DROP);
    });
    batch.add_marker_rules(uses_logs);
    batch.add_chain(EXIT);
    batch.add_rule("exit", |rule| {
        rule.match_carrier_priority();
        rule.queue_if_alive();
    });
    // A rule that classifies packets may have set another priority since.
    batch.add_rule("exit", |rule| {
        rule.match_meta(META_L4PROTO, &[TCP]);
        rule.match_identification(CARRIER_ID);
        rule.queue_if_alive();
    });
    // Injected segments belong to no tracked connection: with address translation they would be
    // taken for new ones. They never leave this host.
    batch.add_rule("output", |rule| {
        rule.match_meta(META_PRIORITY, &INJECTED_PRIORITY.to_ne_bytes());
        rule.match_meta(META_OIF, &LOOPBACK.to_ne_bytes());
        if untracked {
            rule.expression("notrack", |_| {});
        }
        rule.verdict(ACCEPT);
    });
    batch.add_rule("output", |rule| {
        rule.match_meta(META_PRIORITY, &INJECTED_PRIORITY.to_ne_bytes());
        rule.verdict(DROP);
    });
    batch.add_loopback_rules();
    for name in interface_filters(interfaces) {
        for (chain, interface) in [("output", META_OIFNAME), ("input", META_IIFNAME)] {
            if uses_logs {
                batch.add_young_rules(chain, interface, name);
                batch.add_rule(chain, |rule| {
                    rule.match_tcp(interface, name);
                    rule.load_connection(chain);
                    rule.match_connection_in(WATCHED_SET);
                    rule.log(nflog::WATCHED);
                    rule.verdict(ACCEPT);
                });
            }
            batch.add_rule(chain, |rule| {
                rule.match_interface(interface, name);
                rule.match_meta(META_L4PROTO, &[TCP]);
                rule.queue_if_alive();
            });
            if chain == "input" {
                batch.add_rule(chain, |rule| {
                    rule.match_interface(interface, name);
                    rule.match_meta(META_L4PROTO, &[ICMP]);
                    rule.match_first_byte(UNREACHABLE);
                    rule.queue_if_alive();
                });
            }
            for kind in &IPV4 {
                batch.add_counter_rule(chain, interface, name, kind);
            }
        }
    }
    batch
}

/// Counting rules for IPv6.
fn ipv6_counter_rules(interfaces: &[String]) -> Batch {
    let mut batch = Batch::new(IP6);
    batch.add_table();
    batch.add_loopback_rules();
    for name in interface_filters(interfaces) {
        for (chain, interface) in [("output", META_OIFNAME), ("input", META_IIFNAME)] {
            for kind in &IPV6 {
                batch.add_counter_rule(chain, interface, name, kind);
            }
        }
    }
    batch
}

/// The requested interfaces; `None`: any.
fn interface_filters(interfaces: &[String]) -> impl Iterator<Item = Option<&str>> {
    let every = interfaces.is_empty().then_some(None);
    interfaces.iter().map(|name| Some(name.as_str())).chain(every)
}

fn open() -> io::Result<Socket> {
    let mut socket = Socket::new(NETLINK_NETFILTER)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    socket.set_non_blocking(true)?;
    Ok(socket)
}

/// Timeout in the unit of nf_tables, milliseconds.
fn expiry_ms() -> [u8; 8] {
    (dead_man_switch::EXPIRY.as_nanos() / 1_000_000).to_be_bytes()
}

/// An error that names the refused object.
fn describe(number: i32, batch: &Batch, sequence: u32) -> io::Error {
    let error = io::Error::from_raw_os_error(number);
    let what = match batch.kinds.get(sequence as usize - 1) {
        Some(&NEW_TABLE) => "a table that is bound to its owner (Linux 5.12, nf_tables)",
        Some(&NEW_CHAIN) => "a chain of nf_tables",
        Some(&NEW_SET) => "a set of nf_tables whose elements expire",
        Some(&NEW_RULE) => "a rule with NFQUEUE (modules nft_compat, xt_NFQUEUE)",
        _ => "a change of nf_tables",
    };
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// A transaction of nf_tables.
struct Batch {
    messages: Messages,
    family: u8,
    kinds: Vec<u16>,
}

impl Batch {
    fn new(family: u8) -> Self {
        let mut messages = Messages::default();
        messages.add(BATCH_BEGIN, 0, 0, SUBSYSTEM, |_| {});
        Self { messages, family, kinds: vec![BATCH_BEGIN] }
    }

    /// Adds the table with its chains.
    fn add_table(&mut self) {
        self.add(NEW_TABLE, CREATE | EXCLUSIVE, |says| {
            says.text(1, TABLE);
            says.number(2, OWNED);
        });
        CHAINS.into_iter().for_each(|chain| self.add_chain(chain));
    }

    fn add_chain(&mut self, (name, hook, priority): ChainSpec) {
        self.add(NEW_CHAIN, CREATE, |says| {
            says.text(1, TABLE);
            says.text(3, name);
            says.nested(4, |place| {
                place.number(1, hook.into());
                place.number(2, priority as u32);
            });
            says.text(7, "filter");
        });
    }

    /// Adds the set used by [`Rule::queue_if_alive`].
    fn add_liveness_set(&mut self) {
        self.add_set(LIVENESS_SET, 1, [KEY_TYPE, KEY_LEN, ELEMENTS], expiry_ms());
    }

    /// Adds a set of connections, with an ID within this batch and the lifetime of elements.
    fn add_connection_set(&mut self, name: &str, id: u32, lifetime_ms: u64) {
        let key = [CONNECTION_TYPE, CONNECTION_LEN, CONNECTIONS_MAX];
        self.add_set(name, id, key, lifetime_ms.to_be_bytes());
    }

    /// Adds a set with the type and length of its key and the largest number of elements, an ID within this batch,
    /// which is mandatory, and the lifetime of elements (ms).
    fn add_set(&mut self, name: &str, id: u32, [key, len, most]: [u32; 3], lifetime: [u8; 8]) {
        self.add(NEW_SET, CREATE | EXCLUSIVE, |says| {
            says.text(1, TABLE);
            says.text(2, name);
            says.number(3, EXPIRING);
            says.number(4, key);
            says.number(5, len);
            says.nested(9, |wanted| wanted.number(1, most));
            says.number(10, id);
            says.bytes(11, &lifetime);
        });
    }

    /// Adds rules by which marker packets change the set of watched flows, and end, whether or not
    /// there was room in the set.
    fn add_marker_rules(&mut self, uses_logs: bool) {
        if uses_logs {
            self.add_rule("output", |rule| {
                rule.match_meta(META_PRIORITY, &watched_flows::WATCH_PRIORITY.to_ne_bytes());
                rule.load_connection("output");
                rule.add_watched();
            });
            self.add_rule("output", |rule| {
                rule.match_meta(META_PRIORITY, &watched_flows::INTERCEPT_PRIORITY.to_ne_bytes());
                rule.load_connection("output");
                rule.remove_watched();
            });
        }
        self.add_rule("output", |rule| {
            rule.load_meta(META_PRIORITY);
            rule.mask(&watched_flows::PRIORITY_MASK.to_ne_bytes());
            rule.compare(&watched_flows::WATCH_PRIORITY.to_ne_bytes());
            rule.verdict(DROP);
        });
    }

    /// Adds rules by which young connections pass: from the local TCP's SYN or SYN-ACK on, until
    /// their time or their quota of bytes is over. Copies of SYNs, FINs and RSTs are logged. A
    /// connection that is not in the set, for whatever reason, is intercepted.
    fn add_young_rules(&mut self, chain: &str, interface: u32, name: Option<&str>) {
        if chain == "output" {
            self.add_commented_rule(chain, Some(YOUNG_COUNTER), |rule| {
                rule.match_tcp(interface, name);
                rule.match_flags(SYN, NOT_EQUAL, 0);
                rule.load_connection(chain);
                // An earlier connection with the same addresses and ports may have been watched.
                rule.remove_watched();
                rule.add_young();
                rule.log(nflog::HANDSHAKES);
                rule.count();
                rule.verdict(ACCEPT);
            });
        } else {
            // A SYN of the peer is recorded with its answer.
            self.add_commented_rule(chain, Some(YOUNG_COUNTER), |rule| {
                rule.match_tcp(interface, name);
                rule.match_flags(SYN | ACK_FLAG, EQUAL, SYN);
                rule.count();
                rule.verdict(ACCEPT);
            });
        }
        self.add_rule(chain, |rule| {
            rule.match_tcp(interface, name);
            rule.match_flags(SYN | FIN | RST, NOT_EQUAL, 0);
            rule.load_connection(chain);
            rule.match_connection_in(YOUNG_SET);
            rule.log(nflog::HANDSHAKES);
        });
        self.add_commented_rule(chain, Some(YOUNG_COUNTER), |rule| {
            rule.match_tcp(interface, name);
            rule.load_connection(chain);
            rule.match_connection_in(YOUNG_SET);
            rule.count();
            rule.verdict(ACCEPT);
        });
    }

    fn add_loopback_rules(&mut self) {
        for (chain, interface) in [("output", META_OIF), ("input", META_IIF)] {
            self.add_rule(chain, |rule| {
                rule.match_meta(interface, &LOOPBACK.to_ne_bytes());
                rule.verdict(ACCEPT);
            });
        }
    }

    fn add(&mut self, kind: u16, flags: u16, write: impl FnOnce(&mut Attributes<'_>)) {
        self.messages.add(kind, flags | ACK, self.family, 0, write);
        self.kinds.push(kind);
    }

    fn add_rule(&mut self, chain: &str, write: impl FnOnce(&mut Rule<'_, '_>)) {
        self.add_commented_rule(chain, None, write);
    }

    fn add_commented_rule(
        &mut self,
        chain: &str,
        name: Option<&str>,
        write: impl FnOnce(&mut Rule<'_, '_>),
    ) {
        self.add(NEW_RULE, CREATE | APPEND, |says| {
            says.text(1, TABLE);
            says.text(2, chain);
            says.nested(4, |expressions| write(&mut Rule(expressions)));
            if let Some(name) = name {
                says.bytes(7, &comment_attribute(name));
            }
        });
    }

    /// Adds rules that count packets of this class, and accept them.
    fn add_counter_rule(
        &mut self,
        chain: &str,
        interface: u32,
        name: Option<&str>,
        kind: &ProtocolClass,
    ) {
        for protocol in kind.protocols() {
            self.add_commented_rule(chain, Some(kind.name), |rule| {
                rule.match_interface(interface, name);
                if let Some(protocol) = protocol {
                    rule.match_meta(META_L4PROTO, &[protocol]);
                }
                rule.count();
                rule.verdict(ACCEPT);
            });
        }
    }

    /// Ends the batch; returns the number of expected answers.
    fn end(&mut self) -> usize {
        self.messages.add(BATCH_END, 0, 0, SUBSYSTEM, |_| {});
        self.kinds.len() - 1
    }
}

impl Rule<'_, '_> {
    /// Matches the first byte of the transport header.
    fn match_first_byte(&mut self, value: u8) {
        self.load_field(DATA_REGISTER, TRANSPORT_HEADER, 0, 1);
        self.compare(&[value]);
    }
    /// Matches the identification of the IP header.
    fn match_identification(&mut self, value: u16) {
        self.expression("payload", |says| {
            says.number(1, DATA_REGISTER);
            says.number(2, NETWORK_HEADER);
            says.number(3, 4);
            says.number(4, 2);
        });
        self.compare(&value.to_be_bytes());
    }
    /// Matches TCP over the interface.
    fn match_tcp(&mut self, interface: u32, name: Option<&str>) {
        self.match_interface(interface, name);
        self.match_meta(META_L4PROTO, &[TCP]);
    }
    /// Compares these flags of TCP.
    fn match_flags(&mut self, mask: u8, operator: u32, value: u8) {
        self.load_field(DATA_REGISTER, TRANSPORT_HEADER, FLAGS, 1);
        self.mask(&[mask]);
        self.compare_by(operator, &[value]);
    }
    /// Loads the key of the connection, whose packet is in this chain.
    fn load_connection(&mut self, chain: &str) {
        let mut addresses = [SOURCE_ADDRESS, DESTINATION_ADDRESS];
        let mut ports = [SOURCE_PORT, DESTINATION_PORT];
        if chain == "input" {
            addresses.reverse();
            ports.reverse();
        }
        for (register, offset) in (WORD_REGISTER..).zip(addresses) {
            self.load_field(register, NETWORK_HEADER, offset, 4);
        }
        for (register, offset) in (WORD_REGISTER + 2..).zip(ports) {
            self.load_field(register, TRANSPORT_HEADER, offset, 2);
        }
    }
    /// Adds the loaded connection to the set, or renews it; its quota is that of its first packet.
    fn add_young(&mut self) {
        self.expression("dynset", |says| {
            says.text(1, YOUNG_SET);
            says.number(3, UPDATE);
            says.number(4, DATA_REGISTER);
            says.bytes(6, &YOUNG_MS.to_be_bytes());
            says.nested(7, |quota| {
                quota.text(1, "quota");
                quota.nested(2, |says| {
                    says.bytes(1, &u64::from(driftway_shim::UNSEEN_MAX).to_be_bytes());
                    says.number(2, 0);
                });
            });
        });
    }
    /// Adds the loaded connection to the set of watched flows, or renews it.
    fn add_watched(&mut self) {
        self.expression("dynset", |says| {
            says.text(1, WATCHED_SET);
            says.number(3, UPDATE);
            says.number(4, DATA_REGISTER);
            says.bytes(6, &WATCHED_MS.to_be_bytes());
        });
    }
    /// Removes the loaded connection from the set of watched flows.
    fn remove_watched(&mut self) {
        self.expression("dynset", |says| {
            says.text(1, WATCHED_SET);
            says.number(3, DELETE);
            says.number(4, DATA_REGISTER);
        });
    }
    /// Matches while the loaded connection is in the set, and within its quota if it has one.
    fn match_connection_in(&mut self, set: &str) {
        self.expression("lookup", |says| {
            says.text(1, set);
            says.number(2, DATA_REGISTER);
        });
    }
    /// Sends a copy to the log group.
    fn log(&mut self, group: LogGroup) {
        self.expression("log", |says| says.bytes(1, &group.number.to_be_bytes()));
    }
    /// Matches the priority tag of a carrier acknowledgment.
    fn match_carrier_priority(&mut self) {
        self.load_meta(META_PRIORITY);
        self.mask(&TAG_MASK.to_ne_bytes());
        self.compare(&TAG.to_ne_bytes());
    }
    /// Renews the set's element.
    fn renew_liveness(&mut self) {
        self.load_meta(META_PROTOCOL);
        self.expression("dynset", |says| {
            says.text(1, LIVENESS_SET);
            says.number(3, UPDATE);
            says.number(4, DATA_REGISTER);
            says.bytes(6, &expiry_ms());
        });
    }
    /// Queues the packet while the set has its element. Uses the target NFQUEUE, because not every
    /// kernel has the native `queue` expression.
    fn queue_if_alive(&mut self) {
        self.load_meta(META_PROTOCOL);
        self.expression("lookup", |says| {
            says.text(1, LIVENESS_SET);
            says.number(2, DATA_REGISTER);
        });
        let mut info = [0; 8];
        for (place, number) in info.chunks_exact_mut(2).zip([QUEUE_NUMBER, 1, BYPASS]) {
            place.copy_from_slice(&number.to_ne_bytes());
        }
        self.expression("target", |says| {
            says.text(1, "NFQUEUE");
            says.number(2, 3);
            says.bytes(3, &info);
        });
    }
}
