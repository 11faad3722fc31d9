//! How a node learns its neighbours' hardware addresses: ARP (RFC 826).
//!
//! Methods: commands [`Arp::resolve`]; events [`Arp::on_message`], [`Arp::on_timeout`]; polls
//! [`Arp::poll`], until there is nothing, and [`Arp::next_timeout`]; looks [`Arp::held`]. Time never
//! goes back.

use std::collections::VecDeque;

use driftway_base::{Duration, Instant, Ipv4Addr};
use driftway_wire::{ArpMessage, ArpOperation, HardwareAddr};

/// How a node resolves addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArpConfig {
    /// How many packets wait for one address; a further one takes the place of the oldest. RFC 1122
    /// §2.3.2.2: at least one, the latest. ns-2.35: one.
    pub hold: usize,
    /// How many requests go out before what waits is given up. RFC 1122: open. ns-2.35: 3.
    pub requests: u32,
    /// What makes a node ask again. RFC 1122 §2.3.2.1: a request a second at the most. ns-2.35:
    /// every packet.
    pub again: ArpRetry,
    /// How long an address is known after it was last heard; `None`: for ever. RFC 1122 §2.3.2.1:
    /// there must be an end to it. ns-2.35: none.
    pub lifetime: Option<Duration>,
    /// Learns the addresses of whoever asks whatever it asks for. RFC 826: those known are brought
    /// up to date, others kept only if the message is for this node. ns-2.35: does.
    pub learn_from_all: bool,
}

/// What makes a node ask again for an address that it got no answer about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArpRetry {
    /// So much time that goes by after a request.
    After(Duration),
    /// The next packet for the same neighbour, and nothing else. The packet after the last request
    /// is given up with what waits, so that until then packets vanish without a word (mac/arp.cc).
    NextPacket,
}

impl ArpConfig {
    /// RFC 826 and RFC 1122, with the three requests, a second apart, and the 20 minutes that are
    /// usual.
    pub const STANDARD: Self = Self {
        hold: 3,
        requests: 3,
        again: ArpRetry::After(Duration::from_secs(1)),
        lifetime: Some(Duration::from_secs(1200)),
        learn_from_all: false,
    };

    /// ns-2.35.
    pub const NS2: Self = Self {
        hold: 1,
        requests: 3,
        again: ArpRetry::NextPacket,
        lifetime: None,
        learn_from_all: true,
    };
}

impl Default for ArpConfig {
    fn default() -> Self {
        Self::STANDARD
    }
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// It goes to this address at once.
    Known(HardwareAddr),
    /// It is kept, and [`Arp::poll`] will tell of it, or has something to tell now.
    Pending,
}

/// What ARP wants done, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArpOutput<H = u32> {
    /// Send this to all.
    Request(ArpMessage),
    /// Send this to its target.
    Reply(ArpMessage),
    /// Send a packet that waited.
    Send {
        /// Its handle.
        id: H,
        /// The neighbour.
        to: Ipv4Addr,
        /// Where it goes.
        hardware: HardwareAddr,
    },
    /// A newer packet took its place.
    Evicted {
        /// Its handle.
        id: H,
    },
    /// Nobody has answered: the link to this neighbour has failed.
    Failed {
        /// The packet's handle.
        id: H,
        /// The neighbour.
        to: Ipv4Addr,
    },
}

/// What is known of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Known {
        hardware: HardwareAddr,
        /// When it was last heard.
        last_heard: Instant,
    },
    Incomplete {
        requests: u32,
        /// When to ask again, or to give up.
        retry_at: Option<Instant>,
    },
}

/// ARP of one node. A packet is to it a handle `H` of the driver's, which comes back as it was given.
#[derive(Clone, Debug)]
pub struct Arp<H = u32> {
    config: ArpConfig,
    address: Ipv4Addr,
    hardware: HardwareAddr,
    /// By address.
    neighbours: Vec<(Ipv4Addr, State)>,
    /// Packets that wait, each with its neighbour, oldest first.
    pending: VecDeque<(Ipv4Addr, H)>,
    outputs: VecDeque<ArpOutput<H>>,
    next_timeout: Option<Instant>,
}

impl<H: Copy> Arp<H> {
    /// A node that knows nobody.
    pub fn new(config: ArpConfig, address: Ipv4Addr, hardware: HardwareAddr) -> Self {
        Self {
            config,
            address,
            hardware,
            neighbours: Vec::new(),
            pending: VecDeque::new(),
            outputs: VecDeque::new(),
            next_timeout: None,
        }
    }

