//! Actions of faults on the network.

use driftway_base::{Duration, LinkId, NodeId, Rate};
use driftway_link::{QueueOnPartition, Side};
use driftway_scenario::Direction;

/// An action of a fault on the network.
#[derive(Clone, Copy, Debug)]
pub enum FaultAction {
    /// Cuts a link, and signals that to the hosts at its ends, or not.
    Cut { link: LinkId, queue: QueueOnPartition, signals: bool },
    /// Ends this fault's cut of a link, and signals that to the hosts at its ends, or not.
    Heal { link: LinkId, signals: bool },
    /// Signals to the hosts at the ends of a link that it will be cut.
    SignalFading { link: LinkId, lead: Duration },
    /// Moves the next frames of a side to the front of its queue.
    MoveToFront { link: LinkId, side: Side, frames: u32 },
    /// Holds the next frames of a side back and reverses their order.
    Reverse { link: LinkId, side: Side, frames: u32, max_wait: Duration },
    /// Sends a packet of cross traffic of this size over a link.
    CrossTraffic { link: LinkId, side: Side, bytes: u32 },
    /// Changes the rate.
    Rate { link: LinkId, rate: Rate },
    /// Changes the delay.
    Delay { link: LinkId, delay: driftway_link::Delay },
    /// Begins or ends a flood into a side; with `marks`, all ECN-capable frames are marked
    /// meanwhile.
    Flood { link: LinkId, side: Side, begins: bool, marks: bool },
    /// Switches the radio of a node off, and signals that to its host, or not.
    RadioDown { node: NodeId, drops_queue: bool, signals: bool },
    /// Switches the radio of a node on again, and signals that to its host, or not.
    RadioUp { node: NodeId, signals: bool },
    /// Signals to the host of a node that its radio will be switched off.
    SignalRadioFading { node: NodeId, lead: Duration },
}

/// Returns the sending sides of a direction.
pub(super) const fn sides(direction: Direction) -> &'static [Side] {
    match direction {
        Direction::Forward => &[Side::A],
        Direction::Backward => &[Side::B],
        Direction::Both => &[Side::A, Side::B],
    }
}
