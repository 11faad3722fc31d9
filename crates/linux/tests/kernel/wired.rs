//! Networks built from the kernel's own devices: cables, bridges, routers, shapers, policy routing.
//!
//! The functions act on the namespace of the calling thread, unless they name one.

use std::io;
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::time::Duration;

use driftway_linux::Namespace;
use netlink_packet_core::{DefaultNla, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkMessage};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::net::if_::if_nametoindex;
use nix::unistd::{Uid, setfsuid};
use socket2::{Domain, SockRef, Socket, Type};

use crate::pair::{netlink_request, veth};

pub const MAIN: u8 = 254;

/// A cable (veth pair) between two namespaces, with an interface name and an address in a /24
/// network at each end. Packets beyond the MTU are not accepted.
pub fn cable(ends: [(&Namespace, &str, Ipv4Addr); 2]) -> io::Result<()> {
    let [(near, near_name, _), (far, far_name, _)] = ends;
    near.run(|| veth(near_name, far, far_name))??;
    for (namespace, name, own) in ends {
        namespace.run(|| {
            address(name, own, 24)?;
            raise(name, None)
        })??;
    }
    Ok(())
}

/// Brings an interface up, as a port of a bridge if one is named.
pub fn raise(name: &str, bridge: Option<&str>) -> io::Result<()> {
    let mut link = state(name, true)?;
    link.attributes.push(LinkAttribute::GsoMaxSegs(1));
    if let Some(bridge) = bridge {
        link.attributes.push(LinkAttribute::Controller(if_nametoindex(bridge)?));
    }
    netlink_request(RouteNetlinkMessage::SetLink(link), 0)
}

/// Creates a bridge and brings it up.
pub fn bridge(name: &str) -> io::Result<()> {
    let mut link = LinkMessage::default();
    link.attributes.push(LinkAttribute::IfName(name.into()));
    link.attributes.push(LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Bridge)]));
    netlink_request(RouteNetlinkMessage::NewLink(link), NLM_F_CREATE | NLM_F_EXCL)?;
    netlink_request(RouteNetlinkMessage::SetLink(state(name, true)?), 0)
}

/// Plugs a cable in or out at this end: without it the other end has no carrier.
pub fn plug(name: &str, plugged: bool) -> io::Result<()> {
    netlink_request(RouteNetlinkMessage::SetLink(state(name, plugged)?), 0)
}

/// Sets the MTU of an interface (bytes).
pub fn mtu(name: &str, bytes: u32) -> io::Result<()> {
    let mut link = LinkMessage::default();
    link.header.index = if_nametoindex(name)?;
    link.attributes.push(LinkAttribute::Mtu(bytes));
    netlink_request(RouteNetlinkMessage::SetLink(link), 0)
}

fn state(name: &str, up: bool) -> io::Result<LinkMessage> {
    let mut link = LinkMessage::default();
    link.header.index = if_nametoindex(name)?;
    link.header.flags = if up { LinkFlags::Up } else { LinkFlags::empty() };
    link.header.change_mask = LinkFlags::Up;
    Ok(link)
}

pub fn address(name: &str, own: Ipv4Addr, prefix: u8) -> io::Result<()> {
    let mut message = AddressMessage::default();
    message.header.family = AddressFamily::Inet;
    message.header.prefix_len = prefix;
    message.header.index = if_nametoindex(name)?;
    message.attributes.push(AddressAttribute::Local(IpAddr::V4(own)));
    message.attributes.push(AddressAttribute::Address(IpAddr::V4(own)));
    netlink_request(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL)
}

/// Next hop of a route.
#[derive(Clone, Copy, Debug)]
pub enum NextHop {
    Via(Ipv4Addr),
    /// The destinations are addresses of this host.
    Local,
}

/// Sets a route to a network (`None`: default) in a table, with an MTU if there is one (bytes).
/// Replaces the previous one.
pub fn route(
    table: u8,
    to: Option<(Ipv4Addr, u8)>,
    way: NextHop,
    mtu: Option<u32>,
) -> io::Result<()> {
    let mut message = RouteMessage::default();
    message.header.address_family = AddressFamily::Inet;
    message.header.table = table;
    message.header.protocol = RouteProtocol::Static;
    if let Some((network, prefix)) = to {
        message.header.destination_prefix_length = prefix;
        message.attributes.push(RouteAttribute::Destination(RouteAddress::Inet(network)));
    }
    match way {
        NextHop::Via(router) => {
            message.header.kind = RouteType::Unicast;
            message.attributes.push(RouteAttribute::Gateway(RouteAddress::Inet(router)));
        }
        NextHop::Local => {
            message.header.kind = RouteType::Local;
            message.header.scope = RouteScope::Host;
            message.attributes.push(RouteAttribute::Oif(if_nametoindex("lo")?));
        }
    }
    message.attributes.extend(mtu.map(|mtu| RouteAttribute::Metrics(vec![RouteMetric::Mtu(mtu)])));
    netlink_request(RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_REPLACE)
}

