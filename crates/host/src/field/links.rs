//! What this host knows by itself: which connections have no way to send over.
//!
//! No table is asked where a packet would go: rules may look at a socket's mark, device or owner, at
//! interfaces and at what the firewall has made of the packet. The local TCP sends one, which does not
//! leave, and the interface at which it arrives is the answer ([`Carriers`](super::carriers::Carriers)).

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use base::{Duration, FlowKey, Instant};
use netlink_packet_core::NLM_F_REQUEST;
use netlink_packet_route::link::{LinkFlags, LinkMessage};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, protocols::NETLINK_ROUTE};
use nix::errno::Errno;
use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::sys::socket::{MsgFlags, recv};

use crate::diag::owner;
use crate::netlink::ask;

/// Groups of news (linux/rtnetlink.h): links, IPv4 addresses, IPv4 routes.
const GROUPS: [u32; 3] = [1, 5, 7];
/// TCP, as IP numbers protocols.
const TCP: u8 = 6;
/// How long an answer may take: the local TCP gives it at once, unless its socket is in use.
const PATIENCE: Duration = Duration::from_millis(50);
/// What has no way is looked at again so often, whatever news there are.
const AGAIN: Duration = Duration::from_secs(1);
/// From one look to the next: so much, and so much more for each flow, because on some hosts there are
/// always news.
const REST: Duration = Duration::from_millis(100);
const REST_PER_FLOW: Duration = Duration::from_millis(1);

/// Which flows this host can't send, for certain.
pub struct Links {
    news: Socket,
    changed: bool,
    dead: BTreeSet<FlowKey>,
    /// When the dead are looked at again, and when all may be.
    again: Instant,
    earliest: Instant,
    look: Option<Look>,
}

