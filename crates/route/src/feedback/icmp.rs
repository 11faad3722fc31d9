//! ICMP errors (RFC 792): a router that cannot deliver a packet sends an error to its source, for each
//! packet, subject to a rate limit.

use alloc::collections::VecDeque;

use driftway_base::{DropReason, Instant, Ipv4Addr};
use driftway_wire::{IcmpMessage, Packet, QuotedPacket, UnreachableCode};

use super::scheme::{FeedbackOutput, Scheme, UndeliverableOutcome, UndeliverablePacket};
use crate::rate_limit::RateLimit;

/// The errors that a node sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpConfig {
    /// Host unreachable (RFC 1812 §4.3.3.1).
    pub unreachable: bool,
    /// Time exceeded (RFC 1812 §5.3.1).
    pub time_exceeded: bool,
    /// Source quench (RFC 792; obsolete by RFC 6633).
    pub source_quench: bool,
    /// The maximum number of errors per second, of all types together (RFC 1812 §4.3.2.8); 0: unlimited.
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
    /// Creates the ICMP agent of the node at `address`.
    pub const fn new(address: Ipv4Addr, config: IcmpConfig) -> Self {
        Self { address, config, limit: RateLimit::new(config.per_second), outbox: VecDeque::new() }
    }

    /// Sends an error, but none about an error (RFC 1122 §3.2.2).
    fn send(
        &mut self,
        now: Instant,
        about: &Packet,
        message: impl FnOnce(QuotedPacket) -> IcmpMessage,
    ) {
        let error = Packet::icmp_error(self.address, about, message);
        self.outbox.extend(error.filter(|_| self.limit.try_acquire(now).is_ok()));
    }
}

impl Scheme for Icmp {
    fn on_undeliverable(
        &mut self,
        now: Instant,
        lost: &UndeliverablePacket<'_>,
    ) -> UndeliverableOutcome {
        match lost.reason {
            // The packet has been here: its destination is as reachable as before.
            DropReason::Loop => {}
            // A copy may be in flight; if not, that is detected later.
            DropReason::Unconfirmed => {}
            // RFC 4728 §4.2: packets that leave the send buffer by timeout or eviction are silently
            // discarded. RFC 3561 §6.3 requires a message only at the end of a discovery.
            DropReason::SendBufferFull | DropReason::SendBufferTimeout => {}
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

    fn poll(&mut self) -> Option<FeedbackOutput> {
        self.outbox.pop_front().map(FeedbackOutput::Transmit)
    }
}
