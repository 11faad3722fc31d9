//! Inspection of an active run.

use driftway_base::Instant;

use super::{NetworkAtWork, Run};
use crate::simulation::{FlowNow, SenderNow};

impl<N: NetworkAtWork> Run<'_, N> {
    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    pub(crate) fn nodes(&self) -> usize {
        self.hosts.len()
    }

    pub(crate) fn flow_now(&mut self, index: usize) -> Option<FlowNow> {
        let flow = self.flows.get(index)?;
        let (delivered_bytes, outcome) = (flow.delivered, flow.outcome());
        let at = self.sockets.get(index * 2)?;
        let socket = at.number.and_then(|at_host| self.hosts[at.node].socket(at_host));
        let sender = socket.map(|socket| SenderNow {
            view: socket.tcp().view(),
            stats: *socket.tcp().stats(),
            rto: socket.tcp().rtt().rto(),
            aid_state: socket.aid_state(),
        });
        Some(FlowNow { delivered_bytes, outcome, sender })
    }

    pub(crate) fn waiting(&self, node: usize) -> usize {
        if node < self.nodes() { self.net.waiting(node) } else { 0 }
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
pub(super) fn follow(
    from: usize,
    to: usize,
    nodes: usize,
    next: impl Fn(usize) -> Option<usize>,
) -> Option<Vec<usize>> {
    let mut way = vec![from];
    let mut at = from;
    while at != to {
        at = next(at)?;
        if way.len() >= nodes {
            return None;
        }
        way.push(at);
    }
    Some(way)
}
