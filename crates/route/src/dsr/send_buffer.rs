//! The Send Buffer (RFC 4728 §4.2): packets without a route.

use alloc::vec::Vec;

use driftway_base::{Instant, Ipv4Addr};
use driftway_wire::RoutedPacket;

/// Packets in slots: the first empty one is filled, so that packets leave in order of arrival as long as none
/// has left in between.
#[derive(Clone, Debug)]
pub(crate) struct SendBuffer {
    slots: Vec<Option<BufferedPacket>>,
    capacity: usize,
    count: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferedPacket {
    pub buffered_at: Instant,
    pub packet: RoutedPacket,
}

impl SendBuffer {
    pub fn new(capacity: u16) -> Self {
        // Few nodes ever buffer a packet: there is room for a window, and a larger buffer is reallocated
        // once.
        Self {
            slots: Vec::with_capacity(usize::from(capacity).min(16)),
            capacity: capacity as usize,
            count: 0,
        }
    }

    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Buffers a packet; returns the oldest one if there is no room for both.
    pub fn push(&mut self, now: Instant, packet: RoutedPacket) -> Option<RoutedPacket> {
        let waiting = Some(BufferedPacket { buffered_at: now, packet });
        if let Some(slot) = self.slots.iter_mut().find(|slot| slot.is_none()) {
            *slot = waiting;
        } else if self.slots.len() < self.capacity {
            self.slots.push(waiting);
        } else {
            let since = |slot: &&mut Option<BufferedPacket>| {
                slot.as_ref().map(|waiting| waiting.buffered_at)
            };
            let Some(oldest) = self.slots.iter_mut().min_by_key(since) else {
                return Some(packet);
            };
            return core::mem::replace(oldest, waiting).map(|waiting| waiting.packet);
        }
        self.count += 1;
        None
    }

    /// The number of slots.
    pub const fn slots(&self) -> usize {
        self.slots.len()
    }

    pub fn get(&self, slot: usize) -> Option<&BufferedPacket> {
        self.slots.get(slot)?.as_ref()
    }

    pub fn take(&mut self, slot: usize) -> Option<RoutedPacket> {
        let waiting = self.slots.get_mut(slot)?.take()?;
        self.count -= 1;
        Some(waiting.packet)
    }

    pub fn has_packets_for(&self, destination: Ipv4Addr) -> bool {
        self.iter().any(|waiting| waiting.packet.packet.ip.destination == destination)
    }

    pub fn iter(&self) -> impl Iterator<Item = &BufferedPacket> {
        self.slots.iter().flatten()
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_wire::{Body, IpHeader, Packet};

    fn packet(n: u8) -> RoutedPacket {
        let ip = IpHeader::new(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, n));
        RoutedPacket::plain(Packet { ip, body: Body::NoNextHeader })
    }

    #[test]
    fn the_oldest_is_evicted() {
        let mut buffer = SendBuffer::new(2);
        assert!(buffer.is_empty());
        assert_eq!(buffer.push(Instant::from_secs(1), packet(2)), None);
        assert_eq!(buffer.push(Instant::from_secs(2), packet(3)), None);
        assert_eq!(buffer.push(Instant::from_secs(3), packet(4)), Some(packet(2)));
        assert_eq!(buffer.take(0), Some(packet(4)));
        assert_eq!(buffer.take(0), None);
        assert_eq!(buffer.push(Instant::from_secs(4), packet(5)), None);
        assert_eq!(buffer.iter().count(), 2);
        assert_eq!(SendBuffer::new(0).push(Instant::ZERO, packet(2)), Some(packet(2)));
    }
}
