//! DSR's reports of packets lost on a link: the examples of yu-2004 §4, step by step.

use driftway_base::{Duration, Instant, PacketDisposition, SignalKind};
use driftway_route::{
    CacheKind, CacheLimits, CachePart, DsrConfig, ReplyFromCache, RoutingProtocol,
};
use driftway_wire::{Body, ConnInfo, ConnPackets, RoutedPacket};

use crate::net::{FRAME, Net, Sent, address, ms, number};

/// yu-2004's DSR without replies from caches, so that the known routes of each node are evident.
const YU: DsrConfig = DsrConfig {
    promiscuous: false,
    cache: CacheKind::paths(CacheLimits { primary: 30, secondary: 64, timeout: None }),
    jitter: Duration::ZERO,
    reply_from_cache: ReplyFromCache::Never,
    cache_forwarded_replies: true,
    overheard_replies: CachePart::Primary,
    flow_state: None,
    salvage_requests: 0,
    epln: true,
    bead: true,
    ..DsrConfig::NS2
};

fn infos(packet: &RoutedPacket) -> Vec<ConnInfo> {
    let list = packet.dsr.as_ref().and_then(|dsr| dsr.conn_list());
    list.iter().flat_map(|list| list.entries().collect::<Vec<_>>()).collect()
}

/// The index of a frame of a run: each takes a millisecond.
fn frames(at: Instant) -> u64 {
    at.as_nanos() / FRAME.as_nanos()
}

/// The hops of errors with a loss list: time, from, to, number of errors.
fn notices(net: &Net) -> Vec<(u64, usize, usize, usize)> {
    let reported = net.errors().filter(|sent| !infos(&sent.packet).is_empty());
    let hop = |sent: &Sent| {
        let errors = sent.packet.dsr.unwrap().errors().count();
        (frames(sent.at), sent.from, sent.to.unwrap(), errors)
    };
    reported.map(hop).collect()
}

/// The signals to hosts: time, node, first sequence number, outcome of the packet.
fn signals(net: &Net) -> Vec<(u64, usize, u32, PacketDisposition)> {
    let heard = net.signals.iter().map(|(at, node, signal)| {
        let SignalKind::PacketLost { ranges, disposition: outcome } = signal.kind else {
            panic!("{signal:?}")
        };
        let range = ranges.as_slice()[0];
        assert_eq!(signal.details.seq, Some(range.start));
        assert_eq!(signal.details.flow.unwrap().source.address, address(*node));
        (frames(*at), *node, range.start.0, outcome)
    });
    heard.collect()
}

/// The hops of host packets: time, from, to, lost.
fn data(net: &Net) -> Vec<(u64, usize, usize, bool)> {
    net.data().map(|sent| (frames(sent.at), sent.from, sent.to.unwrap(), sent.failed)).collect()
}

/// No route discovery starts for a notification (§4.1).
fn nobody_searched(net: &Net) {
    assert_eq!(net.nodes.iter().map(|node| node.stats().discoveries).sum::<u64>(), 0);
    assert_eq!(net.requests().count(), 0);
}

/// Figure 2: A = 0 sends to E = 4 by B, C, D; C = 2 also knows the route by F = 5 and G = 6, and to A one by
/// B and one by H = 7 and I = 8.
fn figure_2(config: DsrConfig) -> Net {
    let mut net = Net::new(config, 9, 1);
    for (a, b) in [(0, 1), (1, 2), (2, 3), (3, 4), (2, 5), (5, 6), (6, 4), (2, 7), (7, 8), (8, 0)] {
        net.link(a, b, true);
    }
    for path in [&[0, 1, 2, 3, 4][..], &[2, 5, 6, 4], &[2, 1, 0], &[2, 7, 8, 0]] {
        net.teach(path);
    }
    net.link(2, 3, false);
    net.link(5, 6, false);
    net
}

const LOST: PacketDisposition = PacketDisposition::Lost;
const SALVAGED: PacketDisposition = PacketDisposition::Salvaged;

