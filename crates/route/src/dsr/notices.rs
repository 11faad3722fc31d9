//! Notices of a cache to other nodes, as packets.

use driftway_base::{FailedLink, Instant};
use driftway_wire::{DsrError, DsrErrorKind, DsrHeader, RoutedPacket};

use super::Dsr;
use super::cache::LinkFailureNotice;
use super::path;
use crate::LinkDestination;

impl Dsr {
    /// Sends the pending notices of the cache.
    pub(super) fn send_notices(&mut self, now: Instant) {
        while let Some(notice) = self.cache.poll_notice() {
            self.send_notice(now, notice);
        }
    }

    /// Sends a route error (RFC 4728 §6.4) whose source is the first node of the link, as in one piggybacked
    /// on a request (§3.4.4): the link of an error leads from its source to the unreachable node.
    fn send_notice(
        &mut self,
        now: Instant,
        LinkFailureNotice { path: way, link }: LinkFailureNotice,
    ) {
        let (Some(next), Some(to)) = (way.get(1), way.last()) else { return };
        // An external host has no cache.
        if way.first() != Some(self.address) || way.has_loop() || self.is_known_external(to) {
            return;
        }
        let FailedLink { from, to: unreachable } = link;
        let kind = DsrErrorKind::NodeUnreachable(unreachable);
        let error = DsrError { kind, salvage: 0, source: from, destination: to };
        let mut dsr = DsrHeader { errors: [Some(error), None, None], ..DsrHeader::default() };
        self.cache.on_error_sent(link, next, &mut dsr);
        let mut packet = self.control_packet(to, dsr);
        let hops = way.len() - 1;
        packet.packet.ip.ttl = u8::try_from(hops).unwrap_or(u8::MAX);
        if hops > 1 || self.config.route_to_neighbour {
            path::set_source_route(&mut packet, &way, 0);
        }
        self.stats.route_errors += 1;
        self.stats.notices += 1;
        self.transmit(now, now, &mut packet, LinkDestination::Unicast(next));
    }
}

/// Returns true for a notice: its hop limit equals the rest of its route at every hop. No other control
/// packet expires where its route ends, because the others start with a limit beyond any route and requests
/// have no route. So a notice cannot take another route, and needs no mark.
pub(super) fn is_link_failure_notice(packet: &RoutedPacket) -> bool {
    let Some(dsr) = &packet.dsr else { return false };
    let left = dsr.source_route.as_ref().map_or(0, |route| route.segments_left);
    packet.is_control()
        && dsr.errors[0].is_some()
        && dsr.request().is_none()
        && packet.packet.ip.ttl <= left.saturating_add(1)
}

#[cfg(test)]
mod test {
    use alloc::boxed::Box;
    use alloc::vec::Vec;

    use driftway_base::{Duration, Ipv4Addr};
    use driftway_wire::{Body, DsrOption, IpHeader, Packet, Payload, UdpDatagram};

    use super::super::cache::{LearnedBy, LinkFailureReport, RouteCache, RouteObservation};
    use super::super::path::{Path, SourceRoute};
    use super::*;
    use crate::{DsrConfig, Output, RoutingProtocol};
    use driftway_base::DropReason;

    /// Keeps all routes, and notifies the nodes to which it has sent a link in a reply.
    #[derive(Clone, Debug)]
    struct ForwardingTestCache {
        me: Ipv4Addr,
        routes: Vec<Path>,
        replied_links: Vec<(Ipv4Addr, FailedLink)>,
        notices: Vec<LinkFailureNotice>,
    }

    fn links(path: &Path) -> impl Iterator<Item = FailedLink> {
        path.as_slice().windows(2).map(|ends| FailedLink { from: ends[0], to: ends[1] })
    }

    impl RouteCache for ForwardingTestCache {
        fn on_route_learned(&mut self, _: Instant, path: &Path, _: LearnedBy) -> bool {
            self.routes.push(*path);
            true
        }

        fn on_route_observed(&mut self, _: Instant, _: &SourceRoute, _: RouteObservation) -> bool {
            false
        }

        fn on_reply_sent(&mut self, _: Instant, route: &Path, to: Ipv4Addr) {
            let mine = links(route).skip_while(|link| link.from != self.me);
            self.replied_links.extend(mine.map(|link| (to, link)));
        }

