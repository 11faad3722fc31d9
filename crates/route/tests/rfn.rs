//! Route failure agents, rule by rule: chandran-1998 §4, §5.4 and §6.1.
//!
//! The router under test is 4 in a chain from source 1 to destination 9; `DOWN` leads to 5 and on to the
//! destination, `UP` to 3 and the sources, `ASIDE` to the destination on another route.

use driftway_base::{DropReason, Duration, FailedLink, Instant, Ipv4Addr, NodeId, PacketId, Seq};
use driftway_route::feedback::{
    BufferConfig, FeedbackOutput, FlushTrigger, NextHop, NoticeAction, RfnConfig,
    RouteFailureAgent, Scheme, UndeliverableOutcome, UndeliverablePacket,
};
use driftway_wire::{Body, IcmpMessage, IpHeader, Packet, Payload, TcpSegment, UdpDatagram};

const UP: NextHop = NextHop::OverAir { to: NodeId::new(1) };
const DOWN: NextHop = NextHop::OverAir { to: NodeId::new(2) };
const ASIDE: NextHop = NextHop::OverAir { to: NodeId::new(3) };

const THERE: Ipv4Addr = address(9);
const OWN: FailedLink = FailedLink { from: address(4), to: address(5) };
const FAR: FailedLink = FailedLink { from: address(7), to: address(8) };
const FAR_AGAIN: FailedLink = FailedLink { from: address(8), to: address(9) };

const RFN_LIFETIME: Duration = Duration::from_secs(20);

const fn address(host: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, host)
}

const fn at(seconds: u64) -> Instant {
    Instant::from_secs(seconds)
}

fn router(buffer: Option<BufferConfig>) -> RouteFailureAgent {
    RouteFailureAgent::new(address(4), RfnConfig { rfn_lifetime: RFN_LIFETIME, buffer })
}

fn buffer(packets: usize, flush: FlushTrigger) -> Option<BufferConfig> {
    Some(BufferConfig { max_packets: packets, flush })
}

/// Segment `n` of the flow from `source`.
fn packet(source: u8, n: u32) -> Packet {
    let payload = Payload::new(0, u64::from(n) * 160, 160);
    let segment = TcpSegment {
        source_port: 4000 + u16::from(source),
        destination_port: 80,
        seq: Seq(n * 160),
        payload,
        ..TcpSegment::default()
    };
    Packet { ip: IpHeader::new(address(source), THERE), body: Body::Tcp(segment) }
}

fn rfn(about: &Packet, link: FailedLink) -> Packet {
    let message = |quoted| IcmpMessage::RouteFailed { link, quoted };
    Packet::icmp_error(link.from, about, message).unwrap()
}

fn rrn(about: &Packet, link: FailedLink) -> Packet {
    let message = |quoted| IcmpMessage::RouteRestored { link, quoted };
    Packet::icmp_error(link.from, about, message).unwrap()
}

/// The same message sent by the router under test.
fn own(mut notice: Packet) -> Packet {
    notice.ip.source = address(4);
    notice
}

fn sent_packets(router: &mut RouteFailureAgent) -> Vec<Packet> {
    let outputs = std::iter::from_fn(|| router.poll());
    let sent = outputs.filter_map(|output| match output {
        FeedbackOutput::Transmit(packet) => Some(packet),
        FeedbackOutput::Watch(THERE) => None,
        FeedbackOutput::Watch(to) if to == address(8) => None,
        other => panic!("{other:?}"),
    });
    sent.collect()
}

fn give_up(router: &mut RouteFailureAgent, id: u32, packet: &Packet) -> UndeliverableOutcome {
    let packet_id = Some(PacketId::new(id));
    router.on_undeliverable(
        at(0),
        &UndeliverablePacket { packet, reason: DropReason::NoRoute, link: None, packet_id },
    )
}

fn is_lost(router: &mut RouteFailureAgent, packet: &Packet) {
    let lost = UndeliverablePacket {
        packet,
        reason: DropReason::LinkFailure,
        link: None,
        packet_id: None,
    };
    assert_eq!(router.on_undeliverable(at(0), &lost), UndeliverableOutcome::Dropped);
}

fn released_packets(router: &mut RouteFailureAgent) -> Vec<u32> {
    std::iter::from_fn(|| router.poll_released()).map(PacketId::number).collect()
}

