//! The Maintenance Buffer (RFC 4728 §4.5): copies of packets that the next hop has not yet confirmed, and
//! round-trip times of confirmations.

use alloc::vec::Vec;

use driftway_base::{Duration, Instant, Ipv4Addr};
use driftway_wire::RoutedPacket;

use super::path::SourceRoute;

/// The maximum number of pending packets; further ones are sent without confirmation (RFC 4728 §4.5: the size
/// is open).
pub(crate) const PENDING_MAX: usize = 64;
/// The maximum number of neighbours; the one with the oldest confirmation is evicted.
const NEIGHBOURS_MAX: usize = 64;
/// The number of received packets kept for duplicate detection.
const RECEIVED_MAX: usize = 256;

// RFC 4728 §8.3.3 requires a timer that follows the measured round-trip time, as TCP's does, and leaves its
// bounds open. The minimum is PassiveAckTimeout, for the neighbour's queue.
const INITIAL_TIMEOUT: Duration = Duration::from_millis(500);
const TIMEOUT_MIN: Duration = Duration::from_millis(100);
const TIMEOUT_MAX: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, Default)]
pub(crate) struct MaintenanceBuffer {
    pending: Vec<PendingAck>,
    neighbours: Vec<NeighbourAckState>,
    received: Vec<ReceivedPacket>,
    next_received: usize,
    last_id: u16,
}

/// A packet that has been sent and not confirmed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingAck {
    /// The packet without an Acknowledgment Request.
    pub packet: RoutedPacket,
    pub to: Ipv4Addr,
    /// The identification of its Acknowledgment Requests, whether one was sent or not.
    pub id: u16,
    /// The number of retransmissions.
    pub retransmissions: u8,
    /// The first transmission with a request, unless retransmitted since (Karn's algorithm).
    requested_at: Option<Instant>,
    due: Instant,
}

/// The acknowledgment state of a neighbour.
#[derive(Clone, Copy, Debug)]
struct NeighbourAckState {
    address: Ipv4Addr,
    /// SRTT and RTTVAR (RFC 6298 §2).
    rtt: Option<(Duration, Duration)>,
    /// The instant of its last confirmation.
    last_confirmed: Option<Instant>,
}

/// A received packet. Routes are loop-free, so the same packet arrives again only if it has been salvaged in
/// between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ReceivedPacket {
    source: Ipv4Addr,
    identification: u16,
    salvage: Option<u8>,
}

/// Salvage count and segments left of the packet's source route.
fn route_progress(packet: &RoutedPacket) -> Option<(u8, u8)> {
    let route = packet.dsr.as_ref()?.source_route.as_ref()?;
    Some((route.salvage, route.segments_left))
}

impl MaintenanceBuffer {
    /// Returns true if this neighbour has confirmed something less than `holdoff` ago.
    pub fn is_in_holdoff(&self, now: Instant, to: Ipv4Addr, holdoff: Duration) -> bool {
        let confirmed = self.neighbour(to).and_then(|neighbour| neighbour.last_confirmed);
        confirmed.is_some_and(|at| now.since(at) < holdoff)
    }

    /// Stores a copy of a packet that is sent at `at`, until it is confirmed. `passive`: the time to wait for
    /// a passive acknowledgment; without it, the packet gets an Acknowledgment Request. Returns the
    /// identification of the request; `None` if there is no room.
    pub fn push(
        &mut self,
        at: Instant,
        packet: RoutedPacket,
        to: Ipv4Addr,
        passive: Option<Duration>,
    ) -> Option<u16> {
        if self.pending.len() >= PENDING_MAX {
            return None;
        }
        if self.pending.capacity() == 0 {
            self.pending.reserve_exact(PENDING_MAX);
        }
        self.last_id = self.last_id.wrapping_add(1);
        let id = self.last_id;
        let requested_at = passive.is_none().then_some(at);
        let due = at + passive.unwrap_or_else(|| self.ack_timeout(to));
        self.pending.push(PendingAck { packet, to, id, retransmissions: 0, requested_at, due });
        Some(id)
    }

    /// Removes the last packet, which is sent without confirmation.
    pub fn pop(&mut self) {
        self.pending.pop();
    }

    /// The index of the next packet whose timer has expired.
    pub fn due(&self, now: Instant) -> Option<usize> {
        self.pending.iter().position(|waiting| waiting.due <= now)
    }

