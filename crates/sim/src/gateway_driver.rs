//! The driver of a gateway that splits connections: packets, timers and events of both legs, and the
//! checks that take the place of the end-to-end ones.

use driftway_base::{Instant, Ipv4Addr, Signal};
use driftway_endpoint::{Gateway, GatewayEventKind, GatewayOutcome, LegSetup, Opening, Side};
use driftway_link::QueuePosition;
use driftway_scenario::Network as Kind;
use driftway_wire::Packet;

use crate::flows::ActiveFlow;
use crate::hosts::Hosts;
use crate::results::FlowOutcome;
use crate::sockets::{FlowEnd, first_tick, flow_port, initial_sequence, tcp_config};
use crate::splitting_gateway::{SplitFlow, SplittingGateway};
use crate::world::{HostClass, World};

impl Hosts<'_> {
    /// Returns the gateway that splits connections if it is this node.
    pub fn gateway_at(&mut self, node: usize) -> Option<&mut SplittingGateway> {
        self.gateway.as_mut().filter(|gateway| gateway.node == node)
    }

    /// Handles a packet of a split connection.
    pub fn on_intercepted(&mut self, world: &mut World<'_>, from_air: bool, packet: &Packet) {
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
        let (scenario, seed) = (self.scenario, self.seed);
        let Some(of) = &mut self.gateway else { return };
        let number = usize::from(opening.responder.port.wrapping_sub(flow_port(0)));
        let (Some(flow), Some(Some(split))) =
            (scenario.flows.get(number), of.flows.get_mut(number))
        else {
            return;
        };
        let Kind::Mixed(mixed) = &scenario.network else { return };
        let (Some(settings), Some(tcp)) = (mixed.splitting_gateway(), &flow.tcp) else { return };
        let setup = |side: Side| {
            let (leg, stream) = match side {
                Side::Wireless => (&settings.wireless, 0),
                Side::Wired => (&settings.wired, 1),
            };
            let tcp = tcp_config(leg.tcp.as_ref().unwrap_or(tcp), settings.node, seed);
            let iss = initial_sequence(seed, "gateway-sequence", number as u32 * 2 + stream);
            LegSetup { tcp, iss, aid: leg.aid.build(first_tick(&tcp)) }
        };
        let (wireless, wired) = (setup(Side::Wireless), setup(Side::Wired));
        let connection = of.gateway.open(world.now, opening, wireless, wired);
        split.connection = Some(connection);
        if connection == of.flow_of.len() {
            of.flow_of.push(number);
        }
        of.counts.opened += 1;
        self.serve_connection(world, connection);
    }

    /// Passes a signal of the gateway's node to the legs that it concerns.
    pub fn signal_gateway(&mut self, world: &mut World<'_>, signal: &Signal) {
        if let Some(of) = &mut self.gateway {
            of.gateway.on_signal(world.now, signal);
            self.serve_connections_to(world, signal.details.destination);
        }
    }

    /// Serves every connection, or those with an end at this address.
    fn serve_connections_to(&mut self, world: &mut World<'_>, end: Option<Ipv4Addr>) {
        let count = self.gateway.as_ref().map_or(0, |of| of.gateway.connections());
        for number in 0..count {
            let Some(of) = &self.gateway else { return };
            if end.is_none_or(|end| of.gateway.has_end(number, end)) {
                self.serve_connection(world, number);
            }
        }
    }

    /// Handles the timer of a leg; legs are numbered by flow and side: 2 × flow for the wireless leg, and
    /// 2 × flow + 1 for the wired one.
    pub fn on_leg_timer(&mut self, world: &mut World<'_>, class: HostClass, leg: usize) {
        let Some(of) = &mut self.gateway else { return };
        let Some(Some(SplitFlow { connection: Some(number), .. })) = of.flows.get(leg / 2) else {
            return;
        };
        let number = *number;
        let side = if leg.is_multiple_of(2) { Side::Wireless } else { Side::Wired };
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= world.now);
        if class == HostClass::Aid && due(of.gateway.next_aid_timeout(number, side)) {
            of.gateway.on_aid_timeout(world.now, number, side);
        } else if class == HostClass::Tcp && due(of.gateway.next_tcp_timeout(number, side)) {
            of.gateway.on_tcp_timeout(world.now, number, side);
        }
        self.serve_connection(world, number);
    }

    /// Handles whatever a split connection has to do: events, packets, timers.
    fn serve_connection(&mut self, world: &mut World<'_>, number: usize) {
        let sockets = self.sockets.len();
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
            self.flows[flow].on_connection_failed(world.now, how);
        }
        if let Some(Some(split)) = of.flows.get(flow) {
            world.check_stream(check_legs(split, gateway, number, &self.flows[flow]));
        }
        for (n, side) in Side::BOTH.into_iter().enumerate() {
            let entity = sockets + 2 * flow + n;
            if let Some(at) = gateway.next_aid_timeout(number, side) {
                world.schedule(HostClass::Aid, entity, at);
            }
            if let Some(at) = gateway.next_tcp_timeout(number, side) {
                world.schedule(HostClass::Tcp, entity, at);
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
    number: usize,
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
