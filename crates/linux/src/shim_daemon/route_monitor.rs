//! The route monitor: connections for which this host knows that it has no usable route.
//!
//! Routing tables alone do not decide: policy rules may depend on a socket's mark, device or owner,
//! on interfaces and on changes by the firewall. Instead the local TCP sends an acknowledgment, and
//! the output interface with which it reaches the postrouting hook is the answer
//! ([`CarrierAcks`](super::carrier_acks::CarrierAcks)).
//!
//! Flows are asked a few at a time, and only those that a change may concern
//! ([`RouteChanges`](super::route_changes::RouteChanges)): all packets of this host wait for the
//! thread that asks.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use driftway_base::{Duration, FlowKey, Instant};
use netlink_sys::{Socket, protocols::NETLINK_ROUTE};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv, setsockopt, sockopt::RcvBufForce};

use super::link_reviews::LinkReviews;
use super::route_changes::RouteChanges;
use super::route_checker::{ObservedInterfaces, RouteChecker, RouteStatus};

/// Multicast groups (linux/rtnetlink.h): links, IPv4 addresses, IPv4 routes, IPv4 rules.
const MULTICAST_GROUPS: [u32; 4] = [1, 5, 7, 8];
/// Receive buffer for events (bytes). If it is too small, all flows are reviewed.
const RECEIVE_BUFFER: usize = 1 << 20;
/// Room for one event except that of a link, of which only the headers are read (bytes).
const EVENT_LEN_MAX: usize = 4096;
/// Maximum number of events read, and of flows asked or informed, before packets have their turn.
const EVENTS_PER_TURN: usize = 64;
const FLOWS_PER_TURN: usize = 8;
/// Maximum number of flows that are being asked. Those that do not answer take
/// [`OBSERVATION_TIMEOUT`] together.
const ASKED_MAX: usize = 256;
/// Time to wait for an observation: the local TCP acknowledges at once, unless its socket is
/// locked.
const OBSERVATION_TIMEOUT: Duration = Duration::from_millis(50);
/// Interval at which unroutable flows are rechecked without any event.
const RECHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Minimum interval between two reviews, with an addition for each flow reviewed, because on some
/// hosts there are events all the time.
const REVIEW_INTERVAL: Duration = Duration::from_millis(100);
const REVIEW_INTERVAL_PER_FLOW: Duration = Duration::from_millis(1);

/// Monitor of flows that this host certainly cannot send.
pub struct RouteMonitor {
    rtnetlink: Socket,
    changes: RouteChanges,
    /// Interfaces by which flows leave, as far as observed.
    interfaces: BTreeMap<FlowKey, FlowInterfaces>,
    unroutable: BTreeSet<FlowKey>,
    /// Next recheck of unroutable flows, and earliest time of the next review.
    recheck_at: Instant,
    next_review_at: Instant,
    /// Reviews after a change of a link, which is rare and what flows wait for.
    link_reviews: LinkReviews,
    /// Flows to be asked.
    due: BTreeSet<FlowKey>,
    /// Flows that are being asked, with the ends of their time; and those in order.
    asked: BTreeMap<FlowKey, Instant>,
    deadlines: VecDeque<(Instant, FlowKey)>,
    /// Answers for the next check.
    observed: ObservedInterfaces,
    is_checking: bool,
    checker: RouteChecker,
    results: VecDeque<(FlowKey, RouteStatus)>,
}

/// Interfaces of one flow.
#[derive(Clone, Copy, Debug)]
struct FlowInterfaces {
    /// The one that routing chose for its last packet; a firewall may change it.
    routed: u32,
    /// The one by which a packet has left since; `None`: not observed.
    left: Option<u32>,
}

impl FlowInterfaces {
    fn all(self, holds: impl Fn(u32) -> bool) -> bool {
        holds(self.routed) && self.left.is_none_or(holds)
    }
}

