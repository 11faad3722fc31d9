//! Sequence numbers prevent routing loops; each rule here is one that RFC 3561 needs for that, or leaves
//! open.

use driftway_base::Duration;
use driftway_route::{
    AodvConfig, AodvRoute, HelloConfig, LinkDestination, LocalRepair, RoutingProtocol,
};
use driftway_wire::{AodvError, AodvMessage, AodvReply, AodvRequest};

use crate::net::{Net, Node, PacketOutcome, at, ms};

/// RFC 3561 without jitter and repairs.
const EXACT: AodvConfig = AodvConfig {
    jitter: Duration::ZERO,
    gratuitous: false,
    ttl_start: 5,
    local_repair: LocalRepair::Off,
    ..AodvConfig::STANDARD
};

fn route(net: &Net, node: Node, to: Node) -> Option<AodvRoute> {
    net.node(node).routes().find(|route| route.destination == at(to))
}

fn error(destination: Node, seq: u32) -> AodvMessage {
    let mut error = AodvError::new(false);
    error.push(at(destination), seq);
    AodvMessage::Error(error)
}

/// Node 3's route to 0 leads over 2 and 1. Node 1 loses its link to 0 and sends a request; it reaches 3
/// before the route error does, and 3 would reply with the route that leads back to 1.
#[test]
fn a_request_overtakes_the_route_error() {
    let mut net = Net::chain(EXACT, 4);
    net.send(3, 0);
    net.run(ms(100));
    assert_eq!(net.path(3, 0), [3, 2, 1, 0]);
    net.link(1, 3, true);
    net.link(1, 0, false);
    let id = net.send(1, 0);
    net.run_checked(ms(300), Net::check_loops);
    assert!(net.log.contains(&"105 1 RREQ 0#1 by 1#1 hops 0 ttl 3".to_owned()), "{:#?}", net.log);
    assert_eq!(net.node(3).stats().replies_from_cache, 0);
    assert_eq!(net.outcome_of(id), None);
    // The old number is not used again once the link is up, either.
    net.link(1, 0, true);
    net.run_checked(ms(20_000), Net::check_loops);
    assert_eq!(net.outcome_of(id), Some(PacketOutcome::Delivered(0)));
}

/// RFC 3561 §6.1: a sequence number never decreases, whatever other nodes state.
#[test]
fn an_error_with_an_unknown_number_invalidates_the_route_and_keeps_ours() {
    for reported in [0, 1, 7] {
        let mut net = Net::chain(EXACT, 3);
        net.send(0, 2);
        net.run(ms(100));
        let before = route(&net, 0, 2).unwrap();
        assert_eq!((before.seq, before.next_hop), (Some(0), Some(at(1))));
        net.inject(0, 1, error(2, reported), 1, LinkDestination::Unicast(at(0)));
        let after = route(&net, 0, 2).unwrap();
        assert_eq!((after.seq, after.next_hop), (Some(reported.max(1)), None));
    }
}

#[test]
fn an_error_is_accepted_only_from_the_next_hop() {
    let mut net = Net::chain(EXACT, 3);
    net.send(1, 2);
    net.run(ms(100));
    net.inject(1, 0, error(2, 9), 1, LinkDestination::Unicast(at(1)));
    assert_eq!(route(&net, 1, 2).unwrap().next_hop, Some(at(2)));
}

/// A message of a neighbour shows that it is in range, but not its sequence number (RFC 3561 §6.2): the
/// number is not valid then, and is not incremented when the route expires (§6.11).
#[test]
fn a_heard_neighbour_keeps_its_number() {
    let mut net = Net::chain(EXACT, 2);
    net.send(0, 1);
    net.run(ms(7000));
    let lost = route(&net, 0, 1).unwrap();
    assert_eq!((lost.seq, lost.next_hop), (Some(1), None));
    net.inject(0, 1, error(9, 0), 1, LinkDestination::Broadcast);
    assert_eq!(route(&net, 0, 1).unwrap().next_hop, None, "errors set up no neighbour routes");
    net.inject(0, 1, AodvMessage::Request(asks_for_nobody()), 1, LinkDestination::Broadcast);
    let heard = route(&net, 0, 1).unwrap();
    assert_eq!((heard.seq, heard.next_hop, heard.hops), (Some(1), Some(at(1)), 1));
    assert!(lost.seq_is_valid && !heard.seq_is_valid);
    for (second, id) in [(14, 2), (21, 3), (28, 4)] {
        net.run(ms(second * 1000));
        let lost = route(&net, 0, 1).unwrap();
        assert_eq!((lost.seq, lost.seq_is_valid, lost.next_hop), (Some(1), false, None));
        let request = AodvRequest { id, ..asks_for_nobody() };
        net.inject(0, 1, AodvMessage::Request(request), 1, LinkDestination::Broadcast);
    }
    // So its own next request, with its own next number, is as new as that.
    let own = AodvRequest { id: 5, hops: 0, originator: at(1), ..asks_for_nobody() };
    net.inject(0, 1, AodvMessage::Request(own), 1, LinkDestination::Broadcast);
    let back = route(&net, 0, 1).unwrap();
    assert_eq!((back.seq, back.seq_is_valid, back.next_hop), (Some(1), true, Some(at(1))));
}

