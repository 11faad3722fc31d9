//! ATCP's four states and what moves it between them (liu-singh-2001 Fig. 2).

use alloc::string::String;

use crate::diagram::dot;

/// Where ATCP is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Counts duplicate acknowledgments and watches TCP's retransmission timer; invisible.
    Normal,
    /// Leaves TCP's response to congestion alone.
    Congested,
    /// Retransmits for a TCP that it keeps in persist mode.
    Loss,
    /// Waits for TCP's persist probes to find a route.
    Disconnected,
}

/// What moves ATCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The duplicate acknowledgment at which TCP would retransmit.
    ThirdDuplicate,
    /// TCP's retransmission timer would go off before ATCP looks again.
    TimeoutImminent,
    /// The peer acknowledges something for the first time.
    NewAck,
    /// The peer sends something for the first time.
    NewData,
    /// The peer echoes a congestion mark.
    CongestionEcho,
    /// A router asks to send less.
    SourceQuench,
    /// A router has no way to the destination.
    Unreachable,
    /// TCP sends what ends [`State::Congested`].
    TcpSends,
    /// TCP sends what it would not in persist mode.
    TcpLeavesPersist,
    /// The driver can't hold TCP, or not retransmit for it.
    Refused,
    /// There is no connection any more.
    Closed,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Normal, Self::Congested, Self::Loss, Self::Disconnected];

    /// The state after `cause`. Whatever is not listed changes nothing.
    #[must_use]
    pub const fn after(self, cause: Cause) -> Self {
        match (self, cause) {
            // liu-singh-2001 §III-A "Lossy Channel", §IV
            (Self::Normal, Cause::ThirdDuplicate | Cause::TimeoutImminent) => Self::Loss,
            (Self::Loss, Cause::NewAck | Cause::NewData) => Self::Normal,
            // liu-singh-2001 §III-A "Congested", "Other Transitions". A quench counts only in
            // loss: in the normal state there is nothing that ATCP would have to undo, and TCP
            // answers it by itself.
            (Self::Normal | Self::Loss, Cause::CongestionEcho) => Self::Congested,
            (Self::Loss, Cause::SourceQuench) => Self::Congested,
            (Self::Congested, Cause::TcpSends) => Self::Normal,
            // liu-singh-2001 §III-A "Disconnected", §IV atcp_notify()
            (_, Cause::Unreachable) => Self::Disconnected,
            (Self::Disconnected, Cause::TcpLeavesPersist) => Self::Normal,
            // Not in the paper, whose TCP can refuse nothing and whose ATCP dies with its TCP.
            (Self::Loss | Self::Disconnected, Cause::Refused) => Self::Normal,
            (_, Cause::Closed) => Self::Normal,
            (unmoved, _) => unmoved,
        }
    }

    /// Its name in traces and in the diagram.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Congested => "congested",
            Self::Loss => "loss",
            Self::Disconnected => "disconnected",
        }
    }
}

impl Cause {
    /// Every cause.
    pub const ALL: [Self; 11] = [
        Self::ThirdDuplicate,
        Self::TimeoutImminent,
        Self::NewAck,
        Self::NewData,
        Self::CongestionEcho,
        Self::SourceQuench,
        Self::Unreachable,
        Self::TcpSends,
        Self::TcpLeavesPersist,
        Self::Refused,
        Self::Closed,
    ];

    const fn label(self) -> &'static str {
        match self {
            Self::ThirdDuplicate => "third duplicate ACK",
            Self::TimeoutImminent => "RTO about to expire",
            Self::NewAck => "new ACK",
            Self::NewData => "new data (leave_loss = ack-or-data)",
            Self::CongestionEcho => "ECN echo",
            Self::SourceQuench => "source quench",
            Self::Unreachable => "destination unreachable",
            Self::TcpSends => "TCP sends",
            Self::TcpLeavesPersist => "TCP sends other than a probe",
            Self::Refused => "driver refuses",
            Self::Closed => "connection gone",
        }
    }
}

/// The state diagram in Graphviz' language, made from [`State::after`].
pub fn diagram() -> String {
    let arrows = State::ALL.into_iter().flat_map(|from| {
        let arrow = move |cause: Cause| (from.name(), from.after(cause).name(), cause.label());
        Cause::ALL.into_iter().map(arrow).filter(|(from, to, _)| from != to)
    });
    dot("atcp", State::Normal.name(), arrows)
}
