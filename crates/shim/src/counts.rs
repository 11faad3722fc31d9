//! Packet dispositions and event counters.

use driftway_aid::LossDecisions;
use driftway_base::Act;

/// Reason for which a packet is passed on unprocessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UntouchedReason {
    /// IPv6, or no IP at all.
    NotIpv4,
    /// An IP fragment.
    Fragment,
    /// Neither TCP nor an ICMP message about TCP.
    OtherProtocol,
    /// A length field contradicts another.
    Malformed,
    /// A checksum is wrong: nothing in the packet can be trusted.
    Corrupt,
    /// A segment of an untracked flow: one that is older than the shim, or that the shim has given
    /// up.
    Preexisting,
    /// The connection table is full.
    NoRoom,
    /// A SYN with an unknown option (TCP-AO, MD5, MPTCP, Fast Open, …), or with data.
    UnknownOption,
    /// A simultaneous open (RFC 9293 §3.5).
    SimultaneousOpen,
    /// Timestamps were not negotiated in the handshake: no loss or timeout could be undone.
    NoTimestamps,
    /// Sequence or acknowledgment number outside the flow's windows: possibly forged (RFC 5961).
    Implausible,
    /// An ICMP message that does not quote data in flight (RFC 5927), or is not about reachability.
    IcmpRejected,
}

/// Reason for which a packet is discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiscardReason {
    /// A retransmission by the local TCP while the aid repairs the loss; the original is stored.
    RetransmissionInHold,
    /// A retransmission by the local TCP of data under repair or already acknowledged by the peer.
    RetransmissionInRepair,
    /// A pure acknowledgment by the peer during repair; its content is reported later.
    AckHeld,
    /// The aid drops it.
    ByAid,
    /// A reset with which the kernel answers an injected segment that no socket accepted.
    ResetOfOwn,
}

/// Instruction to the driver for a packet that was passed to the shim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketAction {
    /// Forward the packet; nothing was changed.
    Pass,
    /// Forward the packet as it was edited.
    Edited,
    /// Forward the packet; it was not changed.
    Untouched(UntouchedReason),
    /// Drop the packet: the shim has a copy, which it sends later.
    Stored,
    /// Drop the packet.
    Discarded(DiscardReason),
}

macro_rules! counts {
    ($($(#[doc = $doc:literal])+ $name:ident,)*) => {
        /// Event counters since the start.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counts {
            $($(#[doc = $doc])+ pub $name: u64,)*
            /// Decisions of the aids about losses.
            pub loss_decisions: LossDecisions,
        }

        impl Counts {
            /// Each counter with its name, in declaration order.
            pub fn each(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name),)*].into_iter()
            }

            /// Each counter's name and description, in declaration order.
            pub fn descriptions() -> impl Iterator<Item = (&'static str, &'static str)> {
                [$((stringify!($name), concat!($($doc),+).trim_ascii()),)*].into_iter()
            }
        }
    };
}