        fn on_link_failure(
            &mut self,
            _: Instant,
            link: FailedLink,
            report: LinkFailureReport<'_>,
        ) -> bool {
            let before = self.routes.len();
            self.routes.retain(|path| links(path).all(|known| known != link));
            let informed = match report {
                LinkFailureReport::LinkLayer { .. } => [None, None],
                LinkFailureReport::RouteError { from, also_sent_to, .. } => {
                    [Some(from), also_sent_to]
                }
            };
            self.replied_links.retain(|(to, given)| {
                if *given == link && !informed.contains(&Some(*to)) {
                    self.notices.push(LinkFailureNotice { path: Path::hop(self.me, *to), link });
                }
                *given != link
            });
            self.routes.len() < before
        }

        fn on_error_sent(&mut self, link: FailedLink, to: Ipv4Addr, _: &mut DsrHeader) {
            self.notices.retain(|notice| (notice.path.last(), notice.link) != (Some(to), link));
        }

        fn lookup(&mut self, _: Instant, destination: Ipv4Addr) -> Option<Path> {
            self.routes.iter().find(|path| path.last() == Some(destination)).copied()
        }

        fn select(&mut self, now: Instant, destination: Ipv4Addr) -> Option<Path> {
            self.lookup(now, destination)
        }

        fn select_for_salvage(&mut self, now: Instant, destination: Ipv4Addr) -> Option<Path> {
            self.lookup(now, destination)
        }

        fn poll_notice(&mut self) -> Option<LinkFailureNotice> {
            self.notices.pop()
        }

        fn has_link(&self, _: Instant, link: FailedLink) -> bool {
            self.routes.iter().any(|path| links(path).any(|known| known == link))
        }

        fn clone_boxed(&self) -> Box<dyn RouteCache> {
            Box::new(self.clone())
        }
    }