#[test]
fn figure_2_step_by_step() {
    let mut net = figure_2(YU);
    net.send_segment(0, 4, 100, 100, 0);
    net.run(ms(6));
    net.link(0, 1, false);
    net.run(ms(500));
    // C salvages at 3 ms, and F loses the packet at 5 ms.
    assert_eq!(
        data(&net),
        [(1, 0, 1, false), (2, 1, 2, false), (3, 2, 3, true), (4, 2, 5, false), (5, 5, 6, true)]
    );
    assert_eq!(
        notices(&net),
        [
            // C notifies A that the packet is salvaged: EPLN freezes TCP for that.
            (5, 2, 1, 1),
            (6, 1, 0, 1),
            // F notifies C, where the packet's route started.
            (6, 5, 2, 1),
            // C has a route to A. Its link from B has failed.
            (7, 2, 1, 1),
            (8, 1, 0, 1),
            // B notifies C by a nested error, and C tries another cached route.
            (9, 1, 2, 2),
            (10, 2, 7, 1),
            (11, 7, 8, 1),
            (12, 8, 0, 1),
        ]
    );
    assert_eq!(signals(&net), [(6, 0, 100, SALVAGED), (12, 0, 100, LOST)]);
    let stats = net.nodes[2].stats();
    assert_eq!((stats.loss_notices, stats.passed_notices), (2, 1));
    assert_eq!((net.nodes[1].stats().nested_errors, net.nodes[5].stats().loss_notices), (1, 1));
    nobody_searched(&net);
    net.check_conservation();
}

/// Each option alone, in the same network.
#[test]
fn figure_2_with_single_options() {
    let heard = |config| {
        let mut net = figure_2(config);
        net.send_segment(0, 4, 100, 100, 0);
        net.run(ms(500));
        net.check_conservation();
        signals(&net)
    };
    // After a salvage ELFN notifies the salvaging node (§3.2).
    let elfn = DsrConfig { elfn: true, epln: false, bead: false, ..YU };
    assert_eq!(heard(elfn), [(6, 0, 100, SALVAGED)]);
    assert_eq!(heard(DsrConfig { bead: false, ..YU }), [(6, 0, 100, SALVAGED), (8, 0, 100, LOST)]);
    assert_eq!(heard(DsrConfig { epln: false, ..YU }), []);
    assert_eq!(heard(DsrConfig { epln: false, bead: false, ..YU }), []);
}

/// ELFN's notice is an ordinary route error, and its source may search for a route to repeat it (§3.2, RFC 4728
/// §8.3.4). EPLN and BEAD use cached routes alone (§4.3.2).
#[test]
fn only_elfn_searches_for_a_route_of_its_notices() {
    let alone = DsrConfig { elfn: true, epln: false, bead: false, ..YU };
    let bead = DsrConfig { bead: true, ..alone };
    // The error of 2 about its link to 3 fails at 2 itself, or at 1, which returns it nested.
    for failed in [(2, 1), (1, 0)] {
        for (config, searched) in [(alone, true), (bead, false), (YU, false)] {
            let mut net = Net::chain(config, 5);
            net.link(0, 4, true);
            net.link(4, 2, true);
            net.teach(&[0, 1, 2, 3]);
            net.link(2, 3, false);
            net.send_segment(0, 3, 100, 100, 0);
            net.run(ms(2));
            net.link(failed.0, failed.1, false);
            net.run(ms(500));
            let of_2 = net.nodes[2].stats().discoveries;
            assert_eq!(of_2, u64::from(searched), "{failed:?} {searched}");
            let heard = signals(&net).iter().filter(|(_, node, ..)| *node == 0).count();
            assert_eq!(heard, usize::from(searched), "{failed:?} {searched}");
            net.check_conservation();
        }
    }
}