/// Removes a route to a network from the main table.
pub fn unroute((network, prefix): (Ipv4Addr, u8)) -> io::Result<()> {
    let mut message = RouteMessage::default();
    message.header.address_family = AddressFamily::Inet;
    message.header.table = MAIN;
    message.header.scope = RouteScope::NoWhere;
    message.header.destination_prefix_length = prefix;
    message.attributes.push(RouteAttribute::Destination(RouteAddress::Inet(network)));
    netlink_request(RouteNetlinkMessage::DelRoute(message), 0)
}

/// Sets metrics for connections to a neighbour, until the interface goes down.
pub fn metrics(to: Ipv4Addr, interface: &str, metrics: Vec<RouteMetric>) -> io::Result<()> {
    let mut message = RouteMessage::default();
    message.header.address_family = AddressFamily::Inet;
    message.header.table = MAIN;
    message.header.protocol = RouteProtocol::Static;
    message.header.kind = RouteType::Unicast;
    message.header.scope = RouteScope::Link;
    message.header.destination_prefix_length = 32;
    message.attributes = vec![
        RouteAttribute::Destination(RouteAddress::Inet(to)),
        RouteAttribute::Oif(if_nametoindex(interface)?),
        RouteAttribute::Metrics(metrics),
    ];
    netlink_request(RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_EXCL)
}

/// Adds a policy rule that selects a table.
pub fn rule(matches: RuleAttribute, table: u8) -> io::Result<()> {
    netlink_request(
        RouteNetlinkMessage::NewRule(policy(matches, RuleAction::ToTable, table)),
        NLM_F_CREATE,
    )
}

fn policy(matches: RuleAttribute, action: RuleAction, table: u8) -> RuleMessage {
    let mut message = RuleMessage::default();
    message.header.family = AddressFamily::Inet;
    message.header.action = action;
    message.header.table = table;
    if matches!(matches, RuleAttribute::Source(_)) {
        message.header.src_len = 32;
    }
    message.attributes.push(matches);
    message.attributes.push(RuleAttribute::Priority(100));
    message
}

/// Limits the output rate of an interface (bytes/s) behind a queue (bytes), by a token bucket.
pub fn shape(name: &str, rate: u32, queue: u32) -> io::Result<()> {
    // Two packets at once.
    let burst: u32 = 3100;
    // `struct tc_tbf_qopt`: two of `struct tc_ratespec`, limit, buffer, mtu.
    let mut qopt = [0; 36];
    // Ethernet: rates are computed, not looked up.
    qopt[1] = 1;
    qopt[8..12].copy_from_slice(&rate.to_ne_bytes());
    qopt[24..28].copy_from_slice(&queue.to_ne_bytes());
    let mut options = Vec::new();
    for (kind, value) in [(1_u16, &qopt[..]), (6, &burst.to_ne_bytes())] {
        options.extend((4 + value.len() as u16).to_ne_bytes());
        options.extend(kind.to_ne_bytes());
        options.extend(value);
    }
    let message = queue_discipline(name, "tbf", options)?;
    netlink_request(RouteNetlinkMessage::NewQueueDiscipline(message), NLM_F_CREATE | NLM_F_EXCL)
}

/// Has an interface refuse all packets: its queue has room for none.
pub fn refuse(name: &str) -> io::Result<()> {
    // `struct tc_fifo_qopt`: the limit.
    let message = queue_discipline(name, "pfifo", vec![0; 4])?;
    netlink_request(RouteNetlinkMessage::NewQueueDiscipline(message), NLM_F_CREATE | NLM_F_EXCL)
}

/// Ends what [`shape`] or [`refuse`] has begun.
pub fn release(name: &str) -> io::Result<()> {
    let mut message = TcMessage::with_index(if_nametoindex(name)? as i32);
    message.header.parent = TcHandle::ROOT;
    netlink_request(RouteNetlinkMessage::DelQueueDiscipline(message), 0)
}

fn queue_discipline(name: &str, kind: &str, options: Vec<u8>) -> io::Result<TcMessage> {
    let mut message = TcMessage::with_index(if_nametoindex(name)? as i32);
    message.header.parent = TcHandle::ROOT;
    message.attributes.push(TcAttribute::Kind(kind.into()));
    message.attributes.push(TcAttribute::Other(DefaultNla::new(2, options)));
    Ok(message)
}

/// The way in which a router drops packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Notified by an ICMP error.
    Notified,
    #[allow(dead_code, reason = "used by the bench only")]
    Silent,
}

