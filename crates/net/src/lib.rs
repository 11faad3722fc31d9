//! A network at work: nodes with interfaces on links and radios, as one state machine.
//!
//! A [`Network`] does no I/O and reads no clock. It is driven by the simulator in simulated time, and
//! by the emulation in real time; both drive the same code, so that a scenario means the same in
//! both. [`Network::build`] makes one from any kind of network of a scenario.
//!
//! A **node** has any number of **interfaces**. An interface is an end of a link
//! ([`driftway_link::PathLink`]), or a radio on an air ([`driftway_radio`]) with its queue and, if
//! the scenario has it, ARP. A node forwards what is not for its own host: over wires by given
//! routes, over the air by AODV, DSR or static routes. It reports what it cannot forward by ICMP, or
//! by the notices of chandran-1998. Faults act on links and on radios.
//!
//! A gateway may split the TCP connections between air and wires: the network hands their packets to
//! its driver ([`Output::Intercepted`]), which sends others in their place.
//!
//! # What is not modelled
//!
//! The crates `link`, `radio` and `route` list the limits of their models.
//!
//! | item | here |
//! |---|---|
//! | several addresses of a node | a node has one, on all its interfaces |
//! | routing protocols on wires | routes over wires are given: a chain's, the shortest by links, and those of `[[network.route]]` |
//! | several routing protocols over the air | all nodes with radios run the same, on all airs |
//! | messages between gateways | all wired nodes know at once which gateway has heard a node on the air last |
//! | multicast beyond neighbours | hosts on the same link or air get it, nobody forwards it |
//! | fragmentation | a packet is forwarded whole |

#![forbid(unsafe_code)]

pub mod addresses;
mod air;
mod build;
mod digest;
mod event;
mod faults;
mod flow_hash;
mod frame_body;
mod interface;
mod network;
mod output;
mod packets;
mod wakeups;
mod wired;

pub use air::counters::{PacketCounts, RoutingCounters};
pub use build::BuildError;
pub use digest::Digest;
pub use event::{Event, FailedSend, FaultPlace, Recording};
pub use frame_body::FrameBody;
pub use interface::{Interface, LinkEnd};
pub use network::{
    CROSS_TRAFFIC_STREAM, DISCARD_PORT, ImpossibleChange, LiveChange, Network, NodeEnergy,
    OPAQUE_STREAM, TimerId,
};
pub use output::Output;
pub use wakeups::{Timer, WakeUp, WakeUps};
