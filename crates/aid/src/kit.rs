//! Common parts of aids that are defined as state machines.
//!
//! Such an aid defines its options ([`AidOptions`](crate::options::AidOptions)), its states and transitions
//! with their names ([`Named`](driftway_base::Named)), the states in which the connection is disconnected ([`States::DISCONNECTED`]), the
//! transition table ([`States::next`]), and, as a [`Protocol`], its actions for events and transitions.
//! [`Machine`] makes an [`Aid`](crate::Aid) of it: it checks that the connection is synchronized, changes the
//! state, and holds the timer and the pending acts. The state diagram is generated from the table.
//! [`tcp_f`](crate::tcp_f) is a short example. An aid without states, such as
//! [`cwnd_limit`](crate::cwnd_limit), implements [`Aid`](crate::Aid) directly.

mod acts;
mod context;
mod defaults;
mod diagram;
mod duplicate_acks;
mod link_change;
mod machine;
pub mod standby;
mod states;

pub use acts::PendingActs;
pub(crate) use acts::{resume, send_acks};
pub use context::Context;
pub(crate) use defaults::{DEFAULT_MSS, DEFAULT_RTO};
#[cfg(test)]
pub(crate) use diagram::assert_diagram_up_to_date;
pub use diagram::diagram;
pub(crate) use duplicate_acks::{AckKind, DUPLICATE_THRESHOLD, DuplicateAcks};
pub(crate) use link_change::DisconnectedSince;
pub use link_change::LinkChange;
pub use machine::{Machine, Protocol};
pub use states::States;
#[cfg(test)]
pub(crate) use states::assert_transitions;
