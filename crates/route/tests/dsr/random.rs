//! DSR in random networks whose links come and go and lose frames.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use driftway_base::{Instant, RandomStream};
use driftway_route::{
    CACHES, CacheKind, CacheLimits, CacheOptions, Dsr, DsrConfig, LinkDestination,
    NextHopConfirmation, NonPropagatingRequests, RoutingProtocol, SalvageReplies,
};
use driftway_wire::RoutedPacket;
use proptest::prelude::*;

use crate::net::{Net, address, number};

/// The number of passes by node, source and identification.
type Passes = BTreeMap<(usize, u32, u16), u32>;

/// Configurations that differ from the two in what is cached or sent.
fn configs() -> impl Strategy<Value = DsrConfig> {
    let base = prop_oneof![Just(DsrConfig::STANDARD), Just(DsrConfig::NS2)];
    let switches = any::<[bool; 12]>();
    let caches = (0..CACHES.len()).prop_map(|at| {
        let limits = CacheLimits { primary: 30, secondary: 64, timeout: None };
        let name = CACHES[at].name;
        let named = CacheKind::named(name, None);
        named.or_else(|| CacheKind::named(name, Some(CacheOptions::Limits(limits)))).unwrap()
    });
    (base, switches, caches, 0..4u8).prop_map(|(config, on, cache, one)| {
        // Few at a time, so that most runs are close to a realistic one.
        let on = on.map(|on| on && one == 0);
        let flip = |value: bool, on: bool| value ^ on;
        DsrConfig {
            promiscuous: flip(config.promiscuous, on[0]),
            cache: if on[1] { cache } else { config.cache },
            ring_zero: if on[2] { NonPropagatingRequests::Never } else { config.ring_zero },
            answer_every_copy: flip(config.answer_every_copy, on[3]),
            cache_requests: flip(config.cache_requests, on[4]),
            cache_forwarded_replies: flip(config.cache_forwarded_replies, on[5]),
            learn_both_ways: flip(config.learn_both_ways, on[6]),
            salvage_requests: if on[7] {
                1 - config.salvage_requests
            } else {
                config.salvage_requests
            },
            salvage_replies: if on[8] {
                SalvageReplies::UnlessBroken
            } else {
                config.salvage_replies
            },
            error_per_source: flip(config.error_per_source, on[9]),
            release_on_any_route: flip(config.release_on_any_route, on[10]),
            route_to_neighbour: flip(config.route_to_neighbour, on[11]),
            // Without it, a network that loses frames may never become idle.
            count_errors: true,
            ..config
        }
    })
}

/// Checks that no packet leaves a node with a route that has a loop, or a different next hop.
fn check_route(node: usize, packet: &RoutedPacket, hop: LinkDestination) {
    let Some(dsr) = &packet.dsr else { return };
    assert!(packet.len() >= packet.packet.len());
    if let Some(request) = dsr.request() {
        assert_eq!(hop, LinkDestination::Broadcast);
        let mut nodes = vec![packet.packet.ip.source];
        nodes.extend(request.route.as_slice());
        assert_eq!(nodes.last(), Some(&address(node)));
        assert_no_loop(&nodes, packet);
    }
    if let Some(reply) = &dsr.reply {
        let mut nodes = vec![packet.packet.ip.destination];
        nodes.extend(reply.route.as_slice());
        assert_no_loop(&nodes, packet);
    }
    if let Some(route) = &dsr.source_route {
        let mut nodes = Vec::new();
        if route.salvage == 0 {
            nodes.push(packet.packet.ip.source);
        }
        nodes.extend(route.route.as_slice());
        nodes.push(packet.packet.ip.destination);
        assert_no_loop(&nodes, packet);
        let next = nodes.len() - 1 - usize::from(route.segments_left);
        assert_eq!(hop, LinkDestination::Unicast(nodes[next]), "{packet:?}");
        assert_eq!(nodes[next - 1], address(node), "{packet:?}");
    }
}

fn assert_no_loop(nodes: &[driftway_base::Ipv4Addr], packet: &RoutedPacket) {
    let mut sorted = nodes.to_vec();
    sorted.sort();
    sorted.dedup();
    assert_eq!(sorted.len(), nodes.len(), "{nodes:?} in {packet:?}");
}