    /// Counts a retransmission and restarts the timer; returns the packet.
    pub fn retransmit(
        &mut self,
        now: Instant,
        at: usize,
        passive: Option<Duration>,
    ) -> Option<PendingAck> {
        let timeout = self.ack_timeout(self.pending.get(at)?.to);
        let waiting = self.pending.get_mut(at)?;
        waiting.retransmissions = waiting.retransmissions.saturating_add(1);
        // RFC 4728 §8.3.3: exponential back-off.
        let timeout = timeout.times(1 << waiting.retransmissions.min(16)).min(TIMEOUT_MAX);
        waiting.due = now + passive.unwrap_or(timeout);
        waiting.requested_at = None;
        Some(*waiting)
    }

    pub fn get(&self, at: usize) -> Option<&PendingAck> {
        self.pending.get(at)
    }

    /// Removes the next packet that is pending for a neighbour whose link is broken.
    pub fn take_for(&mut self, to: Ipv4Addr) -> Option<RoutedPacket> {
        let at = self.pending.iter().position(|waiting| waiting.to == to)?;
        Some(self.pending.remove(at).packet)
    }

    /// Removes the packet at an index.
    pub fn take(&mut self, at: usize) -> Option<PendingAck> {
        (at < self.pending.len()).then(|| self.pending.remove(at))
    }

    /// Removes the state of a neighbour that did not confirm.
    pub fn forget_neighbour(&mut self, to: Ipv4Addr) {
        self.neighbours.retain(|neighbour| neighbour.address != to);
    }

    /// Handles an Acknowledgment (RFC 4728 §8.3.3).
    pub fn on_ack(&mut self, now: Instant, by: Ipv4Addr, id: u16) {
        let same = |waiting: &PendingAck| waiting.to == by && waiting.id == id;
        let Some(at) = self.pending.iter().position(same) else { return };
        let waiting = self.pending.remove(at);
        self.record_confirmation(now, by, waiting.requested_at.map(|asked| now.since(asked)));
    }

    /// Handles an overheard packet of a neighbour as a passive acknowledgment (RFC 4728 §8.3.2): the
    /// neighbour forwards a packet with fewer segments left, or salvages it.
    pub fn on_overheard(&mut self, now: Instant, from: Ipv4Addr, packet: &RoutedPacket) {
        if self.pending.is_empty() {
            return;
        }
        let Some((salvage, left)) = route_progress(packet) else { return };
        let ip = &packet.packet.ip;
        let is_it = |waiting: &PendingAck| {
            let sent = &waiting.packet.packet;
            waiting.to == from
                && (sent.ip.source, sent.ip.destination) == (ip.source, ip.destination)
                && sent.ip.identification == ip.identification
                && sent.protocol() == packet.packet.protocol()
                && route_progress(&waiting.packet)
                    .is_some_and(|(salvaged, before)| salvage > salvaged || left < before)
        };
        let before = self.pending.len();
        self.pending.retain(|waiting| !is_it(waiting));
        if self.pending.len() < before {
            self.record_confirmation(now, from, None);
        }
    }

    /// Records a received packet; returns true if it was received before.
    pub fn record_received(&mut self, packet: &RoutedPacket) -> bool {
        let ip = &packet.packet.ip;
        let salvage = route_progress(packet).map(|(salvage, _)| salvage);
        let came = ReceivedPacket { source: ip.source, identification: ip.identification, salvage };
        if self.received.contains(&came) {
            return true;
        }
        if self.received.len() < RECEIVED_MAX {
            self.received.push(came);
        } else if let Some(oldest) = self.received.get_mut(self.next_received) {
            *oldest = came;
            self.next_received = (self.next_received + 1) % RECEIVED_MAX;
        }
        false
    }

    pub fn next_timeout(&self) -> Option<Instant> {
        self.pending.iter().map(|waiting| waiting.due).min()
    }

    fn neighbour(&self, address: Ipv4Addr) -> Option<&NeighbourAckState> {
        self.neighbours.iter().find(|neighbour| neighbour.address == address)
    }

    fn record_confirmation(&mut self, now: Instant, address: Ipv4Addr, sample: Option<Duration>) {
        let at = match self.neighbours.iter().position(|neighbour| neighbour.address == address) {
            Some(at) => at,
            None => {
                if self.neighbours.len() >= NEIGHBOURS_MAX {
                    let all = self.neighbours.iter().enumerate();
                    let oldest = all.min_by_key(|(_, neighbour)| neighbour.last_confirmed);
                    if let Some((oldest, _)) = oldest {
                        self.neighbours.remove(oldest);
                    }
                }
                self.neighbours.push(NeighbourAckState {
                    address,
                    rtt: None,
                    last_confirmed: None,
                });
                self.neighbours.len() - 1
            }
        };
        let Some(neighbour) = self.neighbours.get_mut(at) else { return };
        neighbour.last_confirmed = Some(now);
        if let Some(sample) = sample {
            // RFC 6298 §2.2, §2.3.
            neighbour.rtt = Some(match neighbour.rtt {
                None => (sample, sample.over(2)),
                Some((smoothed, variation)) => (
                    smoothed.times(7).over(8) + sample.over(8),
                    variation.times(3).over(4) + smoothed.abs_diff(sample).over(4),
                ),
            });
        }
    }

