//! Requests of the network to the hosts above it.

use driftway_base::{Ipv4Addr, NodeId, ReceivedPower, Signal};
use driftway_wire::Packet;

/// An action that the network requests from the host at a node. The driver carries it out, and sends
/// what the host sends, before it polls again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "packets move by value, and nothing is allocated")]
pub enum Output {
    /// A packet for the node's host.
    Deliver {
        /// The node.
        node: NodeId,
        /// The packet.
        packet: Packet,
    },
    /// A packet that would have passed a splitting gateway from one side to the other: a TCP segment, or
    /// an ICMP error about one. What the gateway sends in its place the driver passes to
    /// [`Network::send`](crate::Network::send).
    Intercepted {
        /// The gateway.
        node: NodeId,
        /// True if the packet came over the air, false if it came over a wire.
        from_air: bool,
        /// The packet.
        packet: Packet,
    },
    /// A signal for the connections of the node's host: for those of one destination if the signal
    /// names it, else for all.
    Signal {
        /// The node.
        node: NodeId,
        /// The signal.
        signal: Signal,
    },
    /// The received power of the next hop of the host's packets to a destination.
    NextHopPower {
        /// The node.
        node: NodeId,
        /// The destination.
        to: Ipv4Addr,
        /// The power of the next hop's last frame.
        power: ReceivedPower,
    },
    /// The node's link layer failed to send a packet for a destination.
    SendFailed {
        /// The node.
        node: NodeId,
        /// The destination.
        to: Ipv4Addr,
    },
    /// The node's own link, whose failure the link layer sees, has dropped a packet of the host.
    LocalDrop {
        /// The node.
        node: NodeId,
        /// The packet.
        packet: Packet,
    },
    /// Route probes of the node are due: see
    /// [`Network::next_due_probe`](crate::Network::next_due_probe).
    RouteProbesDue {
        /// The node.
        node: NodeId,
    },
}
