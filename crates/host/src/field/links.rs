//! What this host knows by itself: which destinations have a route over a link that works.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use base::{FlowKey, Ipv4Addr};
use netlink_packet_core::NLM_F_REQUEST;
use netlink_packet_route::link::{LinkFlags, LinkMessage};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, protocols::NETLINK_ROUTE};
use nix::sys::socket::{MsgFlags, recv};

use crate::netlink::ask;

/// Groups of news (linux/rtnetlink.h): links, IPv4 addresses, IPv4 routes.
const GROUPS: [u32; 3] = [1, 5, 7];

/// Whom this host can send to, as far as it knows itself.
pub struct Links {
    news: Socket,
    /// Destinations without a way, in order.
    dead: Vec<Ipv4Addr>,
}

impl Links {
    /// Of the calling thread's namespace.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn watch() -> io::Result<Self> {
        let mut news = Socket::new(NETLINK_ROUTE)?;
        news.bind_auto()?;
        news.set_non_blocking(true)?;
        // Which news there are does not matter, so none can be missed.
        news.set_no_enobufs(true)?;
        for group in GROUPS {
            news.add_membership(group)?;
        }
        Ok(Self { news, dead: Vec::new() })
    }

    /// Is it known that this host can't send there?
    pub fn is_dead(&self, destination: Ipv4Addr) -> bool {
        self.dead.binary_search(&destination).is_ok()
    }

    /// Has something changed since the last call?
    ///
    /// # Errors
    /// What the kernel says.
    pub fn has_news(&mut self) -> io::Result<bool> {
        let mut news = false;
        let mut buffer = [0; 64];
        loop {
            // Cut to the buffer: only that there is something counts.
            match recv(self.news.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT) {
                Ok(_) => news = true,
                Err(nix::errno::Errno::EAGAIN) => return Ok(news),
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// What has become of the ways of these flows: (destination, there is one now) for each change.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn review(&mut self, flows: &mut Vec<FlowKey>) -> io::Result<Vec<(Ipv4Addr, bool)>> {
        let ends = |key: &FlowKey| (key.destination.address, key.source.address);
        flows.sort_by_key(ends);
        flows.dedup_by_key(|key| ends(key));
        let mut dead = Vec::new();
        let mut changes = Vec::new();
        for (destination, source) in flows.iter().map(ends) {
            let alive = has_way(source, destination)?;
            if !alive && dead.last() != Some(&destination) {
                dead.push(destination);
            }
        }
        let known = flows.iter().map(|key| key.destination.address);
        for destination in known {
            let lives = |dead: &[Ipv4Addr]| dead.binary_search(&destination).is_err();
            let (was, is) = (lives(&self.dead), lives(&dead));
            if was != is && changes.last() != Some(&(destination, is)) {
                changes.push((destination, is));
            }
        }
        self.dead = dead;
        Ok(changes)
    }
}

impl AsFd for Links {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.news.as_fd()
    }
}

/// Is there a route from this address to that one, over an interface that is up and running?
fn has_way(source: Ipv4Addr, destination: Ipv4Addr) -> io::Result<bool> {
    let mut question = RouteMessage::default();
    question.header.address_family = AddressFamily::Inet;
    question.header.destination_prefix_length = 32;
    question.header.source_prefix_length = 32;
    question.attributes.push(RouteAttribute::Destination(RouteAddress::Inet(destination)));
    question.attributes.push(RouteAttribute::Source(RouteAddress::Inet(source)));
    let answer = ask(NETLINK_ROUTE, RouteNetlinkMessage::GetRoute(question), NLM_F_REQUEST);
    let route = match answer {
        Ok(Some(RouteNetlinkMessage::NewRoute(route))) => route,
        Ok(other) => return Err(unexpected(&other)),
        // No route, or (EINVAL) the address is none of this host's any more.
        Err(error) if error.raw_os_error().is_some() => return Ok(false),
        Err(error) => return Err(error),
    };
    let interface = route.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Oif(index) => Some(*index),
        _ => None,
    });
    let Some(index) = interface else { return Ok(false) };
    let mut link = LinkMessage::default();
    link.header.index = index;
    match ask(NETLINK_ROUTE, RouteNetlinkMessage::GetLink(link), NLM_F_REQUEST) {
        Ok(Some(RouteNetlinkMessage::NewLink(link))) => {
            Ok(link.header.flags.contains(LinkFlags::Up | LinkFlags::Running))
        }
        Ok(other) => Err(unexpected(&other)),
        Err(error) if error.raw_os_error().is_some() => Ok(false),
        Err(error) => Err(error),
    }
}

fn unexpected(answer: &Option<RouteNetlinkMessage>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not an answer about a route: {answer:?}"))
}
