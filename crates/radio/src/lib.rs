//! The radio channel: node mobility, propagation, and medium access (802.11 DCF or TDMA).
//!
//! A frame is described by its owner's handle, its size and its receiver; its content is not
//! inspected. The driver hands each MAC one packet per node at a time, runs it, and receives the
//! outcome of each packet as a [`MacReport`].

#![forbid(unsafe_code)]

pub mod dcf;
mod field;
mod frame;
pub mod mobility;
pub mod movement;
mod neighbours;
mod parameter;
mod propagation;
mod tdma;

pub use dcf::{Dcf, DcfConfig};
pub use field::{Field, Hearer};
pub use frame::{FailReason, Outgoing, Report};
pub use mobility::Mobility;
pub use neighbours::Neighbours;
pub use parameter::BadParameter;
pub use propagation::{Model, Propagation, RadioConfig, Threshold};
pub use tdma::{Tdma, TdmaConfig};