/// The parameters of a random network.
#[derive(Clone, Copy, Debug)]
struct Case {
    n: usize,
    seed: u64,
    density: u64,
    loss: u64,
    /// The link layer reports no failures.
    silent: bool,
}

fn check_run(config: DsrConfig, case: Case) {
    let Case { n, seed, density, loss, silent } = case;
    let mut net = Net::new(config, n, seed);
    net.silent = silent;
    let mut random = RandomStream::new(seed, "test", 0);
    let mut losses = RandomStream::new(seed, "losses", 0);
    net.loses = Box::new(move |_| losses.uniform_below(20) < loss);
    // The number of transmissions of one packet by a node: once, except for salvaging.
    let passes: Rc<RefCell<Passes>> = Rc::default();
    let seen = passes.clone();
    net.watch = Box::new(move |node, packet, hop| {
        check_route(node, packet, hop);
        let ip = &packet.packet.ip;
        // A source may try any number of times.
        if ip.source == address(node) {
            return;
        }
        *seen.borrow_mut().entry((node, ip.source.to_bits(), ip.identification)).or_default() += 1;
    });
    let mut id = 0;
    for step in 1..60u64 {
        for _ in 0..2 {
            let (a, b) =
                (random.uniform_below(n as u64) as usize, random.uniform_below(n as u64) as usize);
            if a != b {
                net.link(a, b, random.uniform_below(7) < density);
            }
        }
        for _ in 0..random.uniform_below(4) {
            let (a, b) =
                (random.uniform_below(n as u64) as usize, random.uniform_below(n as u64) as usize);
            id += 1;
            net.send(a, b, id);
        }
        let span = if random.uniform_below(10) == 0 { 5000 } else { 40 };
        let until = net.now.as_millis() + 1 + random.uniform_below(span);
        net.run(Instant::from_millis(until));
        net.check_conservation();
        assert!(net.nodes.iter().all(|node| node.buffered_packets() <= 64 + 8), "step {step}");
    }
    net.run(net.now + driftway_base::Duration::from_secs(300));
    net.check_conservation();
    // At most 177 packets: errors about errors die out.
    assert!(net.sent.len() < 20_000, "{} frames", net.sent.len());
    assert!(net.nodes.iter().all(|node| node.buffered_packets() == 0), "all buffers are empty");
    assert!(net.nodes.iter().all(|node| node.next_timeout().is_none()), "no timer is pending");
    let most = passes.borrow().values().copied().max().unwrap_or(0);
    // The 16 routes of a packet pass a node once each, and each may end there. Network-layer acknowledgments
    // retransmit it up to four times on each.
    let copies = if config.confirm == NextHopConfirmation::NetworkLayer { 4 } else { 1 };
    assert!(most <= copies * 32, "{most} times");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn packets_are_conserved_without_loops(
        config in configs(),
        n in 2..10usize,
        seed in any::<u64>(),
        density in 2..7u64,
        loss in 0..4u64,
    ) {
        check_run(config, Case { n, seed, density, loss, silent: false });
    }

    /// The link layer does not report failures, or its reports are ignored.
    #[test]
    fn packets_are_conserved_with_network_layer_acknowledgments(
        config in configs(),
        n in 2..10usize,
        seed in any::<u64>(),
        density in 2..7u64,
        loss in 0..4u64,
        silent in any::<bool>(),
        try_passive_acks in 0..3u8,
        max_maint_rexmt in 0..4u8,
        holds_off in any::<bool>(),
    ) {
        let holdoff = if holds_off { 250 } else { 0 };
        let config = DsrConfig {
            confirm: NextHopConfirmation::NetworkLayer,
            try_passive_acks,
            max_maint_rexmt,
            maint_holdoff: driftway_base::Duration::from_millis(holdoff),
            flow_state: None,
            ..config
        };
        check_run(config, Case { n, seed, density, loss, silent });
    }
}

#[test]
fn numbers_and_addresses_are_inverse() {
    assert_eq!(number(address(7)), 7);
    assert_eq!(Dsr::new(DsrConfig::NS2, address(0), 0, 0).buffered_packets(), 0);
}