impl RouteMonitor {
    /// Starts monitoring in the calling thread's namespace.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn watch() -> io::Result<Self> {
        let mut rtnetlink = Socket::new(NETLINK_ROUTE)?;
        rtnetlink.bind_auto()?;
        rtnetlink.set_non_blocking(true)?;
        setsockopt(&rtnetlink, RcvBufForce, &RECEIVE_BUFFER)?;
        for group in MULTICAST_GROUPS {
            rtnetlink.add_membership(group)?;
        }
        Ok(Self {
            rtnetlink,
            changes: RouteChanges::default(),
            interfaces: BTreeMap::new(),
            unroutable: BTreeSet::new(),
            recheck_at: Instant::ZERO,
            next_review_at: Instant::ZERO,
            link_reviews: LinkReviews::default(),
            due: BTreeSet::new(),
            asked: BTreeMap::new(),
            deadlines: VecDeque::new(),
            observed: Vec::new(),
            is_checking: false,
            checker: RouteChecker::new()?,
            results: VecDeque::new(),
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

    /// Reads some pending events; returns their number.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn drain_events(&mut self) -> io::Result<u64> {
        let mut buffer = [0; EVENT_LEN_MAX];
        for events in 0..EVENTS_PER_TURN as u64 {
            match recv(self.rtnetlink.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT) {
                Ok(len) => self.changes.record(&buffer[..len.min(buffer.len())]),
                Err(Errno::EAGAIN) => return Ok(events),
                Err(Errno::ENOBUFS) => self.changes.record_loss(),
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(EVENTS_PER_TURN as u64)
    }

    /// Records the interface that routing chose for a packet of this flow. If that is down, the flow's
    /// route is reviewed, since it may not have answered when the link failed.
    pub fn on_routed(&mut self, flow: FlowKey, interface: u32) {
        let chosen = FlowInterfaces { routed: interface, left: None };
        let known = self.interfaces.entry(flow).or_insert(chosen);
        if known.routed != interface {
            *known = chosen;
        }
        if known.all(|interface| self.changes.is_down(interface))
            && !self.unroutable.contains(&flow)
        {
            self.due.insert(flow);
        }
    }

    /// Number of flows with known interfaces.
    pub fn known_flows(&self) -> usize {
        self.interfaces.len()
    }

    /// Forgets the interfaces of flows that are not tracked any more.
    pub fn retain(&mut self, is_tracked: impl Fn(FlowKey) -> bool) {
        self.interfaces.retain(|flow, _| is_tracked(*flow));
    }

    /// Forgets a flow that is not tracked any more.
    pub fn forget(&mut self, flow: FlowKey) {
        self.interfaces.remove(&flow);
        self.unroutable.remove(&flow);
    }

    /// Reviews the route of this flow.
    pub fn review(&mut self, flow: FlowKey) {
        self.due.insert(flow);
    }

    /// Reviews the routes of those of the tracked flows that a change since the last review may
    /// concern, and of unroutable flows from time to time.
    pub fn review_changes(&mut self, now: Instant, tracked: impl Iterator<Item = FlowKey> + Clone) {
        if self.has_unroutable() && now >= self.recheck_at {
            let count = self.unroutable.len() as u64;
            self.recheck_at = now + RECHECK_INTERVAL.max(REVIEW_INTERVAL_PER_FLOW.times(count));
            self.due.extend(&self.unroutable);
        }
        if !self.changes.is_pending() || now < self.earliest_review() {
            return;
        }
        let known = &self.interfaces;
        let uses = |flow, changed: &BTreeSet<u32>| match known.get(&flow) {
            Some(FlowInterfaces { routed, left: Some(left) }) => {
                changed.contains(routed) || changed.contains(left)
            }
            _ => true,
        };
        let concerned = self.changes.take_concerned(tracked, uses);
        let until = now + REVIEW_INTERVAL_PER_FLOW.times(concerned.len() as u64);
        self.next_review_at = until + REVIEW_INTERVAL;
        self.due.extend(concerned);
        self.link_reviews.begin(now, self.due.len());
    }

    /// Earliest time of the next review of changes.
    fn earliest_review(&self) -> Instant {
        if self.changes.is_full() {
            Instant::ZERO
        } else if self.changes.link_changed {
            self.link_reviews.next_at()
        } else {
            self.next_review_at
        }
    }

    /// Returns whether a review of changes, or of unroutable flows, is due.
    pub fn is_review_due(&self, now: Instant) -> bool {
        self.changes.is_pending() && now >= self.earliest_review()
            || self.has_unroutable() && now >= self.recheck_at
    }

    /// The next flows to be asked: each is to send a packet that shows its output interface.
    pub fn start_asking(&mut self, now: Instant) -> Vec<FlowKey> {
        let (mut flows, due) = (Vec::new(), self.due.len());
        while flows.len() < FLOWS_PER_TURN
            && self.asked.len() < ASKED_MAX
            && let Some(flow) = self.due.pop_first()
        {
            // Otherwise the answer that is on its way is new enough.
            if let Entry::Vacant(place) = self.asked.entry(flow) {
                let deadline = *place.insert(now + OBSERVATION_TIMEOUT);
                self.deadlines.push_back((deadline, flow));
                flows.push(flow);
            }
        }
        self.link_reviews.on_asked(now, due - self.due.len());
        flows
    }

    /// Records the output interface of a packet of this flow.
    pub fn on_interface_observed(&mut self, flow: FlowKey, interface: u32) {
        if let Some(known) = self.interfaces.get_mut(&flow) {
            known.left = Some(interface);
        }
        if self.asked.remove(&flow).is_some() {
            self.observed.push((flow, Some(interface)));
        }
    }

    /// Takes the flows whose time to answer is over. To be called when no packet waits, because
    /// that could be the answer.
    pub fn expire_questions(&mut self, now: Instant) -> Vec<FlowKey> {
        let mut expired = Vec::new();
        while let Some((deadline, flow)) = self.deadlines.front().copied() {
            let is_asked = self.asked.get(&flow) == Some(&deadline);
            if is_asked && now < deadline {
                break;
            }
            self.deadlines.pop_front();
            if is_asked {
                self.asked.remove(&flow);
                self.observed.push((flow, None));
                expired.push(flow);
            }
        }
        expired
    }

    /// Passes the observations to the checker, and takes some of its results: each flow's route
    /// status, and whether it has changed.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn poll_results(&mut self, now: Instant) -> io::Result<Vec<(FlowKey, RouteStatus, bool)>> {
        if let Some(results) = self.checker.poll_result()? {
            self.is_checking = false;
            self.results.extend(results);
        }
        if !self.is_checking && !self.observed.is_empty() {
            self.is_checking = true;
            self.checker.check(std::mem::take(&mut self.observed));
        }
        if self.unroutable.is_empty() {
            self.recheck_at = now + RECHECK_INTERVAL;
        }
        let some = self.results.len().min(FLOWS_PER_TURN);
        let changes = self.results.drain(..some).map(|(flow, way)| {
            let changed = match way {
                RouteStatus::Unusable => self.unroutable.insert(flow),
                RouteStatus::Usable | RouteStatus::Unknown => self.unroutable.remove(&flow),
            };
            (flow, way, changed)
        });
        Ok(changes.collect())
    }

    /// Time of the next step; while the checker works, its descriptor is the wake-up.
    pub fn next_timeout(&self) -> Option<Instant> {
        let can_ask = !self.due.is_empty() && self.asked.len() < ASKED_MAX;
        let can_check = !self.observed.is_empty() && !self.is_checking;
        if can_ask || can_check || !self.results.is_empty() {
            return Some(Instant::ZERO);
        }
        let deadline = self.deadlines.front().map(|(deadline, _)| *deadline);
        let again = self.has_unroutable().then_some(self.recheck_at);
        let changed = self.changes.is_pending().then(|| self.earliest_review());
        [deadline, again, changed].into_iter().flatten().min()
    }

    /// A descriptor that is readable when the checker has results.
    pub fn results_fd(&self) -> BorrowedFd<'_> {
        self.checker.as_fd()
    }
}

impl AsFd for RouteMonitor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.rtnetlink.as_fd()
    }
}
