//! The driver of a gateway that splits connections: packets, timers and events of both legs, and the
//! checks that take the place of the end-to-end ones.

use std::sync::Arc;

use driftway_base::{ConnectionId, FlowId, Ipv4Addr, NodeId, Signal};
use driftway_endpoint::{Gateway, GatewayEventKind, GatewayOutcome, LegSetup, Opening, Side};
use driftway_link::QueuePosition;
use driftway_scenario::{AidEnd, AidPlace, Network as Kind};
use driftway_wire::Packet;

use super::Hosts;
use super::service::is_due;
use super::splitting_gateway::{SplitFlow, SplittingGateway};
use crate::flows::ActiveFlow;
use crate::host_timer::{HostTimer, LegId};
use crate::results::FlowOutcome;
use crate::sockets::{FlowEnd, first_tick, initial_sequence, tcp_config};
use crate::world::World;

impl Hosts {
    /// Returns the gateway that splits connections if it is this node.
    pub(super) fn gateway_at(&mut self, node: NodeId) -> Option<&mut SplittingGateway> {
        self.gateway.as_mut().filter(|gateway| gateway.node == node)
    }

    /// Handles a packet of a split connection.
    pub(super) fn on_intercepted(
        &mut self,
        world: &mut World<'_>,
        from_air: bool,
        packet: &Packet,
    ) {
        let Some(of) = &mut self.gateway else { return };
        let side = if from_air { Side::Wireless } else { Side::Wired };
        match of.gateway.on_packet(world.now, side, packet) {
            GatewayOutcome::Connection(number) => self.serve_connection(world, number),
            GatewayOutcome::ConnectionsTo(address) => {
                self.serve_connections_to(world, Some(address))
            }
            GatewayOutcome::Opening(opening) => self.open_connection(world, &opening),
            GatewayOutcome::Reply(answer) => {
                let node = of.node;
                world.send(node, answer, QueuePosition::Tail);
            }
            GatewayOutcome::Nothing => {}
        }
    }

    /// Opens the legs of a flow's connection.
    fn open_connection(&mut self, world: &mut World<'_>, opening: &Opening) {
        let (scenario, seed) = (Arc::clone(&self.scenario), self.seed);
        let Some(of) = &mut self.gateway else { return };
        let Some(id) = of.flow_to(opening.responder) else { return };
        let Some(flow) = scenario.flows.get(id.index()) else { return };
        let Kind::Mixed(mixed) = &scenario.network else { return };
        let (Some(settings), Some(tcp)) = (mixed.splitting_gateway(), &flow.tcp) else { return };
        let setup = |side: Side| {
            let (leg, end) = match side {
                Side::Wireless => (&settings.wireless, AidEnd::WirelessLeg),
                Side::Wired => (&settings.wired, AidEnd::WiredLeg),
            };
            let keys = leg.tcp.as_ref().unwrap_or(tcp);
            let tcp = tcp_config(keys, NodeId::new(settings.node), seed);
            let iss = initial_sequence(seed, "gateway-sequence", LegId { flow: id, side }.number());
            LegSetup {
                tcp,
                iss,
                control: keys.growth.build(&tcp.control_options(iss.0.into())),
                aid: leg.aid.build_at(AidPlace { flow: id, end }, first_tick(&tcp)),
            }
        };
        let (wireless, wired) = (setup(Side::Wireless), setup(Side::Wired));
        let connection = of.gateway.open(world.now, opening, wireless, wired);
        if let Some(Some(split)) = of.flows.get_mut(id) {
            split.connection = Some(connection);
        }
        if connection == of.flow_of.next_key() {
            of.flow_of.push(id);
        }
        of.counts.opened += 1;
        self.serve_connection(world, connection);
    }

    /// Passes a signal of the gateway's node to the legs that it concerns.
    pub(super) fn signal_gateway(&mut self, world: &mut World<'_>, signal: &Signal) {
        if let Some(of) = &mut self.gateway {
            of.gateway.on_signal(world.now, signal);
            self.serve_connections_to(world, signal.details.destination);
        }
    }

    /// Serves every connection, or those with an end at this address.
    fn serve_connections_to(&mut self, world: &mut World<'_>, end: Option<Ipv4Addr>) {
        let connections = self.gateway.as_ref().map(|of| of.gateway.connections());
        for number in connections.into_iter().flatten() {
            let Some(of) = &self.gateway else { return };
            if end.is_none_or(|end| of.gateway.has_end(number, end)) {
                self.serve_connection(world, number);
            }
        }
    }

