//! The time and place of an event of a flow.

use driftway_base::{FlowId, Instant, NodeId};

/// Time and place of an event of a flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowContext {
    /// The time.
    pub now: Instant,
    /// The node.
    pub node: NodeId,
    /// The flow.
    pub flow: FlowId,
}
