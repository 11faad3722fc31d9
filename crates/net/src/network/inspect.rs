//! Inspection: what can be seen of a network without changing it.

use driftway_base::{AirId, Duration, Instant, Ipv4Addr, LinkId, NodeId};
use driftway_link::PathLink;
use driftway_radio::dcf::Counters;
use driftway_route::RouteStats;
use driftway_route::feedback::{Feedback, Scheme};
use typed_index_collections::TiSlice;

use super::Network;
use crate::addresses::{address, node_at};
use crate::air::counters::RoutingCounters;
use crate::digest::Digest;
use crate::interface::Interface;

impl Network {
    /// Returns the time of the last wake-up, or of a later end of a frame.
    #[inline]
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Returns the number of nodes.
    #[inline]
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the node of an address, or the node in front of its network.
    pub fn node_at(&self, address: Ipv4Addr) -> Option<NodeId> {
        self.topology.node_at(address)
    }

    /// Returns the last node of a path; the first is 0. `None` for other networks.
    pub fn last_node(&self) -> Option<NodeId> {
        self.topology.last_node()
    }

    /// Returns the links: of a path the hops of the chain first, then those of the parallel routes.
    pub fn links(&self) -> &TiSlice<LinkId, PathLink> {
        self.wires.links()
    }

    /// Returns the number of a node's interfaces: ends of links, and radios.
    pub fn interface_count(&self, node: NodeId) -> usize {
        let radios = self.nodes.get(node).map_or(0, |node| node.radios.len());
        self.topology.link_ends(node).count() + radios
    }

    /// Returns the air of an interface, if it is a radio, or else that of the node's first radio.
    pub fn air_at(&self, node: NodeId, interface: Option<Interface>) -> Option<AirId> {
        let radio = match interface {
            Some(Interface::Radio(radio)) => radio,
            _ => *self.nodes.get(node)?.radios.first()?,
        };
        Some(self.medium.radio(radio).air)
    }

    /// Returns true if some node has a radio.
    #[inline]
    pub fn has_radios(&self) -> bool {
        !self.medium.is_empty()
    }

    /// Returns true if the network can deliver a packet twice: a link layer that misses an ACK returns
    /// a packet that has arrived.
    #[inline]
    pub fn may_duplicate(&self) -> bool {
        self.has_radios()
    }

    /// Returns the number of airs.
    pub fn airs(&self) -> usize {
        self.medium.airs().len()
    }

    /// Returns the number of airs whose frames are recorded when all events are: TDMA has no records.
    pub fn recorded_airs(&self) -> usize {
        self.medium.airs().iter().filter(|air| air.mac.is_recording()).count()
    }

    /// Returns the duration of the preamble of an air's frames; zero without that air.
    pub fn preamble(&self, air: AirId) -> Duration {
        self.medium.airs().get(air).map_or(Duration::ZERO, |air| air.mac.preamble())
    }

    /// Returns the digest of what became of all packets.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns the number of dropped packets by reason, without reasons that have none.
    pub fn drops_by_reason(&self) -> std::collections::BTreeMap<String, u64> {
        self.packets.drops_by_reason()
    }

    /// Returns the number of packets that queues of links and radios have marked.
    pub fn marks(&self) -> u64 {
        self.wires.marks() + self.medium.marks()
    }

    /// Returns the number of packets in the queues of a node.
    pub fn queue_length(&self, node: NodeId) -> usize {
        let wires = self.topology.link_ends(node);
        let wired: usize = wires.map(|end| self.links()[end.link].queue_len(end.side)).sum();
        let radios = self.nodes[node].radios.iter();
        wired + radios.map(|radio| self.medium.radio(*radio).queue.len()).sum::<usize>()
    }

    /// Returns the position of a node (m) at a time that is neither before the last wake-up nor after the
    /// next one; `None` without a radio.
    pub fn position(&mut self, node: NodeId, at: Instant) -> Option<(f64, f64)> {
        let (mac, station) = self.medium.mac_of(*self.nodes[node].radios.first()?);
        Some(mac.positions().position(station, at))
    }

