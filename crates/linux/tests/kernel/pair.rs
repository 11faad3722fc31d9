//! Two namespaces joined by a veth pair, whose cable can be unplugged.

use std::fmt::Debug;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, AsRawFd};

use driftway_linux::Namespace;
use netlink_packet_core::{NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST};
use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use nix::net::if_::if_nametoindex;

pub const DEVICE: &str = "cable0";
pub const HERE: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
pub const THERE: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);

/// Sends a netlink request to the kernel of the calling thread's namespace.
pub fn netlink_request(message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
    let mut message = NetlinkMessage::from(message);
    message.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    socket.send(&bytes, 0)?;
    let (answer, _) = socket.recv_from_full()?;
    let answer =
        NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer).map_err(invalid_data)?;
    match answer.payload {
        NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
        _ => Ok(()),
    }
}

fn invalid_data(error: impl Debug) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{error:?}"))
}

/// Near and far end; with `offload` the pair carries packets of 64 KB, without it none beyond its
/// MTU.
pub fn pair(offload: bool) -> io::Result<[Namespace; 2]> {
    let [near, far] = [Namespace::new()?, Namespace::new()?];
    near.run(|| join(DEVICE, &far))??;
    for (namespace, address) in [(&near, HERE), (&far, THERE)] {
        namespace.run(|| up(address, offload))??;
    }
    Ok([near, far])
}

/// Joins the calling thread's namespace, by a device of this name, to [`DEVICE`] of another.
pub fn join(name: &str, far: &Namespace) -> io::Result<()> {
    veth(name, far, DEVICE)
}

/// A veth pair from here to another namespace.
pub fn veth(name: &str, far: &Namespace, far_name: &str) -> io::Result<()> {
    let mut peer = LinkMessage::default();
    peer.attributes.push(LinkAttribute::IfName(far_name.into()));
    peer.attributes.push(LinkAttribute::NetNsFd(far.as_fd().as_raw_fd()));
    let mut link = LinkMessage::default();
    link.attributes.push(LinkAttribute::IfName(name.into()));
    link.attributes.push(LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(InfoKind::Veth),
        LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
    ]));
    netlink_request(RouteNetlinkMessage::NewLink(link), NLM_F_CREATE | NLM_F_EXCL)
}

/// Brings [`DEVICE`] of the calling thread's namespace up, with an address.
pub fn up(address: Ipv4Addr, offload: bool) -> io::Result<()> {
    let index = if_nametoindex(DEVICE)?;
    let mut own = AddressMessage::default();
    own.header.family = AddressFamily::Inet;
    own.header.prefix_len = 24;
    own.header.index = index;
    own.attributes.push(AddressAttribute::Local(IpAddr::V4(address)));
    own.attributes.push(AddressAttribute::Address(IpAddr::V4(address)));
    netlink_request(RouteNetlinkMessage::NewAddress(own), NLM_F_CREATE | NLM_F_EXCL)?;
    let mut link = LinkMessage::default();
    link.header.index = index;
    link.header.flags = LinkFlags::Up;
    link.header.change_mask = LinkFlags::Up;
    if !offload {
        link.attributes.push(LinkAttribute::GsoMaxSegs(1));
    }
    netlink_request(RouteNetlinkMessage::SetLink(link), 0)
}

/// Plugs the cable in or out at the end of the calling thread's namespace.
pub fn plug(plugged: bool) -> io::Result<()> {
    let mut link = LinkMessage::default();
    link.header.index = if_nametoindex(DEVICE)?;
    link.header.flags = if plugged { LinkFlags::Up } else { LinkFlags::empty() };
    link.header.change_mask = LinkFlags::Up;
    netlink_request(RouteNetlinkMessage::SetLink(link), 0)
}
