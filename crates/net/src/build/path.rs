//! A path: a chain of links with parallel routes.

use driftway_base::{LinkId, NodeId};
use driftway_link::PathLink;
use driftway_route::feedback::{
    BufferConfig, Feedback, FlushTrigger, IcmpConfig, RfnConfig, SchemeConfig,
};
use driftway_scenario::{Link, Path, RouterBuffer, Time};
use typed_index_collections::TiSlice;

use super::seeds::Seeds;
use crate::addresses::address;
use crate::air::medium::Medium;
use crate::faults::{FaultPlan, Faults, active_faults};
use crate::network::{Node, Parts};
use crate::wired::chain::{Chain, ChainLinks};
use crate::wired::gateways::Gateways;
use crate::wired::topology::{Topology, WiredRoutes};
use crate::wired::wires::Wires;

/// Builds the parts of a path.
pub fn build(path: &Path, duration: Time, seeds: Seeds) -> Parts {
    let ChainLinks { chain, endpoints, links } = Chain::build(path, seeds.network);
    let nodes = chain.nodes();
    let hops = &links[..LinkId::new(path.hops)];
    let plan = FaultPlan { faults: &path.faults, hops, duration, seed: seeds.faults };
    Parts {
        topology: Topology::new(nodes, endpoints, WiredRoutes::Chain(chain)),
        faults: Faults::new(active_faults(&plan)),
        wires: build_wires(&links, seeds.network),
        medium: Medium::default(),
        nodes: feedback(path, nodes).map(Node::wired).collect(),
        gateways: Gateways::default(),
    }
}

/// The links of a scenario, numbered in this order.
pub fn build_wires(links: &TiSlice<LinkId, Link>, seed: u64) -> Wires {
    let built = links.iter_enumerated();
    let built = built.map(|(id, link)| PathLink::new(link.config(), seed, id));
    Wires::new(built.collect(), links.iter().map(|link| link.queue.source_quench).collect())
}

/// The feedback of each node, with all schemes that its faults may use.
fn feedback(path: &Path, nodes: usize) -> impl Iterator<Item = Feedback> {
    // Studies of paths assume an error message for each packet.
    let icmp =
        IcmpConfig { unreachable: true, time_exceeded: true, source_quench: true, per_second: 0 };
    let settings = path.routers.unwrap_or_default();
    let Time(rfn_lifetime) = settings.rfn_lifetime;
    let buffer = settings.buffer.map(|RouterBuffer { packets, flush }| BufferConfig {
        max_packets: packets as usize,
        flush: match flush {
            driftway_scenario::BufferFlush::Rrn => FlushTrigger::Rrn,
            driftway_scenario::BufferFlush::Route => FlushTrigger::AnyRoute,
        },
    });
    let schemes = [SchemeConfig::Icmp(icmp), SchemeConfig::Rfn(RfnConfig { rfn_lifetime, buffer })];
    (0..nodes).map(move |node| Feedback::new(address(NodeId::from(node)), &schemes))
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_base::{Duration, Instant, PacketId};
    use driftway_link::{Frame, QueuePosition, Side};
    use driftway_scenario::Scenario;

    #[test]
    fn overrides_and_parallel_routes_set_links() {
        let text = r#"
            name = "a path"
            duration = "9 s"
            [[flow]]
            from = 0
            to = 1
            application = "ftp"
            [network]
            kind = "path"
            link = { rate = "1 Mbit/s", delay = "10 ms" }
            hops = 2
            [[network.override]]
            hop = 2
            rate = "2 Mbit/s"
            [[network.parallel]]
            from = 0
            to = 2
            hops = 2
            rate = "4 Mbit/s"
        "#;
        let scenario = Scenario::parse("path.toml", text, &[]).unwrap();
        let driftway_scenario::Network::Path(path) = &scenario.network else { panic!("a path") };
        let parts = build(path, Time(Duration::from_secs(9)), Seeds { faults: 1, network: 1 });
        let mut wires = parts.wires;
        let serialised = wires.links().keys().map(|link| {
            let frame = Frame { id: PacketId::new(0), bytes: 1000, ecn_capable: false, flow: 0 };
            let link = wires.link_mut(link);
            link.enqueue(Instant::ZERO, Side::A, frame, QueuePosition::Tail);
            link.next_timeout().unwrap().as_nanos() / 1_000_000
        });
        assert_eq!(serialised.collect::<Vec<_>>(), [8, 4, 2, 2]);
    }
}
