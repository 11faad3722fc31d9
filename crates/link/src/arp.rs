//! Address resolution protocol (RFC 826).
//!
//! Methods: commands [`Arp::resolve`]; events [`Arp::on_message`], [`Arp::on_timeout`]; polls
//! [`Arp::poll`], until it returns `None`, and [`Arp::next_timeout`]; looks
//! [`Arp::pending_packets`]. Time never goes back.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use driftway_base::{Duration, Instant, Ipv4Addr, configuration};
use driftway_wire::{ArpMessage, ArpOperation, HardwareAddr};

/// Passes the options of ARP to a macro, after what it is given: see [`configuration!`](driftway_base::configuration).
#[macro_export]
macro_rules! arp_options {
    ($table:ident! { $($head:tt)* }) => { $table! { $($head)* options {
        /// Maximum number of packets that wait for the resolution of one address; the oldest is
        /// replaced when it is exceeded (RFC 1122 §2.3.2.2).
        hold: usize [range("the number of packets", 1..=1000)] = 3 => 1,
            "RFC 1122 §2.3.2.2: at least the latest packet is kept for each unresolved address. \
             Linux keeps several; driftway keeps three.",
            "One packet, which a newer one replaces (mac/arp.cc `arpresolve`).";
        /// Number of unanswered requests after which the waiting packets are dropped.
        requests: u32 [range("the number of requests", 1..=1000)] = 3;
        /// Trigger of the next request for an unresolved address: a time since the previous request
        /// (RFC 1122 §2.3.2.1), or `"next-packet"`, the next packet for the same neighbour, as in
        /// ns-2.35.
        retry: ArpRetry as ArpRetryRule [positive()] = ArpRetry::After(Duration::from_secs(1))
            => ArpRetry::NextPacket,
            "RFC 1122 §2.3.2.1: requests are sent at most once per second; the waiting packets \
             are dropped if there is no reply.",
            "No timer: only the next packet for the same neighbour triggers another request. The \
             packet after the third request is reported as a link failure, together with the one \
             that waited. Until then up to three packets are dropped silently (mac/arp.cc, \
             `ARP_MAX_REQUEST_COUNT`).";
        /// Lifetime of a resolved address since its node was last heard, or `"forever"` (RFC 1122
        /// §2.3.2.1 requires a timeout and leaves its length open).
        lifetime: Option<Duration> as Lifetime [positive()] = Some(Duration::from_secs(1200))
            => None,
            "RFC 1122 §2.3.2.1: there must be a mechanism to flush out-of-date addresses; 20 \
             minutes is the value of BSD.",
            "Addresses never expire (mac/arp.cc).";
        /// Adds the sender of every overheard request to the table, as in ns-2.35; false: only a node
        /// that is the target of the request does (RFC 826).
        learn_from_all: bool = false => true,
            "RFC 826, packet reception: known addresses are updated, but only the target of a \
             message adds an unknown one.",
            "Every node that receives a request adds the address of its sender (mac/arp.cc \
             `arpinput`).";
    } } };
}

arp_options! { configuration! {
    /// ARP configuration.
    #[derive(Eq)]
    pub struct ArpConfig {
        /// RFC 826 and RFC 1122, with the usual three requests, a second apart, and lifetime of 20 minutes.
        STANDARD,
        /// ns-2.35.
        NS2,
    }
} }

/// Trigger of a repeated request for an unresolved address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArpRetry {
    /// A timeout after each request.
    After(Duration),
    /// The next packet for the same neighbour only. The packet after the last request fails
    /// together with the queued ones, so that before it packets are lost without a report
    /// (mac/arp.cc).
    NextPacket,
}

/// Result of an address resolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// The packet is sent to this address immediately.
    Known(HardwareAddr),
    /// The packet is queued; its outcome is returned by [`Arp::poll`], possibly at once.
    Pending,
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
        last_heard: Instant,
    },
    Incomplete {
        requests: u32,
        /// Time of the next request, or of failure.
        retry_at: Option<Instant>,
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
    pending: VecDeque<(Ipv4Addr, H)>,
    outputs: VecDeque<ArpOutput<H>>,
    next_timeout: Option<Instant>,
}

impl<H: Copy> Arp<H> {
    /// Creates a node with an empty table.
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

    /// Returns the handles of queued packets, oldest first.
    pub fn pending_packets(&self) -> impl Iterator<Item = H> + '_ {
        self.pending.iter().map(|(_, id)| *id)
    }

    /// Returns the time of the next timeout.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.next_timeout
    }

    /// Returns the next output.
    pub fn poll(&mut self) -> Option<ArpOutput<H>> {
        self.outputs.pop_front()
    }

    /// Resolves the next hop of a packet.
    pub fn resolve(&mut self, now: Instant, to: Ipv4Addr, id: H) -> Resolution {
        let place = self.index_of(to);
        match self.neighbours.get(place).filter(|(address, _)| *address == to) {
            Some((_, State::Known { hardware, last_heard })) if self.is_fresh(now, *last_heard) => {
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
                self.neighbours
                    .insert(place, (to, State::Incomplete { requests: 0, retry_at: None }));
                self.queue_packet(to, id);
                self.send_request(now, place, 0);
            }
        }
        Resolution::Pending
    }

    /// Queues a packet for a neighbour with a request outstanding.
    fn queue_unresolved(&mut self, now: Instant, place: usize, to: Ipv4Addr, id: H, requests: u32) {
        match self.config.retry {
            ArpRetry::After(_) => self.queue_packet(to, id),
            ArpRetry::NextPacket if requests < self.config.requests => {
                self.queue_packet(to, id);
                self.send_request(now, place, requests);
            }
            ArpRetry::NextPacket => {
                self.fail_pending(to);
                self.outputs.push_back(ArpOutput::Failed { id, to });
                // mac/arp.cc restarts the count, and sends a request with the packet after this
                // one.
                self.set(place, State::Incomplete { requests: 0, retry_at: None });
            }
        }
    }

    /// Handles a message, broadcast or sent to this node.
    pub fn on_message(&mut self, now: Instant, message: &ArpMessage) {
        let for_us = message.target == self.address;
        let place = self.index_of(message.sender);
        let known = self.neighbours.get(place).is_some_and(|(who, _)| *who == message.sender);
        // RFC 826, Packet Reception: an existing entry is updated by any message; a new one is
        // added by the target of the message.
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

    /// Repeats requests, and fails resolutions after the last one.
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

    /// Sends a request for the neighbour at `place`, after `before` earlier requests.
    fn send_request(&mut self, now: Instant, place: usize, before: u32) {
        let retry_at = match self.config.retry {
            ArpRetry::After(time) => Some(now + time),
            ArpRetry::NextPacket => None,
        };
        self.set(place, State::Incomplete { requests: before + 1, retry_at });
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
            State::Incomplete { retry_at, .. } => *retry_at,
            State::Known { .. } => None,
        };
        self.next_timeout = self.neighbours.iter().filter_map(due).min();
    }
}
