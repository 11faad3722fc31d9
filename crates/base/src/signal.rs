//! What an aid learns from the network or from its own host. No consumer sees ICMP or route-error
//! formats: whoever receives those turns them into a [`Signal`].

use crate::{FlowKey, Ipv4Addr, Seq, SeqRange};

/// Something happened that TCP itself would not see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// What happened.
    pub kind: SignalKind,
    /// What is known about it.
    pub about: About,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalKind {
    /// A router has no way to the destination (ICMP destination unreachable, RFC 792).
    Unreachable(Scope),
    /// A router asks to send less (ICMP source quench, RFC 792; obsolete by RFC 6633).
    SourceQuench,
    /// The peer echoes a congestion mark (RFC 3168).
    EcnEcho,
    /// The route to the destination has failed (chandran-1998 §4: RFN).
    RouteFailed,
    /// There is a route to the destination again (chandran-1998 §4: RRN).
    RouteRestored,
}

/// What cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The network.
    Net,
    /// The host.
    Host,
}

/// A link that does not carry any more, in the direction of the packets that it does not carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FailedLink {
    /// Who can't send over it: the failure point.
    pub from: Ipv4Addr,
    /// Whom it can't reach.
    pub to: Ipv4Addr,
}

/// Where a signal comes from and what it speaks of; each field where known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct About {
    /// The destination that cannot be reached, or that is congested.
    pub destination: Option<Ipv4Addr>,
    /// The flow whose packet drew the signal, in the packet's direction.
    pub flow: Option<FlowKey>,
    /// The sequence number the quoted packet began with.
    pub seq: Option<Seq>,
    /// The sequence numbers concerned.
    pub range: Option<SeqRange>,
    /// The link whose failure, or return, it is about.
    pub failed_link: Option<FailedLink>,
    /// Who reports it.
    pub reporter: Option<Ipv4Addr>,
}

impl Signal {
    /// A signal of which nothing else is known.
    pub fn of(kind: SignalKind) -> Self {
        Self { kind, about: About::default() }
    }
}
