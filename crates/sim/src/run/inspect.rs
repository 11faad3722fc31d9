//! Inspection of an active run.

use driftway_base::Instant;

use super::{NetworkModel, Run};
use crate::simulation::{FlowSnapshot, SenderSnapshot};

impl<N: NetworkModel> Run<'_, N> {
    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    pub(crate) fn nodes(&self) -> usize {
        self.hosts.len()
    }

    pub(crate) fn flow_snapshot(&mut self, index: usize) -> Option<FlowSnapshot> {
        let flow = self.flows.get(index)?;
        let (delivered_bytes, outcome) = (flow.delivered, flow.outcome());
        let at = self.sockets.get(index * 2)?;
        let socket = at.host_index.and_then(|at_host| self.hosts[at.node].socket(at_host));
        let sender = socket.map(|socket| SenderSnapshot {
            view: socket.tcp().view(),
            stats: *socket.tcp().stats(),
            rto: socket.tcp().rtt().rto(),
            aid_state: socket.aid_state(),
        });
        Some(FlowSnapshot { delivered_bytes, outcome, sender })
    }

    pub(crate) fn queue_length(&self, node: usize) -> usize {
        if node < self.nodes() { self.net.queue_length(node) } else { 0 }
    }

    pub(crate) fn position(&mut self, node: usize) -> Option<(f64, f64)> {
        if node < self.nodes() { self.net.position(node, self.now) } else { None }
    }

    pub(crate) fn route(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        if from.max(to) < self.nodes() { self.net.route(self.now, from, to) } else { None }
    }
}

/// The nodes from `from` to `to` by following next hops; `None` if a node has no next hop or the route
/// has a loop.
pub(super) fn follow_next_hops(
    from: usize,
    to: usize,
    nodes: usize,
    next: impl Fn(usize) -> Option<usize>,
) -> Option<Vec<usize>> {
    let mut route = vec![from];
    let mut at = from;
    while at != to {
        at = next(at)?;
        if route.len() >= nodes {
            return None;
        }
        route.push(at);
    }
    Some(route)
}