/// The TCP sender's own link fails. EPLN freezes TCP in any case (§4.3.1), ELFN only if no other route is
/// available (§3.2).
#[test]
fn elfn_signals_its_own_link_only_without_another_route() {
    let elfn = DsrConfig { elfn: true, epln: false, bead: false, ..YU };
    let epln = DsrConfig { bead: false, ..YU };
    for (config, has_route, signalled) in
        [(elfn, true, false), (elfn, false, true), (epln, true, true), (epln, false, true)]
    {
        let mut net = Net::chain(config, 4);
        net.link(0, 3, true);
        net.link(3, 2, true);
        net.teach(&[0, 1, 2]);
        if has_route {
            net.teach(&[0, 3, 2]);
        }
        net.link(0, 1, false);
        net.send_segment(0, 2, 100, 100, 0);
        net.run(ms(500));
        let expected = [(1, 0, 100, SALVAGED)];
        let expected = if signalled { &expected[..] } else { &[] };
        assert_eq!(signals(&net), expected, "{has_route}");
        assert_eq!(net.searches.len(), usize::from(!has_route));
        assert_eq!(net.delivered.len(), 1);
        net.check_conservation();
    }
}

/// C salvages, and so does F; G loses the packet. F has no route to A, and C has.
#[test]
fn previous_salvagers_relay_the_notification() {
    for (relay_notices, heard) in [(false, None), (true, Some((11, 0, 100, LOST)))] {
        let mut net = figure_2(DsrConfig { relay_notices, ..YU });
        // F = 5 has another route, by H = 7, which ends there; back it knows only C.
        net.link(5, 7, true);
        net.teach(&[5, 7, 4]);
        net.teach(&[5, 2]);
        net.send_segment(0, 4, 100, 100, 0);
        net.run(ms(500));
        let lost = signals(&net).into_iter().find(|(.., outcome)| *outcome == LOST);
        assert_eq!(lost, heard);
        let salvagers: Vec<_> =
            net.data().map(|sent| sent.packet.dsr.unwrap().salvagers().len()).collect();
        assert_eq!(salvagers.last(), Some(&usize::from(relay_notices)));
        nobody_searched(&net);
        net.check_conservation();
    }
}

/// A notification that its forwarder salvages is not lost: its source is notified of the link failure, and
/// TCP of the loss once.
#[test]
fn a_salvaged_notification_arrives_once() {
    // 0 - 1 - 2 - 3; the report of 2 about its link to 3 is sent by 1 to 4 to 0 when 1 has lost 0.
    let mut net = Net::new(YU, 5, 1);
    for (a, b) in [(0, 1), (1, 2), (2, 3), (1, 4), (4, 0)] {
        net.link(a, b, true);
    }
    for path in [&[0, 1, 2, 3][..], &[1, 4, 0], &[2, 1, 0], &[2, 1, 4, 0]] {
        net.teach(path);
    }
    net.link(2, 3, false);
    net.send_segment(0, 3, 100, 100, 0);
    net.run(ms(3));
    net.link(0, 1, false);
    net.run(ms(500));
    assert_eq!(net.nodes[1].stats().salvaged, 1);
    let heard: Vec<_> =
        signals(&net).into_iter().map(|(_, node, seq, outcome)| (node, seq, outcome)).collect();
    assert_eq!(heard, [(0, 100, LOST)]);
    // 1 notifies 2 of the link to 0, without the list.
    let to_2: Vec<_> = net.errors().filter(|sent| sent.to == Some(2)).collect();
    assert_eq!((to_2.len(), infos(&to_2[0].packet).len()), (1, 0));
    nobody_searched(&net);
    net.check_conservation();
}

/// C has salvaged a packet, its next link fails, too, and it has a third route: nothing is lost, and nothing
/// reported.
#[test]
fn salvaging_a_salvaged_packet_again_sends_no_notification() {
    let mut net = figure_2(YU);
    net.link(2, 7, true);
    net.link(7, 4, true);
    net.teach(&[2, 7, 4]);
    net.link(2, 7, false);
    net.send_segment(0, 4, 100, 100, 0);
    net.run(ms(4));
    let before = net.nodes[2].stats().loss_notices;
    net.run(ms(500));
    assert_eq!(net.nodes[2].stats().salvaged, 2);
    // The first notifies A that the packet was salvaged; the last one is F's, relayed.
    assert_eq!((before, net.nodes[2].stats().loss_notices), (1, 2));
    let outcomes: Vec<_> = signals(&net).into_iter().map(|(.., outcome)| outcome).collect();
    assert_eq!(outcomes, [SALVAGED, LOST]);
    net.check_conservation();
}

