//! Feedback about packets that could not be delivered and routes that failed.
//!
//! A [`Scheme`] is one kind of feedback, in a file of its own, as a state machine without I/O:
//!
//! | file | scheme |
//! |---|---|
//! | `icmp` | ICMP errors (RFC 792) |
//! | `rfn` | route failure and re-establishment notifications (chandran-1998) |
//!
//! A node has a [`Feedback`], the schemes of its network. The driver of a network, a path or an ad hoc
//! network, reports events to it and polls it until there is no [`FeedbackOutput`].

mod config;
mod icmp;
mod node;
mod rfn;
mod scheme;

pub use config::{SchemeConfig, SchemeName};
pub use icmp::{Icmp, IcmpConfig};
pub use node::Feedback;
pub use rfn::{BufferConfig, FlushTrigger, RfnConfig, RouteFailureAgent};
pub use scheme::{
    FeedbackOutput, NextHop, NoticeAction, Scheme, UndeliverableOutcome, UndeliverablePacket,
};
