//! Errors of the network about IPv6 packets.
//!
//! A router drops and reports an IPv6 packet as one of IPv4, since that is what the network sees. Its message of ICMP
//! travels to the sender, who gets the message of ICMPv6 (RFC 4443) that it stands for.

use std::collections::VecDeque;
use std::net::Ipv6Addr;

use driftway_base::{Duration, Instant, Ipv4Addr};
use driftway_wire::{
    Body, IPV6_MIN_MTU, IcmpMessage, Icmpv6Message, Icmpv6Unreachable, Ipv6Header, Ipv6Packet,
    Packet, UnreachableCode,
};

use super::kernel_packet::rewrite;

/// Time for which a message about a dropped packet may be on its way.
const LIFETIME: Duration = Duration::from_secs(10);
/// Bytes of dropped packets that are kept. Of a longer burst the first are not reported, as by a router that limits the
/// rate of its errors.
const KEPT_BYTES_MAX: usize = 4 << 20;

/// IPv6 packets that the network has dropped, for messages about them.
#[derive(Debug, Default)]
pub struct DroppedIpv6 {
    packets: VecDeque<Dropped>,
    /// Bytes of all.
    len: usize,
}

#[derive(Debug)]
struct Dropped {
    at: Instant,
    /// Source, destination and identification that the network saw.
    key: (Ipv4Addr, Ipv4Addr, u16),
    bytes: Vec<u8>,
}

impl DroppedIpv6 {
    /// Keeps a packet that was dropped.
    pub fn add(&mut self, now: Instant, seen: &Packet, bytes: &[u8]) {
        let is_old = |old: &Dropped| now.since(old.at) > LIFETIME;
        while self.packets.front().is_some_and(is_old) || self.len > KEPT_BYTES_MAX {
            self.len -= self.packets.pop_front().map_or(0, |old| old.bytes.len());
        }
        let (ip, mut bytes) = (&seen.ip, bytes.to_vec());
        rewrite(&mut bytes, ip.ttl, ip.ecn);
        self.len += bytes.len();
        let key = (ip.source, ip.destination, ip.identification);
        self.packets.push_back(Dropped { at: now, key, bytes });
    }

    /// Translates a message of ICMP that a node of this IPv6 address has sent. `None`: it is not about an IPv6
    /// packet. `Some(None)`: it has no equivalent.
    pub fn translate(&mut self, error: &Packet, reporter: Ipv6Addr) -> Option<Option<Vec<u8>>> {
        let Body::Icmp(message) = &error.body else { return None };
        let quoted = message.quoted()?;
        let key = (quoted.source, quoted.destination, quoted.identification);
        // The last one: numbers are used again.
        let place = self.packets.iter().rposition(|dropped| dropped.key == key)?;
        let Dropped { bytes, .. } = self.packets.remove(place)?;
        self.len -= bytes.len();
        Some(match message {
            IcmpMessage::TimeExceeded { reassembly, .. } => {
                let message =
                    |quoted| Icmpv6Message::TimeExceeded { reassembly: *reassembly, quoted };
                error_about(&bytes, reporter, message)
            }
            IcmpMessage::Unreachable { code, .. } => {
                let code = equivalent(*code);
                error_about(&bytes, reporter, |quoted| Icmpv6Message::Unreachable { code, quoted })
            }
            _ => None,
        })
    }
}

/// The code of ICMPv6 for one of ICMP (RFC 7915 §4.2).
const fn equivalent(code: UnreachableCode) -> Icmpv6Unreachable {
    match code {
        UnreachableCode::Port => Icmpv6Unreachable::Port,
        UnreachableCode::Net => Icmpv6Unreachable::NoRoute,
        _ => Icmpv6Unreachable::Address,
    }
}

/// Returns the packet in which a node of this address reports an error about an IPv6 packet to its source; `None`
/// where it must not (RFC 4443 §2.4).
pub fn error_about<'a>(
    bytes: &'a [u8],
    reporter: Ipv6Addr,
    message: impl FnOnce(&'a [u8]) -> Icmpv6Message<'a>,
) -> Option<Vec<u8>> {
    let packet = Ipv6Packet::decode(bytes).ok()?;
    let header = Ipv6Header::new(reporter, packet.header.source);
    let mut error = vec![0; IPV6_MIN_MTU as usize];
    let len = message(bytes).encode(&header, &mut error).ok()?;
    error.truncate(len);
    packet.permits_errors().then_some(error)
}
