//! Single netlink requests.

use std::fmt::Debug;
use std::io;
use std::net::IpAddr;
use std::os::fd::RawFd;
use std::thread;
use std::time::Duration;

use driftway_base::Ipv4Addr;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REQUEST, NetlinkDeserializable,
    NetlinkHeader, NetlinkMessage, NetlinkPayload, NetlinkSerializable,
};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage, State,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

/// Index of the loopback interface in every namespace.
const LOOPBACK: u32 = 1;
/// Interval and number of checks whether an interface is active again.
const ACTIVATION_POLL_INTERVAL: Duration = Duration::from_micros(200);
const ACTIVATION_POLLS_MAX: u32 = 5000;

/// Sends `message` to `protocol` of the calling thread's namespace and returns the answer, `None`
/// for a bare acknowledgment.
pub fn request<M>(protocol: isize, message: M, flags: u16) -> io::Result<Option<M>>
where
    M: NetlinkSerializable + NetlinkDeserializable + Debug,
{
    request_on(&open(protocol)?, message, flags)
}

/// Opens a socket for requests in the calling thread's namespace.
pub fn open(protocol: isize) -> io::Result<Socket> {
    let mut socket = Socket::new(protocol)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    Ok(socket)
}

/// Sends `message` in the namespace of the socket, and returns the answer.
fn request_on<M>(socket: &Socket, message: M, flags: u16) -> io::Result<Option<M>>
where
    M: NetlinkSerializable + NetlinkDeserializable + Debug,
{
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | flags;
    send_on(socket, header, message)?;
    let (answer, _) = socket.recv_from_full()?;
    let answer = NetlinkMessage::<M>::deserialize(&answer)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
    match answer.payload {
        NetlinkPayload::InnerMessage(message) => Ok(Some(message)),
        NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
        _ => Ok(None),
    }
}

/// Sends a request for many answers in the namespace of the socket, and calls `take` with each.
///
/// # Errors
/// Any error of the kernel.
pub fn dump_on<M>(socket: &Socket, message: M, mut take: impl FnMut(M)) -> io::Result<()>
where
    M: NetlinkSerializable + NetlinkDeserializable + Debug,
{
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    send_on(socket, header, message)?;
    let mut is_done = false;
    while !is_done {
        let (answers, _) = socket.recv_from_full()?;
        for answer in messages::<M>(&answers) {
            match answer?.payload {
                NetlinkPayload::InnerMessage(message) => take(message),
                NetlinkPayload::Done(_) => is_done = true,
                NetlinkPayload::Error(error) if error.code.is_some() => return Err(error.to_io()),
                _ => {}
            }
        }
    }
    Ok(())
}

/// The messages of a datagram of netlink.
pub fn messages<M: NetlinkDeserializable>(
    mut bytes: &[u8],
) -> impl Iterator<Item = io::Result<NetlinkMessage<M>>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let message = NetlinkMessage::<M>::deserialize(bytes);
        // Each begins at a multiple of four bytes (netlink(7)).
        let len = message.as_ref().map_or(bytes.len(), |of| of.header.length as usize);
        bytes = bytes.get(len.max(4).next_multiple_of(4)..).unwrap_or_default();
        let invalid = |error: netlink_packet_core::DecodeError| {
            io::Error::new(io::ErrorKind::InvalidData, error.to_string())
        };
        Some(message.map_err(invalid))
    })
}

fn send_on<M>(socket: &Socket, header: NetlinkHeader, message: M) -> io::Result<()>
where
    M: NetlinkSerializable + Debug,
{
    let mut question = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(message));
    question.finalize();
    let mut bytes = vec![0; question.buffer_len()];
    question.serialize(&mut bytes);
    socket.send(&bytes, 0).map(drop)
}

/// Brings up the loopback interface of the calling thread's namespace.
pub fn loopback_up() -> io::Result<()> {
    link_up(LOOPBACK)
}

/// The carrier of an interface, which can be switched from any namespace.
pub struct CarrierSwitch {
    socket: Socket,
    index: u32,
}

