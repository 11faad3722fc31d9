//! The eleven states of a connection (RFC 9293 §3.3.2) and their transitions. The running code uses
//! this table, and the diagram in `docs/` is generated from it.

use alloc::string::String;
use core::fmt::Write;

/// A state of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// No connection.
    Closed,
    /// Waiting for a SYN.
    Listen,
    /// SYN sent, waiting for the peer's.
    SynSent,
    /// SYN sent and received, waiting for its acknowledgment.
    SynReceived,
    /// Open in both directions.
    Established,
    /// We closed; the FIN is not acknowledged.
    FinWait1,
    /// We closed; the peer has not.
    FinWait2,
    /// The peer closed; we have not.
    CloseWait,
    /// Both closed at once; our FIN is not acknowledged.
    Closing,
    /// The peer closed first; our FIN is not acknowledged.
    LastAck,
    /// Both closed; delayed segments may still arrive.
    TimeWait,
}

/// The event of a state transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// The user listens.
    PassiveOpen,
    /// The user connects.
    ActiveOpen,
    /// A SYN without an acknowledgment of ours.
    Syn,
    /// A SYN that acknowledges ours.
    SynAck,
    /// Our SYN is acknowledged.
    AckOfSyn,
    /// The user closes.
    Close,
    /// The peer's FIN, and everything before it, has arrived.
    Fin,
    /// Our FIN is acknowledged.
    AckOfFin,
    /// Two maximum segment lifetimes have passed.
    TwoMsl,
    /// A reset, or another SYN, in SYN-RECEIVED after a passive open.
    ResetOfPassive,
    /// A reset, an abort, or too many retransmissions.
    Reset,
}

use State as S;
use Transition as C;

/// State before, transition, state after.
const TRANSITIONS: &[(State, Transition, State)] = &[
    (S::Closed, C::PassiveOpen, S::Listen),
    (S::Closed, C::ActiveOpen, S::SynSent),
    (S::Listen, C::Syn, S::SynReceived),
    (S::Listen, C::Close, S::Closed),
    (S::SynSent, C::SynAck, S::Established),
    (S::SynSent, C::Syn, S::SynReceived),
    (S::SynSent, C::Close, S::Closed),
    (S::SynReceived, C::AckOfSyn, S::Established),
    (S::SynReceived, C::ResetOfPassive, S::Listen),
    (S::Established, C::Close, S::FinWait1),
    (S::Established, C::Fin, S::CloseWait),
    (S::FinWait1, C::AckOfFin, S::FinWait2),
    (S::FinWait1, C::Fin, S::Closing),
    (S::FinWait2, C::Fin, S::TimeWait),
    (S::Closing, C::AckOfFin, S::TimeWait),
    (S::CloseWait, C::Close, S::LastAck),
    (S::LastAck, C::AckOfFin, S::Closed),
    (S::TimeWait, C::TwoMsl, S::Closed),
    (S::Listen, C::Reset, S::Closed),
    (S::SynSent, C::Reset, S::Closed),
    (S::SynReceived, C::Reset, S::Closed),
    (S::Established, C::Reset, S::Closed),
    (S::FinWait1, C::Reset, S::Closed),
    (S::FinWait2, C::Reset, S::Closed),
    (S::CloseWait, C::Reset, S::Closed),
    (S::Closing, C::Reset, S::Closed),
    (S::LastAck, C::Reset, S::Closed),
    (S::TimeWait, C::Reset, S::Closed),
];

impl State {
    /// The state to which `transition` leads; `None` if it is not possible in this state.
    pub fn next(self, transition: Transition) -> Option<Self> {
        TRANSITIONS.iter().find(|(from, by, _)| *from == self && *by == transition).map(|t| t.2)
    }

    /// ESTABLISHED or later: both ends know each other's sequence numbers.
    pub const fn is_synchronized(self) -> bool {
        !matches!(self, Self::Closed | Self::Listen | Self::SynSent | Self::SynReceived)
    }
    /// True if the peer may still send data.
    pub const fn may_receive(self) -> bool {
        matches!(self, Self::Established | Self::FinWait1 | Self::FinWait2)
    }
    /// True if data or a FIN of ours may still be sent.
    pub const fn may_send(self) -> bool {
        matches!(
            self,
            Self::Established | Self::CloseWait | Self::FinWait1 | Self::Closing | Self::LastAck
        )
    }
    /// Name in RFC 9293.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "CLOSED",
            Self::Listen => "LISTEN",
            Self::SynSent => "SYN-SENT",
            Self::SynReceived => "SYN-RECEIVED",
            Self::Established => "ESTABLISHED",
            Self::FinWait1 => "FIN-WAIT-1",
            Self::FinWait2 => "FIN-WAIT-2",
            Self::CloseWait => "CLOSE-WAIT",
            Self::Closing => "CLOSING",
            Self::LastAck => "LAST-ACK",
            Self::TimeWait => "TIME-WAIT",
        }
    }
}

/// The state diagram in the DOT language, without resets.
pub fn state_diagram() -> String {
    let mut dot = String::from("digraph tcp {\n");
    for (from, transition, to) in
        TRANSITIONS.iter().filter(|(_, transition, _)| *transition != C::Reset)
    {
        // Writing to a String cannot fail.
        let _ =
            writeln!(dot, "  \"{}\" -> \"{}\" [label=\"{transition:?}\"];", from.name(), to.name());
    }
    dot.push_str("}\n");
    dot
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_committed_diagram_is_up_to_date() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/states.dot");
        if std::env::var_os("DRIFTWAY_BLESS").is_some() {
            std::fs::write(file, state_diagram()).expect("docs/ can be written");
        }
        let committed = std::fs::read_to_string(file).expect("docs/ can be read");
        assert_eq!(state_diagram(), committed, "`make diagrams` regenerates it");
    }

    #[test]
    fn no_state_has_two_successors_for_one_transition() {
        for (i, a) in TRANSITIONS.iter().enumerate() {
            assert!(!TRANSITIONS[..i].iter().any(|b| (a.0, a.1) == (b.0, b.1)), "{a:?}");
        }
    }
}
