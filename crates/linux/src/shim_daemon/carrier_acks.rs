//! Carrier acknowledgments: a segment of the shim leaves this host in place of an acknowledgment of
//! the local TCP.
//!
//! The shim makes the local TCP acknowledge ([`driftway_shim::Shim::solicit_ack`]). The kernel
//! sends that acknowledgment like any other packet of the socket: routed by mark, device, owner and
//! address, filtered by the firewall, with translated addresses, encrypted. At the last hook before
//! the interface its TCP segment is replaced. So the shim's segments take exactly the route of the
//! connection's own packets; if those cannot leave, neither do they.

use std::collections::{BTreeMap, VecDeque};

use driftway_base::{Duration, FlowKey, Instant, Seq};
use driftway_shim::{complete_checksums, parse_headers};
use driftway_wire::{TcpFlags, edit_header};

/// Packet priority of a carrier acknowledgment between the two hooks: this tag in the upper half,
/// the index of its slot in the lower.
pub const TAG: u32 = 0x5716_0000;
pub const TAG_MASK: u32 = 0xffff_0000;
/// IP identification of a carrier acknowledgment between the two hooks, by which it is recognized if
/// a rule of the firewall has given it another priority. Other packets may have it by chance.
pub const CARRIER_ID: u16 = 0x5716;

/// Time after which a pending packet has found no carrier. The kernel acknowledges at once, unless
/// the socket is locked by an application.
const CARRIER_TIMEOUT: Duration = Duration::from_millis(200);

/// Maximum number of pending packets per flow.
const PENDING_MAX: usize = 256;

/// A packet, or a route query, that waits for a carrier acknowledgment.
#[derive(Debug)]
struct PendingPacket {
    /// `None`: a route query, to observe the output interface.
    packet: Option<Vec<u8>>,
    /// Number in the order of packets; 0: a route query.
    number: u64,
}

/// A carrier acknowledgment between the two hooks.
#[derive(Debug)]
struct CarrierAck {
    flow: FlowKey,
    pending: PendingPacket,
    /// Sequence number at the first hook.
    seq: Seq,
    ack: Seq,
    priority: u32,
    /// IP identification at the first hook.
    id: u16,
    /// It repeats an earlier acknowledgment, so that it may be dropped.
    is_duplicate: bool,
}

/// Pending packets, and carrier acknowledgments in transit.
#[derive(Debug, Default)]
pub struct CarrierAcks {
    pending: BTreeMap<FlowKey, VecDeque<PendingPacket>>,
    in_transit: Vec<Option<CarrierAck>>,
    free: Vec<usize>,
    spare: Vec<Vec<u8>>,
    /// Packets that are pending or in transit, in their order, with the times of their arrival.
    packets: BTreeMap<u64, (Instant, FlowKey)>,
    last_number: u64,
    /// Number of flows at their limit of pending packets.
    full_flows: usize,
}

/// Action for a carrier acknowledgment at the postrouting hook.
#[derive(Debug, PartialEq, Eq)]
pub enum ExitAction {
    /// Send these bytes instead, with this priority, for this flow.
    Substitute(Vec<u8>, u32, FlowKey),
    /// Send it with this priority and IP identification; the pending packet is lost.
    PassUnchanged(u32, u16),
    /// It has shown the output interface of this flow. Drop it, or, if it is no duplicate, send it
    /// with this priority and IP identification.
    RouteObserved(FlowKey, Option<(u32, u16)>),
    /// The packet is no carrier acknowledgment.
    NotACarrier,
}