    /// Handles the timer of a leg's aid.
    pub(super) fn on_leg_aid_timer(&mut self, world: &mut World<'_>, LegId { flow, side }: LegId) {
        let Some((number, gateway)) = self.split_connection(flow) else { return };
        if is_due(gateway.next_aid_timeout(number, side), world.now) {
            gateway.on_aid_timeout(world.now, number, side);
        }
        self.serve_connection(world, number);
    }

    /// Handles the timer of a leg's TCP.
    pub(super) fn on_leg_tcp_timer(&mut self, world: &mut World<'_>, LegId { flow, side }: LegId) {
        let Some((number, gateway)) = self.split_connection(flow) else { return };
        if is_due(gateway.next_tcp_timeout(number, side), world.now) {
            gateway.on_tcp_timeout(world.now, number, side);
        }
        self.serve_connection(world, number);
    }

    /// Returns the split connection of a flow, and the gateway.
    fn split_connection(&mut self, flow: FlowId) -> Option<(ConnectionId, &mut Gateway)> {
        let of = self.gateway.as_mut()?;
        let connection = of.flows.get(flow)?.as_ref()?.connection?;
        Some((connection, &mut of.gateway))
    }

    /// Handles whatever a split connection has to do: events, packets, timers.
    fn serve_connection(&mut self, world: &mut World<'_>, number: ConnectionId) {
        let Some(of) = &mut self.gateway else { return };
        let (node, gateway) = (of.node, &mut of.gateway);
        let Some(flow) = of.flow_of.get(number).copied() else { return };
        while let Some((packet, transmit)) = gateway.poll_transmit(world.now, number) {
            let place =
                if transmit.ahead_of_queue { QueuePosition::Front } else { QueuePosition::Tail };
            world.send(node, packet, place);
        }
        while let Some(event) = gateway.poll_event(number) {
            let how = match event.kind {
                GatewayEventKind::Established => {
                    of.counts.established += 1;
                    continue;
                }
                GatewayEventKind::Reset(_) => FlowOutcome::Reset,
                GatewayEventKind::TimedOut(_) => FlowOutcome::TimedOut,
                GatewayEventKind::Damaged(side) => {
                    world.check_stream(Err(format!(
                        "flow {flow}: the gateway's {} leg got bytes that are not the next ones of their \
                         stream",
                        side.name()
                    )));
                    FlowOutcome::Reset
                }
            };
            of.counts.failed += 1;
            // The sender may have everything acknowledged, so that it cannot notice.
            self.flows[flow].on_socket_failed(world.now, FlowEnd::Sender, how);
        }
        if let Some(Some(split)) = of.flows.get(flow) {
            world.check_stream(check_legs(split, gateway, number, &self.flows[flow]));
        }
        for side in Side::BOTH {
            if gateway.had_endless_acts(number, side) {
                world.on_endless_acts(flow, &format!("gateway's {} leg", side.name()));
            }
            if let Some(at) = gateway.next_aid_timeout(number, side) {
                world.schedule(HostTimer::LegAid(LegId { flow, side }), at);
            }
            if let Some(at) = gateway.next_tcp_timeout(number, side) {
                world.schedule(HostTimer::LegTcp(LegId { flow, side }), at);
            }
        }
        let probe = gateway.poll_route_probe(number);
        self.count_if_finished(flow);
        if let Some((peer, probe, first)) = probe {
            world.net.probe_route(node, peer, probe, first);
            self.send_route_probes(world, node);
        }
    }
}

/// Checks the gateway's legs as the sender's connection is checked: none of its bytes may be acknowledged
/// before the end has received it, and what an end has received came from the gateway.
fn check_legs(
    split: &SplitFlow,
    gateway: &Gateway,
    number: ConnectionId,
    flow: &ActiveFlow,
) -> Result<(), String> {
    let directions = [(FlowEnd::Receiver, Some(flow)), (FlowEnd::Sender, flow.reverse.as_deref())];
    for (end, direction) in directions {
        let Some(direction) = direction else { continue };
        let side = split.side(end);
        let acknowledged = gateway.acknowledged_bytes(number, side);
        let (received, accepted) =
            (direction.delivered, gateway.accepted_bytes(number, side.other()));
        if acknowledged > received || received > accepted {
            return Err(format!(
                "stream {}: the gateway has {accepted} bytes and takes {acknowledged} as acknowledged, but \
                 the end has {received}",
                direction.stream
            ));
        }
    }
    Ok(())
}
