//! The route monitor: connections for which this host knows that it has no usable route.
//!
//! Routing tables alone do not decide: policy rules may depend on a socket's mark, device or owner,
//! on interfaces and on changes by the firewall. Instead the local TCP sends an acknowledgment, and
//! the output interface with which it reaches the postrouting hook is the answer
//! ([`CarrierAcks`](super::carrier_acks::CarrierAcks)).

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;

use driftway_base::{Duration, FlowKey, Instant};
use netlink_packet_core::NLM_F_REQUEST;
use netlink_packet_route::link::{LinkFlags, LinkMessage};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, protocols::NETLINK_ROUTE};
use nix::errno::Errno;
use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::socket::{MsgFlags, recv};
use tracing::debug;

use crate::diag::owner;
use crate::netlink::ask;

/// Multicast groups (linux/rtnetlink.h): links, IPv4 addresses, IPv4 routes.
const GROUPS: [u32; 3] = [1, 5, 7];
/// IP protocol number of TCP.
const TCP: u8 = 6;
/// Time to wait for an observation: the local TCP acknowledges at once, unless its socket is
/// locked.
const PATIENCE: Duration = Duration::from_millis(50);
/// Interval at which unroutable flows are rechecked without any event.
const AGAIN: Duration = Duration::from_secs(1);
/// Minimum interval between two reviews, with an addition for each flow, because on some hosts
/// there are events all the time. The same addition applies to the time for observations.
const REST: Duration = Duration::from_millis(100);
const REST_PER_FLOW: Duration = Duration::from_millis(1);

/// Monitor of flows that this host certainly can't send.
pub struct Links {
    news: Socket,
    changed: bool,
    dead: BTreeSet<FlowKey>,
    /// Next recheck of unroutable flows, and earliest time of the next review of all.
    again: Instant,
    earliest: Instant,
    look: Option<Look>,
    judge: Judge,
}

/// A review of output interfaces.
#[derive(Debug)]
struct Look {
    until: Instant,
    /// Output interface by flow; `None`: not observed yet.
    seen: Seen,
    /// The checker is working on it.
    judged: bool,
}

type Seen = BTreeMap<FlowKey, Option<u32>>;

/// Knowledge about a flow's route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The output interface works.
    Works,
    /// There certainly is no usable route.
    Dead,
    /// Nothing is certain.
    Unknown,
}

impl Links {
    /// Starts monitoring in the calling thread's namespace.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn watch() -> io::Result<Self> {
        let mut news = Socket::new(NETLINK_ROUTE)?;
        news.bind_auto()?;
        news.set_non_blocking(true)?;
        // The events' content is irrelevant, so that none can be missed.
        news.set_no_enobufs(true)?;
        for group in GROUPS {
            news.add_membership(group)?;
        }
        Ok(Self {
            news,
            changed: false,
            dead: BTreeSet::new(),
            again: Instant::ZERO,
            earliest: Instant::ZERO,
            look: None,
            judge: Judge::new()?,
        })
    }

    /// Returns whether any flow is unroutable.
    pub fn know_dead(&self) -> bool {
        !self.dead.is_empty()
    }

    /// Returns whether this flow is certainly unroutable.
    pub fn is_dead(&self, flow: FlowKey) -> bool {
        self.dead.contains(&flow)
    }

    /// Reads pending events; returns whether there were any.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn has_news(&mut self) -> io::Result<bool> {
        let mut news = false;
        let mut buffer = [0; 64];
        loop {
            // Truncated to the buffer: only the arrival of an event matters.
            match recv(self.news.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT) {
                Ok(_) => news = true,
                Err(Errno::EAGAIN) => break,
                Err(errno) => return Err(errno.into()),
            }
        }
        self.changed |= news;
        Ok(news)
    }

    /// Returns whether a review of all flows is due.
    pub fn wants_review(&self, now: Instant) -> bool {
        let due = self.changed || self.know_dead() && now >= self.again;
        due && self.look.is_none() && now >= self.earliest
    }

    /// Starts a review: each of these flows is about to send a packet that shows its output
    /// interface. `all`: these are all tracked flows. `false`: another review is in progress.
    pub fn look_at(&mut self, now: Instant, flows: &[FlowKey], all: bool) -> bool {
        if self.look.is_some() {
            return false;
        }
        if all {
            self.changed = false;
            self.again = now + AGAIN;
            self.earliest = now + REST + REST_PER_FLOW.times(flows.len() as u64);
            let all: BTreeSet<_> = flows.iter().collect();
            self.dead.retain(|flow| all.contains(flow));
        }
        let seen = flows.iter().map(|flow| (*flow, None)).collect();
        let until = now + PATIENCE + REST_PER_FLOW.times(flows.len() as u64);
        self.look = Some(Look { until, seen, judged: false });
        true
    }

    /// Records the output interface of a packet of this flow.
    pub fn on_seen(&mut self, flow: FlowKey, interface: u32) {
        let seen = self.look.as_mut().and_then(|look| look.seen.get_mut(&flow));
        if let Some(seen) = seen {
            *seen = Some(interface);
        }
    }

    /// Time of the next check or review; while the checker works, its descriptor is the wake-up.
    pub fn next_timeout(&self) -> Option<Instant> {
        match &self.look {
            Some(look) => (!look.judged).then_some(look.until),
            None => {
                let again = self.know_dead().then_some(self.again.max(self.earliest));
                let changed = self.changed.then_some(self.earliest);
                changed.into_iter().chain(again).min()
            }
        }
    }

    /// Passes the observations to the checker once they are complete, or their time is over.
    pub fn conclude(&mut self, now: Instant) {
        let Some(look) = self.look.as_mut().filter(|look| !look.judged) else { return };
        if now >= look.until || look.seen.values().all(Option::is_some) {
            look.judged = true;
            self.judge.ask(std::mem::take(&mut look.seen));
        }
    }

    /// Results of the checker: each flow's route status, and whether it has changed. Empty while
    /// there are none.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn found(&mut self) -> io::Result<Vec<(FlowKey, Way, bool)>> {
        let Some(ways) = self.judge.answer()? else { return Ok(Vec::new()) };
        self.look = None;
        let changes = ways.into_iter().map(|(flow, way)| {
            let changed = match way {
                Way::Dead => self.dead.insert(flow),
                Way::Works | Way::Unknown => self.dead.remove(&flow),
            };
            (flow, way, changed)
        });
        Ok(changes.collect())
    }

    /// A descriptor that is readable when the checker has results.
    pub fn judge(&self) -> BorrowedFd<'_> {
        self.judge.ready.as_fd()
    }
}