impl CarrierAcks {
    /// Returns whether nothing is pending or in transit.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.free.len() == self.in_transit.len()
    }

    /// Returns whether any flow has reached its limit of pending packets.
    pub fn is_full(&self) -> bool {
        self.full_flows > 0
    }

    /// Queues a packet, or without one a route query, for the next carrier acknowledgment of this
    /// flow. `false`: the limit is reached.
    pub fn enqueue(&mut self, now: Instant, flow: FlowKey, packet: Option<&[u8]>) -> bool {
        let waiting = self.pending.entry(flow).or_default();
        let fits = waiting.len() < PENDING_MAX;
        if fits {
            let mut number = 0;
            let packet = packet.map(|bytes| {
                self.last_number += 1;
                number = self.last_number;
                self.packets.insert(number, (now, flow));
                let mut buffer = self.spare.pop().unwrap_or_default();
                buffer.clear();
                buffer.extend_from_slice(bytes);
                buffer
            });
            waiting.push_back(PendingPacket { packet, number });
            self.full_flows += usize::from(waiting.len() == PENDING_MAX);
        }
        fits
    }

    /// Processes a packet that the local TCP sends with `priority`. Returns the new priority if it
    /// becomes a carrier acknowledgment. `last_ack_and_window` returns the local TCP's last
    /// acknowledgment number and window field.
    pub fn on_local_out(
        &mut self,
        packet: &[u8],
        priority: u32,
        last_ack_and_window: impl Fn(FlowKey) -> Option<(Seq, u16)>,
    ) -> Option<u32> {
        if self.pending.is_empty() {
            return None;
        }
        let segment = parse_headers(packet)?;
        let flow = segment.flow;
        let ends = TcpFlags::SYN.with(TcpFlags::FIN).with(TcpFlags::RST);
        if segment.payload_len > 0 || segment.flags.intersects(ends) {
            return None;
        }
        let waiting = self.pending.get_mut(&flow)?;
        let index = self.free.pop().unwrap_or(self.in_transit.len());
        if index > (!TAG_MASK) as usize {
            return None;
        }
        self.full_flows -= usize::from(waiting.len() == PENDING_MAX);
        let mut pending = waiting.pop_front();
        if waiting.is_empty() {
            self.pending.remove(&flow);
        }
        let (seq, ack) = (segment.seq, segment.ack);
        if let Some(pending) = &mut pending {
            self.remove_unsent(pending, seq);
        }
        let is_duplicate = last_ack_and_window(flow) == Some((ack, segment.window));
        let id = identification(packet).unwrap_or_default();
        let loaded = pending.map(|pending| CarrierAck {
            flow,
            pending,
            seq,
            ack,
            priority,
            id,
            is_duplicate,
        });
        match self.in_transit.get_mut(index) {
            Some(place) => *place = loaded,
            None => self.in_transit.push(loaded),
        }
        Some(TAG | index as u32)
    }

    /// Makes a pending packet a route query if the local TCP has not sent all of its data, since its
    /// SND.NXT shows less ([`driftway_shim::Shim::on_snd_nxt`]).
    fn remove_unsent(&mut self, pending: &mut PendingPacket, snd_nxt: Seq) {
        let is_unsent = |packet: &mut Vec<u8>| {
            let range = parse_headers(packet).map(|segment| segment.range());
            range.is_some_and(|range| !range.is_empty() && range.end.after(snd_nxt))
        };
        if let Some(packet) = pending.packet.take_if(is_unsent) {
            self.spare.push(packet);
            self.packets.remove(&pending.number);
            pending.number = 0;
        }
    }

    /// Processes a packet with this priority at the postrouting hook. `withholds` returns whether
    /// the pending packet of a flow must not show a later acknowledgment than it carries.
    pub fn on_postrouting(
        &mut self,
        packet: &[u8],
        present: u32,
        withholds: impl Fn(FlowKey) -> bool,
    ) -> ExitAction {
        let is_tagged = present & TAG_MASK == TAG;
        let index = if is_tagged {
            Some((present & !TAG_MASK) as usize)
        } else {
            self.find_in_transit(packet)
        };
        let place = index.and_then(|index| self.in_transit.get_mut(index));
        let (Some(index), Some(loaded)) = (index, place.and_then(Option::take)) else {
            return ExitAction::NotACarrier;
        };
        self.free_slot(index);
        let CarrierAck { flow, pending, seq, ack, id, is_duplicate, .. } = loaded;
        // One that a rule has set since is kept.
        let priority = if is_tagged { loaded.priority } else { present };
        self.packets.remove(&pending.number);
        // If something between the hooks renumbers the connection, the stored numbers differ; and
        // the index of a late carrier acknowledgment may have been reused.
        let same =
            parse_headers(packet).is_some_and(|carrier| (carrier.seq, carrier.ack) == (seq, ack));
        match pending.packet {
            None if same => {
                ExitAction::RouteObserved(flow, (!is_duplicate).then_some((priority, id)))
            }
            None => ExitAction::PassUnchanged(priority, id),
            Some(wanted) => {
                let keeps = withholds(flow);
                let made = if same { substitute_segment(packet, &wanted, keeps) } else { None };
                self.spare.push(wanted);
                made.map_or(ExitAction::PassUnchanged(priority, id), |mut bytes| {
                    set_identification(&mut bytes, id);
                    ExitAction::Substitute(bytes, priority, flow)
                })
            }
        }
    }

    /// The slot of a packet that a rule has given another priority.
    fn find_in_transit(&self, packet: &[u8]) -> Option<usize> {
        identification(packet).filter(|id| *id == CARRIER_ID)?;
        let carrier = parse_headers(packet)?;
        let numbers = (carrier.seq, carrier.ack);
        let is_it = |loaded: &CarrierAck| (loaded.seq, loaded.ack) == numbers;
        // Acknowledgments with the same numbers leave in their order.
        let places = self.in_transit.iter().enumerate();
        let found = places.filter_map(|(index, place)| Some((index, place.as_ref()?)));
        let found = found.filter(|(_, loaded)| is_it(loaded));
        found.min_by_key(|(_, loaded)| loaded.pending.number).map(|(index, _)| index)
    }

    /// Frees a slot.
    fn free_slot(&mut self, index: usize) {
        self.free.push(index);
        if self.free.len() == self.in_transit.len() {
            self.free.clear();
            self.in_transit.clear();
        }
    }

    /// Time at which the oldest pending packet expires. Route queries have a timeout of their own.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.packets.first_key_value().map(|(_, (since, _))| *since + CARRIER_TIMEOUT)
    }

    /// Removes all route queries of this flow.
    pub fn cancel_route_queries(&mut self, flow: FlowKey) {
        if let Some(waiting) = self.pending.get_mut(&flow) {
            let before = waiting.len();
            waiting.retain(|pending| pending.packet.is_some());
            let (full, len) = (before >= PENDING_MAX, waiting.len());
            self.full_flows -= usize::from(full && len < PENDING_MAX);
            if len == 0 {
                self.pending.remove(&flow);
            }
        }
        self.remove_in_transit(|loaded| loaded.flow == flow && loaded.pending.packet.is_none());
    }

    /// Removes everything of flows with an expired packet. Returns these flows, and whether a
    /// carrier acknowledgment had been assigned but did not reach the postrouting hook.
    pub fn expire(&mut self, now: Instant) -> Vec<(FlowKey, bool)> {
        let late =
            self.packets.iter().take_while(|(_, (since, _))| *since + CARRIER_TIMEOUT <= now);
        let Some((last, _)) = late.clone().last() else { return Vec::new() };
        let mut flows: BTreeMap<FlowKey, bool> = late.map(|(_, (_, flow))| (*flow, true)).collect();
        for (flow, taken) in &mut flows {
            let waits = self.pending.get(flow).into_iter().flatten();
            *taken =
                !waits.map(|pending| pending.number).any(|number| (1..=*last).contains(&number));
        }
        for flow in flows.keys() {
            if let Some(waits) = self.pending.remove(flow) {
                self.full_flows -= usize::from(waits.len() >= PENDING_MAX);
            }
        }
        self.packets.retain(|_, (_, flow)| !flows.contains_key(flow));
        self.remove_in_transit(|loaded| flows.contains_key(&loaded.flow));
        flows.into_iter().collect()
    }

    fn remove_in_transit(&mut self, which: impl Fn(&CarrierAck) -> bool) {
        for index in 0..self.in_transit.len() {
            let place = self.in_transit.get_mut(index);
            if place.is_some_and(|place| place.take_if(|loaded| which(loaded)).is_some()) {
                self.free_slot(index);
            }
        }
    }
}

