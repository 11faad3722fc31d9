//! Each option changes the transmissions of some run.

use driftway_base::{Duration, Instant, RandomStream, ReceivedPower};
use driftway_route::{
    CacheKind, CacheLimits, CachePart, DsrConfig, NextHopConfirmation, NonPropagatingRequests,
    ReplyFromCache, RequestTablePolicy, RouteShortening, RoutingProtocol, SalvageReplies,
    UpdateOptions,
};

use crate::net::{Net, address};

/// Time, sender, receiver and bytes of each transmission, in a network whose links come and go, and lose
/// `loss` percent of the frames.
fn run(config: DsrConfig, seed: u64, loss: u64) -> Vec<(Instant, usize, Option<usize>, u32)> {
    let n = 9;
    let mut net = Net::new(config, n, seed);
    let mut random = RandomStream::new(seed, "test", 0);
    let mut losses = RandomStream::new(seed, "losses", 0);
    net.loses = Box::new(move |_| losses.uniform_below(100) < loss);
    (1..n).for_each(|i| net.link(i - 1, i, true));
    for step in 0..150u32 {
        let (a, b) =
            (random.uniform_below(n as u64) as usize, random.uniform_below(n as u64) as usize);
        if a != b {
            net.link(a, b, random.uniform_below(3) == 0);
        }
        let from = random.uniform_below(3) as usize;
        let to = n - 1 - random.uniform_below(3) as usize;
        for _ in 0..1 + random.uniform_below(4) {
            match random.uniform_below(8) {
                0 => net.send_tcp(from, to),
                1 => net.send_segment(to, from, 0, 0, step),
                _ => net.send(to, from, step),
            }
        }
        let span = if random.uniform_below(20) == 0 { 4000 } else { 60 };
        let until = net.now + Duration::from_millis(random.uniform_below(span));
        net.run(until);
    }
    net.run(net.now + Duration::from_secs(40));
    net.check_conservation();
    net.sent.iter().map(|s| (s.at, s.from, s.to, s.packet.len())).collect()
}

fn differs(what: &str, one: DsrConfig, other: DsrConfig) {
    assert_ne!(one, other, "{what}");
    // Errors about errors about errors occur in bad networks.
    let seen = [8, 25]
        .into_iter()
        .any(|loss| (0..40).any(|seed| run(one, seed, loss) != run(other, seed, loss)));
    assert!(seen, "{what} makes no difference");
}

