//! The feedback of a node: all of its schemes together.

use alloc::boxed::Box;
use alloc::vec::Vec;

use driftway_base::{FailedLink, Instant, Ipv4Addr, PacketId};
use driftway_wire::{Packet, RoutedPacket};

use super::config::{SchemeConfig, SchemeName};
use super::scheme::{
    FeedbackOutput, NextHop, NoticeAction, Scheme, UndeliverableOutcome, UndeliverablePacket,
};

/// The schemes of one node. An event goes to all of them, except for faults that one scheme answers
/// ([`scheme_mut`](Self::scheme_mut)).
#[derive(Debug)]
pub struct Feedback {
    /// Stateful schemes first: they are queried for each packet once a failure is known.
    schemes: Vec<(Option<SchemeName>, Box<dyn Scheme>)>,
    /// The number of stateful schemes.
    stateful_count: usize,
    /// No scheme has been informed of a failure.
    is_failure_free: bool,
}

impl Feedback {
    /// Creates the feedback of the node at `address`.
    pub fn new(address: Ipv4Addr, schemes: &[SchemeConfig]) -> Self {
        let mut feedback = Self { schemes: Vec::new(), stateful_count: 0, is_failure_free: true };
        for setup in schemes {
            let (name, scheme) = setup.build(address);
            feedback.insert(Some(name), scheme);
        }
        feedback
    }

    /// Adds a scheme that is not in the list of schemes.
    pub fn add(&mut self, scheme: Box<dyn Scheme>) {
        self.insert(None, scheme);
    }

    fn insert(&mut self, name: Option<SchemeName>, scheme: Box<dyn Scheme>) {
        let place = if scheme.is_stateful() { self.stateful_count } else { self.schemes.len() };
        self.stateful_count += usize::from(scheme.is_stateful());
        self.schemes.insert(place, (name, scheme));
    }

    /// Returns true if no failure was reported. Then every next hop is usable, and no packet is buffered.
    pub const fn is_failure_free(&self) -> bool {
        self.is_failure_free
    }

    /// One scheme, if the node has it.
    pub fn scheme_mut(&mut self, name: SchemeName) -> Option<&mut (dyn Scheme + 'static)> {
        let (_, scheme) = self.schemes.iter_mut().find(|(known, _)| *known == Some(name))?;
        self.is_failure_free &= !scheme.is_stateful();
        Some(scheme.as_mut())
    }

    fn stateful(&self) -> impl Iterator<Item = &dyn Scheme> {
        self.schemes.iter().take(self.stateful_count).map(|(_, scheme)| scheme.as_ref())
    }

    fn stateful_mut(&mut self) -> impl Iterator<Item = &mut Box<dyn Scheme>> {
        self.schemes.iter_mut().take(self.stateful_count).map(|(_, scheme)| scheme)
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut Box<dyn Scheme>> {
        self.schemes.iter_mut().map(|(_, scheme)| scheme)
    }
}

impl Scheme for Feedback {
    fn on_link_failure(&mut self, now: Instant, link: FailedLink, packets: &[Packet]) {
        self.all_mut().for_each(|scheme| scheme.on_link_failure(now, link, packets));
    }

    /// A packet that one scheme buffers is not dropped.
    fn on_undeliverable(
        &mut self,
        now: Instant,
        lost: &UndeliverablePacket<'_>,
    ) -> UndeliverableOutcome {
        let mut outcome = UndeliverableOutcome::Dropped;
        for scheme in self.all_mut() {
            let lost = UndeliverablePacket {
                packet_id: lost.packet_id.filter(|_| outcome != UndeliverableOutcome::Buffered),
                ..*lost
            };
            let own = scheme.on_undeliverable(now, &lost);
            if outcome != UndeliverableOutcome::Buffered && own != UndeliverableOutcome::Dropped {
                outcome = own;
            }
        }
        outcome
    }

    fn on_salvaged(&mut self, now: Instant, packet: &Packet, times: u8) {
        self.all_mut().for_each(|scheme| scheme.on_salvaged(now, packet, times));
    }

    fn on_link_failure_end(&mut self, now: Instant) {
        self.all_mut().for_each(|scheme| scheme.on_link_failure_end(now));
    }

    fn on_queue_overflow(&mut self, now: Instant, packet: &Packet) {
        self.all_mut().for_each(|scheme| scheme.on_queue_overflow(now, packet));
    }

    fn on_next_hop_failed(&mut self, destination: Ipv4Addr, next_hop: NextHop, link: FailedLink) {
        self.is_failure_free = false;
        self.all_mut().for_each(|scheme| scheme.on_next_hop_failed(destination, next_hop, link));
    }

