//! Notifications to an aid from the network or the local host. Aids see no ICMP or route-error formats: the
//! receiver of such a message converts it to a [`Signal`].

use crate::{Duration, FlowKey, Ipv4Addr, Seq, SeqRange, TcpView};

/// A network event that TCP itself does not observe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// The event.
    pub kind: SignalKind,
    /// Known details of the event.
    pub details: SignalDetails,
}

/// Kinds of network events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalKind {
    /// A router has no route to the destination (ICMP destination unreachable, RFC 792); in scenarios `feedback`,
    /// or `signal` of a fault, `= "icmp-unreachable"`.
    Unreachable(UnreachableScope),
    /// A router requests a lower sending rate (ICMP source quench, RFC 792; obsoleted by RFC 6633).
    SourceQuench,
    /// The peer echoes a congestion mark (ECE, RFC 3168).
    EcnEcho,
    /// The route to the destination has failed (RFN, chandran-1998 §4). Sent by routers or by the local
    /// node's routing protocol; in scenarios `feedback`, or `signal` of a fault, `= "rfn"`.
    RouteFailed,
    /// A route to the destination is available again (RRN, chandran-1998 §4). Sent by routers or by the local
    /// node's routing protocol, or raised when the peer answers an echo request.
    RouteRestored,
    /// Packets of this flow were not delivered over a failed link (yu-2004 §4.3). Sent by the node that
    /// detected the failure, through the routing protocol.
    PacketLost {
        /// Sequence ranges of the packets.
        ranges: SeqRanges,
        /// Disposition of the packets.
        disposition: PacketDisposition,
    },
    /// The local node's routing protocol searches for a route to the destination (yu-2004 §3.2).
    RouteDiscovery,
    /// The local node's link [`SignalDetails::failed_link`] is up again.
    LinkUp,
    /// The local node's link [`SignalDetails::failed_link`] is down.
    LinkDown,
    /// The local node's link [`SignalDetails::failed_link`] is expected to fail soon.
    LinkFading {
        /// Estimated time until the link fails.
        expected_lifetime: Duration,
    },
}

/// Disposition of a packet that could not be sent over a failed link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketDisposition {
    /// The packet is lost.
    Lost,
    /// The packet was salvaged: it is forwarded on another route.
    Salvaged,
}

/// A list of sequence ranges of bounded size ([`MAX`](Self::MAX)), oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SeqRanges {
    list: [SeqRange; Self::MAX],
    len: u8,
}

impl SeqRanges {
    /// Maximum number of ranges: the window of yu-2004 in segments.
    pub const MAX: usize = 8;

    /// Appends a range, merging it with the last one if they are adjacent. Returns false if there is no space
    /// left; the range is then not added.
    pub fn push(&mut self, range: SeqRange) -> bool {
        let len = usize::from(self.len);
        if let Some(last) = len.checked_sub(1).and_then(|last| self.list.get_mut(last))
            && last.end == range.start
        {
            last.end = range.end;
            return true;
        }
        let Some(free) = self.list.get_mut(len) else { return false };
        *free = range;
        self.len += 1;
        true
    }

    /// The ranges.
    pub fn as_slice(&self) -> &[SeqRange] {
        self.list.get(..usize::from(self.len)).unwrap_or_default()
    }
}

/// Scope of an unreachable destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnreachableScope {
    /// The destination's network.
    Net,
    /// The destination host.
    Host,
}

/// A failed link, in the direction of the packets that could not be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FailedLink {
    /// The failure point: the node that cannot send over the link.
    pub from: Ipv4Addr,
    /// The neighbour that it cannot reach.
    pub to: Ipv4Addr,
}

/// Origin and subject of a signal; `None` where unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SignalDetails {
    /// The destination that is unreachable or congested.
    pub destination: Option<Ipv4Addr>,
    /// The flow of the packet that triggered the signal, in the packet's direction.
    pub flow: Option<FlowKey>,
    /// The first sequence number of the quoted packet.
    pub seq: Option<Seq>,
    /// The link that failed or recovered.
    pub failed_link: Option<FailedLink>,
    /// The node that reports the event.
    pub reporter: Option<Ipv4Addr>,
}

impl Signal {
    /// A signal without details.
    pub fn new(kind: SignalKind) -> Self {
        Self { kind, details: SignalDetails::default() }
    }

    /// Returns true if the signal refers to the connection whose packets are `flow`, and the quoted sequence
    /// number is outstanding there (RFC 5927 §4.1). Unknown details are not checked. A route failure may also
    /// quote an acknowledgment without data, whose sequence number is SND.MAX (chandran-1998 §5.4: each
    /// packet triggers an RFN).
    pub fn concerns(&self, flow: FlowKey, view: &TcpView) -> bool {
        let is_outstanding = |seq| {
            view.outstanding().is_some_and(|range| range.contains(seq))
                || self.kind == SignalKind::RouteFailed && view.snd_max.value() == Some(seq)
        };
        self.details.flow.is_none_or(|about| about == flow)
            && self.details.seq.is_none_or(is_outstanding)
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn adjacent_ranges_are_merged_and_a_full_list_rejects_more() {
        let nth = |n: u32| SeqRange::new(Seq(n * 100), Seq(n * 100 + 100));
        let mut ranges = SeqRanges::default();
        assert!(ranges.push(nth(0)) && ranges.push(nth(1)));
        assert_eq!(ranges.as_slice(), [SeqRange::new(Seq(0), Seq(200))]);
        assert!((1..8).all(|n| ranges.push(nth(3 * n))));
        assert!(!ranges.push(nth(90)) && ranges.as_slice().len() == SeqRanges::MAX);
        assert!(ranges.push(nth(22)), "adjacent to the last range");
        assert_eq!(ranges.as_slice()[7], SeqRange::new(Seq(2100), Seq(2300)));
    }

    #[test]
    fn a_signal_concerns_the_quoted_flow_and_outstanding_numbers() {
        use crate::{Endpoint, Known};
        let end = |host, port| Endpoint::new(Ipv4Addr::new(10, 0, 0, host), port);
        let flow = FlowKey { source: end(1, 1000), destination: end(2, 80) };
        let view = TcpView {
            snd_una: Known::Exact(Seq(u32::MAX - 9)),
            snd_max: Known::Exact(Seq(90)),
            ..TcpView::default()
        };
        let concerns = |kind, flow_of_it, seq| {
            let details = SignalDetails { flow: flow_of_it, seq, ..SignalDetails::default() };
            Signal { kind, details }.concerns(flow, &view)
        };
        let unreachable = SignalKind::Unreachable(UnreachableScope::Net);
        assert!(concerns(unreachable, None, None) && concerns(unreachable, Some(flow), None));
        let back = FlowKey { source: flow.destination, destination: flow.source };
        let other = FlowKey { destination: end(3, 80), ..flow };
        assert!(![back, other].into_iter().any(|flow| concerns(unreachable, Some(flow), None)));
        for (seq, is_outstanding) in [(u32::MAX - 10, false), (u32::MAX - 9, true), (89, true)] {
            assert_eq!(concerns(unreachable, None, Some(Seq(seq))), is_outstanding, "{seq}");
            assert_eq!(concerns(SignalKind::RouteFailed, None, Some(Seq(seq))), is_outstanding);
        }
        // An acknowledgment without data.
        assert!(!concerns(unreachable, None, Some(Seq(90))));
        assert!(concerns(SignalKind::RouteFailed, None, Some(Seq(90))));
        assert!(!concerns(SignalKind::RouteFailed, None, Some(Seq(91))));
    }
}
