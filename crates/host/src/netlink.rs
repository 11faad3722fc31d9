//! Single netlink requests.

use std::fmt::Debug;
use std::io;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader, NetlinkMessage, NetlinkPayload,
    NetlinkSerializable,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

/// Index of the loopback interface in every namespace.
const LOOPBACK: u32 = 1;

/// Sends `message` to `protocol` of the calling thread's namespace and returns the answer, `None`
/// for a bare acknowledgment.
pub fn request<M>(protocol: isize, message: M, flags: u16) -> io::Result<Option<M>>
where
    M: NetlinkSerializable + NetlinkDeserializable + Debug,
{
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | flags;
    let mut question = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(message));
    question.finalize();
    let mut bytes = vec![0; question.buffer_len()];
    question.serialize(&mut bytes);

    let mut socket = Socket::new(protocol)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    socket.send(&bytes, 0)?;
    let (answer, _) = socket.recv_from_full()?;
    let answer = NetlinkMessage::<M>::deserialize(&answer)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
    match answer.payload {
        NetlinkPayload::InnerMessage(message) => Ok(Some(message)),
        NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
        _ => Ok(None),
    }
}

/// Brings up the loopback interface of the calling thread's namespace.
pub fn loopback_up() -> io::Result<()> {
    let mut link = LinkMessage::default();
    link.header.index = LOOPBACK;
    link.header.flags = LinkFlags::Up;
    link.header.change_mask = LinkFlags::Up;
    request(NETLINK_ROUTE, RouteNetlinkMessage::SetLink(link), NLM_F_ACK)?;
    Ok(())
}

/// Packets that the kernel dropped on sending over an interface of the calling thread's namespace.
pub fn tx_dropped(index: u32) -> io::Result<u64> {
    let mut link = LinkMessage::default();
    link.header.index = index;
    let answer = request(NETLINK_ROUTE, RouteNetlinkMessage::GetLink(link), 0)?;
    let Some(RouteNetlinkMessage::NewLink(link)) = answer else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "no answer about an interface"));
    };
    let dropped = link.attributes.iter().find_map(|attribute| match attribute {
        LinkAttribute::Stats64(stats) => Some(stats.tx_dropped),
        _ => None,
    });
    dropped.ok_or_else(|| io::ErrorKind::Unsupported.into())
}
