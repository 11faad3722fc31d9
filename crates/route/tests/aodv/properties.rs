//! Properties that hold in any network, whatever its links do.

use driftway_base::{Duration, Probability};
use driftway_route::{AodvConfig, HelloConfig, LocalRepair, RoutingProtocol};
use proptest::prelude::*;

use crate::net::Net;

/// An event in a network.
#[derive(Clone, Debug)]
enum Step {
    Wait(u64),
    Link(usize, usize, bool),
    OneWay(usize, usize, bool),
    Send(usize, usize),
    Burst(usize, usize, u8),
}

#[derive(Clone, Debug)]
struct TestRun {
    nodes: usize,
    links: Vec<(usize, usize)>,
    steps: Vec<Step>,
    loss: f64,
    seed: u64,
}

fn test_run() -> impl Strategy<Value = TestRun> {
    let node = 0..8usize;
    let pair = (node.clone(), node);
    let wait = prop_oneof![0..20u64, 20..600u64, 600..5000u64, 5000..20_000u64];
    let step = prop_oneof![
        4 => wait.prop_map(Step::Wait),
        3 => (pair.clone(), any::<bool>()).prop_map(|((a, b), there)| Step::Link(a, b, there)),
        1 => (pair.clone(), any::<bool>()).prop_map(|((a, b), there)| Step::OneWay(a, b, there)),
        4 => pair.clone().prop_map(|(a, b)| Step::Send(a, b)),
        2 => (pair.clone(), 2..30u8).prop_map(|((a, b), n)| Step::Burst(a, b, n)),
    ];
    let links = prop::collection::vec(pair, 2..20);
    let steps = prop::collection::vec(step, 1..60);
    let loss = prop_oneof![Just(0.0), Just(0.1), Just(0.5)];
    (2..=8usize, links, steps, loss, any::<u64>())
        .prop_map(|(nodes, links, steps, loss, seed)| TestRun { nodes, links, steps, loss, seed })
}

/// Many nodes that send to one and learn its routes from each other, while links between them come and go
/// faster than routes expire: the conditions for a loop, if one is possible.
fn dense_run() -> impl Strategy<Value = TestRun> {
    let node = 0..6usize;
    let pair = (node.clone(), node.clone());
    let step = prop_oneof![
        3 => (1..250u64).prop_map(Step::Wait),
        1 => (250..4000u64).prop_map(Step::Wait),
        4 => (pair.clone(), any::<bool>()).prop_map(|((a, b), there)| Step::Link(a, b, there)),
        5 => node.prop_map(|from| Step::Send(from, 0)),
        1 => pair.clone().prop_map(|(a, b)| Step::Send(a, b)),
    ];
    let links = prop::collection::vec(pair, 4..16);
    let steps = prop::collection::vec(step, 40..160);
    (4..=6usize, links, steps, prop_oneof![2 => Just(0.0), 1 => Just(0.2)], any::<u64>())
        .prop_map(|(nodes, links, steps, loss, seed)| TestRun { nodes, links, steps, loss, seed })
}

/// RFC 3561 and its options.
fn standard() -> impl Strategy<Value = AodvConfig> {
    let flags = any::<[bool; 6]>();
    (flags, prop_oneof![Just(64usize), Just(3), Just(0)]).prop_map(|(flags, buffer_packets)| {
        let [hello, ack_replies, destination_only, gratuitous, repair, reroute_queued] = flags;
        AodvConfig {
            hello: hello.then_some(HelloConfig::STANDARD),
            ack_replies,
            destination_only,
            gratuitous,
            reroute_queued,
            local_repair: if repair { AodvConfig::STANDARD.local_repair } else { LocalRepair::Off },
            buffer_packets,
            ..AodvConfig::STANDARD
        }
    })
}

/// The maximum number of searches after which a packet can be rerouted, its time to live, times the maximum
/// duration of one in seconds.
const REROUTE_TIME_MAX: Duration = Duration::from_secs(64 * 20);

/// The time after the last packet in which every route expires and is deleted: lifetimes are at most 6 s, the delete
/// period is 15 s.
const ROUTES_END: Duration = Duration::from_secs(60);

/// Runs a case to its end and three minutes beyond, or until no packet can be in flight; then until no route can remain.
fn run_network(config: AodvConfig, story: &TestRun, mut check: impl FnMut(&Net)) -> Net {
    let n = story.nodes;
    let mut net = Net::new(config, n, story.seed);
    net.loss = Probability::from_f64(story.loss);
    for (a, b) in &story.links {
        net.link(a % n, b % n, a % n != b % n);
    }
    for step in &story.steps {
        match *step {
            Step::Wait(ms) => {
                let end = net.now + Duration::from_millis(ms);
                net.run_checked(end, &mut check);
            }
            Step::Link(a, b, there) => net.link(a % n, b % n, there && a % n != b % n),
            Step::OneWay(a, b, there) => net.one_way(a % n, b % n, there && a % n != b % n),
            Step::Send(a, b) => _ = net.send(a % n, b % n),
            Step::Burst(a, b, count) => {
                for _ in 0..count {
                    net.send(a % n, b % n);
                }
            }
        }
        check(&net);
    }
    let end = net.now + Duration::from_secs(180);
    net.run_checked(end, &mut check);
    if net.packets_in_flight() > 0 {
        net.run_checked(net.now + REROUTE_TIME_MAX, &mut check);
    }
    net.run_checked(net.now + ROUTES_END, &mut check);
    net
}

