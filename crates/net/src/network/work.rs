//! The work that a network has to do at one instant.

use std::collections::VecDeque;

use driftway_base::{Ipv4Addr, LinkId, NodeId, PacketId, Signal, SignalDetails, SignalKind};
use typed_index_collections::{TiVec, ti_vec};

use super::task::Task;
use crate::output::Output;

/// Requests to hosts, and the tasks that follow.
pub struct Work {
    /// Requests to hosts.
    outputs: VecDeque<Output>,
    /// Tasks, the next one last.
    tasks: Vec<Task>,
    /// Links to be polled after all tasks.
    ready_links: VecDeque<LinkId>,
    /// Packets from a node to itself.
    local_deliveries: VecDeque<(NodeId, PacketId)>,
    /// Nodes whose feedback is to be polled.
    ready_feedback: VecDeque<NodeId>,
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

    /// Requests something from a host.
    pub fn request(&mut self, output: Output) {
        self.outputs.push_back(output);
    }

    /// Passes a signal to a node's host.
    pub fn signal(&mut self, node: NodeId, signal: Signal) {
        self.request(Output::Signal { node, signal });
    }

    /// Passes a signal about a destination to a node's host.
    pub fn signal_destination(&mut self, node: NodeId, to: Ipv4Addr, kind: SignalKind) {
        let details = SignalDetails { destination: Some(to), ..SignalDetails::default() };
        self.signal(node, Signal { kind, details });
    }

    /// Returns the next request to a host.
    pub fn next_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Returns true if something is requested from a host: what is left of the present work has to wait.
    pub fn has_requests(&self) -> bool {
        !self.outputs.is_empty()
    }

    /// Adds a task, to be done before those that are there.
    pub fn add(&mut self, task: Task) {
        self.tasks.push(task);
    }

    /// Returns the number of tasks.
    pub fn pending(&self) -> usize {
        self.tasks.len()
    }

    /// Puts the rest of the present work below what it has added to `pending` tasks and requested from hosts, for
    /// which it has to wait. Returns false if that is nothing.
    pub fn waits(&mut self, pending: usize, rest: Task) -> bool {
        let has_to_wait = self.has_requests() || self.tasks.len() > pending;
        if has_to_wait {
            self.tasks.insert(pending, rest);
        }
        has_to_wait
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

    /// Puts a link into the queue of those that have to be polled.
    pub fn mark_link_ready(&mut self, link: LinkId) {
        // A burst marks its link once: the queue is no longer than the number of links.
        if self.ready_links.back() != Some(&link) {
            self.ready_links.push_back(link);
        }
    }

    /// Puts a node into the queue of those whose routing has to be polled.
    pub fn mark_ready(&mut self, node: NodeId) {
        if !std::mem::replace(&mut self.is_ready[node], true) {
            self.ready_nodes.push_back(node);
        }
    }

    /// Puts a node into the queue of those whose feedback has to be polled.
    pub fn mark_feedback_ready(&mut self, node: NodeId) {
        self.ready_feedback.push_back(node);
    }

    /// Puts a packet from a node to itself behind the present work.
    pub fn deliver_locally(&mut self, node: NodeId, id: PacketId) {
        self.local_deliveries.push_back((node, id));
    }

    /// Returns the number of packets on the way from a node to itself.
    pub fn local_deliveries(&self) -> usize {
        self.local_deliveries.len()
    }
}
