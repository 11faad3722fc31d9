//! The work that a network has to do at one instant.

use std::collections::VecDeque;

use driftway_base::{LinkId, NodeId, PacketId, Signal};

use typed_index_collections::{TiVec, ti_vec};

use super::task::Task;
use crate::output::Output;

/// Requests to hosts, and the tasks that follow.
pub struct Work {
    /// Requests to hosts.
    pub outputs: VecDeque<Output>,
    /// Tasks, the next one last.
    pub tasks: Vec<Task>,
    /// Links to be polled after all tasks.
    pub ready_links: VecDeque<LinkId>,
    /// Packets from a node to itself.
    pub local_deliveries: VecDeque<(NodeId, PacketId)>,
    /// Nodes whose feedback is to be polled.
    pub ready_feedback: VecDeque<NodeId>,
    /// Nodes whose routing or ARP may have output.
    ready_nodes: VecDeque<NodeId>,
    /// True for these.
    is_ready: TiVec<NodeId, bool>,
}

impl Work {
    /// Creates the work of a network with these numbers of links and nodes: there is none.
    pub fn new(links: usize, nodes: usize) -> Self {
        Self {
            outputs: VecDeque::with_capacity(16),
            tasks: Vec::with_capacity(32),
            ready_links: VecDeque::with_capacity(links),
            local_deliveries: VecDeque::with_capacity(16),
            ready_feedback: VecDeque::new(),
            ready_nodes: VecDeque::with_capacity(nodes),
            is_ready: ti_vec![false; nodes],
        }
    }

    /// Returns the next link to be polled, if there are no tasks.
    #[inline]
    pub fn next_ready_link(&mut self) -> Option<LinkId> {
        if self.tasks.is_empty() { self.ready_links.pop_front() } else { None }
    }

    /// Returns the next task, where no link is to be polled.
    pub fn next_task(&mut self) -> Option<Task> {
        if let Some(task) = self.tasks.pop() {
            Some(task)
        } else if let Some((node, id)) = self.local_deliveries.pop_front() {
            Some(Task::DeliverLocally { node, id })
        } else if let Some(node) = self.ready_feedback.pop_front() {
            Some(Task::DrainFeedback { node })
        } else {
            let node = self.ready_nodes.pop_front()?;
            self.is_ready[node] = false;
            Some(Task::ServeNode { node })
        }
    }

    /// Returns true if a host is asked something, or if there are more than `pending` tasks: what is
    /// left of the present work has to wait for them.
    #[inline]
    pub fn has_work_above(&self, pending: usize) -> bool {
        !self.outputs.is_empty() || self.tasks.len() > pending
    }

    /// Puts a node into the queue of nodes whose routing has to be polled.
    pub fn mark_ready(&mut self, node: NodeId) {
        if !std::mem::replace(&mut self.is_ready[node], true) {
            self.ready_nodes.push_back(node);
        }
    }

    /// Passes a signal to a node's host.
    pub fn signal(&mut self, node: NodeId, signal: Signal) {
        self.outputs.push_back(Output::Signal { node, signal });
    }
}