/// A look at where packets leave.
#[derive(Debug)]
struct Look {
    until: Instant,
    /// By flow, the interface; `None`: nothing was seen yet.
    seen: BTreeMap<FlowKey, Option<u32>>,
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
        let (dead, zero) = (BTreeSet::new(), Instant::ZERO);
        Ok(Self { news, changed: false, dead, again: zero, earliest: zero, look: None })
    }

    /// Is any flow without a way?
    pub fn know_dead(&self) -> bool {
        !self.dead.is_empty()
    }

    /// Is it known for certain that this host can't send this flow?
    pub fn is_dead(&self, flow: FlowKey) -> bool {
        self.dead.contains(&flow)
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
                Err(Errno::EAGAIN) => break,
                Err(errno) => return Err(errno.into()),
            }
        }
        self.changed |= news;
        Ok(news)
    }

    /// Is it time to look where packets leave?
    pub fn wants_review(&self, now: Instant) -> bool {
        let due = self.changed || self.know_dead() && now >= self.again;
        due && self.look.is_none() && now >= self.earliest
    }

    /// Each of these flows is about to send a packet that shows where it leaves.
    pub fn look_at(&mut self, now: Instant, flows: &[FlowKey]) {
        self.changed = false;
        self.again = now + AGAIN;
        self.earliest = now + REST + REST_PER_FLOW.times(flows.len() as u64);
        let look = self.look.get_or_insert_with(|| Look { until: now, seen: BTreeMap::new() });
        look.until = now + PATIENCE;
        look.seen.extend(flows.iter().map(|flow| (*flow, None)));
    }

    /// Is there a look at this flow, whose answer is still to come?
    pub fn looks_at(&self, flow: FlowKey) -> bool {
        self.look.as_ref().is_some_and(|look| look.seen.contains_key(&flow))
    }

    /// A packet of this flow would leave by that interface.
    pub fn on_seen(&mut self, flow: FlowKey, interface: u32) {
        let seen = self.look.as_mut().and_then(|look| look.seen.get_mut(&flow));
        if let Some(seen) = seen {
            *seen = Some(interface);
        }
    }

    /// When there is something to conclude, or to look at again.
    pub fn next_timeout(&self) -> Option<Instant> {
        let again = self.know_dead().then_some(self.again.max(self.earliest));
        let changed = self.changed.then_some(self.earliest);
        let rest = changed.into_iter().chain(again).min();
        self.look.as_ref().map(|look| look.until).or(rest)
    }

    /// What the look has shown: (flow, it has a way now) for each change. Nothing before all have
    /// answered, or their time is over.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn conclude(&mut self, now: Instant) -> io::Result<Vec<(FlowKey, bool)>> {
        let complete = |look: &Look| now >= look.until || look.seen.values().all(Option::is_some);
        let Some(look) = self.look.take_if(|look| complete(look)) else { return Ok(Vec::new()) };
        let mut running = BTreeMap::new();
        let mut changes = Vec::new();
        let was = std::mem::take(&mut self.dead);
        for (flow, seen) in look.seen {
            let dead = match seen {
                Some(index) => match running.get(&index) {
                    Some(runs) => !runs,
                    None => {
                        let runs = is_running(index)?;
                        running.insert(index, runs);
                        !runs
                    }
                },
                None => self.has_no_route(flow)?,
            };
            if dead {
                self.dead.insert(flow);
            }
            if dead != was.contains(&flow) {
                changes.push((flow, !dead));
            }
        }
        Ok(changes)
    }

    /// Is it certain that the kernel has no route for this flow's socket? An error of any other kind
    /// says nothing, nor does any where the source is none of this host's addresses: a transparent
    /// socket may send from it, and whoever asks from outside may not.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn has_no_route(&self, flow: FlowKey) -> io::Result<bool> {
        let FlowKey { source, destination } = flow;
        let end = |end: base::Endpoint| SocketAddrV4::new(end.address, end.port);
        if !is_own(source.address)? {
            return Ok(false);
        }
        // A socket that is bound to a device is not found, and not asked about.
        let Ok(owner) = owner(end(source), end(destination)) else { return Ok(false) };
        let mut question = RouteMessage::default();
        question.header.address_family = AddressFamily::Inet;
        question.header.destination_prefix_length = 32;
        question.header.source_prefix_length = 32;
        question.header.tos = owner.tos;
        question.attributes = vec![
            RouteAttribute::Destination(RouteAddress::Inet(destination.address)),
            RouteAttribute::Source(RouteAddress::Inet(source.address)),
            RouteAttribute::Mark(owner.mark),
            RouteAttribute::Uid(owner.uid),
            RouteAttribute::IpProto(TCP),
            RouteAttribute::Sport(source.port),
            RouteAttribute::Dport(destination.port),
        ];
        let none = [Errno::ENETUNREACH, Errno::EHOSTUNREACH, Errno::EACCES];
        match ask(NETLINK_ROUTE, RouteNetlinkMessage::GetRoute(question), NLM_F_REQUEST) {
            Ok(_) => Ok(false),
            Err(error) => match error.raw_os_error() {
                Some(number) => Ok(none.contains(&Errno::from_raw(number))),
                None => Err(error),
            },
        }
    }
}

impl AsFd for Links {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.news.as_fd()
    }
}

/// Has any interface this address?
fn is_own(address: Ipv4Addr) -> io::Result<bool> {
    let own = |interface: InterfaceAddress| Some(interface.address?.as_sockaddr_in()?.ip());
    Ok(getifaddrs()?.filter_map(own).any(|own| own == address))
}

/// Is this interface up, and does its link work? One that is gone does not.
fn is_running(index: u32) -> io::Result<bool> {
    let mut link = LinkMessage::default();
    link.header.index = index;
    match ask(NETLINK_ROUTE, RouteNetlinkMessage::GetLink(link), NLM_F_REQUEST) {
        Ok(Some(RouteNetlinkMessage::NewLink(link))) => {
            Ok(link.header.flags.contains(LinkFlags::Up | LinkFlags::Running))
        }
        Ok(other) => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("not an answer about an interface: {other:?}"),
        )),
        Err(error) if error.raw_os_error() == Some(Errno::ENODEV as i32) => Ok(false),
        // Not known for certain.
        Err(error) if error.raw_os_error().is_some() => Ok(true),
        Err(error) => Err(error),
    }
}
