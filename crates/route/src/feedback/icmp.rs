//! ICMP errors (RFC 792): a router that cannot deliver a packet says so to the packet's source, for
//! each packet by itself, but no more often than it may.

use alloc::collections::VecDeque;

use driftway_base::{Instant, Ipv4Addr};
use driftway_wire::{IcmpMessage, Packet, QuotedPacket, UnreachableCode};

use super::{UndeliverableOutcome, UndeliverablePacket, Output, Scheme};
use crate::DropReason;
use crate::rate_limit::RateLimit;

/// Which errors a node sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpConfig {
    /// Host unreachable (RFC 1812 §4.3.3.1).
    pub unreachable: bool,
    /// Time exceeded (RFC 1812 §5.3.1).
    pub time_exceeded: bool,
    /// Source quench (RFC 792; obsolete by RFC 6633).
    pub source_quench: bool,
    /// The most errors in any second, of all kinds together (RFC 1812 §4.3.2.8); 0: any number.
    pub per_second: u8,
}

/// ICMP at one node.
#[derive(Clone, Debug)]
pub struct Icmp {
    address: Ipv4Addr,
    config: IcmpConfig,
    limit: RateLimit,
    outbox: VecDeque<Packet>,
}

impl Icmp {
    /// The errors of the node at `address`.
    pub const fn new(address: Ipv4Addr, config: IcmpConfig) -> Self {
        Self { address, config, limit: RateLimit::new(config.per_second), outbox: VecDeque::new() }
    }

    /// Sends an error, but none about an error (RFC 1122 §3.2.2).
    fn send(&mut self, now: Instant, about: &Packet, message: impl FnOnce(QuotedPacket) -> IcmpMessage) {
        let error = Packet::icmp_error(self.address, about, message);
        self.outbox.extend(error.filter(|_| self.limit.try_acquire(now).is_ok()));
    }
}

impl Scheme for Icmp {
    fn on_undeliverable(&mut self, now: Instant, lost: &UndeliverablePacket<'_>) -> UndeliverableOutcome {
        match lost.reason {
            // The packet has been here: its destination is no farther than before.
            DropReason::Loop => {}
            // A copy may be on its way; if not, that is noticed later.
            DropReason::Unconfirmed => {}
            // RFC 4728 §4.2: what leaves the send buffer for its age, or to make room, is silently
            // discarded. RFC 3561 §6.3 has a message only for the end of a discovery.
            DropReason::BufferFull | DropReason::BufferTimeout => {}
            DropReason::TimeToLive if self.config.time_exceeded => {
                let message = |quoted| IcmpMessage::TimeExceeded { reassembly: false, quoted };
                self.send(now, lost.packet, message);
            }
            DropReason::TimeToLive => {}
            _ if self.config.unreachable => {
                let code = UnreachableCode::Host;
                self.send(now, lost.packet, |quoted| IcmpMessage::Unreachable { code, quoted });
            }
            _ => {}
        }
        UndeliverableOutcome::Dropped
    }

    fn on_queue_overflow(&mut self, now: Instant, packet: &Packet) {
        if self.config.source_quench {
            self.send(now, packet, |quoted| IcmpMessage::SourceQuench { quoted });
        }
    }

    fn poll(&mut self) -> Option<Output> {
        self.outbox.pop_front().map(Output::Transmit)
    }
}
