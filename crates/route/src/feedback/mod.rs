//! Feedback about packets that could not be delivered and routes that failed.
//!
//! A [`Scheme`] is one kind of feedback, in a file of its own, as a state machine without I/O:
//!
//! | file | scheme |
//! |---|---|
//! | `icmp` | ICMP errors (RFC 792) |
//! | `rfn` | route failure and re-establishment notifications (chandran-1998) |
//!
//! A node has a [`Feedback`], the schemes of its network. The driver of a network, a path or an ad hoc
//! network, reports events to it and polls it until there is no [`FeedbackOutput`].

mod icmp;
mod rfn;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt::Debug;

use driftway_base::{FailedLink, Instant, Ipv4Addr, Signal};
use driftway_wire::{Packet, RoutedPacket};

use crate::DropReason;
pub use icmp::{Icmp, IcmpConfig};
pub use rfn::{BufferConfig, FlushTrigger, RfnConfig, RouteFailureAgent};

/// The available schemes. A new one adds a file, a variant here, and two lines in [`SchemeConfig`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemeName {
    /// ICMP errors.
    Icmp,
    /// RFN and RRN.
    Rfn,
}

/// A scheme and its configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemeConfig {
    /// ICMP errors.
    Icmp(IcmpConfig),
    /// RFN and RRN.
    Rfn(RfnConfig),
}

impl SchemeConfig {
    /// Creates the scheme at the node with this address.
    fn build(self, address: Ipv4Addr) -> (SchemeName, Box<dyn Scheme>) {
        match self {
            Self::Icmp(config) => (SchemeName::Icmp, Box::new(Icmp::new(address, config))),
            Self::Rfn(config) => {
                (SchemeName::Rfn, Box::new(RouteFailureAgent::new(address, config)))
            }
        }
    }
}

/// A next hop of a node: an interface and the neighbour behind it. The driver numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NextHop(pub u32);

/// A packet that a node cannot deliver.
#[derive(Clone, Copy, Debug)]
pub struct UndeliverablePacket<'a> {
    /// The packet as it was to be forwarded.
    pub packet: &'a Packet,
    /// The reason.
    pub reason: DropReason,
    /// The failed link of this node, if that is the reason.
    pub link: Option<FailedLink>,
    /// The driver's identifier of the packet, if the packet can be buffered.
    pub packet_id: Option<u32>,
}

/// The treatment of a packet without a usable next hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndeliverableOutcome {
    /// It is buffered, by its identifier, until [`Scheme::poll_released`] returns that.
    Buffered,
    /// It is dropped.
    Dropped,
    /// It is dropped because the buffer is full.
    Overflow,
}

/// The treatment of a received packet that may be a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeAction {
    /// It is forwarded.
    Forward,
    /// It is discarded.
    Discard,
}

/// An action that a scheme requests from its driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "packets move by value, and nothing is allocated")]
pub enum FeedbackOutput {
    /// Send this packet of the node itself; the driver sets its identification.
    Transmit(Packet),
    /// A signal for the connections of the local host to
    /// [`SignalDetails::destination`](driftway_base::SignalDetails).
    Signal(Signal),
    /// Report the next route to this destination ([`Scheme::on_route_found`]), even if the local host does
    /// not need one. A driver that reports every route ignores this.
    Watch(Ipv4Addr),
}

/// One kind of feedback: events in, [`FeedbackOutput`]s out.
///
/// *Packets*: [`on_link_failure`](Self::on_link_failure), then for each packet concerned
/// [`on_undeliverable`](Self::on_undeliverable) or [`on_salvaged`](Self::on_salvaged), then
/// [`on_link_failure_end`](Self::on_link_failure_end); [`on_queue_overflow`](Self::on_queue_overflow) by
/// itself. *Routes*: [`on_next_hop_failed`](Self::on_next_hop_failed),
/// [`on_next_hop_restored`](Self::on_next_hop_restored), [`on_route_lost`](Self::on_route_lost),
/// [`on_route_found`](Self::on_route_found), [`on_discovery_started`](Self::on_discovery_started). *Notices
/// of other nodes*: [`on_notice`](Self::on_notice) on paths; in ad hoc networks, where routing forwards them,
/// [`on_message`](Self::on_message) and [`on_message_sent`](Self::on_message_sent). Events that a scheme does
/// not handle have no effect. Time never decreases.
pub trait Scheme: Debug + Send {
    /// A link of this node failed with these packets on it: first the one that reached the retry limit, then
    /// those queued for the same neighbour.
    fn on_link_failure(&mut self, _now: Instant, _link: FailedLink, _packets: &[Packet]) {}
    /// The node cannot deliver a packet.
    fn on_undeliverable(
        &mut self,
        _now: Instant,
        _lost: &UndeliverablePacket<'_>,
    ) -> UndeliverableOutcome {
        UndeliverableOutcome::Dropped
    }
    /// Routing rerouted a packet, which was salvaged `times` times so far, this time included.
    fn on_salvaged(&mut self, _now: Instant, _packet: &Packet, _times: u8) {}
    /// All packets of the failed link have been reported.
    fn on_link_failure_end(&mut self, _now: Instant) {}
    /// The interface queue had no room for a packet.
    fn on_queue_overflow(&mut self, _now: Instant, _packet: &Packet) {}

