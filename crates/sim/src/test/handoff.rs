//! Signals of a mobile host about its way to a wired server, over two base stations.

use std::path::Path;

use driftway_base::{FailedLink, FlowId, NodeId, SignalKind};
use driftway_scenario::Scenario;

use super::address;
use super::recording_aid::add_recording_aid;
use crate::Simulation;

/// Nodes of the example.
const SERVER: u32 = 0;
const WEST: u32 = 2;
const EAST: u32 = 3;
const MOBILE: u32 = 4;

/// The signals about links that the mobile host receives up to the 90th second, with the second
/// flow of the example only if `sends` is set and with the first one only if not. It leaves the
/// range of the base station in the west after 16.3 s and reaches that of the one in the east
/// after 23.7 s; on its way back these are 56.3 s and 63.7 s.
fn signals(sends: bool, changes: &[(&str, &str)]) -> Vec<(u64, &'static str, Option<FailedLink>)> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/handoff.toml");
    let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let changes: Vec<_> = changes.iter().map(own).collect();
    let mut scenario = Scenario::load(file.to_str().unwrap(), &changes).unwrap();
    scenario.flows.remove(usize::from(!sends));
    scenario.flows[0].application =
        driftway_scenario::Application::Transfer(driftway_scenario::Size(12_000_000));
    let mut run = Simulation::new(&scenario, 1, None).unwrap();
    let (heard, _) = add_recording_aid(&mut run.hosts.hosts[NodeId::new(MOBILE)], address(SERVER));
    while run.step().unwrap() {}
    assert_eq!(run.hosts.flows[FlowId::new(0)].delivered, 12_000_000, "{changes:?}");
    let heard = heard.lock().unwrap();
    let of_links = heard.iter().filter_map(|(at, kind, link)| {
        let kind = match kind {
            SignalKind::LinkFading { .. } => "fading",
            SignalKind::LinkDown => "down",
            SignalKind::LinkUp => "up",
            _ => return None,
        };
        (*at < 90_000).then_some((*at, kind, *link))
    });
    of_links.collect()
}

/// Requires that the links fade, fail and work again when the mobile host moves.
fn expect_two_handoffs(signals: &[(u64, &'static str, Option<FailedLink>)], slack: u64) {
    let link = |to| Some(FailedLink { from: address(MOBILE), to: address(to) });
    let expected = [
        (13_800..14_500, "fading", WEST),
        (16_300..16_300 + slack, "down", WEST),
        (23_600..31_000, "up", EAST),
        (53_800..54_500, "fading", EAST),
        (56_300..56_300 + slack, "down", EAST),
        (63_600..71_000, "up", WEST),
    ];
    assert_eq!(signals.len(), expected.len(), "{signals:?}");
    for ((at, kind, about), (times, expected, to)) in signals.iter().zip(expected) {
        assert!(times.contains(at) && *kind == expected && *about == link(to), "{signals:?}");
    }
}

#[test]
fn a_mobile_host_is_notified_of_its_links_in_both_directions() {
    for protocol in ["aodv", "dsr"] {
        let routing = format!("{{ protocol = \"{protocol}\" }}");
        for sends in [false, true] {
            let signals = signals(sends, &[("network.air.routing", &routing)]);
            expect_two_handoffs(&signals, 500);
        }
    }
}

/// TCP-F freezes TCP when the route has failed. Nothing but its route probes is sent then.
#[test]
fn route_probes_of_a_frozen_tcp_find_the_other_base_station() {
    let aid = [("network.air.feedback", "rfn"), ("flow.1.aid", "tcp-f")];
    expect_two_handoffs(&signals(true, &aid), 500);
}

/// Static routes lead to one base station. The link to it fades, fails, and works when the host is
/// back.
#[test]
fn static_routes_know_no_other_base_station() {
    let routing = [("network.air.routing", "{ protocol = \"static\" }")];
    for sends in [false, true] {
        let signals = signals(sends, &routing);
        let west = Some(FailedLink { from: address(MOBILE), to: address(WEST) });
        assert!(signals.iter().all(|(.., link)| *link == west), "{signals:?}");
        let kinds: Vec<_> = signals.iter().map(|(_, kind, _)| *kind).collect();
        assert_eq!(kinds, ["fading", "down", "up"], "{signals:?}");
        assert!(signals[2].0 > 63_600, "{signals:?}");
    }
}
