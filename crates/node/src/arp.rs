//! Address resolution protocol (RFC 826).
//!
//! Methods: commands [`Arp::resolve`]; events [`Arp::on_message`], [`Arp::on_timeout`]; polls
//! [`Arp::poll`], until it returns `None`, and [`Arp::next_timeout`]; looks
//! [`Arp::pending_packets`]. Time never goes back.

use std::collections::VecDeque;

use driftway_base::{Duration, Instant, Ipv4Addr};
use driftway_wire::{ArpMessage, ArpOperation, HardwareAddr};

/// ARP configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArpConfig {
    /// Maximum number of packets queued for one address; a further one replaces the oldest. RFC
    /// 1122 §2.3.2.2: at least one, the latest. ns-2.35: one.
    pub hold: usize,
    /// Number of requests after which resolution fails. RFC 1122: unspecified. ns-2.35: 3.
    pub requests: u32,
    /// Trigger of a repeated request. RFC 1122 §2.3.2.1: at most one request per second. ns-2.35:
    /// every packet.
    pub again: AskAgain,
    /// Lifetime of an entry after the last message of the neighbour; `None`: unlimited. RFC 1122
    /// §2.3.2.1: required to be finite. ns-2.35: unlimited.
    pub lifetime: Option<Duration>,
    /// True to learn the sender's address from any request. RFC 826: existing entries are updated,
    /// new ones added only if the message is for this node. ns-2.35: true.
    pub learn_from_all: bool,
}

/// Trigger of a repeated request for an unresolved address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskAgain {
    /// A timeout after each request.
    After(Duration),
    /// The next packet for the same neighbour only. The packet after the last request fails
    /// together with the queued ones, so that before it packets are lost without a report
    /// (mac/arp.cc).
    NextPacket,
}

impl ArpConfig {
    /// RFC 826 and RFC 1122, with the usual three requests, a second apart, and lifetime of 20
    /// minutes.
    pub const STANDARD: Self = Self {
        hold: 3,
        requests: 3,
        again: AskAgain::After(Duration::from_secs(1)),
        lifetime: Some(Duration::from_secs(1200)),
        learn_from_all: false,
    };

    /// ns-2.35.
    pub const NS2: Self = Self {
        hold: 1,
        requests: 3,
        again: AskAgain::NextPacket,
        lifetime: None,
        learn_from_all: true,
    };
}

impl Default for ArpConfig {
    fn default() -> Self {
        Self::STANDARD
    }
}

/// Result of an address resolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// The packet is sent to this address immediately.
    Known(HardwareAddr),
    /// The packet is queued; its outcome is returned by [`Arp::poll`], possibly at once.
    Waits,
}

/// Output of ARP, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArpOutput<H = u32> {
    /// Broadcast this request.
    Request(ArpMessage),
    /// Send this reply to its target.
    Reply(ArpMessage),
    /// Send a queued packet.
    Send {
        /// Handle of the packet.
        id: H,
        /// Next hop.
        to: Ipv4Addr,
        /// Hardware address of the next hop.
        hardware: HardwareAddr,
    },
    /// A queued packet was replaced by a newer one.
    Evicted {
        /// Handle of the packet.
        id: H,
    },
    /// No reply was received: the link to this neighbour has failed.
    Failed {
        /// Handle of the packet.
        id: H,
        /// Next hop.
        to: Ipv4Addr,
    },
}

/// State of a neighbour's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Known {
        hardware: HardwareAddr,
        /// Time of its latest message.
        heard: Instant,
    },
    Asked {
        requests: u32,
        /// Time of the next request, or of failure.
        again: Option<Instant>,
    },
}

/// ARP state of one node. Packets are handles `H` of the driver, passed back unchanged.
#[derive(Clone, Debug)]
pub struct Arp<H = u32> {
    config: ArpConfig,
    address: Ipv4Addr,
    hardware: HardwareAddr,
    /// Sorted by address.
    neighbours: Vec<(Ipv4Addr, State)>,
    /// Queued packets with their next hops, oldest first.
    held: VecDeque<(Ipv4Addr, H)>,
    out: VecDeque<ArpOutput<H>>,
    next: Option<Instant>,
}

impl<H: Copy> Arp<H> {
    /// Creates a node with an empty table.
    pub fn new(config: ArpConfig, address: Ipv4Addr, hardware: HardwareAddr) -> Self {
        Self {
            config,
            address,
            hardware,
            neighbours: Vec::new(),
            held: VecDeque::new(),
            out: VecDeque::new(),
            next: None,
        }
    }