    /// Returns the route from one node to another by the present routes, tables or caches, both ends
    /// included; `None` if there is no route. Of several routes over wires, the first.
    pub fn route(&self, from: NodeId, to: NodeId) -> Option<Vec<NodeId>> {
        let mut route = vec![from];
        let mut at = from;
        while at != to {
            let next = match self.source_route(at, to) {
                // What follows a gateway is not on the air.
                Some(listed) => {
                    let nodes = listed.iter().skip(1).map(|node| node_at(*node, self.nodes.len()));
                    let nodes = nodes.collect::<Option<Vec<_>>>()?;
                    let exit = nodes.iter().position(|node| self.topology.has_route(*node, to));
                    let on_air = exit.map_or(nodes.len(), |exit| exit + 1);
                    nodes[..on_air].to_vec()
                }
                None => vec![self.next_hop(at, to)?],
            };
            route.extend(next);
            at = *route.last()?;
            if route.len() > self.nodes.len() {
                return None;
            }
        }
        Some(route)
    }

    fn source_route(&self, from: NodeId, to: NodeId) -> Option<Vec<Ipv4Addr>> {
        if !self.uses_air(from, address(to)) {
            return None;
        }
        self.nodes[from].routing.as_ref()?.source_route(self.now, address(to))
    }

    /// Returns the next node from `node` towards `to`.
    pub fn next_hop(&self, node: NodeId, to: NodeId) -> Option<NodeId> {
        if self.uses_air(node, address(to)) {
            let routing = self.nodes[node].routing.as_ref()?;
            return node_at(routing.next_hop(address(to))?, self.nodes.len());
        }
        let link_end = self.topology.candidate_links(node, to).next()?;
        Some(self.topology.across(link_end))
    }

    /// Returns true if packets from one node to another use wires only.
    pub fn is_reached_by_wires(&self, from: NodeId, to: NodeId) -> bool {
        let mut at = from;
        for _ in 0..self.nodes.len() {
            if at == to || self.uses_air(at, address(to)) {
                break;
            }
            let Some(end) = self.topology.candidate_links(at, to).next() else { break };
            at = self.topology.across(end);
        }
        at == to
    }

    /// Returns true if the node's last report of an unreachable destination was about a link whose
    /// two ends are in range of each other.
    #[inline]
    pub fn last_report_was_false(&self, node: NodeId) -> bool {
        self.nodes.get(node).is_some_and(|node| node.last_report_was_false)
    }

    /// Returns the feedback of a node, to which a scheme of the caller's can be added.
    pub fn feedback_mut(&mut self, node: NodeId) -> Option<&mut Feedback> {
        self.nodes.get_mut(node).map(|node| &mut node.feedback)
    }

    /// Returns the counters of routing over the air.
    pub fn routing_counters(&self) -> RoutingCounters {
        self.counters
    }

    /// Returns the counters of each node's routing protocol.
    pub fn route_stats(&self) -> impl Iterator<Item = RouteStats> + '_ {
        self.nodes.iter().filter_map(|node| node.routing.as_ref()).map(|routing| *routing.stats())
    }

    /// Returns the counters of all MAC layers together.
    pub fn mac_counters(&self) -> Counters {
        self.medium.mac_counters()
    }

    /// Returns the number of events that MAC layers have handled.
    pub fn mac_events(&self) -> u64 {
        self.medium.airs().iter().map(|air| air.mac.events_handled()).sum()
    }

    /// Checks that each packet was delivered, dropped for a reason, or is held by the network.
    ///
    /// # Errors
    /// Describes the difference, which is a bug in driftway.
    pub fn check_conservation(&self) -> Result<(), String> {
        let routing = self.nodes.iter().filter_map(|node| node.routing.as_ref());
        let routed: usize = routing.map(|routing| routing.buffered_packets()).sum();
        self.packets.check_conservation(self.packets_held(), routed as u64)
    }

    /// Returns the number of packets with a handle: on links, buffered by routers, from a node to
    /// itself, and at radios.
    fn packets_held(&self) -> u64 {
        let on_links = self.wires.in_transit();
        let kept: usize = self.nodes.iter().map(|node| node.feedback.buffered_packets()).sum();
        let local = self.work.local_deliveries();
        (on_links + kept + local + self.medium.packets_held()) as u64
    }

    /// Returns true if node `to` can decode what node `from` sends at their present positions: a
    /// radio that is down is in range of none.
    pub(super) fn in_range(&mut self, from: NodeId, to: NodeId) -> bool {
        let radios = self.nodes.get(from).map_or(&[][..], |node| &node.radios);
        self.medium.in_range(self.now, radios, to)
    }
}