/// A failure point: its link `DOWN` has failed.
fn failure_point(buffer: Option<BufferConfig>) -> RouteFailureAgent {
    let mut router = router(buffer);
    router.on_next_hop_failed(THERE, DOWN, OWN);
    router
}

/// A router that has forwarded an RFN about the packet.
fn intermediate(buffer: Option<BufferConfig>, about: &Packet) -> RouteFailureAgent {
    let mut router = router(buffer);
    assert_eq!(router.on_notice(at(0), &rfn(about, FAR), DOWN, &[DOWN]), NoticeAction::Forward);
    assert_eq!(sent_packets(&mut router), [], "it forwards the received notice");
    router
}

#[test]
fn without_a_failure_all_notices_are_forwarded() {
    let mut router = router(None);
    assert!(router.is_usable(at(0), THERE, DOWN));
    router.on_packet(at(0), THERE);
    router.on_next_hop_restored(DOWN);
    let echo = UdpDatagram { source_port: 1, destination_port: 2, payload: Payload::EMPTY };
    let other = Packet { ip: IpHeader::new(address(1), THERE), body: Body::Udp(echo) };
    assert_eq!(router.on_notice(at(0), &other, DOWN, &[DOWN]), NoticeAction::Forward);
    assert_eq!(
        router.on_notice(at(0), &rrn(&packet(1, 0), FAR), DOWN, &[DOWN]),
        NoticeAction::Forward
    );
    assert!(router.is_usable(at(0), THERE, DOWN) && sent_packets(&mut router).is_empty());
}

// §5.4: each packet triggers an RFN

#[test]
fn the_failure_point_answers_each_packet_with_an_rfn() {
    let mut router = failure_point(None);
    assert!(!router.is_usable(at(0), THERE, DOWN));
    for (source, n) in [(1, 0), (1, 1), (2, 0), (1, 2)] {
        assert_eq!(give_up(&mut router, 7, &packet(source, n)), UndeliverableOutcome::Dropped);
        assert_eq!(sent_packets(&mut router), [rfn(&packet(source, n), OWN)]);
    }
}

#[test]
fn packets_lost_on_its_link_trigger_rfns() {
    let mut router = failure_point(buffer(9, FlushTrigger::AnyRoute));
    is_lost(&mut router, &packet(1, 0));
    assert_eq!(sent_packets(&mut router), [rfn(&packet(1, 0), OWN)]);
    assert_eq!(router.buffered_packets(), 0);
    router.on_next_hop_restored(DOWN);
    assert_eq!(sent_packets(&mut router), [rrn(&packet(1, 0), OWN)]);
}

#[test]
fn a_source_that_does_not_use_the_route_gets_no_rfn() {
    let mut router = failure_point(None);
    give_up(&mut router, 0, &packet(1, 0));
    assert_eq!(sent_packets(&mut router).len(), 1);
    router.on_next_hop_restored(DOWN);
    let notified: Vec<_> =
        sent_packets(&mut router).iter().map(|packet| packet.ip.destination).collect();
    assert_eq!(notified, [address(1)]);
}

#[test]
fn other_destinations_are_not_affected() {
    let router = failure_point(None);
    assert!(router.is_usable(at(0), address(8), DOWN));
    assert!(router.is_usable(at(0), THERE, ASIDE));
}

/// RFC 1122 §3.2.2
#[test]
fn no_rfn_is_sent_about_an_rfn_an_rrn_or_another_error() {
    let mut router = failure_point(buffer(9, FlushTrigger::AnyRoute));
    for mut notice in [rfn(&packet(9, 0), FAR), rrn(&packet(9, 0), FAR)] {
        notice.ip.destination = THERE;
        assert_eq!(give_up(&mut router, 0, &notice), UndeliverableOutcome::Dropped);
        is_lost(&mut router, &notice);
    }
    assert_eq!((sent_packets(&mut router), router.buffered_packets()), (vec![], 0));
}

// §4: intermediate routers

#[test]
fn an_rfn_blocks_the_route_and_is_forwarded() {
    let mut router = intermediate(None, &packet(1, 0));
    assert!(!router.is_usable(at(1), THERE, DOWN));
    // Later packets are not forwarded into the failed route.
    assert_eq!(give_up(&mut router, 0, &packet(1, 5)), UndeliverableOutcome::Dropped);
    assert_eq!(sent_packets(&mut router), [own(rfn(&packet(1, 5), FAR))]);
}

