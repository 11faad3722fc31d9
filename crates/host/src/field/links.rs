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
/// always news. So much more for each flow an answer may take, too.
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
    judge: Judge,
}

/// A look at where packets leave.
#[derive(Debug)]
struct Look {
    until: Instant,
    /// By flow, the interface; `None`: nothing was seen yet.
    seen: Seen,
    /// It is with the judge.
    judged: bool,
}

type Seen = BTreeMap<FlowKey, Option<u32>>;

/// What is known of a flow's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Its packets leave by an interface that works.
    Works,
    /// It has none, for certain.
    Dead,
    /// Nothing is known for certain.
    Unknown,
}

impl Links {
    /// Of the calling thread's namespace.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn watch() -> io::Result<Self> {
        let mut news = Socket::new(NETLINK_ROUTE)?;
        news.bind_auto()?;
        news.set_non_blocking(true)?;
        // Which news there are does not matter, so none can be missed.
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
    /// Any error of the kernel.
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

    /// Each of these flows is about to send a packet that shows where it leaves; `all` that there are.
    /// `false`: another look is not over.
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

    /// A packet of this flow would leave by that interface.
    pub fn on_seen(&mut self, flow: FlowKey, interface: u32) {
        let seen = self.look.as_mut().and_then(|look| look.seen.get_mut(&flow));
        if let Some(seen) = seen {
            *seen = Some(interface);
        }
    }

    /// When there is something to conclude, or to look at again; what is with the judge wakes by its
    /// descriptor.
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

    /// Hands what was seen to the judge, once all have answered, or their time is over.
    pub fn conclude(&mut self, now: Instant) {
        let Some(look) = self.look.as_mut().filter(|look| !look.judged) else { return };
        if now >= look.until || look.seen.values().all(Option::is_some) {
            look.judged = true;
            self.judge.ask(std::mem::take(&mut look.seen));
        }
    }

    /// What the judge has found: each flow's way, and whether it has changed. Nothing while there is
    /// nothing new.
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

    /// Can be read when the judge has found something.
    pub fn judge(&self) -> BorrowedFd<'_> {
        self.judge.ready.as_fd()
    }
}

/// Asks the kernel what it thinks of ways, in a thread of its own: an answer about links waits for
/// whoever changes one (the RTNL lock), and packets must not.
struct Judge {
    questions: Sender<Seen>,
    answers: Receiver<Vec<(FlowKey, Way)>>,
    ready: Arc<EventFd>,
    /// Starts with the first question, when privileges have been given up.
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
        // Who takes the answer finds out that the thread has ended.
        let _ = self.questions.send(seen);
    }

    fn answer(&self) -> io::Result<Option<Vec<(FlowKey, Way)>>> {
        // It says that it would wait if nothing is there.
        let _ = self.ready.read();
        match self.answers.try_recv() {
            Ok(ways) => Ok(Some(ways)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => {
                Err(io::Error::other("the thread that asks about routes has ended"))
            }
        }
    }
}

/// The same; nothing is known for certain where the kernel's answer is not understood.
fn known_way(flow: FlowKey, seen: Option<u32>) -> Way {
    way(flow, seen).unwrap_or_else(|error| {
        debug!(%error, "the kernel's answer about a way");
        Way::Unknown
    })
}

/// What is certain about the way of a flow whose packets were seen to leave by this interface, or by
/// none.
fn way(flow: FlowKey, seen: Option<u32>) -> io::Result<Way> {
    match seen {
        Some(index) if is_running(index)? => Ok(Way::Works),
        Some(_) => Ok(Way::Dead),
        None if has_no_route(flow)? => Ok(Way::Dead),
        None => Ok(Way::Unknown),
    }
}

/// Is it certain that the kernel has no route for this flow's socket? An error of any other kind says
/// nothing, nor does any where the source is none of this host's addresses: a transparent socket may
/// send from it, and whoever asks from outside may not.
fn has_no_route(flow: FlowKey) -> io::Result<bool> {
    let FlowKey { source, destination } = flow;
    let end = |end: driftway_base::Endpoint| SocketAddrV4::new(end.address, end.port);
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