    /// The link of this node at `next_hop` cannot carry packets for `destination`, until
    /// [`on_next_hop_restored`](Self::on_next_hop_restored).
    fn on_next_hop_failed(
        &mut self,
        _destination: Ipv4Addr,
        _next_hop: NextHop,
        _link: FailedLink,
    ) {
    }
    /// The link at `next_hop` is up again, or routing has a route over it.
    fn on_next_hop_restored(&mut self, _next_hop: NextHop) {}
    /// Routing has lost the route to a destination of the local host.
    fn on_route_lost(&mut self, _now: Instant, _to: Ipv4Addr) {}
    /// Routing has a route where there was none, or to a watched destination.
    fn on_route_found(&mut self, _now: Instant, _to: Ipv4Addr) {}
    /// Routing starts a route discovery for a destination of the local host.
    fn on_discovery_started(&mut self, _now: Instant, _to: Ipv4Addr) {}

    /// A packet that may be a notice was received over `next_hop`; `next_hops` are all over which packets to
    /// the destination that it names can leave. Packets for the local host are included.
    fn on_notice(
        &mut self,
        _now: Instant,
        _notice: &Packet,
        _next_hop: NextHop,
        _next_hops: &[NextHop],
    ) -> NoticeAction {
        NoticeAction::Forward
    }
    /// A routing or ICMP message was received from a neighbour, for this node or to be forwarded; routing
    /// processes it after this.
    fn on_message(&mut self, _now: Instant, _message: &RoutedPacket) {}
    /// A routing or ICMP message leaves, originated or forwarded by this node. The scheme may add options to
    /// a DSR header ([`DsrHeader::add_option`](driftway_wire::DsrHeader::add_option)) or replace them.
    fn on_message_sent(&mut self, _now: Instant, _message: &mut RoutedPacket) {}
    /// A packet for `destination` is about to be forwarded: expired failures are removed, since there are no
    /// timers. Returns true if packets were [released](Self::poll_released) by that.
    fn on_packet(&mut self, _now: Instant, _destination: Ipv4Addr) -> bool {
        false
    }

    /// Returns true if the scheme blocks next hops and buffers packets.
    fn is_stateful(&self) -> bool {
        false
    }
    /// Returns true if packets for `destination` can leave over `next_hop`.
    fn is_usable(&self, _now: Instant, _destination: Ipv4Addr, _next_hop: NextHop) -> bool {
        true
    }
    /// Returns true if `next_hop` can be tried for `packet` although no next hop is usable.
    fn can_try(&self, _packet: &Packet, _next_hop: NextHop) -> bool {
        true
    }
    /// The number of buffered packets, including those to be polled.
    fn buffered_packets(&self) -> usize {
        0
    }
    /// Returns the next output.
    fn poll(&mut self) -> Option<FeedbackOutput>;
    /// Returns the identifier of the next released packet, which is to be forwarded again.
    fn poll_released(&mut self) -> Option<u32> {
        None
    }
}

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

    fn poll_released(&mut self) -> Option<u32> {
        self.stateful_mut().find_map(|scheme| scheme.poll_released())
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_base::Duration;
    use driftway_wire::{Body, IcmpMessage, IpHeader, Payload, UdpDatagram};

    const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
    const THERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 3);
    const NEXT_HOP: NextHop = NextHop(7);

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
        let mut give = |number| {
            let reason = DropReason::NoRoute;
            let lost = UndeliverablePacket {
                packet: &packet,
                reason,
                link: None,
                packet_id: Some(number),
            };
            feedback.on_undeliverable(Instant::ZERO, &lost)
        };
        assert_eq!(give(4), UndeliverableOutcome::Buffered);
        assert_eq!(give(5), UndeliverableOutcome::Buffered, "by the second");
        assert_eq!(give(6), UndeliverableOutcome::Overflow);
        assert_eq!(feedback.buffered_packets(), 2);
        feedback.on_next_hop_restored(NEXT_HOP);
        let freed: Vec<_> = core::iter::from_fn(|| feedback.poll_released()).collect();
        assert_eq!((freed.as_slice(), feedback.buffered_packets()), (&[4, 5][..], 0));
    }

    #[test]
    fn only_stateful_schemes_block_a_next_hop() {
        let mut feedback = node(&[icmp(), rfn(None)]);
        assert!(feedback.is_failure_free());
        assert!(feedback.scheme_mut(SchemeName::Icmp).is_some() && feedback.is_failure_free());
        fails(&mut feedback);
        assert!(!feedback.is_failure_free() && !feedback.is_usable(Instant::ZERO, THERE, NEXT_HOP));
        assert!(feedback.is_usable(Instant::ZERO, THERE, NextHop(8)));
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