/// RFC 3561 §6.6.2: only a node with a valid sequence number of its route may reply from the table.
#[test]
fn without_a_valid_number_no_reply_is_sent_for_a_neighbour() {
    let mut net = Net::new(EXACT, 6, 1);
    net.link(0, 1, true);
    net.send(0, 1);
    net.run(ms(7000));
    assert_eq!(route(&net, 0, 1).unwrap().seq, Some(1));
    net.inject(0, 1, AodvMessage::Request(asks_for_nobody()), 1, LinkDestination::Broadcast);
    net.log.clear();
    let ask = |id| {
        let (originator, destination) = (at(5), at(1));
        AodvMessage::Request(AodvRequest { id, originator, destination, ..asks_for_nobody() })
    };
    net.inject(0, 5, ask(1), 2, LinkDestination::Broadcast);
    assert_eq!(net.log, ["7000 0 RREQ 1#1 by 5#1 hops 4 ttl 1"]);
    // A request or a reply of its own states the number.
    let own = AodvRequest { id: 5, hops: 0, originator: at(1), ..asks_for_nobody() };
    net.inject(0, 1, AodvMessage::Request(own), 1, LinkDestination::Broadcast);
    net.inject(0, 5, ask(2), 2, LinkDestination::Broadcast);
    assert_eq!(net.log[1..], ["7000 0 RREP 1#1 for 5 hops 1 life 5520 to 5"]);
}

/// A neighbour whose route was lost states its sequence number, which has not increased in between (RFC 3561
/// §6.9). The next loss increments it again.
#[test]
fn a_hello_has_the_latest_number() {
    let config = AodvConfig { hello: Some(HelloConfig::STANDARD), ..EXACT };
    for (said, seq, valid, lost_at) in
        [(4, 6, false, 6), (5, 5, true, 6), (6, 6, true, 7), (7, 7, true, 8)]
    {
        let mut net = Net::chain(config, 2);
        let hello = |seq| {
            let (destination, originator) = (at(1), at(1));
            AodvMessage::Reply(AodvReply {
                repair: false,
                ack_required: false,
                prefix_size: 0,
                hops: 0,
                destination,
                destination_seq: seq,
                originator,
                lifetime_ms: 2000,
                timestamp: None,
            })
        };
        net.inject(0, 1, hello(5), 1, LinkDestination::Broadcast);
        net.run(ms(2000));
        let lost = route(&net, 0, 1).unwrap();
        assert_eq!((lost.seq, lost.next_hop), (Some(6), None));
        net.inject(0, 1, hello(said), 1, LinkDestination::Broadcast);
        let there = route(&net, 0, 1).unwrap();
        assert_eq!((there.seq, there.seq_is_valid), (Some(seq), valid), "{said}");
        assert_eq!((there.next_hop, there.hops, there.expires_at), (Some(at(1)), 1, ms(4000)));
        net.run(ms(4000));
        let lost = route(&net, 0, 1).unwrap();
        assert_eq!((lost.seq, lost.next_hop), (Some(lost_at), None));
    }
}

/// A request of node 7 for node 8 that passes node 1.
fn asks_for_nobody() -> AodvRequest {
    AodvRequest {
        join: false,
        repair: false,
        gratuitous: false,
        destination_only: false,
        hops: 3,
        id: 1,
        destination: at(8),
        destination_seq: None,
        originator: at(7),
        originator_seq: 1,
        timestamp: None,
    }
}

/// Node 1 has lost its route to 0, whose packets still pass: the nodes downstream refresh their routes to 0,
/// which lead through node 1. So it keeps the number, beyond DELETE_PERIOD.
#[test]
fn the_number_of_a_source_is_kept_while_its_packets_pass() {
    let mut net = Net::chain(EXACT, 4);
    net.send(0, 3);
    net.run(ms(1000));
    net.inject(1, 0, error(0, 5), 1, LinkDestination::Unicast(at(1)));
    assert_eq!(route(&net, 1, 0).unwrap().next_hop, None);
    for second in 1..20 {
        net.run(ms(1000 * second));
        net.send(0, 3);
    }
    net.run(ms(19_010));
    let kept = route(&net, 1, 0).unwrap();
    assert_eq!((kept.seq, kept.expires_at), (Some(5), ms(19_001 + 15_000)));
    assert!(route(&net, 2, 0).unwrap().next_hop.is_some());
}

/// RFC 3561 §6.5: a forwarded request carries the highest number on its way, and no node learns the number
/// from it.
#[test]
fn a_request_carries_the_highest_number_on_its_way() {
    let mut net = Net::chain(EXACT, 4);
    net.send(1, 3);
    net.run(ms(100));
    net.inject(1, 2, error(3, 9), 1, LinkDestination::Unicast(at(1)));
    net.log.clear();
    net.send(0, 3);
    net.run(ms(110));
    assert_eq!(net.log[0], "100 0 RREQ 3#? by 0#1 hops 0 ttl 5");
    assert_eq!(net.log[1], "101 1 RREQ 3#9 by 0#1 hops 1 ttl 4");
    // Node 2 has an older route, so the destination replies.
    assert_eq!(net.log[2], "102 2 RREQ 3#9 by 0#1 hops 2 ttl 3");
    assert_eq!(net.log[3], "103 3 RREP 3#9 for 0 hops 0 life 6000 to 2");
}