/// A sender's TCP is notified that its packet has failed before its node looks for another route.
#[test]
fn a_sender_is_notified_before_the_route_discovery() {
    let mut net = Net::chain(DsrConfig { elfn: true, ..YU }, 3);
    net.teach(&[0, 1, 2]);
    net.link(0, 1, false);
    net.send_segment(0, 2, 100, 100, 0);
    net.run(ms(500));
    assert_eq!(signals(&net)[0].1, 0);
    assert_eq!(net.signals_before_search, Some(1));
    net.check_conservation();
}

/// A link loses the packets queued for it, of several connections: one error per source, with one entry per
/// connection.
#[test]
fn one_error_per_source_with_one_entry_per_connection() {
    let mut net = Net::chain(YU, 4);
    for path in [&[0, 1, 2, 3][..], &[1, 2, 3], &[2, 1]] {
        net.teach(path);
    }
    net.link(2, 3, false);
    // They are queued at 2 together, behind these.
    (0..20).for_each(|n| net.send(2, 1, n));
    for n in [0, 1, 2, 5] {
        net.send_segment(0, 3, 100 * n, 100, 0);
    }
    net.send_segment(0, 3, 0, 0, 7);
    net.send_segment(0, 3, 0, 0, 9);
    for _ in 0..2 {
        net.send_segment(1, 3, 0, 0, 3);
    }
    net.run(ms(500));
    let reported: Vec<_> =
        net.errors().filter(|sent| sent.from == 2).map(|s| infos(&s.packet)).collect();
    assert_eq!(reported.len(), 2, "{reported:?}");
    let of_0 = reported.iter().find(|list| list[0].flow.source.address == address(0)).unwrap();
    let [data, acks] = of_0[..] else { panic!("{of_0:?}") };
    let ConnPackets::Data { salvaged: false, runs } = data.packets else { panic!("{data:?}") };
    let starts: Vec<_> = runs.segments().map(|(start, len)| (start.0, len)).collect();
    assert_eq!(starts, [(0, 100), (100, 100), (200, 100), (500, 100)]);
    let ConnPackets::Acks { count: 2, highest, .. } = acks.packets else { panic!("{acks:?}") };
    assert_eq!(highest.ack.0, 9);
    let of_1 = reported.iter().find(|list| list[0].flow.source.address == address(1)).unwrap();
    assert!(matches!(of_1[..], [ConnInfo { packets: ConnPackets::Acks { count: 2, .. }, .. }]));
    let heard: Vec<_> =
        signals(&net).into_iter().map(|(_, node, seq, outcome)| (node, seq, outcome)).collect();
    assert_eq!(heard, [0, 100, 200, 500].map(|seq| (0, seq, LOST)));
    nobody_searched(&net);
    net.check_conservation();
}

/// Figure 3: E = 4 acknowledges to A = 0 by D = 3, C = 2, B = 1; C also knows the route by I = 6 and H = 5,
/// and D that by K = 8, J = 7 and B.
fn figure_3(config: DsrConfig, who: Option<usize>) -> Net {
    let mut net = Net::new(config, 9, 1);
    for (a, b) in [(0, 1), (1, 2), (2, 3), (3, 4), (2, 6), (6, 5), (5, 0), (1, 7), (7, 8), (8, 3)] {
        net.link(a, b, true);
    }
    for path in [&[4, 3, 2, 1, 0][..], &[2, 6, 5, 0], &[2, 3, 4]] {
        net.teach(path);
    }
    let way = [4, 3, 8, 7, 1, 0];
    if let Some(place) = way.iter().position(|node| Some(*node) == who) {
        net.teach(&way[place..]);
    }
    net.link(2, 1, false);
    net.link(6, 5, false);
    net.send_segment(4, 0, 0, 0, 700);
    net
}

/// The acknowledgment numbers that have arrived, and where.
fn acknowledged(net: &Net) -> Vec<(u64, usize, u32)> {
    let numbers = net.delivered.iter().map(|(at, node, packet)| {
        let Body::Tcp(segment) = packet.body else { panic!("{packet:?}") };
        assert_eq!(number(packet.ip.source), 4);
        (frames(*at), *node, segment.ack.0)
    });
    numbers.collect()
}