impl CarrierSwitch {
    /// A switch for an interface of the calling thread's namespace.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn open(index: u32) -> io::Result<Self> {
        Ok(Self { socket: open(NETLINK_ROUTE)?, index })
    }

    /// Gives the interface a carrier, or takes it away, and makes the kernel report that at once. By
    /// itself it reports carriers at most once a second for all interfaces of a machine, so that on
    /// one with many networks an outage could be over before it is reported. Waits for any process
    /// that changes a link.
    ///
    /// # Errors
    /// The device's carrier cannot be changed (a TUN device's can since Linux 5.0), or any other
    /// error of the kernel.
    pub fn set(&self, is_on: bool) -> io::Result<()> {
        self.change(LinkAttribute::Carrier(u8::from(is_on)))?;
        if is_on {
            self.wait_until_active()?;
        }
        // A change of the alias is reported with the interface's state.
        let alias = if is_on { "carrier" } else { "no carrier" };
        self.change(LinkAttribute::IfAlias(alias.into()))
    }

    /// Packets that the kernel dropped on sending over the interface.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn tx_dropped(&self) -> io::Result<u64> {
        tx_dropped_on(&self.socket, self.index)
    }

    fn change(&self, attribute: LinkAttribute) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = self.index;
        link.attributes = vec![attribute];
        request_on(&self.socket, RouteNetlinkMessage::SetLink(link), NLM_F_ACK)?;
        Ok(())
    }

    /// Waits until the kernel sends packets over the interface again: until then it drops them.
    fn wait_until_active(&self) -> io::Result<()> {
        for _ in 0..ACTIVATION_POLLS_MAX {
            let mut link = LinkMessage::default();
            link.header.index = self.index;
            let answer = request_on(&self.socket, RouteNetlinkMessage::GetLink(link), 0)?;
            let Some(RouteNetlinkMessage::NewLink(link)) = answer else { break };
            if !link.attributes.contains(&LinkAttribute::OperState(State::Down)) {
                break;
            }
            thread::sleep(ACTIVATION_POLL_INTERVAL);
        }
        Ok(())
    }
}

/// Packets that the kernel dropped on sending over an interface of the calling thread's namespace.
pub fn tx_dropped(index: u32) -> io::Result<u64> {
    tx_dropped_on(&open(NETLINK_ROUTE)?, index)
}

fn tx_dropped_on(socket: &Socket, index: u32) -> io::Result<u64> {
    let mut link = LinkMessage::default();
    link.header.index = index;
    let answer = request_on(socket, RouteNetlinkMessage::GetLink(link), 0)?;
    let Some(RouteNetlinkMessage::NewLink(link)) = answer else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "no answer about an interface"));
    };
    let dropped = link.attributes.iter().find_map(|attribute| match attribute {
        LinkAttribute::Stats64(stats) => Some(stats.tx_dropped),
        _ => None,
    });
    dropped.ok_or_else(|| io::ErrorKind::Unsupported.into())
}

/// Brings an interface of the calling thread's namespace up.
pub fn link_up(index: u32) -> io::Result<()> {
    let mut link = LinkMessage::default();
    link.header.index = index;
    link.header.flags = LinkFlags::Up;
    link.header.change_mask = LinkFlags::Up;
    request(NETLINK_ROUTE, RouteNetlinkMessage::SetLink(link), NLM_F_ACK)?;
    Ok(())
}

/// Creates a pair of interfaces: one in the calling thread's namespace, and its peer in another.
pub fn add_veth(name: &str, peer: &str, namespace: RawFd) -> io::Result<()> {
    let mut other = LinkMessage::default();
    other.attributes = vec![LinkAttribute::IfName(peer.into()), LinkAttribute::NetNsFd(namespace)];
    let mut link = LinkMessage::default();
    link.attributes = vec![
        LinkAttribute::IfName(name.into()),
        LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(other))),
        ]),
    ];
    create(RouteNetlinkMessage::NewLink(link))
}

/// Adds an address to an interface of the calling thread's namespace.
pub fn add_address(index: u32, address: IpAddr, prefix: u8) -> io::Result<()> {
    let mut message = AddressMessage::default();
    message.header.family = family(address);
    message.header.prefix_len = prefix;
    message.header.index = index;
    if address.is_ipv6() {
        // It is nobody else's, and can be used at once.
        message.header.flags = AddressHeaderFlags::Nodad;
    }
    message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
    create(RouteNetlinkMessage::NewAddress(message))
}

/// Adds a route of the calling thread's namespace over an interface: to a network, or the default route of IPv4.
pub fn add_route(
    to: Option<(IpAddr, u8)>,
    gateway: Option<Ipv4Addr>,
    index: u32,
) -> io::Result<()> {
    let mut message = RouteMessage::default();
    message.header.address_family = to.map_or(AddressFamily::Inet, |(network, _)| family(network));
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.header.protocol = RouteProtocol::Boot;
    message.header.kind = RouteType::Unicast;
    message.header.scope = if gateway.is_some() { RouteScope::Universe } else { RouteScope::Link };
    message.attributes = vec![RouteAttribute::Oif(index)];
    if let Some((network, prefix)) = to {
        message.header.destination_prefix_length = prefix;
        message.attributes.push(RouteAttribute::Destination(network.into()));
    }
    message.attributes.extend(gateway.map(|by| RouteAttribute::Gateway(RouteAddress::Inet(by))));
    create(RouteNetlinkMessage::NewRoute(message))
}

const fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}

fn create(message: RouteNetlinkMessage) -> io::Result<()> {
    request(NETLINK_ROUTE, message, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL)?;
    Ok(())
}
