//! What this host knows by itself: which connections have no way to send over.
//!
//! No table is asked where a packet would go: rules may look at a socket's mark, device or owner, at
//! interfaces and at what the firewall has made of the packet. The local TCP sends one, which does not
//! leave, and the interface at which it arrives is the answer ([`Carriers`](super::carriers::Carriers)).

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

use crate::diag::socket_routing_key;
use crate::netlink::request;

/// Groups of news (linux/rtnetlink.h): links, IPv4 addresses, IPv4 routes.
const MULTICAST_GROUPS: [u32; 3] = [1, 5, 7];
/// TCP, as IP numbers protocols.
const TCP: u8 = 6;
/// How long an answer may take: the local TCP gives it at once, unless its socket is in use.
const OBSERVATION_TIMEOUT: Duration = Duration::from_millis(50);
/// What has no way is looked at again so often, whatever news there are.
const RECHECK_INTERVAL: Duration = Duration::from_secs(1);
/// From one look to the next: so much, and so much more for each flow, because on some hosts there are
/// always news. So much more for each flow an answer may take, too.
const REVIEW_INTERVAL: Duration = Duration::from_millis(100);
const REVIEW_INTERVAL_PER_FLOW: Duration = Duration::from_millis(1);

/// Which flows this host can't send, for certain.
pub struct RouteMonitor {
    rtnetlink: Socket,
    changed: bool,
    unroutable: BTreeSet<FlowKey>,
    /// When the dead are looked at again, and when all may be.
    recheck_at: Instant,
    next_review_at: Instant,
    review: Option<RouteReview>,
    checker: RouteChecker,
}

/// A look at where packets leave.
#[derive(Debug)]
struct RouteReview {
    deadline: Instant,
    /// By flow, the interface; `None`: nothing was seen yet.
    observed: ObservedInterfaces,
    /// It is with the judge.
    is_being_checked: bool,
}

type ObservedInterfaces = BTreeMap<FlowKey, Option<u32>>;

/// What is known of a flow's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteStatus {
    /// Its packets leave by an interface that works.
    Usable,
    /// It has none, for certain.
    Unusable,
    /// Nothing is known for certain.
    Unknown,
}

impl RouteMonitor {
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
        for group in MULTICAST_GROUPS {
            news.add_membership(group)?;
        }
        Ok(Self {
            rtnetlink: news,
            changed: false,
            unroutable: BTreeSet::new(),
            recheck_at: Instant::ZERO,
            next_review_at: Instant::ZERO,
            review: None,
            checker: RouteChecker::new()?,
        })
    }

    /// Is any flow without a way?
    pub fn has_unroutable(&self) -> bool {
        !self.unroutable.is_empty()
    }

    /// Is it known for certain that this host can't send this flow?
    pub fn is_unroutable(&self, flow: FlowKey) -> bool {
        self.unroutable.contains(&flow)
    }

    /// Has something changed since the last call?
    ///
    /// # Errors
    /// What the kernel says.
    pub fn drain_events(&mut self) -> io::Result<bool> {
        let mut news = false;
        let mut buffer = [0; 64];
        loop {
            // Cut to the buffer: only that there is something counts.
            match recv(self.rtnetlink.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT) {
                Ok(_) => news = true,
                Err(Errno::EAGAIN) => break,
                Err(errno) => return Err(errno.into()),
            }
        }
        self.changed |= news;
        Ok(news)
    }

    /// Is it time to look where packets leave?
    pub fn is_review_due(&self, now: Instant) -> bool {
        let due = self.changed || self.has_unroutable() && now >= self.recheck_at;
        due && self.review.is_none() && now >= self.next_review_at
    }

    /// Each of these flows is about to send a packet that shows where it leaves; `all` that there are.
    /// `false`: another look is not over.
    pub fn start_review(&mut self, now: Instant, flows: &[FlowKey], all: bool) -> bool {
        if self.review.is_some() {
            return false;
        }
        if all {
            self.changed = false;
            self.recheck_at = now + RECHECK_INTERVAL;
            self.next_review_at = now + REVIEW_INTERVAL + REVIEW_INTERVAL_PER_FLOW.times(flows.len() as u64);
            let all: BTreeSet<_> = flows.iter().collect();
            self.unroutable.retain(|flow| all.contains(flow));
        }
        let seen = flows.iter().map(|flow| (*flow, None)).collect();
        let until = now + OBSERVATION_TIMEOUT + REVIEW_INTERVAL_PER_FLOW.times(flows.len() as u64);
        self.review = Some(RouteReview { deadline: until, observed: seen, is_being_checked: false });
        true
    }

    /// A packet of this flow would leave by that interface.
    pub fn on_interface_observed(&mut self, flow: FlowKey, interface: u32) {
        let seen = self.review.as_mut().and_then(|look| look.observed.get_mut(&flow));
        if let Some(seen) = seen {
            *seen = Some(interface);
        }
    }

    /// When there is something to conclude, or to look at again; what is with the judge wakes by its
    /// descriptor.
    pub fn next_timeout(&self) -> Option<Instant> {
        match &self.review {
            Some(look) => (!look.is_being_checked).then_some(look.deadline),
            None => {
                let again = self.has_unroutable().then_some(self.recheck_at.max(self.next_review_at));
                let changed = self.changed.then_some(self.next_review_at);
                changed.into_iter().chain(again).min()
            }
        }
    }

    /// Hands what was seen to the judge, once all have answered, or their time is over.
    pub fn check_when_complete(&mut self, now: Instant) {
        let Some(look) = self.review.as_mut().filter(|look| !look.is_being_checked) else { return };
        if now >= look.deadline || look.observed.values().all(Option::is_some) {
            look.is_being_checked = true;
            self.checker.check(std::mem::take(&mut look.observed));
        }
    }

    /// What the judge has found: each flow's way, and whether it has changed. Nothing while there is
    /// nothing new.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn poll_results(&mut self) -> io::Result<Vec<(FlowKey, RouteStatus, bool)>> {
        let Some(ways) = self.checker.poll_result()? else { return Ok(Vec::new()) };
        self.review = None;
        let changes = ways.into_iter().map(|(flow, way)| {
            let changed = match way {
                RouteStatus::Unusable => self.unroutable.insert(flow),
                RouteStatus::Usable | RouteStatus::Unknown => self.unroutable.remove(&flow),
            };
            (flow, way, changed)
        });
        Ok(changes.collect())
    }

    /// Can be read when the judge has found something.
    pub fn results_fd(&self) -> BorrowedFd<'_> {
        self.checker.ready.as_fd()
    }
}

