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

use crate::diag::socket_routing_key;
use crate::netlink::request;

/// Multicast groups (linux/rtnetlink.h): links, IPv4 addresses, IPv4 routes.
const MULTICAST_GROUPS: [u32; 3] = [1, 5, 7];
/// IP protocol number of TCP.
const TCP: u8 = 6;
/// Time to wait for an observation: the local TCP acknowledges at once, unless its socket is
/// locked.
const OBSERVATION_TIMEOUT: Duration = Duration::from_millis(50);
/// Interval at which unroutable flows are rechecked without any event.
const RECHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Minimum interval between two reviews, with an addition for each flow, because on some hosts
/// there are events all the time. The same addition applies to the time for observations.
const REVIEW_INTERVAL: Duration = Duration::from_millis(100);
/// The same if a link has gone down or come up since, which is rare and what flows wait for.
const LINK_REVIEW_INTERVAL: Duration = Duration::from_millis(5);
const REVIEW_INTERVAL_PER_FLOW: Duration = Duration::from_millis(1);

/// Monitor of flows that this host certainly cannot send.
pub struct RouteMonitor {
    rtnetlink: Socket,
    changed: bool,
    links: LinkStates,
    /// A link has gone down or come up.
    link_changed: bool,
    unroutable: BTreeSet<FlowKey>,
    /// Next recheck of unroutable flows, and earliest time of the next review of all.
    recheck_at: Instant,
    next_review_at: Instant,
    /// The same after a change of a link.
    next_link_review_at: Instant,
    review: Option<RouteReview>,
    checker: RouteChecker,
}

/// A review of output interfaces.
#[derive(Debug)]
struct RouteReview {
    deadline: Instant,
    /// Output interface by flow; `None`: not observed yet.
    observed: ObservedInterfaces,
    /// The checker is working on it.
    is_being_checked: bool,
}

type ObservedInterfaces = BTreeMap<FlowKey, Option<u32>>;

/// Knowledge about a flow's route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteStatus {
    /// The output interface works.
    Usable,
    /// There certainly is no usable route.
    Unusable,
    /// Nothing is certain.
    Unknown,
}