    fn on_next_hop_restored(&mut self, next_hop: NextHop) {
        self.all_mut().for_each(|scheme| scheme.on_next_hop_restored(next_hop));
    }

    fn on_route_lost(&mut self, now: Instant, to: Ipv4Addr) {
        self.all_mut().for_each(|scheme| scheme.on_route_lost(now, to));
    }

    fn on_route_found(&mut self, now: Instant, to: Ipv4Addr) {
        self.all_mut().for_each(|scheme| scheme.on_route_found(now, to));
    }

    fn on_discovery_started(&mut self, now: Instant, to: Ipv4Addr) {
        self.all_mut().for_each(|scheme| scheme.on_discovery_started(now, to));
    }

    /// A notice is forwarded if every scheme permits.
    fn on_notice(
        &mut self,
        now: Instant,
        notice: &Packet,
        next_hop: NextHop,
        next_hops: &[NextHop],
    ) -> NoticeAction {
        self.is_failure_free = false;
        let mut passage = NoticeAction::Forward;
        for scheme in self.all_mut() {
            if scheme.on_notice(now, notice, next_hop, next_hops) == NoticeAction::Discard {
                passage = NoticeAction::Discard;
            }
        }
        passage
    }

    fn on_message(&mut self, now: Instant, message: &RoutedPacket) {
        self.all_mut().for_each(|scheme| scheme.on_message(now, message));
    }

    fn on_message_sent(&mut self, now: Instant, message: &mut RoutedPacket) {
        self.all_mut().for_each(|scheme| scheme.on_message_sent(now, message));
    }

    fn on_packet(&mut self, now: Instant, destination: Ipv4Addr) -> bool {
        let free = |any, scheme: &mut Box<dyn Scheme>| any | scheme.on_packet(now, destination);
        self.stateful_mut().fold(false, free)
    }

    fn is_stateful(&self) -> bool {
        self.stateful_count > 0
    }

    fn is_usable(&self, now: Instant, destination: Ipv4Addr, next_hop: NextHop) -> bool {
        self.stateful().all(|scheme| scheme.is_usable(now, destination, next_hop))
    }

    fn can_try(&self, packet: &Packet, next_hop: NextHop) -> bool {
        self.stateful().all(|scheme| scheme.can_try(packet, next_hop))
    }

    fn buffered_packets(&self) -> usize {
        self.stateful().map(Scheme::buffered_packets).sum()
    }

    fn poll(&mut self) -> Option<FeedbackOutput> {
        self.all_mut().find_map(|scheme| scheme.poll())
    }

    fn poll_released(&mut self) -> Option<PacketId> {
        self.stateful_mut().find_map(|scheme| scheme.poll_released())
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::feedback::{BufferConfig, FlushTrigger, IcmpConfig, RfnConfig};
    use driftway_base::{DropReason, Duration, NodeId};
    use driftway_wire::{Body, IcmpMessage, IpHeader, Payload, UdpDatagram};

    const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
    const THERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 3);
    const NEXT_HOP: NextHop = NextHop::OverAir { to: NodeId::new(7) };

    fn node(schemes: &[SchemeConfig]) -> Feedback {
        Feedback::new(HERE, schemes)
    }

    fn icmp() -> SchemeConfig {
        SchemeConfig::Icmp(ALL)
    }

    const ALL: IcmpConfig =
        IcmpConfig { unreachable: true, time_exceeded: true, source_quench: true, per_second: 0 };

    /// RFC 1812 §4.3.2.8.
    #[test]
    fn icmp_errors_are_rate_limited() {
        let mut feedback = node(&[SchemeConfig::Icmp(IcmpConfig { per_second: 2, ..ALL })]);
        let packet = packet();
        let mut sent = |ms, reason| {
            let lost = UndeliverablePacket { packet: &packet, reason, link: None, packet_id: None };
            feedback.on_undeliverable(Instant::from_millis(ms), &lost);
            messages(&mut feedback).len()
        };
        let (link, time) = (DropReason::LinkFailure, DropReason::TimeToLive);
        assert_eq!([(0, link), (400, time), (999, link)].map(|(at, why)| sent(at, why)), [1, 1, 0]);
        assert_eq!(
            [(1000, link), (1399, link), (1400, time)].map(|(at, why)| sent(at, why)),
            [1, 0, 1]
        );
        // Errors that are not sent do not count.
        assert_eq!(
            [(2400, DropReason::Loop), (2401, link), (2402, link)].map(|(at, why)| sent(at, why)),
            [0, 1, 1]
        );
    }

