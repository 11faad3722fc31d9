//! What becomes of a packet, by name, and how often that was so.

use driftway_base::Act;

/// Why a packet was passed on without being looked at further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UntouchedReason {
    /// IPv6, or no IP at all.
    NotIpv4,
    /// A piece of a packet.
    Fragment,
    /// Neither TCP nor an ICMP message about TCP.
    OtherProtocol,
    /// A length field contradicts another.
    Malformed,
    /// A checksum is wrong, so that nothing in the packet can be believed.
    Corrupt,
    /// Of a flow that is not followed: it is older than the shim, or has been given up.
    Older,
    /// The table of flows is full.
    NoRoom,
    /// A SYN with an option that the shim does not know (TCP-AO, MD5, MPTCP, Fast Open, …), or with
    /// data.
    UnknownOption,
    /// Both ends opened the connection at once.
    SimultaneousOpen,
    /// A handshake in which timestamps were not agreed on: nothing could be undone.
    NoTimestamps,
    /// The numbers of a segment are nowhere near the flow's, so that it may be anybody's (RFC 5961).
    Implausible,
    /// An ICMP message that is not about what is in flight (RFC 5927), or not about reachability.
    NotBelieved,
}

/// Why a packet was swallowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiscardReason {
    /// A retransmission of the local TCP of what the aid repairs; the original is stored.
    RetransmissionInHold,
    /// A retransmission of the local TCP of what the shim is repairing, or has had acknowledged.
    RetransmissionInRepair,
    /// An acknowledgment of the peer during repair; what it says is told later.
    AckHeld,
    /// The aid does not want it to be seen.
    ByAid,
    /// A reset by which the kernel answers what the shim has made up: no socket took that.
    ResetOfOwn,
}

/// What the driver has to do with a packet that it has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketDisposition {
    /// Hand it on as it is now, edited or not.
    Pass,
    /// It is not the shim's business: hand it on; not a bit was changed.
    Untouched(UntouchedReason),
    /// Drop it: the shim has a copy and sends that when it is time.
    Stored,
    /// Drop it.
    Discarded(DiscardReason),
}

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// How often what happened, since the start.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counts {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Counts {
            /// Each count with its name, in the order of the fields.
            pub fn each(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name),)*].into_iter()
            }
        }
    };
}

counts! {
    /// Packets that were shown.
    shown,
    /// [`Fate::Pass`]
    passed,
    /// [`Fate::Stored`]
    stored,
    /// [`Untouched::NotIpv4`]
    not_ipv4,
    /// [`Untouched::Fragment`]
    fragments,
    /// [`Untouched::OtherProtocol`]
    other_protocol,
    /// [`Untouched::Malformed`]
    malformed,
    /// [`Untouched::Corrupt`]
    corrupt,
    /// [`Untouched::Older`]
    older,
    /// [`Untouched::NoRoom`]
    no_room,
    /// [`Untouched::UnknownOption`]
    unknown_option,
    /// [`Untouched::SimultaneousOpen`]
    simultaneous_open,
    /// [`Untouched::NoTimestamps`]
    no_timestamps,
    /// [`Untouched::Implausible`]
    implausible,
    /// [`Untouched::NotBelieved`]
    not_believed,
    /// [`Swallowed::RetransmissionInHold`]
    retransmissions_in_hold,
    /// [`Swallowed::RetransmissionInRepair`]
    retransmissions_in_repair,
    /// [`Swallowed::AckHeld`]
    acks_held,
    /// ICMP messages that were taken for the signal of an outage.
    icmp_taken,
    /// [`Swallowed::ByAid`]
    swallowed_by_aid,
    /// [`Swallowed::ResetOfOwn`]
    resets_of_own,
    /// Segments that passed without being stored, because a bound did not allow it.
    not_stored,
    /// Flows that were followed.
    flows,
    /// Flows that were given up because the shim could not follow them.
    lost_track,
    /// Flows of which the local TCP has been silent for so long, with data outstanding, that it must
    /// have given them up ([`Config::forget_after`](crate::Config::forget_after)).
    given_up,
    /// Acknowledgments whose echo became the original's.
    echoes_rewritten,
    /// Reductions of the local TCP's window that were undone, as far as the shim can tell.
    undone,
    /// Segments with data whose acknowledgment number was held back.
    acks_lowered,
    /// Acknowledgments of one byte with the original's echo, made up to undo a timeout.
    undo_acks,
    /// Acknowledgments that were made up to end an outage.
    releases,
    /// Acknowledgments of the local TCP that were sent again, because the path was said to be back and
    /// there was nothing else to tell the peer by.
    announced,
    /// Acknowledgments of which two bytes were held back.
    held_back,
    /// Stored segments sent while there was no path, to see whether there is one.
    probes,
    /// Stored segments sent on the restored path, the first time.
    originals_sent,
    /// Stored segments sent once more, because they were lost again on the restored path, or because the
    /// aid asked for it.
    repaired,
    /// A router's messages repeated to the local TCP, about what it has sent again.
    reports_repeated,
    /// Outages that began.
    outages,
    /// Flows that were given up because nothing of the local TCP's carried what the shim wanted to send.
    no_carrier,
    /// Repairs of which nothing arrived although the peer was heard, so that they were left to the
    /// local TCP.
    left_to_tcp,
    /// Outages after which the flow went on.
    survived,
    /// Resets whose number is not the one that the local TCP expects (RFC 5961 §3).
    resets_not_believed,
    /// Acknowledgments of the local TCP made up because the aid asked for it.
    emitted,
    /// `Act::Hold` that can't be done.
    refused_hold,
    /// `Act::Resume` of which not all can be done.
    refused_resume,
    /// `Act::Resend` of what is not stored.
    refused_resend,
    /// `Act::Undo` where there is nothing to undo, or congestion was echoed.
    refused_undo,
    /// `Act::Cut` without ECN.
    refused_cut,
    /// `Act::SetTimer`, which can't be done.
    refused_set_timer,
    /// `Act::Limit`, which can't be done.
    refused_limit,
    /// `Act::Emit` of what the local TCP has not acknowledged.
    refused_emit,
    /// `Act::Seek` of an echo, which can't be done.
    refused_seek,
    /// Segments that the aid would keep back, or replace by something else than one with a smaller
    /// window; they passed as they were.
    refused_verdict,
}