    fn ack_timeout(&self, to: Ipv4Addr) -> Duration {
        let round_trip = self.neighbour(to).and_then(|neighbour| neighbour.rtt);
        round_trip.map_or(INITIAL_TIMEOUT, |(smoothed, variation)| {
            (smoothed + variation.times(4)).clamp(TIMEOUT_MIN, TIMEOUT_MAX)
        })
    }
}

/// Returns true if the packet is forwarded to its destination by the next hop.
pub(crate) fn has_further_hop(packet: &RoutedPacket, to: Ipv4Addr) -> bool {
    let route = packet.dsr.as_ref().and_then(|dsr| dsr.source_route.as_ref());
    // A gateway does not forward the packet over the radio.
    let leaves = route.is_some_and(|route| route.last_hop_external && route.segments_left <= 1);
    packet.packet.ip.destination != to && !leaves && SourceRoute::of_packet(packet).is_some()
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_wire::{Body, IpHeader, Packet};

    const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn packet(identification: u16) -> RoutedPacket {
        let ip = IpHeader { identification, ..IpHeader::new(A, B) };
        RoutedPacket::plain(Packet { ip, body: Body::NoNextHeader })
    }

    /// RFC 4728 §8.3.3: the timer follows the measured round-trip time, and backs off.
    #[test]
    fn the_timer_follows_the_round_trip_time() {
        let mut buffer = MaintenanceBuffer::default();
        let id = buffer.push(ms(0), packet(1), B, None).unwrap();
        assert_eq!(buffer.next_timeout(), Some(ms(500)));
        buffer.on_ack(ms(80), A, id);
        assert_eq!(buffer.next_timeout(), Some(ms(500)), "another's");
        buffer.on_ack(ms(80), B, id);
        assert_eq!(buffer.next_timeout(), None);
        // SRTT 80 ms, RTTVAR 40 ms.
        let id = buffer.push(ms(1000), packet(2), B, None).unwrap();
        assert_eq!(buffer.next_timeout(), Some(ms(1240)));
        assert_eq!(buffer.due(ms(1239)), None);
        assert_eq!(buffer.retransmit(ms(1240), 0, None).unwrap().retransmissions, 1);
        assert_eq!(buffer.next_timeout(), Some(ms(1240 + 480)));
        // The acknowledgment may be for the first transmission: no sample is taken.
        buffer.on_ack(ms(1241), B, id);
        let id = buffer.push(ms(2000), packet(3), B, None).unwrap();
        assert_eq!(buffer.next_timeout(), Some(ms(2240)));
        buffer.on_ack(ms(2001), B, id);
        for n in 4..40 {
            let id = buffer.push(ms(3000), packet(n), B, None).unwrap();
            buffer.on_ack(ms(3001), B, id);
        }
        buffer.push(ms(4000), packet(40), B, None).unwrap();
        assert_eq!(buffer.next_timeout(), Some(ms(4100)), "at least 100 ms");
    }

    #[test]
    fn a_confirmation_holds_for_the_holdoff_time() {
        let mut buffer = MaintenanceBuffer::default();
        let holdoff = Duration::from_millis(250);
        assert!(!buffer.is_in_holdoff(ms(0), B, holdoff));
        let id = buffer.push(ms(0), packet(1), B, None).unwrap();
        buffer.on_ack(ms(10), B, id);
        assert_eq!([259, 260].map(|at| buffer.is_in_holdoff(ms(at), B, holdoff)), [true, false]);
        assert!(!buffer.is_in_holdoff(ms(20), A, holdoff));
        buffer.forget_neighbour(B);
        assert!(!buffer.is_in_holdoff(ms(20), B, holdoff));
    }

    #[test]
    fn capacities_are_bounded() {
        let mut buffer = MaintenanceBuffer::default();
        let all = (0..70).filter(|n| buffer.push(ms(0), packet(*n), B, None).is_some()).count();
        assert_eq!(all, 64);
        assert_eq!(core::iter::from_fn(|| buffer.take_for(B)).count(), 64);
        assert_eq!((0..260).filter(|n| buffer.record_received(&packet(*n))).count(), 0);
        assert!(!buffer.record_received(&packet(3)), "evicted by 256 others");
        assert!(buffer.record_received(&packet(5)) && buffer.record_received(&packet(259)));
    }
}
