//! The air: nodes that move, what they hear of each other, and how they share it.
//!
//! A frame is known by its owner's handle, its size and its receiver; what it carries is not looked
//! at. Whoever drives the air gives it frames, one a node at a time, lets it run, and is told what
//! became of them ([`Report`]).

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