impl Counts {
    /// Enters an act that was refused.
    pub(crate) fn count_refusal(&mut self, act: &Act) {
        let place = match act {
            Act::Hold { .. } => &mut self.refused_hold,
            Act::Resume { .. } => &mut self.refused_resume,
            Act::Resend { .. } => &mut self.refused_resend,
            Act::Undo => &mut self.refused_undo,
            Act::ReduceCwnd => &mut self.refused_cut,
            Act::SetTimeoutResponse { .. } => &mut self.refused_set_timer,
            Act::LimitCwnd { .. } => &mut self.refused_limit,
            Act::SendAcks { .. } => &mut self.refused_emit,
            Act::ProbeRoute(_) => &mut self.refused_seek,
        };
        *place += 1;
    }

    /// Enters what became of a packet.
    pub(crate) fn count_disposition(&mut self, fate: PacketDisposition) {
        self.shown += 1;
        let place = match fate {
            PacketDisposition::Pass => &mut self.passed,
            PacketDisposition::Stored => &mut self.stored,
            PacketDisposition::Untouched(reason) => match reason {
                UntouchedReason::NotIpv4 => &mut self.not_ipv4,
                UntouchedReason::Fragment => &mut self.fragments,
                UntouchedReason::OtherProtocol => &mut self.other_protocol,
                UntouchedReason::Malformed => &mut self.malformed,
                UntouchedReason::Corrupt => &mut self.corrupt,
                UntouchedReason::Older => &mut self.older,
                UntouchedReason::NoRoom => &mut self.no_room,
                UntouchedReason::UnknownOption => &mut self.unknown_option,
                UntouchedReason::SimultaneousOpen => &mut self.simultaneous_open,
                UntouchedReason::NoTimestamps => &mut self.no_timestamps,
                UntouchedReason::Implausible => &mut self.implausible,
                UntouchedReason::NotBelieved => &mut self.not_believed,
            },
            PacketDisposition::Discarded(reason) => match reason {
                DiscardReason::RetransmissionInHold => &mut self.retransmissions_in_hold,
                DiscardReason::RetransmissionInRepair => &mut self.retransmissions_in_repair,
                DiscardReason::AckHeld => &mut self.acks_held,
                DiscardReason::ByAid => &mut self.swallowed_by_aid,
                DiscardReason::ResetOfOwn => &mut self.resets_of_own,
            },
        };
        *place += 1;
    }
}