    /// Returns the handles of queued packets, oldest first.
    pub fn held(&self) -> impl Iterator<Item = H> + '_ {
        self.held.iter().map(|(_, id)| *id)
    }

    /// Returns the time of the next timeout.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.next
    }

    /// Returns the next output.
    pub fn poll(&mut self) -> Option<ArpOutput<H>> {
        self.out.pop_front()
    }

    /// Resolves the next hop of a packet.
    pub fn resolve(&mut self, now: Instant, to: Ipv4Addr, id: H) -> Resolved {
        let place = self.place(to);
        match self.neighbours.get(place).filter(|(address, _)| *address == to) {
            Some((_, State::Known { hardware, heard })) if self.is_fresh(now, *heard) => {
                return Resolved::Known(*hardware);
            }
            Some((_, State::Asked { requests, .. })) => {
                let requests = *requests;
                self.wait_on(now, place, to, id, requests);
            }
            Some(_) => {
                self.hold(to, id);
                self.ask(now, place, 0);
            }
            None => {
                self.neighbours.insert(place, (to, State::Asked { requests: 0, again: None }));
                self.hold(to, id);
                self.ask(now, place, 0);
            }
        }
        Resolved::Waits
    }

    /// Queues a packet for a neighbour with a request outstanding.
    fn wait_on(&mut self, now: Instant, place: usize, to: Ipv4Addr, id: H, requests: u32) {
        match self.config.again {
            AskAgain::After(_) => self.hold(to, id),
            AskAgain::NextPacket if requests < self.config.requests => {
                self.hold(to, id);
                self.ask(now, place, requests);
            }
            AskAgain::NextPacket => {
                self.give_up(to);
                self.out.push_back(ArpOutput::Failed { id, to });
                // mac/arp.cc restarts the count, and sends a request with the packet after this
                // one.
                self.set(place, State::Asked { requests: 0, again: None });
            }
        }
    }

    /// Handles a message, broadcast or sent to this node.
    pub fn on_message(&mut self, now: Instant, message: &ArpMessage) {
        let for_us = message.target == self.address;
        let place = self.place(message.sender);
        let known = self.neighbours.get(place).is_some_and(|(who, _)| *who == message.sender);
        // RFC 826, Packet Reception: an existing entry is updated by any message; a new one is
        // added by the target of the message.
        if known || for_us || self.config.learn_from_all {
            let hardware = message.sender_hardware;
            let state = State::Known { hardware, heard: now };
            if known {
                self.set(place, state);
            } else {
                self.neighbours.insert(place, (message.sender, state));
            }
            self.release(message.sender, hardware);
            self.find_next();
        }
        if for_us && message.operation == ArpOperation::Request {
            self.out.push_back(ArpOutput::Reply(ArpMessage {
                operation: ArpOperation::Reply,
                sender_hardware: self.hardware,
                sender: self.address,
                target_hardware: message.sender_hardware,
                target: message.sender,
            }));
        }
    }

    /// Repeats requests, and fails resolutions after the last one.
    pub fn on_timeout(&mut self, now: Instant) {
        let mut place = 0;
        while let Some((to, state)) = self.neighbours.get(place).copied() {
            match state {
                State::Asked { requests, again: Some(at) } if at <= now => {
                    if requests < self.config.requests {
                        self.ask(now, place, requests);
                    } else {
                        self.neighbours.remove(place);
                        self.give_up(to);
                        continue;
                    }
                }
                _ => {}
            }
            place += 1;
        }
        self.find_next();
    }

    fn place(&self, address: Ipv4Addr) -> usize {
        self.neighbours.partition_point(|(other, _)| *other < address)
    }

    fn is_fresh(&self, now: Instant, heard: Instant) -> bool {
        self.config.lifetime.is_none_or(|lifetime| now.since(heard) < lifetime)
    }

    fn set(&mut self, place: usize, state: State) {
        if let Some((_, old)) = self.neighbours.get_mut(place) {
            *old = state;
        }
    }

    fn hold(&mut self, to: Ipv4Addr, id: H) {
        let is_alike = |(other, _): &(Ipv4Addr, H)| *other == to;
        if self.held.iter().filter(|held| is_alike(held)).count() >= self.config.hold
            && let Some(oldest) = self.held.iter().position(is_alike)
            && let Some((_, id)) = self.held.remove(oldest)
        {
            self.out.push_back(ArpOutput::Evicted { id });
        }
        self.held.push_back((to, id));
    }

    /// Sends a request for the neighbour at `place`, after `before` earlier requests.
    fn ask(&mut self, now: Instant, place: usize, before: u32) {
        let again = match self.config.again {
            AskAgain::After(time) => Some(now + time),
            AskAgain::NextPacket => None,
        };
        self.set(place, State::Asked { requests: before + 1, again });
        let Some((target, _)) = self.neighbours.get(place) else { return };
        self.out.push_back(ArpOutput::Request(ArpMessage {
            operation: ArpOperation::Request,
            sender_hardware: self.hardware,
            sender: self.address,
            target_hardware: HardwareAddr::default(),
            target: *target,
        }));
        self.find_next();
    }

    fn release(&mut self, to: Ipv4Addr, hardware: HardwareAddr) {
        self.take_held(to, |id| ArpOutput::Send { id, to, hardware });
    }

    fn give_up(&mut self, to: Ipv4Addr) {
        self.take_held(to, |id| ArpOutput::Failed { id, to });
    }

    fn take_held(&mut self, to: Ipv4Addr, output: impl Fn(H) -> ArpOutput<H>) {
        let out = &mut self.out;
        self.held.retain(|(other, id)| {
            if *other == to {
                out.push_back(output(*id));
            }
            *other != to
        });
    }

    fn find_next(&mut self) {
        let due = |(_, state): &(Ipv4Addr, State)| match state {
            State::Asked { again, .. } => *again,
            State::Known { .. } => None,
        };
        self.next = self.neighbours.iter().filter_map(due).min();
    }
}
