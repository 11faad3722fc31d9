//! Checks of routes in a thread of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;

use driftway_base::FlowKey;
use netlink_packet_core::NLM_F_REQUEST;
use netlink_packet_route::link::{LinkFlags, LinkMessage};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use nix::errno::Errno;
use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::sys::eventfd::{EfdFlags, EventFd};
use tracing::debug;

use crate::diag::socket_routing_key;
use crate::netlink::request;

/// IP protocol number of TCP.
const TCP: u8 = 6;

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

/// Flows with their output interfaces; `None`: not observed.
pub type ObservedInterfaces = Vec<(FlowKey, Option<u32>)>;

/// Checks routes in a thread of its own, because link queries wait for the RTNL lock, and packets
/// must not.
pub struct RouteChecker {
    requests: Sender<ObservedInterfaces>,
    results: Receiver<Vec<(FlowKey, RouteStatus)>>,
    ready: Arc<EventFd>,
    /// Started with the first request, after privileges have been dropped.
    worker: Option<Worker>,
}

type Worker = Box<dyn FnOnce() + Send>;

impl RouteChecker {
    /// A checker for the calling thread's namespace.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn new() -> io::Result<Self> {
        let ready = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?;
        let ready = Arc::new(ready);
        let (requests, asked) = channel::<ObservedInterfaces>();
        let (answer, results) = channel();
        let wake = Arc::clone(&ready);
        let waits = move || {
            for seen in asked {
                let mut host = HostState::default();
                let ways = seen
                    .into_iter()
                    .map(|(flow, seen)| (flow, host.route_status_or_unknown(flow, seen)));
                let gone = answer.send(ways.collect()).is_err();
                if gone || wake.write(1).is_err() {
                    return;
                }
            }
        };
        Ok(Self { requests, results, ready, worker: Some(Box::new(waits)) })
    }

    /// Starts a check. Its results are in the order of the flows.
    pub fn check(&mut self, seen: ObservedInterfaces) {
        if let Some(waits) = self.worker.take() {
            thread::spawn(waits);
        }
        // A terminated thread is detected when results are polled.
        let _ = self.requests.send(seen);
    }

    /// The results of a check, once they are available.
    ///
    /// # Errors
    /// The thread has ended.
    pub fn poll_result(&self) -> io::Result<Option<Vec<(FlowKey, RouteStatus)>>> {
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

impl AsFd for RouteChecker {
    /// A descriptor that is readable when there are results.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }
}

/// The kernel's answers during one check: many flows use few interfaces.
#[derive(Default)]
struct HostState {
    links: BTreeMap<u32, bool>,
    addresses: Option<BTreeSet<Ipv4Addr>>,
}

impl HostState {
    /// Route status of a flow; unknown if the kernel's answer is not understood.
    fn route_status_or_unknown(&mut self, flow: FlowKey, seen: Option<u32>) -> RouteStatus {
        self.route_status(flow, seen).unwrap_or_else(|error| {
            debug!(%error, "route status not available");
            RouteStatus::Unknown
        })
    }

    /// Route status of a flow with this observed output interface, or none.
    fn route_status(&mut self, flow: FlowKey, seen: Option<u32>) -> io::Result<RouteStatus> {
        match seen {
            Some(index) if self.is_link_up(index)? => Ok(RouteStatus::Usable),
            Some(_) => Ok(RouteStatus::Unusable),
            None if self.is_local(flow.source.address)? && has_no_route(flow)? => {
                Ok(RouteStatus::Unusable)
            }
            None => Ok(RouteStatus::Unknown),
        }
    }

    fn is_link_up(&mut self, index: u32) -> io::Result<bool> {
        if let Some(is_up) = self.links.get(&index) {
            return Ok(*is_up);
        }
        let is_up = is_link_up(index)?;
        self.links.insert(index, is_up);
        Ok(is_up)
    }

    /// Returns whether any interface has this address.
    fn is_local(&mut self, address: Ipv4Addr) -> io::Result<bool> {
        if let Some(addresses) = &self.addresses {
            return Ok(addresses.contains(&address));
        }
        let own = |interface: InterfaceAddress| Some(interface.address?.as_sockaddr_in()?.ip());
        let addresses: BTreeSet<_> = getifaddrs()?.filter_map(own).collect();
        let is_local = addresses.contains(&address);
        self.addresses = Some(addresses);
        Ok(is_local)
    }
}

/// Returns whether the kernel certainly has no route for this flow's socket, whose source is an
/// address of this host: a transparent socket may send from others, but a query may not. Errors of
/// other kinds prove nothing.
fn has_no_route(flow: FlowKey) -> io::Result<bool> {
    let FlowKey { source, destination } = flow;
    let end = |end: driftway_base::Endpoint| SocketAddrV4::new(end.address, end.port);
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