    const fn at(number: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 0, 0, number)
    }

    fn node(number: u8, config: DsrConfig) -> Dsr {
        let me = at(number);
        let (routes, replied_links, notices) = (Vec::new(), Vec::new(), Vec::new());
        let cache = Box::new(ForwardingTestCache { me, routes, replied_links, notices });
        Dsr::with_cache(cache, config, me, 1, number.into())
    }

    fn data(from: u8, to: u8) -> Packet {
        let payload = Payload::new(0, 0, 8);
        let body = Body::Udp(UdpDatagram { source_port: 1, destination_port: 2, payload });
        Packet { ip: IpHeader::new(at(from), at(to)), body }
    }

    /// The packets that a node sends by `now`.
    fn sent(dsr: &mut Dsr, now: Instant) -> Vec<(RoutedPacket, LinkDestination)> {
        let outputs = core::iter::from_fn(|| dsr.poll(now));
        let packets = outputs.filter_map(|output| match output {
            Output::Transmit { packet, hop } => Some((packet, hop)),
            _ => None,
        });
        packets.collect()
    }

    /// Node `asks` learns the route to node 9 from `knows`, which replies from its cache.
    fn ask(now: Instant, asks: &mut Dsr, knows: &mut Dsr) {
        let (asker, knower) = (asks.address, knows.address);
        asks.send(now, data(asker.octets()[3], 9));
        let soon = now + Duration::from_millis(20);
        let request = sent(asks, soon)
            .into_iter()
            .find(|(_, hop)| *hop == LinkDestination::Broadcast)
            .unwrap();
        knows.on_packet(soon, asker, request.0);
        let later = soon + Duration::from_millis(20);
        let replies = sent(knows, later);
        let (reply, hop) = replies.into_iter().find(|(packet, _)| packet.is_control()).unwrap();
        assert_eq!(hop, LinkDestination::Unicast(asker));
        asks.on_packet(later, knower, reply);
        assert!(asks.source_route(later, at(9)).is_some());
        // The buffered packet.
        assert_eq!(sent(asks, later + Duration::from_millis(50)).len(), 1);
    }

    /// 4 has learned the link from 1 to 9 from 3, which has learned it from 1; so has 2.
    #[test]
    fn nodes_that_learned_a_link_here_are_notified_and_forward_the_notice() {
        for config in [DsrConfig::STANDARD, DsrConfig { flow_state: None, ..DsrConfig::NS2 }] {
            let mut now = Instant::from_secs(1);
            let [mut one, mut two, mut three, mut four] = [1, 2, 3, 4].map(|n| node(n, config));
            let mut way = Path::EMPTY;
            assert!(way.extend(&[at(1), at(9)]));
            one.cache.on_route_learned(now, &way, LearnedBy::Reply);
            ask(now, &mut two, &mut one);
            ask(now, &mut three, &mut one);
            ask(now, &mut four, &mut three);

            now = Instant::from_secs(2);
            one.on_link_failure(now, at(9), RoutedPacket::plain(data(1, 9)), &mut || None);
            let notices: Vec<_> = sent(&mut one, now)
                .into_iter()
                .filter(|(_, hop)| *hop != LinkDestination::Broadcast)
                .collect();
            assert_eq!(notices.len(), 2, "each neighbour that has the link, once");
            let (packet, _) =
                notices.iter().find(|(_, hop)| *hop == LinkDestination::Unicast(at(3))).unwrap();
            assert_eq!((packet.packet.ip.source, packet.packet.ip.ttl), (at(1), 1));
            let mut room = [0; 128];
            let len = packet.encode(&mut room, Payload::fill_pattern).unwrap();
            let (read, _) = RoutedPacket::decode(&room[..len]).unwrap();
            assert_eq!(read, RoutedPacket { size_adjustment: 0, ..*packet });

            three.on_packet(now, at(1), read);
            assert_eq!(three.source_route(now, at(9)), None);
            let on: Vec<_> = sent(&mut three, now);
            assert_eq!(
                on.iter().map(|(_, hop)| *hop).collect::<Vec<_>>(),
                [LinkDestination::Unicast(at(4))]
            );
            four.on_packet(now, at(3), on[0].0);
            assert_eq!(four.source_route(now, at(9)), None);
            assert_eq!(sent(&mut four, now), [], "no node has learned it there");

            // No route discovery starts for a lost neighbour.
            three.on_link_failure(now, at(4), on[0].0, &mut || None);
            let outputs: Vec<_> = core::iter::from_fn(|| three.poll(now)).collect();
            let reason = DropReason::LinkFailure;
            assert_eq!(outputs, [Output::Drop { packet: on[0].0, reason }]);
        }
    }

    /// A notice to a node on the other side, on a route around the link: the node that forwards it removes
    /// the link, too, and where the notice fails it is dropped, without an error about it.
    #[test]
    fn a_notice_may_take_several_hops_and_is_never_rerouted() {
        for config in [DsrConfig::STANDARD, DsrConfig { flow_state: None, ..DsrConfig::NS2 }] {
            let now = Instant::from_secs(1);
            let [mut one, mut two, mut three] = [1, 2, 3].map(|number| node(number, config));
            let link = FailedLink { from: at(1), to: at(9) };
            let mut stale = Path::hop(at(1), at(9));
            stale.push(at(7));
            for (knows, via) in [(&mut one, None), (&mut two, Some(2)), (&mut three, Some(3))] {
                let mut path = Path::EMPTY;
                via.iter().for_each(|via| assert!(path.push(at(*via))));
                assert!(path.extend(stale.as_slice()));
                knows.cache.on_route_learned(now, &path, LearnedBy::Reply);
            }
            let mut path = Path::hop(at(1), at(2));
            path.extend(&[at(3)]);
            one.send_notice(now, LinkFailureNotice { path, link });
            let (first, hop) = sent(&mut one, now)[0];
            assert_eq!((hop, first.packet.ip.ttl), (LinkDestination::Unicast(at(2)), 2));
            two.on_packet(now, at(1), first);
            assert_eq!(two.source_route(now, at(7)), None);
            let (second, hop) = sent(&mut two, now)[0];
            assert_eq!((hop, second.packet.ip.ttl), (LinkDestination::Unicast(at(3)), 1));
            assert!(is_link_failure_notice(&first) && is_link_failure_notice(&second));
            let mut other = three.clone();
            other.on_packet(now, at(2), second);
            assert_eq!(other.source_route(now, at(7)), None);
            assert_eq!(other.last_error, None, "a notice is not piggybacked");
            assert_eq!(sent(&mut other, now), []);

            // On its first hop, and on its second, although there is another route.
            for (failing, packet, to) in [(&mut one, first, 2), (&mut two, second, 3)] {
                let mut path = Path::hop(failing.address, at(4));
                path.extend(&[at(3)]);
                failing.cache.on_route_learned(now, &path, LearnedBy::Reply);
                failing.on_link_failure(now, at(to), packet, &mut || None);
                let outputs: Vec<_> = core::iter::from_fn(|| failing.poll(now)).collect();
                assert_eq!(outputs, [Output::Drop { packet, reason: DropReason::LinkFailure }]);
            }
        }
    }

    /// The source of the packet that failed is informed by the ordinary error.
    #[test]
    fn a_node_that_gets_the_ordinary_error_gets_no_notice() {
        let config = DsrConfig::STANDARD;
        let now = Instant::from_secs(1);
        let [mut one, mut two] = [1, 2].map(|number| node(number, config));
        let mut way = Path::EMPTY;
        assert!(way.extend(&[at(1), at(9)]));
        one.cache.on_route_learned(now, &way, LearnedBy::Reply);
        ask(now, &mut two, &mut one);
        let mut whole = Path::EMPTY;
        assert!(whole.extend(&[at(2), at(1), at(9)]));
        let mut packet = RoutedPacket::plain(data(2, 9));
        path::set_source_route(&mut packet, &whole, 0);
        one.on_packet(now, at(2), packet);
        let (packet, hop) = sent(&mut one, now)[0];
        assert_eq!(hop, LinkDestination::Unicast(at(9)));
        one.on_link_failure(now, at(9), packet, &mut || None);
        let errors = sent(&mut one, now);
        assert_eq!(errors.len(), 1);
        two.on_packet(now, at(1), errors[0].0);
        assert_eq!(two.source_route(now, at(9)), None);
    }

    /// An error on its way from 3 to 5 fails between 2 and 4: it returns to 3 nested in the new error, with
    /// its options, and is sent on from 3 to 5.
    #[test]
    fn a_nested_error_keeps_its_options() {
        let config = DsrConfig::STANDARD;
        let now = Instant::from_secs(1);
        let [mut two, mut three] = [2, 3].map(|number| node(number, config));
        let option = DsrOption::Other { kind: 17, data: &[1, 2, 3] };
        let mut dsr = DsrHeader::default();
        let kind = DsrErrorKind::NodeUnreachable(at(9));
        let first = DsrError { kind, salvage: 0, source: at(3), destination: at(5) };
        assert!(dsr.add_option(DsrOption::Error(first)) && dsr.add_option(option));
        let mut error = three.control_packet(at(5), dsr);
        let mut way = Path::EMPTY;
        assert!(way.extend(&[at(3), at(2), at(4), at(5)]));
        path::set_source_route(&mut error, &way, 0);

        two.on_packet(now, at(3), error);
        let (error, hop) = sent(&mut two, now)[0];
        assert_eq!(hop, LinkDestination::Unicast(at(4)));
        two.on_link_failure(now, at(4), error, &mut || None);
        let (nested, hop) = sent(&mut two, now)[0];
        assert_eq!(hop, LinkDestination::Unicast(at(3)));
        let header = nested.dsr.unwrap();
        assert_eq!((header.errors().count(), header.extra_options().next()), (2, Some(option)));

        let mut way = Path::EMPTY;
        assert!(way.extend(&[at(3), at(6), at(5)]));
        three.cache.on_route_learned(now, &way, LearnedBy::Reply);
        three.on_packet(now, at(2), nested);
        let (again, hop) = sent(&mut three, now)[0];
        assert_eq!(hop, LinkDestination::Unicast(at(6)));
        let header = again.dsr.unwrap();
        assert_eq!((header.errors().count(), header.extra_options().next()), (1, Some(option)));
    }

    /// An error beyond the three with fields of their own is sent on to its destination like the others.
    #[test]
    fn the_fourth_error_of_a_packet_is_sent_on_to_its_destination() {
        let now = Instant::from_secs(1);
        let [mut three, mut five] = [3, 5].map(|number| node(number, DsrConfig::STANDARD));
        let mut dsr = DsrHeader::default();
        for (unreachable, destination) in [(8, 5), (9, 5), (10, 5), (11, 7)] {
            let kind = DsrErrorKind::NodeUnreachable(at(unreachable));
            let error = DsrError { kind, salvage: 0, source: at(3), destination: at(destination) };
            assert!(dsr.add_option(DsrOption::Error(error)));
        }
        assert_eq!((dsr.errors().count(), dsr.extra_options().count()), (3, 1));
        let mut error = three.control_packet(at(5), dsr);
        let mut way = Path::EMPTY;
        assert!(way.extend(&[at(3), at(5)]));
        path::set_source_route(&mut error, &way, 0);
        let mut way = Path::EMPTY;
        assert!(way.extend(&[at(5), at(7)]));
        five.cache.on_route_learned(now, &way, LearnedBy::Reply);

        five.on_packet(now, at(3), error);
        let (on, hop) = sent(&mut five, now)[0];
        assert_eq!(hop, LinkDestination::Unicast(at(7)));
        let header = on.dsr.unwrap();
        let kinds: Vec<_> = header.errors().map(|error| error.kind).collect();
        assert_eq!(kinds, [DsrErrorKind::NodeUnreachable(at(11))]);
        assert_eq!(header.extra_options().next(), None);
    }
}