#[test]
fn a_router_with_another_route_discards_the_rfn_and_uses_that() {
    let mut router = router(None);
    let ways = [DOWN, ASIDE];
    let notice = rfn(&packet(1, 0), FAR);
    assert_eq!(router.on_notice(at(0), &notice, DOWN, &ways), NoticeAction::Discard);
    assert!(!router.is_usable(at(0), THERE, DOWN) && router.is_usable(at(0), THERE, ASIDE));
    // When that has failed, too, the RFN is forwarded.
    assert_eq!(router.on_notice(at(1), &notice, ASIDE, &ways), NoticeAction::Forward);
    assert!(!router.is_usable(at(1), THERE, ASIDE));
    // It sent no RFN to the source of the first, so only the second needs an RRN.
    router.on_next_hop_restored(ASIDE);
    assert_eq!(sent_packets(&mut router), [own(rrn(&packet(1, 0), FAR))]);
}

/// Otherwise the RRN that would restore the route might be discarded as a duplicate.
#[test]
fn feedback_itself_is_forwarded_over_a_reported_failure() {
    let mut router = intermediate(None, &packet(1, 0));
    let mut notice = rrn(&packet(9, 0), OWN);
    notice.ip.destination = THERE;
    assert!(router.can_try(&notice, DOWN) && !router.can_try(&packet(1, 1), DOWN));
    router.on_next_hop_failed(THERE, DOWN, OWN);
    assert!(!router.can_try(&notice, DOWN), "its own link is down");
}

#[test]
fn an_rfn_over_an_unused_next_hop_does_not_affect_the_route() {
    let mut router = router(None);
    let notice = rfn(&packet(1, 0), FAR);
    assert_eq!(router.on_notice(at(0), &notice, UP, &[DOWN]), NoticeAction::Forward);
    assert!(router.is_usable(at(0), THERE, DOWN));
}

#[test]
fn a_router_that_learns_of_a_route_sends_one_rrn_to_each_source() {
    let mut router = intermediate(None, &packet(1, 0));
    for (source, n) in [(2, 0), (1, 1), (2, 1), (3, 0)] {
        router.on_notice(at(1), &rfn(&packet(source, n), FAR), DOWN, &[DOWN]);
    }
    router.on_next_hop_restored(DOWN);
    let expected = [(1, 1), (2, 1), (3, 0)].map(|(s, n)| own(rrn(&packet(s, n), FAR)));
    assert_eq!(sent_packets(&mut router), expected);
    assert!(router.is_usable(at(1), THERE, DOWN));
    router.on_next_hop_restored(DOWN);
    assert_eq!(sent_packets(&mut router), [], "once");
}

#[test]
fn later_rrns_for_a_notified_source_are_discarded() {
    let mut router = intermediate(None, &packet(1, 0));
    router.on_next_hop_restored(DOWN);
    sent_packets(&mut router);
    let late = rrn(&packet(1, 0), FAR);
    for _ in 0..2 {
        assert_eq!(router.on_notice(at(2), &late, DOWN, &[DOWN]), NoticeAction::Discard);
    }
    let others = rrn(&packet(2, 0), FAR);
    assert_eq!(router.on_notice(at(2), &others, DOWN, &[DOWN]), NoticeAction::Forward);
    // Until the next RFN.
    router.on_notice(at(3), &rfn(&packet(1, 9), FAR), DOWN, &[DOWN]);
    assert_eq!(router.on_notice(at(4), &late, DOWN, &[DOWN]), NoticeAction::Forward);
}

#[test]
fn any_other_router_forwards_an_rrn_and_unblocks_the_route() {
    let mut router = intermediate(None, &packet(1, 0));
    let notice = rrn(&packet(1, 0), FAR);
    assert_eq!(router.on_notice(at(2), &notice, DOWN, &[DOWN]), NoticeAction::Forward);
    assert!(router.is_usable(at(2), THERE, DOWN));
    assert_eq!(sent_packets(&mut router), [], "the source has received it");
}