/// Bounds of the state of any node: these cases have about eight nodes.
fn check_bounds(net: &Net, config: &AodvConfig) {
    for node in 0..net.len() {
        let aodv = net.node(node);
        assert!(aodv.routes().count() <= net.len());
        assert!(aodv.routes().all(|route| route.destination != crate::net::at(node)));
        assert!(aodv.soft_state_entries() < 600, "{}", aodv.soft_state_entries());
        // Those buffered, and those released at intervals.
        let steps = if config.release_spacing.is_zero() { 0 } else { 4 };
        let waiting = aodv.buffered_packets();
        assert!(waiting <= config.buffer_packets * (1 + steps), "{waiting} packets are buffered");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn rfc_3561_has_no_loops_and_loses_nothing(config in standard(), story in test_run()) {
        let net = run_network(config, &story, |net| {
            net.check_loops();
            net.check_conservation();
            check_bounds(net, &config);
        });
        prop_assert_eq!(net.packets_in_flight(), 0);
        for node in 0..net.len() {
            // Hello messages continue only on routes in use.
            prop_assert_eq!(net.node(node).routes().count(), 0, "routes outlive their timers");
        }
    }

    #[test]
    fn a_dense_network_has_no_loops(config in standard(), story in dense_run()) {
        let net = run_network(config, &story, |net| {
            net.check_loops();
            net.check_conservation();
        });
        prop_assert_eq!(net.packets_in_flight(), 0);
    }

    #[test]
    fn ns2_loses_nothing_and_keeps_its_bounds(story in test_run()) {
        let net = run_network(AodvConfig::NS2, &story, |net| {
            net.check_conservation();
            check_bounds(net, &AodvConfig::NS2);
        });
        prop_assert_eq!(net.packets_in_flight(), 0);
        for node in 0..net.len() {
            prop_assert!(net.node(node).routes().all(|route| route.next_hop.is_none()
                || route.expires_at > net.now - Duration::from_millis(500)));
        }
    }

    #[test]
    fn the_same_seed_is_the_same_run(story in test_run(), ns2 in any::<bool>()) {
        let config = if ns2 { AodvConfig::NS2 } else { AodvConfig::STANDARD };
        let (one, two) = (run_network(config, &story, |_| ()), run_network(config, &story, |_| ()));
        prop_assert_eq!(&one.log, &two.log);
        prop_assert_eq!(one.outcomes, two.outcomes);
    }

    /// With stable links and no loss, every node reaches all to which there is a path.
    #[test]
    fn reachable_destinations_are_reached(story in test_run(), ns2 in any::<bool>()) {
        let config = if ns2 { AodvConfig::NS2 } else { AodvConfig::STANDARD };
        let mut still = story.clone();
        still.loss = 0.0;
        still.steps.clear();
        let mut net = run_network(config, &still, |_| ());
        let (a, b) = (0, net.len() - 1);
        let id = net.send(a, b);
        net.run(net.now + Duration::from_secs(60));
        let reached = matches!(net.outcome_of(id), Some(crate::net::PacketOutcome::Delivered(node)) if node == b);
        prop_assert_eq!(reached, net.connected(a, b));
    }
}

/// A request is answered once, however often it arrives; with another RREQ ID, or from another originator, it
/// is a different request.
#[test]
fn duplicates_are_recognized_by_originator_and_id() {
    use crate::net::{at, ms};
    use driftway_route::LinkDestination;
    use driftway_wire::{AodvMessage, AodvRequest};
    let mut net = Net::new(AodvConfig::STANDARD, 3, 1);
    net.one_way(0, 1, true);
    net.one_way(0, 2, true);
    let request = |originator, id, originator_seq| {
        AodvMessage::Request(AodvRequest {
            join: false,
            repair: false,
            gratuitous: false,
            destination_only: false,
            hops: 0,
            id,
            destination: at(0),
            destination_seq: None,
            originator: at(originator),
            originator_seq,
            timestamp: None,
        })
    };
    let mut replies = |at_ms, originator, id, seq| {
        net.run(ms(at_ms));
        let said = |net: &Net| net.log.iter().filter(|line| line.contains(" 0 RREP")).count();
        let before = said(&net);
        net.inject(0, originator, request(originator, id, seq), 9, LinkDestination::Broadcast);
        said(&net) - before
    };
    assert_eq!(replies(0, 1, 7, 1), 1);
    assert_eq!(replies(10, 1, 7, 2), 0, "whatever its sequence number");
    assert_eq!(replies(20, 2, 7, 1), 1);
    assert_eq!(replies(30, 1, 8, 2), 1);
    assert_eq!(replies(5599, 1, 7, 3), 0);
    assert_eq!(replies(5600, 1, 7, 3), 1, "the entry expires after PATH_DISCOVERY_TIME");
}