counts! {
    /// Packets passed to the shim.
    intercepted,
    /// Packets that passed while the shim got copies: nothing was wrong with their flows.
    watched,
    /// Packets forwarded after processing.
    passed,
    /// Packets of which the shim has a copy, which it sends later.
    stored,
    /// Packets passed on unprocessed: IPv6, or no IP at all.
    not_ipv4,
    /// Packets passed on unprocessed: an IP fragment.
    fragments,
    /// Packets passed on unprocessed: neither TCP nor an ICMP message about TCP.
    other_protocol,
    /// Packets passed on unprocessed: a length field contradicts another.
    malformed,
    /// Packets passed on unprocessed: a checksum is wrong.
    corrupt,
    /// Packets passed on unprocessed: segments of flows that are older than the shim, or that it has
    /// given up.
    preexisting,
    /// Packets passed on unprocessed: the connection table is full.
    table_full,
    /// Packets passed on unprocessed: a SYN with an unknown option (TCP-AO, MD5, MPTCP, Fast Open,
    /// …), or with data.
    unknown_option,
    /// Packets passed on unprocessed: a simultaneous open (RFC 9293 §3.5).
    simultaneous_open,
    /// Packets passed on unprocessed: timestamps were not negotiated in the handshake, so that
    /// no loss or timeout could be undone.
    no_timestamps,
    /// Packets passed on unprocessed: sequence or acknowledgment number outside the flow's windows,
    /// possibly forged (RFC 5961).
    implausible,
    /// Packets passed on unprocessed: an ICMP message that does not quote data in flight (RFC
    /// 5927), or is not about reachability.
    icmp_rejected,
    /// Packets discarded: a retransmission by the local TCP while the aid repairs the loss; the
    /// original is stored.
    retransmissions_in_hold,
    /// Packets discarded: a retransmission by the local TCP of data under repair or already
    /// acknowledged by the peer.
    retransmissions_in_repair,
    /// Packets discarded: a pure acknowledgment by the peer during repair; its content is reported
    /// later.
    acks_withheld,
    /// ICMP messages accepted as the signal of an outage.
    icmp_accepted,
    /// Packets discarded by the aid.
    discarded_by_aid,
    /// Packets discarded: a reset with which the kernel answers an injected segment that no socket
    /// accepted.
    own_resets,
    /// Segments passed without being stored, because of a memory limit, or since they have passed by
    /// unseen.
    not_stored,
    /// Times at which segments were stored that the local TCP had not sent: the interface had refused
    /// them, but a copy was seen.
    not_sent,
    /// Flows tracked.
    flows,
    /// Flows given up because the shim lost track of their sequence numbers.
    tracking_lost,
    /// Flows given up because the local TCP, with data outstanding, sent nothing for
    /// the time after which a flow is forgotten.
    given_up,
    /// Acknowledgments whose TSecr was replaced by the original's TSval.
    echoes_rewritten,
    /// Congestion window reductions of the local TCP that were undone, as far as the shim can observe.
    undone,
    /// Segments with data whose acknowledgment number was lowered.
    acks_lowered,
    /// Synthetic one-byte acknowledgments with the original's timestamp, sent to undo a timeout.
    undo_acks,
    /// Synthetic acknowledgments that end an outage.
    releases,
    /// Acknowledgments of the local TCP repeated to the peer after the path was restored with no
    /// data outstanding.
    announced,
    /// Segments whose acknowledgment number was lowered for the peer, by two bytes to keep data
    /// outstanding, or as the aid requested.
    held_back,
    /// Acknowledgments and windows that an aid withheld and the shim sent without it, because of the
    /// limit in time.
    ack_limits_ended,
    /// Stored segments sent as probes during an outage.
    probes,
    /// Stored segments sent for the first time on the restored path.
    originals_sent,
    /// Stored segments retransmitted after a loss on the restored path, or on request of the aid.
    repaired,
    /// ICMP messages of a router repeated to the local TCP about its retransmissions.
    reports_repeated,
    /// Outages begun.
    outages,
    /// Flows given up because no packet of the local TCP carried the shim's segment.
    no_carrier,
    /// Repairs given up and left to the local TCP: nothing of them arrived although the peer
    /// answered.
    repairs_abandoned,
    /// Outages survived.
    survived,
    /// Resets whose sequence number is not the one the local TCP expects (RFC 5961 §3).
    resets_rejected,
    /// Acknowledgments sent on request of the aid.
    acks_sent,
    /// Requests of the aid to hold segments that were not supported.
    refused_hold,
    /// Requests of the aid to resume that were not supported in full.
    refused_resume,
    /// Requests of the aid to resend segments that are not stored.
    refused_resend,
    /// Requests of the aid to undo a reduction, with nothing to undo, or while congestion was
    /// echoed.
    refused_undo,
    /// Requests of the aid to reduce the congestion window, without ECN.
    refused_reduce_cwnd,
    /// Requests of the aid to set the response to timeouts, which are not supported.
    refused_set_timeout_response,
    /// Requests of the aid to limit the congestion window, which are not supported.
    refused_limit_cwnd,
    /// Requests of the aid for acknowledgments beyond what the local TCP has acknowledged, or while
    /// many others wait to be sent.
    refused_send_acks,
    /// Requests of the aid for a route probe by a single echo, which are not supported.
    refused_route_probe,
    /// Verdicts of the aid that hold a segment back, or replace more than its window by a smaller one
    /// and, in a segment for the network, its acknowledgment number by a lower one; the segments
    /// passed unchanged.
    refused_verdict,
}

impl Counts {
    /// Counts a refused act.
    pub(crate) fn count_refusal(&mut self, act: &Act) {
        let place = match act {
            Act::Hold { .. } => &mut self.refused_hold,
            Act::Resume { .. } => &mut self.refused_resume,
            Act::Resend { .. } => &mut self.refused_resend,
            Act::Undo => &mut self.refused_undo,
            Act::ReduceCwnd => &mut self.refused_reduce_cwnd,
            Act::SetTimeoutResponse { .. } => &mut self.refused_set_timeout_response,
            Act::LimitCwnd { .. } => &mut self.refused_limit_cwnd,
            Act::SendAcks { .. } => &mut self.refused_send_acks,
            Act::ProbeRoute(_) => &mut self.refused_route_probe,
        };
        *place += 1;
    }

    /// Counts a packet's action.
    pub(crate) fn count_action(&mut self, action: PacketAction) {
        self.intercepted += 1;
        let place = match action {
            PacketAction::Pass | PacketAction::Edited => &mut self.passed,
            PacketAction::Stored => &mut self.stored,
            PacketAction::Untouched(reason) => match reason {
                UntouchedReason::NotIpv4 => &mut self.not_ipv4,
                UntouchedReason::Fragment => &mut self.fragments,
                UntouchedReason::OtherProtocol => &mut self.other_protocol,
                UntouchedReason::Malformed => &mut self.malformed,
                UntouchedReason::Corrupt => &mut self.corrupt,
                UntouchedReason::Preexisting => &mut self.preexisting,
                UntouchedReason::NoRoom => &mut self.table_full,
                UntouchedReason::UnknownOption => &mut self.unknown_option,
                UntouchedReason::SimultaneousOpen => &mut self.simultaneous_open,
                UntouchedReason::NoTimestamps => &mut self.no_timestamps,
                UntouchedReason::Implausible => &mut self.implausible,
                UntouchedReason::IcmpRejected => &mut self.icmp_rejected,
            },
            PacketAction::Discarded(reason) => match reason {
                DiscardReason::RetransmissionInHold => &mut self.retransmissions_in_hold,
                DiscardReason::RetransmissionInRepair => &mut self.retransmissions_in_repair,
                DiscardReason::AckHeld => &mut self.acks_withheld,
                DiscardReason::ByAid => &mut self.discarded_by_aid,
                DiscardReason::ResetOfOwn => &mut self.own_resets,
            },
        };
        *place += 1;
    }
}