    fn rfn(buffer: Option<BufferConfig>) -> SchemeConfig {
        SchemeConfig::Rfn(RfnConfig { rfn_lifetime: Duration::from_secs(9), buffer })
    }

    fn packet() -> Packet {
        let ports = UdpDatagram { source_port: 1, destination_port: 2, payload: Payload::EMPTY };
        Packet { ip: IpHeader::new(Ipv4Addr::new(10, 0, 0, 1), THERE), body: Body::Udp(ports) }
    }

    fn fails(feedback: &mut Feedback) {
        feedback.on_next_hop_failed(THERE, NEXT_HOP, FailedLink { from: HERE, to: THERE });
    }

    fn messages(feedback: &mut Feedback) -> Vec<IcmpMessage> {
        let outputs = core::iter::from_fn(|| feedback.poll());
        let messages = outputs.filter_map(|output| match output {
            FeedbackOutput::Transmit(Packet { body: Body::Icmp(message), .. }) => Some(message),
            _ => None,
        });
        messages.collect()
    }

    #[test]
    fn each_scheme_sends_its_own_feedback() {
        let mut feedback = node(&[icmp(), rfn(None)]);
        fails(&mut feedback);
        let packet = packet();
        let reason = DropReason::LinkFailure;
        let lost = UndeliverablePacket { packet: &packet, reason, link: None, packet_id: None };
        assert_eq!(feedback.on_undeliverable(Instant::ZERO, &lost), UndeliverableOutcome::Dropped);
        assert!(matches!(
            messages(&mut feedback)[..],
            [IcmpMessage::RouteFailed { .. }, IcmpMessage::Unreachable { .. }]
        ));
        let only = feedback.scheme_mut(SchemeName::Rfn).unwrap();
        only.on_undeliverable(Instant::ZERO, &lost);
        assert!(matches!(messages(&mut feedback)[..], [IcmpMessage::RouteFailed { .. }]));
    }

    #[test]
    fn a_packet_is_buffered_by_one_scheme_and_released() {
        let buffer = BufferConfig { max_packets: 1, flush: FlushTrigger::AnyRoute };
        let mut feedback = node(&[rfn(Some(buffer)), rfn(Some(buffer)), icmp()]);
        fails(&mut feedback);
        let packet = packet();
        let mut give = |id| {
            let reason = DropReason::NoRoute;
            let lost = UndeliverablePacket {
                packet: &packet,
                reason,
                link: None,
                packet_id: Some(PacketId::new(id)),
            };
            feedback.on_undeliverable(Instant::ZERO, &lost)
        };
        assert_eq!(give(4), UndeliverableOutcome::Buffered);
        assert_eq!(give(5), UndeliverableOutcome::Buffered, "by the second");
        assert_eq!(give(6), UndeliverableOutcome::Overflow);
        assert_eq!(feedback.buffered_packets(), 2);
        feedback.on_next_hop_restored(NEXT_HOP);
        let freed: Vec<_> = core::iter::from_fn(|| feedback.poll_released()).collect();
        assert_eq!(
            (freed.as_slice(), feedback.buffered_packets()),
            (&[4, 5].map(PacketId::new)[..], 0)
        );
    }

    #[test]
    fn only_stateful_schemes_block_a_next_hop() {
        let mut feedback = node(&[icmp(), rfn(None)]);
        assert!(feedback.is_failure_free());
        assert!(feedback.scheme_mut(SchemeName::Icmp).is_some() && feedback.is_failure_free());
        fails(&mut feedback);
        assert!(!feedback.is_failure_free() && !feedback.is_usable(Instant::ZERO, THERE, NEXT_HOP));
        assert!(feedback.is_usable(Instant::ZERO, THERE, NextHop::OverAir { to: NodeId::new(8) }));
        let mut deaf = node(&[icmp()]);
        fails(&mut deaf);
        assert!(
            deaf.is_usable(Instant::ZERO, THERE, NEXT_HOP)
                && deaf.scheme_mut(SchemeName::Rfn).is_none()
        );
    }

    /// The failure point is the source itself (chandran-1998 §4).
    #[test]
    fn a_lost_route_is_signalled_to_the_local_host() {
        let mut feedback = node(&[icmp(), rfn(None)]);
        feedback.on_route_lost(Instant::ZERO, THERE);
        let Some(FeedbackOutput::Signal(signal)) = feedback.poll() else { panic!("no signal") };
        assert_eq!(signal.kind, driftway_base::SignalKind::RouteFailed);
        assert_eq!((signal.details.destination, feedback.poll()), (Some(THERE), None));
    }
}