impl RouteMonitor {
    /// Starts monitoring in the calling thread's namespace.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn watch() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.set_non_blocking(true)?;
        // Whatever the events' content is, the routes are reviewed, so that none can be missed.
        socket.set_no_enobufs(true)?;
        for group in MULTICAST_GROUPS {
            socket.add_membership(group)?;
        }
        Ok(Self {
            rtnetlink: socket,
            changed: false,
            links: LinkStates::default(),
            link_changed: false,
            unroutable: BTreeSet::new(),
            recheck_at: Instant::ZERO,
            next_review_at: Instant::ZERO,
            next_link_review_at: Instant::ZERO,
            review: None,
            checker: RouteChecker::new()?,
        })
    }

    /// Returns whether any flow is unroutable.
    pub fn has_unroutable(&self) -> bool {
        !self.unroutable.is_empty()
    }

    /// Returns whether this flow is certainly unroutable.
    pub fn is_unroutable(&self, flow: FlowKey) -> bool {
        self.unroutable.contains(&flow)
    }

    /// Reads pending events; returns whether there were any.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn drain_events(&mut self) -> io::Result<bool> {
        let mut changed = false;
        let mut buffer = [0; 64];
        loop {
            // Truncated to the buffer, which has room for the headers.
            match recv(self.rtnetlink.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT) {
                Ok(len) => {
                    changed = true;
                    self.link_changed |= self.links.record(&buffer[..len.min(buffer.len())]);
                }
                Err(Errno::EAGAIN) => break,
                Err(errno) => return Err(errno.into()),
            }
        }
        self.changed |= changed;
        Ok(changed)
    }

    /// Returns whether a review of all flows is due.
    pub fn is_review_due(&self, now: Instant) -> bool {
        let due = self.changed || self.has_unroutable() && now >= self.recheck_at;
        due && self.review.is_none() && now >= self.earliest_review()
    }

    /// Earliest time of the next review of all flows.
    fn earliest_review(&self) -> Instant {
        if self.link_changed { self.next_link_review_at } else { self.next_review_at }
    }

    /// Starts a review: each of these flows is about to send a packet that shows its output
    /// interface. `all`: these are all tracked flows. `false`: another review is in progress.
    pub fn start_review(&mut self, now: Instant, flows: &[FlowKey], all: bool) -> bool {
        if self.review.is_some() {
            return false;
        }
        if all {
            (self.changed, self.link_changed) = (false, false);
            self.recheck_at = now + RECHECK_INTERVAL;
            let for_flows = now + REVIEW_INTERVAL_PER_FLOW.times(flows.len() as u64);
            self.next_review_at = for_flows + REVIEW_INTERVAL;
            self.next_link_review_at = for_flows + LINK_REVIEW_INTERVAL;
            let all: BTreeSet<_> = flows.iter().collect();
            self.unroutable.retain(|flow| all.contains(flow));
        }
        let seen = flows.iter().map(|flow| (*flow, None)).collect();
        let until = now + OBSERVATION_TIMEOUT + REVIEW_INTERVAL_PER_FLOW.times(flows.len() as u64);
        self.review =
            Some(RouteReview { deadline: until, observed: seen, is_being_checked: false });
        true
    }

    /// Records the output interface of a packet of this flow.
    pub fn on_interface_observed(&mut self, flow: FlowKey, interface: u32) {
        let seen = self.review.as_mut().and_then(|look| look.observed.get_mut(&flow));
        if let Some(seen) = seen {
            *seen = Some(interface);
        }
    }

    /// Time of the next check or review; while the checker works, its descriptor is the wake-up.
    pub fn next_timeout(&self) -> Option<Instant> {
        match &self.review {
            Some(look) => (!look.is_being_checked).then_some(look.deadline),
            None => {
                let earliest = self.earliest_review();
                let again = self.has_unroutable().then_some(self.recheck_at.max(earliest));
                let changed = self.changed.then_some(earliest);
                changed.into_iter().chain(again).min()
            }
        }
    }

    /// Passes the observations to the checker once they are complete, or their time is over.
    pub fn check_when_complete(&mut self, now: Instant) {
        let Some(look) = self.review.as_mut().filter(|look| !look.is_being_checked) else { return };
        if now >= look.deadline || look.observed.values().all(Option::is_some) {
            look.is_being_checked = true;
            self.checker.check(std::mem::take(&mut look.observed));
        }
    }

    /// Results of the checker: each flow's route status, and whether it has changed. Empty while
    /// there are none.
    ///
    /// # Errors
    /// Any error of the kernel.
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

    /// A descriptor that is readable when the checker has results.
    pub fn results_fd(&self) -> BorrowedFd<'_> {
        self.checker.ready.as_fd()
    }
}

/// The interfaces' states in the events so far: up, with a carrier.
#[derive(Debug, Default)]
struct LinkStates(BTreeMap<u32, bool>);

impl LinkStates {
    /// Records an event. Returns whether an interface has gone down, come up or disappeared; of one
    /// that was not known the state before is not known either.
    fn record(&mut self, event: &[u8]) -> bool {
        match link_state(event) {
            Some((index, Some(is_up))) => self.0.insert(index, is_up) != Some(is_up),
            Some((index, None)) => {
                self.0.remove(&index);
                true
            }
            None => false,
        }
    }
}

/// Index of an event's interface, and whether that is up with a carrier; `None` instead of it: it has
/// disappeared. `None` for an event about anything else. Read from the fixed headers (linux/netlink.h,
/// linux/rtnetlink.h), because the attributes are not in the buffer.
fn link_state(event: &[u8]) -> Option<(u32, Option<bool>)> {
    const NEW_LINK: u16 = 16;
    const DELETED_LINK: u16 = 17;
    let kind = u16::from_ne_bytes(*event.get(4..)?.first_chunk()?);
    let index = u32::from_ne_bytes(*event.get(20..)?.first_chunk()?);
    let flags = LinkFlags::from_bits_retain(u32::from_ne_bytes(*event.get(24..)?.first_chunk()?));
    match kind {
        NEW_LINK => Some((index, Some(flags.contains(LinkFlags::Up | LinkFlags::LowerUp)))),
        DELETED_LINK => Some((index, None)),
        _ => None,
    }
}