/// It has learned of a route, and the failure point may not know the second source.
#[test]
fn a_forwarded_rrn_triggers_rrns_to_the_other_sources() {
    let mut router = intermediate(None, &packet(1, 0));
    give_up(&mut router, 0, &packet(2, 0));
    sent_packets(&mut router);
    router.on_notice(at(2), &rrn(&packet(1, 0), FAR), DOWN, &[DOWN]);
    assert_eq!(sent_packets(&mut router), [own(rrn(&packet(2, 0), FAR))]);
    // If the failure point does, its own RRN arrives second.
    let late = rrn(&packet(2, 0), FAR);
    assert_eq!(router.on_notice(at(2), &late, DOWN, &[DOWN]), NoticeAction::Discard);
}

// §5.4: several failures

/// The nearer failure point takes over; the source waits for its RRN.
#[test]
fn a_nearer_failure_point_reports_its_own_link() {
    let mut router = intermediate(None, &packet(1, 0));
    router.on_next_hop_failed(THERE, DOWN, OWN);
    give_up(&mut router, 0, &packet(1, 1));
    assert_eq!(sent_packets(&mut router), [rfn(&packet(1, 1), OWN)]);
    // Its link is up: failures reported over it are out of date.
    router.on_next_hop_restored(DOWN);
    assert_eq!(sent_packets(&mut router), [rrn(&packet(1, 1), OWN)]);
    assert!(router.is_usable(at(5), THERE, DOWN));
}

#[test]
fn after_another_failure_behind_it_the_next_packet_triggers_the_next_rfn() {
    let mut router = failure_point(None);
    give_up(&mut router, 0, &packet(1, 0));
    router.on_next_hop_restored(DOWN);
    sent_packets(&mut router);
    let second = rfn(&packet(1, 1), FAR_AGAIN);
    assert_eq!(router.on_notice(at(9), &second, DOWN, &[DOWN]), NoticeAction::Forward);
    assert!(!router.is_usable(at(9), THERE, DOWN));
    let end = rrn(&packet(1, 1), FAR_AGAIN);
    assert_eq!(router.on_notice(at(11), &end, DOWN, &[DOWN]), NoticeAction::Forward);
    assert!(router.is_usable(at(11), THERE, DOWN));
}

/// The state of its own link takes precedence over reports.
#[test]
fn a_received_rfn_does_not_limit_the_routers_own_failure() {
    let mut router = failure_point(None);
    router.on_notice(at(0), &rfn(&packet(1, 0), FAR), DOWN, &[DOWN]);
    router.on_packet(at(100), THERE);
    assert!(!router.is_usable(at(100), THERE, DOWN));
}

// §5.4: lost messages

#[test]
fn a_received_rfn_has_a_lifetime() {
    let mut router = intermediate(buffer(9, FlushTrigger::Rrn), &packet(1, 0));
    assert_eq!(give_up(&mut router, 3, &packet(1, 1)), UndeliverableOutcome::Buffered);
    sent_packets(&mut router);
    router.on_packet(at(19), THERE);
    assert!(!router.is_usable(at(19), THERE, DOWN) && released_packets(&mut router).is_empty());
    router.on_packet(at(20), THERE);
    assert!(router.is_usable(at(20), THERE, DOWN));
    assert_eq!(released_packets(&mut router), [3], "before the packet that triggered the expiry");
    assert_eq!(sent_packets(&mut router), [], "it has not learned of a route");
}

#[test]
fn a_second_rfn_restarts_the_lifetime() {
    let mut router = intermediate(None, &packet(1, 0));
    router.on_notice(at(15), &rfn(&packet(1, 1), FAR), DOWN, &[DOWN]);
    router.on_packet(at(30), THERE);
    assert!(!router.is_usable(at(30), THERE, DOWN));
}

/// The source's transport tries again when its route failure timer expires; its own router must not block it.
#[test]
fn the_source_itself_blocks_no_route_unless_it_knows_another() {
    let mut source =
        RouteFailureAgent::new(address(1), RfnConfig { rfn_lifetime: RFN_LIFETIME, buffer: None });
    let notice = rfn(&packet(1, 0), FAR);
    assert_eq!(source.on_notice(at(0), &notice, DOWN, &[DOWN]), NoticeAction::Forward);
    assert!(source.is_usable(at(0), THERE, DOWN));
    assert_eq!(source.on_notice(at(0), &notice, DOWN, &[DOWN, ASIDE]), NoticeAction::Discard);
    assert!(!source.is_usable(at(0), THERE, DOWN));
}

