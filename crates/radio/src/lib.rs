//! The air: nodes that move, what they hear of each other, and how they share it.
//!
//! A frame is known by its owner's handle, its size and its receiver; what it carries is not looked
//! at. Whoever drives the air gives it frames, one a node at a time, lets it run, and is told what
//! became of them ([`Report`]).

#![forbid(unsafe_code)]

pub mod dcf;
mod positions;
mod frame;
pub mod mobility;
pub mod movement;
mod neighbour_signals;
mod parameter_error;
mod propagation;
mod tdma;

pub use dcf::{Dcf, DcfConfig};
pub use positions::{Positions, NodeInRange};
pub use frame::{FailReason, OutgoingPacket, MacReport};
pub use mobility::Mobility;
pub use neighbour_signals::NeighbourSignals;
pub use parameter_error::ParameterError;
pub use propagation::{PropagationModel, Propagation, RadioConfig, Threshold};
pub use tdma::{Tdma, TdmaConfig};