#[test]
fn each_option_makes_a_difference() {
    let rfc = DsrConfig::STANDARD;
    let ns2 = DsrConfig::NS2;
    let ms = Duration::from_millis;
    let paths = |timeout| CacheKind::paths(CacheLimits { primary: 30, secondary: 64, timeout });
    let few = CacheKind::paths(CacheLimits { primary: 2, secondary: 2, timeout: None });
    let paper = UpdateOptions::PAPER;
    let update = |options| DsrConfig { cache: CacheKind::update(options), ..rfc };
    let updates = update(paper);
    let short = Some(Duration::from_secs(1));
    let flow = ns2.flow_state.unwrap();
    let confirms = DsrConfig { confirm: NextHopConfirmation::NetworkLayer, ..rfc };
    let losses = DsrConfig { epln: true, bead: true, ..rfc };
    let cases = [
        ("tap", rfc, DsrConfig { promiscuous: false, ..rfc }),
        ("cache", rfc, DsrConfig { cache: paths(None), ..rfc }),
        ("cache size", ns2, DsrConfig { cache: few, ..ns2 }),
        ("cache timeout", ns2, DsrConfig { cache: paths(short), ..ns2 }),
        ("cache update", rfc, updates),
        ("ignore_data", updates, update(UpdateOptions { ignore_data: true, ..paper })),
        ("ignore_replies", updates, update(UpdateOptions { ignore_replies: true, ..paper })),
        ("truncate", updates, update(UpdateOptions { truncate: true, ..paper })),
        ("notify", updates, update(UpdateOptions { notify: false, ..paper })),
        ("secondary", updates, update(UpdateOptions { secondary: 0, ..paper })),
        ("max_nodes", rfc, DsrConfig { max_nodes: 4, ..rfc }),
        ("hop_limit", rfc, DsrConfig { hop_limit: 2, ..rfc }),
        ("ring_zero", rfc, DsrConfig { ring_zero: NonPropagatingRequests::Never, ..rfc }),
        ("ring_zero each", rfc, DsrConfig { ring_zero: NonPropagatingRequests::Each, ..rfc }),
        ("ring_zero_wait", rfc, DsrConfig { ring_zero_wait: ms(50), ..rfc }),
        ("request_period", rfc, DsrConfig { request_period: ms(600), ..rfc }),
        ("request_backoff", rfc, DsrConfig { request_backoff: 4, ..rfc }),
        ("request_period_max", rfc, DsrConfig { request_period_max: ms(900), ..rfc }),
        ("request_retries", rfc, DsrConfig { request_retries: Some(1), ..rfc }),
        (
            "request_memory",
            rfc,
            DsrConfig { request_memory: RequestTablePolicy::RecentIds { nodes: 2, ids: 1 }, ..rfc },
        ),
        (
            "request_memory highest",
            rfc,
            DsrConfig { request_memory: RequestTablePolicy::HighestId { nodes: 64 }, ..rfc },
        ),
        ("blacklist_timeout", rfc, DsrConfig { blacklist_timeout: ms(0), ..rfc }),
        ("jitter", rfc, DsrConfig { jitter: ms(5), ..rfc }),
        ("answer_every_copy", rfc, DsrConfig { answer_every_copy: false, ..rfc }),
        ("reply_from_cache", rfc, DsrConfig { reply_from_cache: ReplyFromCache::Never, ..rfc }),
        (
            "reply_from_cache ring zero",
            rfc,
            DsrConfig { reply_from_cache: ReplyFromCache::NonPropagating, ..rfc },
        ),
        ("jitter_cached_replies", rfc, DsrConfig { jitter_cached_replies: false, ..rfc }),
        ("forward_answered", rfc, DsrConfig { forward_answered: false, ..rfc }),
        ("reply_delay", rfc, DsrConfig { reply_delay: Some(ms(1)), ..rfc }),
        ("cache_forwarded_replies", ns2, DsrConfig { cache_forwarded_replies: true, ..ns2 }),
        ("cache_requests", rfc, DsrConfig { cache_requests: false, ..rfc }),
        ("cache_source_routes", rfc, DsrConfig { cache_source_routes: false, ..rfc }),
        ("cache_received_routes", rfc, DsrConfig { cache_received_routes: false, ..rfc }),
        (
            "overheard_replies",
            DsrConfig { cache: few, ..ns2 },
            DsrConfig { cache: few, overheard_replies: CachePart::Primary, ..ns2 },
        ),
        (
            "source_routes",
            DsrConfig { cache: few, ..ns2 },
            DsrConfig { cache: few, source_routes: CachePart::Primary, ..ns2 },
        ),
        ("learn_both_ways", rfc, DsrConfig { learn_both_ways: false, ..rfc }),
        ("forget_both_ways", rfc, DsrConfig { forget_both_ways: false, ..rfc }),
        ("send_buffer", rfc, DsrConfig { send_buffer: 3, ..rfc }),
        ("send_buffer_timeout", rfc, DsrConfig { send_buffer_timeout: ms(700), ..rfc }),
        ("scan", rfc, DsrConfig { scan: Some(ms(30)), ..rfc }),
        ("release_on_any_route", rfc, DsrConfig { release_on_any_route: false, ..rfc }),
        ("release_spacing", rfc, DsrConfig { release_spacing: ms(30), ..rfc }),
        ("confirm", rfc, confirms),
        ("max_maint_rexmt", confirms, DsrConfig { max_maint_rexmt: 1, ..confirms }),
        ("maint_holdoff", confirms, DsrConfig { maint_holdoff: ms(20), ..confirms }),
        ("try_passive_acks", confirms, DsrConfig { try_passive_acks: 0, ..confirms }),
        ("passive_ack_timeout", confirms, DsrConfig { passive_ack_timeout: ms(50), ..confirms }),
        ("salvage", rfc, DsrConfig { salvage: false, ..rfc }),
        ("salvage_limit", rfc, DsrConfig { salvage_limit: 1, ..rfc }),
        ("salvage_requests", ns2, DsrConfig { salvage_requests: 0, ..ns2 }),
        ("salvage_replies", ns2, DsrConfig { salvage_replies: SalvageReplies::Never, ..ns2 }),
        ("error_per_source", ns2, DsrConfig { error_per_source: true, ..ns2 }),
        ("error_first", ns2, DsrConfig { error_first: true, ..ns2 }),
        ("elfn", rfc, DsrConfig { elfn: true, ..rfc }),
        ("epln", rfc, DsrConfig { epln: true, ..rfc }),
        ("bead", rfc, DsrConfig { bead: true, ..rfc }),
        ("relay_notices", losses, DsrConfig { relay_notices: true, ..losses }),
        ("snoop_errors", rfc, DsrConfig { snoop_errors: false, ..rfc }),
        ("count_errors", ns2, DsrConfig { count_errors: true, ..ns2 }),
        ("spread_error", rfc, DsrConfig { spread_error: None, ..rfc }),
        ("spread_error age", rfc, DsrConfig { spread_error: Some(ms(100)), ..rfc }),
        ("shorten", rfc, DsrConfig { shorten: None, ..rfc }),
        ("shorten per route", rfc, DsrConfig { shorten: Some(RouteShortening::PerRoute), ..rfc }),
        ("shorten_holdoff", rfc, DsrConfig { shorten_holdoff: ms(50), ..rfc }),
        ("route_to_neighbour", rfc, DsrConfig { route_to_neighbour: true, ..rfc }),
        ("ns2_sizes", rfc, DsrConfig { ns2_sizes: true, ..rfc }),
        ("tcp_padding", rfc, DsrConfig { tcp_padding: 20, ..rfc }),
        ("flow_state", ns2, DsrConfig { flow_state: None, ..ns2 }),
        (
            "flow timeout",
            ns2,
            DsrConfig {
                flow_state: Some(driftway_route::FlowState { timeout_s: 1, ..flow }),
                ..ns2
            },
        ),
        (
            "flow establishment",
            ns2,
            DsrConfig {
                flow_state: Some(driftway_route::FlowState { establish: 1, ..flow }),
                ..ns2
            },
        ),
        (
            "flow refresh",
            ns2,
            DsrConfig {
                flow_state: Some(driftway_route::FlowState { refresh: ms(100), ..flow }),
                ..ns2
            },
        ),
    ];
    for (what, one, other) in cases {
        differs(what, one, other);
    }
}