#[test]
fn a_source_at_the_failure_point_is_notified_like_any_other() {
    let link = FailedLink { from: address(1), to: address(2) };
    let mut source =
        RouteFailureAgent::new(address(1), RfnConfig { rfn_lifetime: RFN_LIFETIME, buffer: None });
    source.on_next_hop_failed(THERE, DOWN, link);
    give_up(&mut source, 0, &packet(1, 0));
    assert_eq!(sent_packets(&mut source), [rfn(&packet(1, 0), link)]);
    source.on_next_hop_restored(DOWN);
    assert_eq!(sent_packets(&mut source), [rrn(&packet(1, 0), link)]);
    // One from behind it finds the source notified, until there is another RFN.
    let farther = rrn(&packet(1, 0), FAR);
    assert_eq!(source.on_notice(at(1), &farther, DOWN, &[DOWN]), NoticeAction::Discard);
    source.on_notice(at(2), &rfn(&packet(1, 1), FAR), DOWN, &[DOWN]);
    assert_eq!(source.on_notice(at(3), &farther, DOWN, &[DOWN]), NoticeAction::Forward);
}

// §6.1: buffers

#[test]
fn packets_are_buffered_up_to_a_limit_per_destination_and_still_trigger_rfns() {
    let mut router = failure_point(buffer(2, FlushTrigger::AnyRoute));
    let outcomes: Vec<_> = (0..3).map(|n| give_up(&mut router, n, &packet(1, n))).collect();
    assert_eq!(
        outcomes,
        [
            UndeliverableOutcome::Buffered,
            UndeliverableOutcome::Buffered,
            UndeliverableOutcome::Overflow
        ]
    );
    assert_eq!(sent_packets(&mut router).len(), 3);
    let elsewhere = Packet { ip: IpHeader::new(address(1), address(8)), ..packet(1, 0) };
    router.on_next_hop_failed(address(8), DOWN, OWN);
    assert_eq!(give_up(&mut router, 9, &elsewhere), UndeliverableOutcome::Buffered);
    assert_eq!(router.buffered_packets(), 3);
}

#[test]
fn buffered_packets_leave_in_order_when_the_link_is_up() {
    for flush in [FlushTrigger::Rrn, FlushTrigger::AnyRoute] {
        let mut router = failure_point(buffer(5, flush));
        (0..3).for_each(|n| {
            assert_eq!(give_up(&mut router, n, &packet(1, n)), UndeliverableOutcome::Buffered)
        });
        router.on_next_hop_restored(ASIDE);
        assert_eq!(released_packets(&mut router), [], "not its next hop");
        router.on_next_hop_restored(DOWN);
        assert_eq!(router.buffered_packets(), 3);
        assert_eq!(released_packets(&mut router), [0, 1, 2]);
        assert_eq!(router.buffered_packets(), 0);
    }
}

#[test]
fn a_forwarded_rrn_flushes_the_buffer() {
    for flush in [FlushTrigger::Rrn, FlushTrigger::AnyRoute] {
        let mut router = intermediate(buffer(5, flush), &packet(1, 0));
        give_up(&mut router, 4, &packet(1, 1));
        router.on_notice(at(2), &rrn(&packet(1, 0), FAR), DOWN, &[DOWN]);
        assert_eq!(released_packets(&mut router), [4]);
    }
}

/// "on learning of new routes … without waiting for an RRN"
#[test]
fn another_route_flushes_at_once_or_not_before_the_rrn() {
    for (flush, at_once) in [(FlushTrigger::AnyRoute, vec![4]), (FlushTrigger::Rrn, vec![])] {
        let mut router = router(buffer(5, flush));
        let ways = [DOWN, ASIDE];
        router.on_next_hop_failed(THERE, ASIDE, OWN);
        router.on_notice(at(0), &rfn(&packet(1, 0), FAR), DOWN, &ways);
        give_up(&mut router, 4, &packet(1, 1));
        sent_packets(&mut router);
        router.on_next_hop_restored(ASIDE);
        assert_eq!(released_packets(&mut router), at_once, "{flush:?}");
        assert_eq!(sent_packets(&mut router).len(), 1, "the source is notified at once");
        router.on_notice(at(2), &rrn(&packet(1, 0), FAR), DOWN, &ways);
        assert_eq!(released_packets(&mut router).len() + at_once.len(), 1);
    }
}