/// Checks routes in a thread of its own, because link queries wait for the RTNL lock, and packets
/// must not.
struct RouteChecker {
    requests: Sender<ObservedInterfaces>,
    results: Receiver<Vec<(FlowKey, RouteStatus)>>,
    ready: Arc<EventFd>,
    /// Started with the first request, after privileges have been dropped.
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
                let ways = seen
                    .into_iter()
                    .map(|(flow, seen)| (flow, route_status_or_unknown(flow, seen)));
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
        // A terminated thread is detected when results are polled.
        let _ = self.requests.send(seen);
    }

    fn poll_result(&self) -> io::Result<Option<Vec<(FlowKey, RouteStatus)>>> {
        // EWOULDBLOCK if there is nothing.
        let _ = self.ready.read();
        match self.results.try_recv() {
            Ok(ways) => Ok(Some(ways)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => {
                Err(io::Error::other("the route checker thread has ended"))
            }
        }
    }
}

/// Route status of a flow; unknown if the kernel's answer is not understood.
fn route_status_or_unknown(flow: FlowKey, seen: Option<u32>) -> RouteStatus {
    route_status(flow, seen).unwrap_or_else(|error| {
        debug!(%error, "route status not available");
        RouteStatus::Unknown
    })
}

/// Route status of a flow with this observed output interface, or none.
fn route_status(flow: FlowKey, seen: Option<u32>) -> io::Result<RouteStatus> {
    match seen {
        Some(index) if is_link_up(index)? => Ok(RouteStatus::Usable),
        Some(_) => Ok(RouteStatus::Unusable),
        None if has_no_route(flow)? => Ok(RouteStatus::Unusable),
        None => Ok(RouteStatus::Unknown),
    }
}

/// Returns whether the kernel certainly has no route for this flow's socket. Errors of other kinds
/// prove nothing, nor does any error if the source is no address of this host: a transparent socket
/// may send from it, but a query may not.
fn has_no_route(flow: FlowKey) -> io::Result<bool> {
    let FlowKey { source, destination } = flow;
    let end = |end: driftway_base::Endpoint| SocketAddrV4::new(end.address, end.port);
    if !is_local_address(source.address)? {
        return Ok(false);
    }
    // A socket bound to a device is not found, and not checked.
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

/// Returns whether any interface has this address.
fn is_local_address(address: Ipv4Addr) -> io::Result<bool> {
    let own = |interface: InterfaceAddress| Some(interface.address?.as_sockaddr_in()?.ip());
    Ok(getifaddrs()?.filter_map(own).any(|own| own == address))
}

/// Returns whether this interface is up, with a carrier; `false` for a removed one.
fn is_link_up(index: u32) -> io::Result<bool> {
    let mut link = LinkMessage::default();
    link.header.index = index;
    match request(NETLINK_ROUTE, RouteNetlinkMessage::GetLink(link), NLM_F_REQUEST) {
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

#[cfg(test)]
mod test {
    use super::*;
    use netlink_packet_core::{NetlinkHeader, NetlinkMessage, NetlinkPayload};

    fn event(message: RouteNetlinkMessage) -> Vec<u8> {
        let payload = NetlinkPayload::InnerMessage(message);
        let mut message = NetlinkMessage::new(NetlinkHeader::default(), payload);
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        bytes
    }

    fn link(index: u32, flags: LinkFlags) -> LinkMessage {
        let mut link = LinkMessage::default();
        (link.header.index, link.header.flags) = (index, flags);
        link
    }

    #[test]
    fn changes_of_links_are_recognized() {
        let up = LinkFlags::Up | LinkFlags::LowerUp | LinkFlags::Running;
        let mut states = LinkStates::default();
        let mut record = |message| states.record(&event(message));
        let new = |index, flags| RouteNetlinkMessage::NewLink(link(index, flags));
        assert!(record(new(3, up)));
        // Running follows later, and other attributes change.
        assert!(!record(new(3, LinkFlags::Up | LinkFlags::LowerUp)));
        assert!(record(new(3, LinkFlags::Up)));
        assert!(!record(new(3, LinkFlags::Up)));
        assert!(record(new(4, up)));
        assert!(record(new(3, up)));
        assert!(record(RouteNetlinkMessage::DelLink(link(3, up))));
        assert!(!record(RouteNetlinkMessage::NewRoute(RouteMessage::default())));
        for len in 0..32 {
            assert!(!states.record(&event(new(5, up))[..len.min(27)]));
        }
    }
}