/// A namespace that forwards between these interfaces.
pub struct Router {
    pub namespace: Namespace,
    interfaces: [&'static str; 2],
}

impl Router {
    pub fn new(interfaces: [&'static str; 2]) -> io::Result<Self> {
        let namespace = Namespace::new()?;
        namespace.set_sysctl("net/ipv4/ip_forward", "1")?;
        // Each dropped packet draws an ICMP message.
        namespace.set_sysctl("net/ipv4/icmp_ratelimit", "0")?;
        Ok(Self { namespace, interfaces })
    }

    /// Stops forwarding in both directions.
    pub fn block(&self, cut: Cut) {
        self.change(cut, |rule| netlink_request(RouteNetlinkMessage::NewRule(rule), NLM_F_CREATE));
    }

    /// Resumes forwarding.
    pub fn unblock(&self, cut: Cut) {
        self.change(cut, |rule| netlink_request(RouteNetlinkMessage::DelRule(rule), 0));
    }

    fn change(&self, cut: Cut, apply: impl Fn(RuleMessage) -> io::Result<()> + Sync) {
        let action = match cut {
            Cut::Notified => RuleAction::Unreachable,
            Cut::Silent => RuleAction::Blackhole,
        };
        let each = || {
            self.interfaces.iter().try_for_each(|name| {
                // The router's own packets are not affected: they have no input interface.
                let arrived_by = RuleAttribute::Iifname((*name).into());
                apply(policy(arrived_by, action, 0))
            })
        };
        self.namespace.run(each).unwrap().unwrap();
    }
}

/// Port of all servers.
pub const PORT: u16 = 7000;
/// The server's address, behind either router.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
pub const HERE: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 1, 0, 1), Ipv4Addr::new(10, 2, 0, 1)];
pub const GATEWAYS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 1, 0, 2), Ipv4Addr::new(10, 2, 0, 2)];
/// Interfaces of the host, and of a router.
pub const UPLINKS: [&str; 2] = ["first", "second"];
pub const SIDES: [&str; 2] = ["hosts", "servers"];
/// The table with routes over the second router.
pub const SECOND: u8 = 7;
/// Silence after which a connection has failed.
const PATIENCE: Duration = Duration::from_secs(15);
/// Rate of each link (bytes/s), and its queue (bytes), which is longer than the server's window.
const RATE: u32 = 1_250_000;
const QUEUE: u32 = 200_000;

/// A host with two interfaces, a router behind each, and a server behind both. Without a matching
/// policy rule the first one is used.
pub struct TwoLinkNetwork {
    pub host: Namespace,
    pub routers: [Router; 2],
    pub server: Namespace,
}

impl TwoLinkNetwork {
    pub fn new() -> io::Result<Self> {
        Self::with_rate(RATE, QUEUE)
    }

    /// Links with this rate towards the server (bytes/s), and this queue (bytes).
    pub fn with_rate(rate: u32, queue: u32) -> io::Result<Self> {
        let (host, server) = (Namespace::new()?, Namespace::new()?);
        let routers = [Router::new(SIDES)?, Router::new(SIDES)?];
        server.run(|| address("lo", SERVER, 32))??;
        // A path with so short an RTT must not carry more than a test can bear.
        server.set_sysctl("net/ipv4/tcp_rmem", "4096 131072 131072")?;
        for (n, router) in (1..).zip(&routers) {
            let [near, far] = [0, 1].map(|side| Ipv4Addr::new(10, n, side, 0));
            let at = |network: Ipv4Addr, host: u32| Ipv4Addr::from(u32::from(network) + host);
            let name = UPLINKS[usize::from(n) - 1];
            let inside = &router.namespace;
            cable([(&host, name, at(near, 1)), (inside, SIDES[0], at(near, 2))])?;
            cable([(inside, SIDES[1], at(far, 1)), (&server, name, at(far, 2))])?;
            inside.run(|| {
                shape(SIDES[1], rate, queue)?;
                route(MAIN, Some((SERVER, 32)), NextHop::Via(at(far, 2)), None)
            })??;
            server.run(|| route(MAIN, Some((near, 24)), NextHop::Via(at(far, 1)), None))??;
            let table = [MAIN, SECOND][usize::from(n) - 1];
            host.run(|| route(table, None, NextHop::Via(at(near, 2)), None))??;
        }
        Ok(Self { host, routers, server })
    }

    /// A listening socket of the server.
    pub fn listen(&self, port: u16) -> TcpListener {
        let listener = self.server.run(|| TcpListener::bind((SERVER, port))).unwrap().unwrap();
        SockRef::from(&listener).set_read_timeout(Some(PATIENCE)).unwrap();
        listener
    }

    /// Plugs the cable of one of the interfaces in or out.
    pub fn plug(&self, way: usize, plugged: bool) {
        self.routers[way].namespace.run(|| plug(SIDES[0], plugged)).unwrap().unwrap();
    }
}

/// A TCP socket opened by this user.
pub fn socket(uid: u32) -> io::Result<Socket> {
    // For this thread only.
    setfsuid(Uid::from_raw(uid));
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    setfsuid(Uid::from_raw(0));
    socket.set_write_timeout(Some(PATIENCE))?;
    Ok(socket)
}
