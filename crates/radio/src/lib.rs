//! The radio channel: node mobility, propagation, and medium access (802.11 DCF or TDMA).
//!
//! A frame is described by its owner's handle, its size and its receiver; its content is not
//! inspected. The driver hands each MAC one packet per node at a time, runs it, and receives the
//! outcome of each packet as a [`MacReport`].

#![forbid(unsafe_code)]

pub mod dcf;
mod frame;
pub mod mobility;
pub mod movement;
mod neighbour_signals;
mod parameter_error;
mod positions;
mod propagation;
mod tdma;

pub use dcf::{Dcf, DcfConfig};
pub use frame::{FailReason, MacReport, OutgoingPacket};
pub use mobility::Mobility;
pub use neighbour_signals::NeighbourSignals;
pub use parameter_error::ParameterError;
pub use positions::{NodeInRange, Positions};
pub use propagation::{Propagation, PropagationModel, RadioConfig, Threshold};
pub use tdma::{Tdma, TdmaConfig};
