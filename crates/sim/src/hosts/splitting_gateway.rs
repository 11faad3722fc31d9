//! The gateway that splits connections, with the flows of these.

use driftway_base::{ConnectionId, Endpoint, FlowId, Ipv4Addr, NodeId, ReceivedPower};
use driftway_endpoint::{Gateway, Side};
use driftway_net::Network;
use driftway_scenario::{Network as Kind, Scenario};
use driftway_tcp::Stats;
use typed_index_collections::TiVec;

use crate::results::GatewayResult;
use crate::sockets::{FlowEnd, SocketId, flow_endpoint};

/// A gateway that splits connections, and the flows of these.
pub struct SplittingGateway {
    /// Its node.
    pub node: NodeId,
    /// Its split connections.
    pub gateway: Gateway,
    /// The split flows; `None` for others.
    pub flows: TiVec<FlowId, Option<SplitFlow>>,
    /// The flow of each connection.
    pub flow_of: TiVec<ConnectionId, FlowId>,
    /// Its counters.
    pub counts: GatewayCounts,
}

/// A flow whose connection is split.
#[derive(Clone, Copy, Debug)]
pub struct SplitFlow {
    /// The side of the sender.
    pub sender: Side,
    /// The endpoint of the receiver.
    pub receiver: Endpoint,
    /// Its connection; `None` before the first SYN arrives.
    pub connection: Option<ConnectionId>,
}

/// Counters of a gateway.
#[derive(Clone, Copy, Debug, Default)]
pub struct GatewayCounts {
    /// Connections for which the second leg was opened.
    pub opened: u64,
    /// Connections both of whose legs were established.
    pub established: u64,
    /// Connections that were reset because a leg was refused, was reset or timed out.
    pub failed: u64,
}

impl SplittingGateway {
    /// The gateway of a scenario that splits connections; `None`: there is none.
    pub fn new(scenario: &Scenario, net: &Network) -> Option<Self> {
        let Kind::Mixed(mixed) = &scenario.network else { return None };
        let of = mixed.splitting_gateway()?;
        let node = NodeId::new(of.node);
        let gateway = Gateway::new(u32::try_from(of.buffer.0).unwrap_or(u32::MAX));
        let gateway = if net.probes_routes(node) { gateway.with_route_probing() } else { gateway };
        let split = |(id, flow): (usize, &driftway_scenario::Flow)| {
            let sender = if mixed.has_radio(flow.from) { Side::Wireless } else { Side::Wired };
            let receiver = flow_endpoint(FlowId::from(id), NodeId::new(flow.to));
            mixed.is_split(flow).then_some(SplitFlow { sender, receiver, connection: None })
        };
        Some(Self {
            node,
            gateway,
            flows: scenario.flows.iter().enumerate().map(split).collect(),
            flow_of: TiVec::new(),
            counts: GatewayCounts::default(),
        })
    }

    /// Returns the split flow whose connection is opened to this endpoint.
    pub fn flow_to(&self, receiver: Endpoint) -> Option<FlowId> {
        let is_so =
            |split: &Option<SplitFlow>| split.is_some_and(|split| split.receiver == receiver);
        self.flows.position(is_so)
    }

    /// Returns the bytes of a socket that the gateway has accepted; `None` for a flow that is not split.
    pub fn accepted_bytes(&self, id: SocketId) -> Option<u64> {
        let split = self.flows.get(id.flow)?.as_ref()?;
        let side = split.side(id.end);
        Some(split.connection.map_or(0, |number| self.gateway.accepted_bytes(number, side)))
    }

    /// Returns true if a flow is split.
    pub fn is_split(&self, flow: FlowId) -> bool {
        self.flows.get(flow).is_some_and(Option::is_some)
    }

    /// Returns the most bytes that one direction of a flow has had in the gateway's buffer; `None` for a
    /// flow that is not split.
    pub fn longest_buffer(&self, flow: FlowId) -> Option<u64> {
        let split = self.flows.get(flow)?.as_ref()?;
        Some(split.connection.map_or(0, |number| self.gateway.longest_buffer(number)))
    }

    /// Returns the results of all connections.
    pub fn result(&self) -> GatewayResult {
        let connections = self.gateway.connections();
        let longest = connections.clone().map(|number| self.gateway.longest_buffer(number)).max();
        let sum = |side: Side, of: fn(&Stats) -> u64| {
            let sockets = connections.clone().filter_map(|of| self.gateway.socket(of, side));
            sockets.map(|socket| of(socket.tcp().stats())).sum()
        };
        let GatewayCounts { opened, established, failed } = self.counts;
        GatewayResult {
            connections: opened,
            established,
            failed,
            longest_buffer_bytes: longest.unwrap_or(0),
            wireless_segments: sum(Side::Wireless, |stats| stats.segments_sent),
            wireless_retransmissions: sum(Side::Wireless, |stats| stats.retransmissions),
            wireless_timeouts: sum(Side::Wireless, |stats| stats.timeouts),
            wired_segments: sum(Side::Wired, |stats| stats.segments_sent),
            wired_retransmissions: sum(Side::Wired, |stats| stats.retransmissions),
            wired_timeouts: sum(Side::Wired, |stats| stats.timeouts),
        }
    }

    /// Sets the received power of the next hop towards this destination.
    pub fn set_next_hop_power(&mut self, to: Ipv4Addr, power: ReceivedPower) {
        self.gateway.set_next_hop_power(to, power);
    }

    /// Returns true if an aid requests route probes to this end.
    pub fn wants_route_probe(&self, peer: Ipv4Addr) -> bool {
        self.gateway.wants_route_probe(peer)
    }
}

impl SplitFlow {
    /// The side of an end.
    pub const fn side(&self, end: FlowEnd) -> Side {
        match end {
            FlowEnd::Sender => self.sender,
            FlowEnd::Receiver => self.sender.other(),
        }
    }
}
