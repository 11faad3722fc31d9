//! The radio channel: mobility, propagation, and medium access (802.11 DCF or TDMA).
//!
//! A frame is described by its owner's handle, its size and its receiver; its content is not
//! inspected. The driver hands each MAC one packet per station at a time, runs it, and receives the
//! outcome of each packet as a [`MacReport`].
//!
//! The stations of an air are numbered from 0 ([`StationId`](driftway_base::StationId)). Which node
//! a station belongs to is known to the driver.
//!
//! # What is not modelled
//!
//! [`dcf`] lists what 802.11's medium access omits.
//!
//! | item | here |
//! |---|---|
//! | several channels | all stations share one |
//! | fading that is correlated in time | with [`FadingModel`] each frame has a gain of its own at each receiver |
//! | neighbours' trends with fading | [`NeighbourSignals`] sees the mean power, without fading |
//! | unlimited shadowing and fading | truncated at three standard deviations and at 14 dB, so that the range is finite |
//! | altitude | stations move in a plane |
//! | heights, and nodes that are switched on and off, in movement files | a node stands at its first position before, at its last one afterwards |
//! | Tcl in ns-2's movement files | the statements of [`movement::ns2`] only; any other is an error |
//! | ns-2's TDMA frames that extend into the next slot | a slot accounts for the header's airtime |

#![forbid(unsafe_code)]

mod counters;
pub mod dcf;
mod frame;
mod leg;
mod mac_methods;
pub mod mobility;
pub mod movement;
mod neighbour_signals;
mod normal;
mod parameter_error;
mod positions;
mod propagation;
mod radio_time;
mod tdma;

pub use dcf::{Dcf, DcfConfig};
pub use frame::{FailReason, MacReport, OutgoingPacket};
pub use leg::Leg;
pub use mobility::Mobility;
pub use neighbour_signals::NeighbourSignals;
pub use parameter_error::ParameterError;
pub use positions::{Positions, StationInRange};
pub use propagation::{
    FadingModel, LogDistance, Propagation, PropagationKind, PropagationModel, RadioConfig,
    Threshold,
};
pub use radio_time::{RadioPower, RadioTime};
pub use tdma::{Tdma, TdmaConfig};
