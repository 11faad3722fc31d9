//! ICMP errors (RFC 792): a router that cannot deliver a packet says so to the packet's source, for
//! each packet by itself.

use alloc::collections::VecDeque;

use base::{Instant, Ipv4Addr};
use wire::{IcmpMessage, Packet, Quoted, UnreachableCode};

use super::{Fate, GivenUp, Output, Scheme};
use crate::DropReason;

/// Which errors a node sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpConfig {
    /// Host unreachable (RFC 1812 §4.3.3.1).
    pub unreachable: bool,
    /// Time exceeded (RFC 1812 §5.3.1).
    pub time_exceeded: bool,
    /// Source quench (RFC 792; obsolete by RFC 6633).
    pub source_quench: bool,
}

/// ICMP at one node.
#[derive(Clone, Debug)]
pub struct Icmp {
    address: Ipv4Addr,
    config: IcmpConfig,
    outbox: VecDeque<Packet>,
}

impl Icmp {
    /// The errors of the node at `address`.
    pub const fn new(address: Ipv4Addr, config: IcmpConfig) -> Self {
        Self { address, config, outbox: VecDeque::new() }
    }

    /// Sends an error, but none about an error (RFC 1122 §3.2.2).
    fn send(&mut self, about: &Packet, message: impl FnOnce(Quoted) -> IcmpMessage) {
        self.outbox.extend(Packet::icmp_error(self.address, about, message));
    }
}

impl Scheme for Icmp {
    fn on_given_up(&mut self, _now: Instant, lost: &GivenUp<'_>) -> Fate {
        match lost.reason {
            // The packet has been here: its destination is no farther than before.
            DropReason::Loop => {}
            DropReason::TimeToLive if self.config.time_exceeded => {
                let message = |quoted| IcmpMessage::TimeExceeded { reassembly: false, quoted };
                self.send(lost.packet, message);
            }
            DropReason::TimeToLive => {}
            _ if self.config.unreachable => {
                let code = UnreachableCode::Host;
                self.send(lost.packet, |quoted| IcmpMessage::Unreachable { code, quoted });
            }
            _ => {}
        }
        Fate::Lost
    }

    fn on_overflow(&mut self, _now: Instant, packet: &Packet) {
        if self.config.source_quench {
            self.send(packet, |quoted| IcmpMessage::SourceQuench { quoted });
        }
    }

    fn poll(&mut self) -> Option<Output> {
        self.outbox.pop_front().map(Output::Transmit)
    }
}