/// Checks routes in a thread of its own, because link queries wait for the RTNL lock, and packets
/// must not.
struct Judge {
    questions: Sender<Seen>,
    answers: Receiver<Vec<(FlowKey, Way)>>,
    ready: Arc<EventFd>,
    /// Started with the first request, after privileges have been dropped.
    waits: Option<Thread>,
}

type Thread = Box<dyn FnOnce() + Send>;

impl Judge {
    fn new() -> io::Result<Self> {
        let ready = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?;
        let ready = Arc::new(ready);
        let (questions, asked) = channel::<Seen>();
        let (answer, answers) = channel();
        let wake = Arc::clone(&ready);
        let waits = move || {
            for seen in asked {
                let ways = seen.into_iter().map(|(flow, seen)| (flow, known_way(flow, seen)));
                let gone = answer.send(ways.collect()).is_err();
                if gone || wake.write(1).is_err() {
                    return;
                }
            }
        };
        Ok(Self { questions, answers, ready, waits: Some(Box::new(waits)) })
    }

    fn ask(&mut self, seen: Seen) {
        if let Some(waits) = self.waits.take() {
            thread::spawn(waits);
        }
        // A terminated thread is detected when results are polled.
        let _ = self.questions.send(seen);
    }

    fn answer(&self) -> io::Result<Option<Vec<(FlowKey, Way)>>> {
        // EWOULDBLOCK if there is nothing.
        let _ = self.ready.read();
        match self.answers.try_recv() {
            Ok(ways) => Ok(Some(ways)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => {
                Err(io::Error::other("the route checker thread has ended"))
            }
        }
    }
}

/// Route status of a flow; unknown if the kernel's answer is not understood.
fn known_way(flow: FlowKey, seen: Option<u32>) -> Way {
    way(flow, seen).unwrap_or_else(|error| {
        debug!(%error, "route status not available");
        Way::Unknown
    })
}

/// Route status of a flow with this observed output interface, or none.
fn way(flow: FlowKey, seen: Option<u32>) -> io::Result<Way> {
    match seen {
        Some(index) if is_running(index)? => Ok(Way::Works),
        Some(_) => Ok(Way::Dead),
        None if has_no_route(flow)? => Ok(Way::Dead),
        None => Ok(Way::Unknown),
    }
}

/// Returns whether the kernel certainly has no route for this flow's socket. Errors of other kinds
/// prove nothing, nor does any error if the source is no address of this host: a transparent socket
/// may send from it, but a query may not.
fn has_no_route(flow: FlowKey) -> io::Result<bool> {
    let FlowKey { source, destination } = flow;
    let end = |end: driftway_base::Endpoint| SocketAddrV4::new(end.address, end.port);
    if !is_own(source.address)? {
        return Ok(false);
    }
    // A socket bound to a device is not found, and not checked.
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

impl AsFd for Links {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.news.as_fd()
    }
}

/// Returns whether any interface has this address.
fn is_own(address: Ipv4Addr) -> io::Result<bool> {
    let own = |interface: InterfaceAddress| Some(interface.address?.as_sockaddr_in()?.ip());
    Ok(getifaddrs()?.filter_map(own).any(|own| own == address))
}

/// Returns whether this interface is up, with a carrier; `false` for a removed one.
fn is_running(index: u32) -> io::Result<bool> {
    let mut link = LinkMessage::default();
    link.header.index = index;
    match ask(NETLINK_ROUTE, RouteNetlinkMessage::GetLink(link), NLM_F_REQUEST) {
        Ok(Some(RouteNetlinkMessage::NewLink(link))) => {
            // IFF_RUNNING is set up to a second after IFF_LOWER_UP.
            Ok(link.header.flags.contains(LinkFlags::Up | LinkFlags::LowerUp))
        }
        Ok(other) => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("not an answer about an interface: {other:?}"),
        )),
        Err(error) if error.raw_os_error() == Some(Errno::ENODEV as i32) => Ok(false),
        // Not certain.
        Err(error) if error.raw_os_error().is_some() => Ok(true),
        Err(error) => Err(error),
    }
}