/// IP identification of a packet.
fn identification(packet: &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes(*packet.get(4..)?.first_chunk()?))
}

/// Sets the IP identification of a packet, and the header's checksum.
pub fn set_identification(packet: &mut [u8], id: u16) {
    edit_header(packet, 4, &id.to_be_bytes(), 10);
}

/// `carrier` with the segment of `wanted`: IP header, addresses and ports are the carrier's. If the
/// segment has data, so are acknowledgment number and window, which are the latest, unless it keeps
/// its own.
fn substitute_segment(carrier: &[u8], wanted: &[u8], keeps_ack: bool) -> Option<Vec<u8>> {
    const ECN: u8 = 0b11;
    let tcp = parse_headers(carrier)?.tcp_offset();
    let headers = parse_headers(wanted)?;
    let segment = wanted.get(headers.tcp_offset()..)?;
    let mut bytes = [carrier.get(..tcp)?, segment].concat();
    let total = u16::try_from(bytes.len()).ok()?;
    bytes.get_mut(tcp..tcp + 4)?.copy_from_slice(carrier.get(tcp..tcp + 4)?);
    if headers.payload_len > 0 && !keeps_ack {
        bytes.get_mut(tcp + 8..tcp + 12)?.copy_from_slice(carrier.get(tcp + 8..tcp + 12)?);
        bytes.get_mut(tcp + 14..tcp + 16)?.copy_from_slice(carrier.get(tcp + 14..tcp + 16)?);
    }
    bytes.get_mut(2..4)?.copy_from_slice(&total.to_be_bytes());
    bytes[1] = carrier.get(1)? & !ECN | wanted.get(1)? & ECN;
    complete_checksums(&mut bytes)?;
    Some(bytes)
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_base::{Ecn, Endpoint, Ipv4Addr};
    use driftway_wire::{Body, IpHeader, Packet, Payload, TcpOptions, TcpSegment, Timestamps};

    const HERE: Endpoint = Endpoint::new(Ipv4Addr::new(10, 0, 0, 1), 4000);
    const THERE: Endpoint = Endpoint::new(Ipv4Addr::new(10, 0, 0, 2), 80);
    const FLOW: FlowKey = FlowKey { source: HERE, destination: THERE };
    /// Both endpoints after address translation.
    const OUTSIDE: FlowKey = FlowKey {
        source: Endpoint::new(Ipv4Addr::new(192, 0, 2, 1), 61_000),
        destination: Endpoint::new(Ipv4Addr::new(198, 51, 100, 7), 8080),
    };

    fn packet(flow: FlowKey, seq: u32, len: u32, ecn: Ecn, ttl: u8) -> Vec<u8> {
        let stamps = Timestamps { value: seq, echo: 7 };
        let segment = TcpSegment {
            source_port: flow.source.port,
            destination_port: flow.destination.port,
            seq: Seq(seq),
            ack: Seq(5),
            flags: TcpFlags::ACK,
            window: 99,
            options: TcpOptions { timestamps: Some(stamps), ..TcpOptions::default() },
            payload: Payload::new(1, 0, len),
            ..TcpSegment::default()
        };
        let mut ip = IpHeader::new(flow.source.address, flow.destination.address);
        (ip.ecn, ip.ttl) = (ecn, ttl);
        let packet = Packet { ip, body: Body::Tcp(segment) };
        let mut bytes = vec![0; packet.len() as usize];
        packet.encode(&mut bytes, Payload::fill_pattern).unwrap();
        bytes
    }

    /// Last acknowledgment number and window of the local TCP, on every flow.
    fn said(_: FlowKey) -> Option<(Seq, u16)> {
        Some((Seq(5), 99))
    }

    /// No flow keeps its acknowledgment.
    fn latest(_: FlowKey) -> bool {
        false
    }

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn a_segment_leaves_with_the_addresses_of_its_carrier_ack() {
        let mut carriers = CarrierAcks::default();
        let stored = packet(FLOW, 1000, 33, Ecn::Ect0, 64);
        assert!(carriers.enqueue(ms(0), FLOW, Some(&stored)));
        // Segments with data and other flows' acknowledgments are no carriers.
        let other = FlowKey { source: THERE, destination: HERE };
        assert_eq!(carriers.on_local_out(&packet(FLOW, 2000, 10, Ecn::NotEct, 64), 3, said), None);
        assert_eq!(carriers.on_local_out(&packet(other, 2000, 0, Ecn::NotEct, 64), 3, said), None);
        let tag = carriers.on_local_out(&packet(FLOW, 2000, 0, Ecn::NotEct, 64), 3, said).unwrap();
        assert_eq!((tag & TAG_MASK, carriers.on_local_out(&stored, 3, said)), (TAG, None));
        let ExitAction::Substitute(bytes, 3, FLOW) =
            carriers.on_postrouting(&packet(OUTSIDE, 2000, 0, Ecn::NotEct, 9), tag, latest)
        else {
            panic!("it is not replaced")
        };
        // Decoding verifies both checksums.
        let decoded = Packet::decode(&bytes).unwrap();
        let expected = packet(OUTSIDE, 1000, 33, Ecn::Ect0, 9);
        let expected = Packet::decode(&expected).unwrap();
        assert_eq!((decoded.packet, decoded.payload), (expected.packet, expected.payload));
        assert!(carriers.is_empty() && carriers.next_timeout().is_none());
    }

    #[test]
    fn renumbered_acknowledgments_are_not_replaced() {
        let mut carriers = CarrierAcks::default();
        carriers.enqueue(ms(0), FLOW, Some(&packet(FLOW, 1000, 33, Ecn::NotEct, 64)));
        let tag = carriers.on_local_out(&packet(FLOW, 2000, 0, Ecn::NotEct, 64), 3, said).unwrap();
        let renumbered = packet(FLOW, 2100, 0, Ecn::NotEct, 64);
        assert_eq!(
            carriers.on_postrouting(&renumbered, tag, latest),
            ExitAction::PassUnchanged(3, 0)
        );
        assert_eq!(carriers.on_postrouting(&renumbered, tag, latest), ExitAction::NotACarrier);
        assert_eq!(carriers.on_postrouting(&renumbered, TAG | 9, latest), ExitAction::NotACarrier);
    }

    /// Its segment leaves all the same, with that priority and the identification that TCP chose.
    #[test]
    fn a_rule_may_set_the_priority() {
        let mut carriers = CarrierAcks::default();
        carriers.enqueue(ms(0), FLOW, Some(&packet(FLOW, 1000, 33, Ecn::NotEct, 64)));
        let mut carrier = packet(FLOW, 2000, 0, Ecn::NotEct, 64);
        set_identification(&mut carrier, 77);
        carriers.on_local_out(&carrier, 3, said).unwrap();
        let mut outside = packet(OUTSIDE, 2000, 0, Ecn::NotEct, 64);
        assert_eq!(carriers.on_postrouting(&outside, 9, latest), ExitAction::NotACarrier);
        set_identification(&mut outside, CARRIER_ID);
        // Another connection's packet, by chance.
        let mut other = packet(OUTSIDE, 2001, 0, Ecn::NotEct, 64);
        set_identification(&mut other, CARRIER_ID);
        assert_eq!(carriers.on_postrouting(&other, 9, latest), ExitAction::NotACarrier);
        let ExitAction::Substitute(bytes, 9, FLOW) = carriers.on_postrouting(&outside, 9, latest)
        else {
            panic!("it is not replaced")
        };
        assert_eq!(identification(&bytes), Some(77));
        // Decoding verifies both checksums.
        assert!(Packet::decode(&bytes).is_ok() && carriers.is_empty());
    }

    #[test]
    fn new_acknowledgments_are_not_lost() {
        let mut carriers = CarrierAcks::default();
        let data = packet(FLOW, 2000, 0, Ecn::NotEct, 64);
        let older = |_| Some((Seq(4), 99));
        // A route query lets it pass.
        carriers.enqueue(ms(0), FLOW, None);
        let tag = carriers.on_local_out(&data, 3, older).unwrap();
        assert_eq!(
            carriers.on_postrouting(&data, tag, latest),
            ExitAction::RouteObserved(FLOW, Some((3, 0)))
        );
        // A segment with data takes over its acknowledgment number.
        let mut stored = packet(FLOW, 1000, 33, Ecn::NotEct, 64);
        stored[28..32].copy_from_slice(&4_u32.to_be_bytes());
        carriers.enqueue(ms(0), FLOW, Some(&stored));
        let tag = carriers.on_local_out(&data, 3, older).unwrap();
        let ExitAction::Substitute(bytes, ..) = carriers.on_postrouting(&data, tag, latest) else {
            panic!("it leaves")
        };
        // Decoding verifies both checksums.
        let Body::Tcp(segment) = Packet::decode(&bytes).unwrap().packet.body else { panic!() };
        assert_eq!((segment.seq, segment.ack, segment.payload.len), (Seq(1000), Seq(5), 33));
        // Unless an aid withholds that.
        carriers.enqueue(ms(0), FLOW, Some(&stored));
        let tag = carriers.on_local_out(&data, 3, older).unwrap();
        let ExitAction::Substitute(bytes, ..) = carriers.on_postrouting(&data, tag, |_| true)
        else {
            panic!("it leaves")
        };
        // Decoding verifies both checksums.
        let Body::Tcp(segment) = Packet::decode(&bytes).unwrap().packet.body else { panic!() };
        assert_eq!((segment.seq, segment.ack, segment.payload.len), (Seq(1000), Seq(4), 33));
    }

    /// The peer would acknowledge what the local TCP has not sent.
    #[test]
    fn what_the_local_tcp_has_not_sent_does_not_leave() {
        let mut carriers = CarrierAcks::default();
        let carrier = packet(FLOW, 1032, 0, Ecn::NotEct, 64);
        let stored = packet(FLOW, 1000, 33, Ecn::NotEct, 64);
        carriers.enqueue(ms(0), FLOW, Some(&stored));
        let tag = carriers.on_local_out(&carrier, 3, said).unwrap();
        assert_eq!(
            carriers.on_postrouting(&carrier, tag, latest),
            ExitAction::RouteObserved(FLOW, None)
        );
        assert!(carriers.is_empty() && carriers.next_timeout().is_none());
        // An acknowledgment of the shim is no data.
        carriers.enqueue(ms(0), FLOW, Some(&packet(FLOW, 1033, 0, Ecn::NotEct, 64)));
        let tag = carriers.on_local_out(&carrier, 3, said).unwrap();
        let left = carriers.on_postrouting(&carrier, tag, latest);
        assert!(matches!(left, ExitAction::Substitute(..)), "{left:?}");
    }

    /// Its slot has been reused.
    #[test]
    fn a_late_carrier_ack_is_ignored() {
        let mut carriers = CarrierAcks::default();
        let late = packet(FLOW, 1, 0, Ecn::NotEct, 64);
        carriers.enqueue(ms(0), FLOW, None);
        let tag = carriers.on_local_out(&late, 0, said).unwrap();
        carriers.cancel_route_queries(FLOW);
        carriers.enqueue(ms(0), FLOW, None);
        assert_eq!(carriers.on_local_out(&packet(FLOW, 2, 0, Ecn::NotEct, 64), 0, said), Some(tag));
        assert_eq!(carriers.on_postrouting(&late, tag, latest), ExitAction::PassUnchanged(0, 0));
    }

    #[test]
    fn buffers_are_reused() {
        let mut carriers = CarrierAcks::default();
        let (stored, carrier) =
            (packet(FLOW, 1, 9, Ecn::NotEct, 64), packet(FLOW, 10, 0, Ecn::NotEct, 64));
        for _ in 0..100 {
            carriers.enqueue(ms(0), FLOW, Some(&stored));
            let tag = carriers.on_local_out(&carrier, 0, said).unwrap();
            assert!(matches!(
                carriers.on_postrouting(&carrier, tag, latest),
                ExitAction::Substitute(..)
            ));
        }
        assert_eq!((carriers.spare.len(), carriers.in_transit.len()), (1, 0));
    }

    #[test]
    fn an_expired_packet_removes_its_whole_flow() {
        let mut carriers = CarrierAcks::default();
        carriers.enqueue(ms(0), FLOW, None);
        let tag = carriers.on_local_out(&packet(FLOW, 2, 0, Ecn::NotEct, 64), 0, said).unwrap();
        assert_eq!(
            carriers.on_postrouting(&packet(FLOW, 2, 0, Ecn::NotEct, 64), tag, latest),
            ExitAction::RouteObserved(FLOW, None)
        );
        let stored = packet(FLOW, 1, 1, Ecn::NotEct, 64);
        carriers.enqueue(ms(10), FLOW, Some(&stored));
        carriers.enqueue(ms(20), FLOW, None);
        carriers.on_local_out(&packet(FLOW, 2, 0, Ecn::NotEct, 64), 0, said).unwrap();
        assert_eq!(carriers.next_timeout(), Some(ms(10) + CARRIER_TIMEOUT));
        assert_eq!(carriers.expire(ms(209)), []);
        assert_eq!(carriers.expire(ms(210)), [(FLOW, true)]);
        assert!(carriers.is_empty());
        carriers.enqueue(ms(220), FLOW, Some(&stored));
        assert_eq!(carriers.expire(ms(420)), [(FLOW, false)]);
        // Route queries are cancelled by the route monitor.
        carriers.enqueue(ms(500), FLOW, None);
        carriers.enqueue(ms(500), FLOW, None);
        carriers.on_local_out(&packet(FLOW, 2, 0, Ecn::NotEct, 64), 0, said).unwrap();
        assert_eq!((carriers.next_timeout(), carriers.expire(ms(900))), (None, vec![]));
        carriers.cancel_route_queries(FLOW);
        assert!(carriers.is_empty());
        assert!(carriers.is_empty());
        let full = (0..=PENDING_MAX).filter(|_| carriers.enqueue(ms(300), FLOW, None)).count();
        assert_eq!(full, PENDING_MAX);
    }

    #[test]
    fn truncated_packets_do_not_panic() {
        let whole = packet(FLOW, 1, 40, Ecn::NotEct, 64);
        for end in 0..whole.len() {
            let short = &whole[..end];
            let _ = (
                substitute_segment(short, &whole, false),
                substitute_segment(&whole, short, false),
            );
        }
        assert!(substitute_segment(&whole, &whole, false).is_some());
    }
}
