//! AODV's reports of lost packets (yu-2004 §4).

use driftway_base::{DropReason, Duration, FailedLink, PacketDisposition, Seq, SignalKind};
use driftway_route::{AodvConfig, LinkDestination, LocalRepair, RoutingProtocol};
use driftway_wire::{
    AodvLossNotification, AodvMessage, Body, ConnInfo, ConnList, IpHeader, Packet, TcpFlags,
    TcpSegment,
};

use crate::net::{Net, PacketOutcome, at, ms};

const QUIET: AodvConfig = AodvConfig {
    jitter: Duration::ZERO,
    ttl_start: 9,
    local_repair: LocalRepair::Off,
    reroute_queued: false,
    ..AodvConfig::STANDARD
};
const EPLN: AodvConfig = AodvConfig { epln: true, ..QUIET };

/// 0 - 1 - 2 - 3, with a route from 0 to 3 and back; then the last link fails.
fn chain(config: AodvConfig) -> Net {
    let mut net = Net::chain(config, 4);
    net.send_segment(0, 3, 0, 100, 0);
    net.send_segment(3, 0, 0, 0, 100);
    net.run(ms(1000));
    net.link(2, 3, false);
    net.log.clear();
    net
}

/// Time, node, sequence number and outcome of each signal.
fn heard(net: &Net) -> Vec<(f64, usize, u32, PacketDisposition)> {
    let signals = net.signals.iter().map(|(when, node, signal)| {
        let SignalKind::PacketLost { ranges, disposition: outcome } = signal.kind else {
            panic!("{signal:?}")
        };
        assert_eq!(signal.details.flow.unwrap().source.address, at(*node));
        (when.as_nanos() as f64 / 1e6, *node, ranges.as_slice()[0].start.0, outcome)
    });
    signals.collect()
}

fn notices(net: &Net) -> Vec<&String> {
    net.log.iter().filter(|line| line.contains("losses")).collect()
}

/// The retry limit of the link layer is reached after 5 ms; a frame takes one.
#[test]
fn the_source_of_lost_data_is_notified() {
    let mut net = chain(EPLN);
    net.send_segment(0, 3, 100, 100, 0);
    net.run(ms(2000));
    assert_eq!(notices(&net), ["1007 2 losses 3 by 2 to 1", "1008 1 losses 3 by 2 to 0"]);
    assert_eq!(heard(&net), [(1009.0, 0, 100, PacketDisposition::Lost)]);
    assert_eq!((net.node(2).stats().loss_notices, net.node(1).stats().lost_notices), (1, 0));
}

/// All packets queued for the neighbour are named at once, and the later ones by the lack of a route.
#[test]
fn all_lost_packets_are_listed() {
    let mut net = chain(EPLN);
    for n in 1..4 {
        net.send_segment(0, 3, 100 * n, 100, 0);
    }
    net.run(ms(2000));
    let mut numbers: Vec<_> =
        heard(&net).into_iter().map(|(_, node, seq, _)| (node, seq)).collect();
    numbers.sort();
    assert_eq!(numbers, [(0, 100), (0, 200), (0, 300)]);
    let lost = net
        .outcomes
        .iter()
        .filter(|(.., outcome)| matches!(outcome, PacketOutcome::Dropped(..)))
        .count();
    assert_eq!(lost, 3);
}

#[test]
fn each_option_alone() {
    let run = |config: AodvConfig| {
        let mut net = chain(config);
        net.send_segment(0, 3, 100, 100, 0);
        net.run(ms(2000));
        let outcomes: Vec<_> = heard(&net).into_iter().map(|(.., outcome)| outcome).collect();
        outcomes
    };
    assert_eq!(run(QUIET), []);
    assert_eq!(run(AodvConfig { bead: true, ..QUIET }), []);
    assert_eq!(run(AodvConfig { elfn: true, ..QUIET }), [PacketDisposition::Lost]);
    // Under repair it is buffered.
    let near = LocalRepair::NearDestination { max_hops: 9, add_ttl: 2 };
    let repairs = AodvConfig { reroute_queued: true, local_repair: near, ..EPLN };
    assert_eq!(run(repairs), [PacketDisposition::Salvaged, PacketDisposition::Lost]);
}

/// 2 is notified of acknowledgments that 3 sent to 0 and 1 lost. It retransmits the last one if its route to
/// 0 does not lead back to the neighbour that sent the notification.
#[test]
fn a_node_with_a_route_retransmits_the_acknowledgment() {
    for (bead, other_way) in [(true, true), (false, true), (true, false)] {
        let config = AodvConfig { bead, ..EPLN };
        let mut net = match other_way {
            true => Net::new(config, 5, 1),
            false => Net::chain(config, 4),
        };
        if other_way {
            [(0, 4), (4, 2), (2, 3)].into_iter().for_each(|(a, b)| net.link(a, b, true));
        }
        net.send_segment(0, 3, 0, 100, 0);
        net.send_segment(3, 0, 0, 0, 100);
        net.run(ms(1000));
        net.link(1, 2, true);
        net.log.clear();
        let segment = TcpSegment { ack: Seq(900), flags: TcpFlags::ACK, ..TcpSegment::default() };
        let packet = Packet { ip: IpHeader::new(at(3), at(0)), body: Body::Tcp(segment) };
        let mut list = ConnList::EMPTY;
        assert!(list.push(&ConnInfo::from_packet(&packet, false).unwrap()));
        let link = FailedLink { from: at(1), to: at(0) };
        let losses = AodvLossNotification { link, reporter: at(1), list };
        net.inject(2, 1, AodvMessage::LossNotification(losses), 1, LinkDestination::Unicast(at(2)));
        let before = net.outcomes.len();
        net.run(ms(2000));
        let delivered = net.outcomes[before..]
            .iter()
            .any(|(.., outcome)| *outcome == PacketOutcome::Delivered(0));
        let again = bead && other_way;
        assert_eq!((delivered, net.node(2).stats().resent_acks), (again, u64::from(again)));
        // The receiver is notified that one was retransmitted, or has no other route itself.
        assert_eq!(net.node(3).stats().resent_acks, 0);
        assert_eq!(notices(&net).len(), 1);
    }
}

/// Packets queued behind the first at their own source, without rerouting: TCP is notified of each.
#[test]
fn a_sender_is_notified_of_all_losses_on_its_own_link() {
    let mut net = chain(EPLN);
    net.link(0, 1, false);
    for n in 1..4 {
        net.send_segment(0, 3, 100 * n, 100, 0);
    }
    net.run(ms(2000));
    let numbers: Vec<_> = heard(&net).into_iter().map(|(_, node, seq, _)| (node, seq)).collect();
    assert_eq!(numbers, [(0, 100), (0, 200), (0, 300)]);
}

/// No route discovery starts for a notification: without a reverse route none is sent.
#[test]
fn without_a_reverse_route_no_notification_is_sent() {
    let mut net = chain(EPLN);
    net.send_segment(0, 3, 100, 100, 0);
    net.run(ms(1002));
    net.link(1, 2, false);
    net.run(ms(1500));
    assert_eq!(heard(&net), []);
    assert!(!net.log.iter().any(|line| line.contains("RREQ 0")), "{:?}", net.log);
    let lost = PacketOutcome::Dropped(2, DropReason::LinkFailure);
    assert!(net.outcomes.iter().any(|(.., outcome)| *outcome == lost));
}