/// With an unchanged configuration, a run is reproducible.
#[test]
fn a_run_is_reproducible() {
    assert_eq!(run(DsrConfig::STANDARD, 1, 8), run(DsrConfig::STANDARD, 1, 8));
    assert_eq!(run(DsrConfig::NS2, 1, 8), run(DsrConfig::NS2, 1, 8));
    let cache = CacheKind::update(UpdateOptions::PAPER);
    let update = DsrConfig { cache, ..DsrConfig::STANDARD };
    assert_eq!(run(update, 1, 8), run(update, 1, 8));
}

/// A diamond: the received power shows that the link from the source to one of two relays fades.
#[test]
fn a_route_avoids_a_fading_link() {
    let ms = Duration::from_millis;
    for (avoid_fading, through) in [(None, 1), (Some(ms(1_900)), 1), (Some(ms(2_000)), 2)] {
        let config = DsrConfig { avoid_fading, jitter: ms(0), ..DsrConfig::STANDARD };
        let mut net = Net::new(config, 4, 1);
        for relay in [1, 2] {
            net.link(0, relay, true);
            net.link(relay, 3, true);
        }
        // 4 dB at 2 dB per second.
        let (at, trend) = (Instant::ZERO, Some(-200));
        assert_eq!(net.nodes[1].needs_received_power(), avoid_fading.is_some());
        net.nodes[1].on_received_power(
            address(0),
            ReceivedPower {
                heard_at: at,
                power_mbm: -8600,
                trend_cdb_per_s: trend,
                sensitivity_mbm: -9000,
            },
        );
        net.send(0, 3, 0);
        net.run(Instant::from_millis(100));
        assert_eq!(net.delivered.len(), 1);
        let route = net.nodes[0].source_route(net.now, address(3)).unwrap();
        assert_eq!(route[1], address(through), "{avoid_fading:?}");
    }
}