/// D has a route to A.
#[test]
fn figure_3_step_by_step() {
    let mut net = figure_3(YU, Some(3));
    net.run(ms(500));
    assert_eq!(
        data(&net),
        [
            (1, 4, 3, false),
            (2, 3, 2, false),
            (3, 2, 1, true),
            // C salvages the acknowledgment, and I loses it.
            (4, 2, 6, false),
            (5, 6, 5, true),
            // D retransmits it.
            (8, 3, 8, false),
            (9, 8, 7, false),
            (10, 7, 1, false),
            (11, 1, 0, false),
        ]
    );
    // I notifies C; C has no route to A and notifies E; D, which has, forwards the notification with a mark.
    assert_eq!(notices(&net), [(6, 6, 2, 1), (7, 2, 3, 1), (9, 3, 4, 1)]);
    let marks: Vec<_> = net
        .errors()
        .flat_map(|sent| infos(&sent.packet))
        .map(|info| matches!(info.packets, ConnPackets::Acks { ack_sent: true, .. }))
        .collect();
    assert_eq!(marks, [false, false, true]);
    assert_eq!(acknowledged(&net), [(11, 0, 700)]);
    assert_eq!(net.nodes[3].stats().resent_acks, 1);
    assert_eq!(net.nodes[4].stats().resent_acks, 0, "the entry is marked");
    nobody_searched(&net);
    net.check_conservation();
}

/// If no intermediate node has a route, that of the TCP receiver may have one (§4.1, case 4).
#[test]
fn the_receiver_retransmits_the_last_acknowledgment() {
    let mut net = figure_3(YU, Some(4));
    net.run(ms(500));
    assert_eq!(notices(&net), [(6, 6, 2, 1), (7, 2, 3, 1), (8, 3, 4, 1)]);
    assert_eq!(acknowledged(&net), [(13, 0, 700)]);
    let resent: Vec<_> = net.nodes.iter().map(|node| node.stats().resent_acks).collect();
    assert_eq!(resent, [0, 0, 0, 0, 1, 0, 0, 0, 0]);
    nobody_searched(&net);
    net.check_conservation();
}

/// No node has one: no route discovery starts, and nothing is retransmitted.
#[test]
fn without_a_route_an_acknowledgment_is_lost() {
    for config in [YU, DsrConfig { bead: false, ..YU }] {
        let mut net = figure_3(config, None);
        net.run(ms(500));
        assert_eq!(acknowledged(&net), []);
        nobody_searched(&net);
        net.check_conservation();
    }
}

/// §4.3.2: the node that has retransmitted an acknowledgment handles its loss: D tries another route, or
/// notifies E, which has one.
#[test]
fn a_resent_acknowledgment_that_is_lost_returns_to_its_sender() {
    for who in [3, 4] {
        let mut net = Net::new(YU, 10, 1);
        let links =
            [(0, 1), (2, 3), (3, 4), (2, 6), (1, 7), (7, 8), (8, 3), (3, 9), (9, 5), (5, 0)];
        links.into_iter().for_each(|(a, b)| net.link(a, b, true));
        let ways = [&[4, 3, 2, 1, 0][..], &[2, 6, 5, 0], &[2, 3, 4], &[3, 8, 7, 1, 0], &[3, 4]];
        ways.into_iter().for_each(|path| net.teach(path));
        net.teach(if who == 3 { &[3, 9, 5, 0] } else { &[4, 3, 9, 5, 0] });
        // D takes the shorter of its two first.
        let (a, b) = if who == 3 { (5, 0) } else { (7, 1) };
        net.link(a, b, false);
        net.send_segment(4, 0, 0, 0, 700);
        net.run(ms(500));
        let came = acknowledged(&net);
        assert_eq!(came.len(), 1, "{who}: {came:?} {:?}", data(&net));
        assert!(net.nodes[who].stats().resent_acks >= 1);
        let resent: u64 = net.nodes.iter().map(|node| node.stats().resent_acks).sum();
        assert_eq!(resent, 2);
        nobody_searched(&net);
        net.check_conservation();
    }
}