    /// Packets that wait, oldest first, by their handles.
    pub fn pending_packets(&self) -> impl Iterator<Item = H> + '_ {
        self.pending.iter().map(|(_, id)| *id)
    }

    /// When there is something to do.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.next_timeout
    }

    /// The next thing to do.
    pub fn poll(&mut self) -> Option<ArpOutput<H>> {
        self.outputs.pop_front()
    }

    /// A packet is for this neighbour.
    pub fn resolve(&mut self, now: Instant, to: Ipv4Addr, id: H) -> Resolution {
        let place = self.index_of(to);
        match self.neighbours.get(place).filter(|(address, _)| *address == to) {
            Some((_, State::Known { hardware, last_heard: heard })) if self.is_fresh(now, *heard) => {
                return Resolution::Known(*hardware);
            }
            Some((_, State::Incomplete { requests, .. })) => {
                let requests = *requests;
                self.queue_unresolved(now, place, to, id, requests);
            }
            Some(_) => {
                self.queue_packet(to, id);
                self.send_request(now, place, 0);
            }
            None => {
                self.neighbours.insert(place, (to, State::Incomplete { requests: 0, retry_at: None }));
                self.queue_packet(to, id);
                self.send_request(now, place, 0);
            }
        }
        Resolution::Pending
    }

    /// A packet for a neighbour that was asked for already.
    fn queue_unresolved(&mut self, now: Instant, place: usize, to: Ipv4Addr, id: H, requests: u32) {
        match self.config.again {
            ArpRetry::After(_) => self.queue_packet(to, id),
            ArpRetry::NextPacket if requests < self.config.requests => {
                self.queue_packet(to, id);
                self.send_request(now, place, requests);
            }
            ArpRetry::NextPacket => {
                self.fail_pending(to);
                self.outputs.push_back(ArpOutput::Failed { id, to });
                // mac/arp.cc starts counting anew, and asks with the packet after this one.
                self.set(place, State::Incomplete { requests: 0, retry_at: None });
            }
        }
    }

    /// A message arrived, sent to all or to this node.
    pub fn on_message(&mut self, now: Instant, message: &ArpMessage) {
        let for_us = message.target == self.address;
        let place = self.index_of(message.sender);
        let known = self.neighbours.get(place).is_some_and(|(who, _)| *who == message.sender);
        // RFC 826, Packet Reception: what is known is brought up to date whoever is asked for; what
        // is not is kept by whom it is for.
        if known || for_us || self.config.learn_from_all {
            let hardware = message.sender_hardware;
            let state = State::Known { hardware, last_heard: now };
            if known {
                self.set(place, state);
            } else {
                self.neighbours.insert(place, (message.sender, state));
            }
            self.send_pending(message.sender, hardware);
            self.update_next_timeout();
        }
        if for_us && message.operation == ArpOperation::Request {
            self.outputs.push_back(ArpOutput::Reply(ArpMessage {
                operation: ArpOperation::Reply,
                sender_hardware: self.hardware,
                sender: self.address,
                target_hardware: message.sender_hardware,
                target: message.sender,
            }));
        }
    }

    /// Asks again, and gives up on what was asked for often enough.
    pub fn on_timeout(&mut self, now: Instant) {
        let mut place = 0;
        while let Some((to, state)) = self.neighbours.get(place).copied() {
            match state {
                State::Incomplete { requests, retry_at: Some(at) } if at <= now => {
                    if requests < self.config.requests {
                        self.send_request(now, place, requests);
                    } else {
                        self.neighbours.remove(place);
                        self.fail_pending(to);
                        continue;
                    }
                }
                _ => {}
            }
            place += 1;
        }
        self.update_next_timeout();
    }

    fn index_of(&self, address: Ipv4Addr) -> usize {
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

    fn queue_packet(&mut self, to: Ipv4Addr, id: H) {
        let is_alike = |(other, _): &(Ipv4Addr, H)| *other == to;
        if self.pending.iter().filter(|held| is_alike(held)).count() >= self.config.hold
            && let Some(oldest) = self.pending.iter().position(is_alike)
            && let Some((_, id)) = self.pending.remove(oldest)
        {
            self.outputs.push_back(ArpOutput::Evicted { id });
        }
        self.pending.push_back((to, id));
    }

    /// Sends a request for the neighbour at `place`, which has had `before`.
    fn send_request(&mut self, now: Instant, place: usize, before: u32) {
        let again = match self.config.again {
            ArpRetry::After(time) => Some(now + time),
            ArpRetry::NextPacket => None,
        };
        self.set(place, State::Incomplete { requests: before + 1, retry_at: again });
        let Some((target, _)) = self.neighbours.get(place) else { return };
        self.outputs.push_back(ArpOutput::Request(ArpMessage {
            operation: ArpOperation::Request,
            sender_hardware: self.hardware,
            sender: self.address,
            target_hardware: HardwareAddr::default(),
            target: *target,
        }));
        self.update_next_timeout();
    }

    fn send_pending(&mut self, to: Ipv4Addr, hardware: HardwareAddr) {
        self.drain_pending(to, |id| ArpOutput::Send { id, to, hardware });
    }

    fn fail_pending(&mut self, to: Ipv4Addr) {
        self.drain_pending(to, |id| ArpOutput::Failed { id, to });
    }

    fn drain_pending(&mut self, to: Ipv4Addr, output: impl Fn(H) -> ArpOutput<H>) {
        let out = &mut self.outputs;
        self.pending.retain(|(other, id)| {
            if *other == to {
                out.push_back(output(*id));
            }
            *other != to
        });
    }

    fn update_next_timeout(&mut self) {
        let due = |(_, state): &(Ipv4Addr, State)| match state {
            State::Incomplete { retry_at: again, .. } => *again,
            State::Known { .. } => None,
        };
        self.next_timeout = self.neighbours.iter().filter_map(due).min();
    }
}
