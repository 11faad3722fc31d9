//! What aids have in common whose papers draw them as state machines, written once.
//!
//! Such an aid writes its options ([`Configure`](crate::options::Configure)), its states and the causes
//! of transitions with their names ([`Named`]), the table of transitions ([`States::after`]), and, as a
//! [`Protocol`], what it does for each event and with each transition. [`Machine`] makes an
//! [`Aid`](crate::Aid) of it: it takes part where there is a connection, moves between the states, and
//! keeps the timer and what is asked for. The diagram is drawn from the table. [`tcp_f`](crate::tcp_f)
//! is a short example. An aid without states, as [`cwnd_limit`](crate::cwnd_limit), implements
//! [`Aid`](crate::Aid) itself.

mod acts;
mod context;
mod defaults;
mod diagram;
mod duplicate_acks;
mod machine;
mod named;
pub mod standby;
mod states;

pub use acts::PendingActs;
pub(crate) use acts::resume;
pub use context::Context;
pub(crate) use defaults::{DEFAULT_MSS, DEFAULT_RTO};
#[cfg(test)]
pub(crate) use diagram::assert_diagram_up_to_date;
pub use diagram::diagram;
pub(crate) use duplicate_acks::{AckKind, DUPLICATE_THRESHOLD, DuplicateAcks};
pub use machine::{Machine, Protocol};
pub use named::Named;
pub(crate) use named::named;
pub use states::States;
#[cfg(test)]
pub(crate) use states::assert_transitions;
