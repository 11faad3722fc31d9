//! Received signal powers of neighbours, and the signals about its own links that a host gets: a
//! neighbour's signal is fading, the neighbour is lost, or it is reachable again.

use driftway_base::{Ipv4Addr, NodeId, ReceivedPower, Signal, SignalDetails, SignalKind};

use super::{Network, link_of};
use crate::addresses::address;
use crate::air::link_monitor::LinkState;
use crate::output::Output;

impl Network {
    /// Handles a frame that a node received from a neighbour: whatever uses its power learns of it.
    #[inline]
    pub(super) fn on_neighbour_heard(&mut self, node: NodeId, from: NodeId) {
        if self.medium.measures_power() {
            self.measure_power(node, from);
        }
    }

    fn measure_power(&mut self, node: NodeId, from: NodeId) {
        let radios = &self.nodes[from].radios;
        let Some(power) = self.medium.measure_power(self.now, node, (from, radios)) else { return };
        let heard = &mut self.nodes[node];
        if let Some(routing) = &mut heard.routing {
            routing.on_received_power(address(from), power);
        }
        for radio in &heard.radios {
            if let Some(retry) = &mut self.medium.radio_mut(*radio).link_retry {
                retry.on_heard(address(from), power);
            }
        }
        self.on_next_hop_heard(node, from, power);
    }

    /// Signals to a node's host that a next hop is reachable, or that its signal is fading.
    fn on_next_hop_heard(&mut self, node: NodeId, from: NodeId, power: ReceivedPower) {
        let Some(monitor) = &mut self.medium.link_monitor else { return };
        let (within, lifetime) = (monitor.lead, power.expected_lifetime());
        let ends_in = |span| lifetime.is_some_and(|lifetime| lifetime <= span);
        let changed = monitor.update_state(node, from, |link| match link {
            // Hysteresis: a link stays in this state until its expected lifetime is twice as long.
            LinkState::Fading if ends_in(within.times(2)) => LinkState::Fading,
            _ if ends_in(within) => LinkState::Fading,
            _ => LinkState::Up,
        });
        let powers = monitor.destinations_via(node, from);
        powers.for_each(|to| self.work.request(Output::NextHopPower { node, to, power }));
        for (to, link) in changed {
            let kind = match (link, lifetime) {
                (LinkState::Fading, Some(expected_lifetime)) => {
                    SignalKind::LinkFading { expected_lifetime }
                }
                _ => SignalKind::LinkUp,
            };
            self.signal_link_state(node, from, to, kind);
        }
    }

    /// Signals to a node's host that a next hop was reached by a frame.
    pub(super) fn on_neighbour_reached(&mut self, node: NodeId, neighbour: NodeId) {
        let Some(monitor) = &mut self.medium.link_monitor else { return };
        let changed = monitor.update_state(node, neighbour, |link| match link {
            LinkState::Down => LinkState::Up,
            other => other,
        });
        for (to, _) in changed {
            self.signal_link_state(node, neighbour, to, SignalKind::LinkUp);
        }
    }

    /// Signals to a node's host that the link to a neighbour has failed.
    pub(super) fn on_neighbour_lost(&mut self, node: NodeId, neighbour: NodeId) {
        let Some(monitor) = &mut self.medium.link_monitor else { return };
        for (to, _) in monitor.update_state(node, neighbour, |_| LinkState::Down) {
            self.signal_link_state(node, neighbour, to, SignalKind::LinkDown);
        }
    }

    /// Records the next hop of a packet of a node's own host.
    pub(super) fn on_host_packet_sent(&mut self, node: NodeId, to: Ipv4Addr, neighbour: NodeId) {
        if let Some(monitor) = &mut self.medium.link_monitor {
            monitor.on_sent(node, to, neighbour);
        }
    }

    fn signal_link_state(
        &mut self,
        node: NodeId,
        neighbour: NodeId,
        to: Ipv4Addr,
        kind: SignalKind,
    ) {
        let details = SignalDetails {
            destination: Some(to),
            failed_link: Some(link_of(node, neighbour)),
            ..SignalDetails::default()
        };
        self.work.signal(node, Signal { kind, details });
    }
}