/// Asks the kernel what it thinks of ways, in a thread of its own: an answer about links waits for
/// whoever changes one (the RTNL lock), and packets must not.
struct RouteChecker {
    requests: Sender<ObservedInterfaces>,
    results: Receiver<Vec<(FlowKey, RouteStatus)>>,
    ready: Arc<EventFd>,
    /// Starts with the first question, when privileges have been given up.
    worker: Option<Worker>,
}

type Worker = Box<dyn FnOnce() + Send>;

impl RouteChecker {
    fn new() -> io::Result<Self> {
        let ready = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?;
        let ready = Arc::new(ready);
        let (questions, asked) = channel::<ObservedInterfaces>();
        let (answer, answers) = channel();
        let wake = Arc::clone(&ready);
        let waits = move || {
            for seen in asked {
                let ways = seen.into_iter().map(|(flow, seen)| (flow, route_status_or_unknown(flow, seen)));
                let gone = answer.send(ways.collect()).is_err();
                if gone || wake.write(1).is_err() {
                    return;
                }
            }
        };
        Ok(Self { requests: questions, results: answers, ready, worker: Some(Box::new(waits)) })
    }

    fn check(&mut self, seen: ObservedInterfaces) {
        if let Some(waits) = self.worker.take() {
            thread::spawn(waits);
        }
        // Who takes the answer finds out that the thread has ended.
        let _ = self.requests.send(seen);
    }

    fn poll_result(&self) -> io::Result<Option<Vec<(FlowKey, RouteStatus)>>> {
        // It says that it would wait if nothing is there.
        let _ = self.ready.read();
        match self.results.try_recv() {
            Ok(ways) => Ok(Some(ways)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => {
                Err(io::Error::other("the thread that asks about routes has ended"))
            }
        }
    }
}

/// The same; nothing is known for certain where the kernel's answer is not understood.
fn route_status_or_unknown(flow: FlowKey, seen: Option<u32>) -> RouteStatus {
    route_status(flow, seen).unwrap_or_else(|error| {
        debug!(%error, "the kernel's answer about a way");
        RouteStatus::Unknown
    })
}

/// What is certain about the way of a flow whose packets were seen to leave by this interface, or by
/// none.
fn route_status(flow: FlowKey, seen: Option<u32>) -> io::Result<RouteStatus> {
    match seen {
        Some(index) if is_link_up(index)? => Ok(RouteStatus::Usable),
        Some(_) => Ok(RouteStatus::Unusable),
        None if has_no_route(flow)? => Ok(RouteStatus::Unusable),
        None => Ok(RouteStatus::Unknown),
    }
}

/// Is it certain that the kernel has no route for this flow's socket? An error of any other kind says
/// nothing, nor does any where the source is none of this host's addresses: a transparent socket may
/// send from it, and whoever asks from outside may not.
fn has_no_route(flow: FlowKey) -> io::Result<bool> {
    let FlowKey { source, destination } = flow;
    let end = |end: driftway_base::Endpoint| SocketAddrV4::new(end.address, end.port);
    if !is_local_address(source.address)? {
        return Ok(false);
    }
    // A socket that is bound to a device is not found, and not asked about.
    let Ok(owner) = socket_routing_key(end(source), end(destination)) else { return Ok(false) };
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
    match request(NETLINK_ROUTE, RouteNetlinkMessage::GetRoute(question), NLM_F_REQUEST) {
        Ok(_) => Ok(false),
        Err(error) => match error.raw_os_error() {
            Some(number) => Ok(none.contains(&Errno::from_raw(number))),
            None => Err(error),
        },
    }
}

impl AsFd for RouteMonitor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.rtnetlink.as_fd()
    }
}

/// Has any interface this address?
fn is_local_address(address: Ipv4Addr) -> io::Result<bool> {
    let own = |interface: InterfaceAddress| Some(interface.address?.as_sockaddr_in()?.ip());
    Ok(getifaddrs()?.filter_map(own).any(|own| own == address))
}

/// Is this interface up, and does its link work? One that is gone does not.
fn is_link_up(index: u32) -> io::Result<bool> {
    let mut link = LinkMessage::default();
    link.header.index = index;
    match request(NETLINK_ROUTE, RouteNetlinkMessage::GetLink(link), NLM_F_REQUEST) {
        Ok(Some(RouteNetlinkMessage::NewLink(link))) => {
            // Running comes up to a second after the carrier.
            Ok(link.header.flags.contains(LinkFlags::Up | LinkFlags::LowerUp))
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
