//! What an aid learns from the network or from its own host. No consumer sees ICMP or route-error
//! formats: whoever receives those turns them into a [`Signal`].

use crate::{Duration, FlowKey, Ipv4Addr, Seq, SeqRange, TcpView};

/// Something happened that TCP itself would not see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// What happened.
    pub kind: SignalKind,
    /// What is known about it.
    pub details: SignalDetails,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalKind {
    /// A router has no way to the destination (ICMP destination unreachable, RFC 792).
    Unreachable(UnreachableScope),
    /// A router asks to send less (ICMP source quench, RFC 792; obsolete by RFC 6633).
    SourceQuench,
    /// The peer echoes a congestion mark (RFC 3168).
    EcnEcho,
    /// The route to the destination has failed (chandran-1998 §4: RFN). From routers, or from the own
    /// node's routing.
    RouteFailed,
    /// There is a route to the destination again (chandran-1998 §4: RRN). From routers, from the own
    /// node's routing, or because the peer has answered an echo.
    RouteRestored,
    /// Packets of this flow did not arrive over a link that failed (yu-2004 §4.3). From the node that
    /// found out, by way of routing.
    PacketLost {
        /// What they carried.
        ranges: SeqRanges,
        /// What became of them.
        disposition: PacketDisposition,
    },
    /// The own node's routing looks for a route to the destination (yu-2004 §3.2).
    RouteDiscovery,
    /// The own node's link, [`About::failed_link`], carries again.
    LinkUp,
    /// The own node's link, [`About::failed_link`], does not carry.
    LinkDown,
    /// The own node's link, [`About::failed_link`], will not carry much longer.
    LinkFading {
        /// How much longer, as far as one can know.
        expected_lifetime: Duration,
    },
}

/// What became of a packet that a failed link did not carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketDisposition {
    /// It is lost.
    Lost,
    /// It has another route.
    Salvaged,
}

/// Some ranges of sequence numbers, as a notice can hold: up to [`MOST`](Self::MOST), oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SeqRanges {
    list: [SeqRange; Self::MOST],
    len: u8,
}

impl SeqRanges {
    /// How many ranges there is room for: as many segments as yu-2004's window has.
    pub const MAX: usize = 8;

    /// Adds a range, into the one before where the two touch. What there is no room for is left out;
    /// was there?
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

/// What cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnreachableScope {
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
pub struct SignalDetails {
    /// The destination that cannot be reached, or that is congested.
    pub destination: Option<Ipv4Addr>,
    /// The flow whose packet drew the signal, in the packet's direction.
    pub flow: Option<FlowKey>,
    /// The sequence number the quoted packet began with.
    pub seq: Option<Seq>,
    /// The link whose failure, or return, it is about.
    pub failed_link: Option<FailedLink>,
    /// Who reports it.
    pub reporter: Option<Ipv4Addr>,
}

impl Signal {
    /// A signal of which nothing else is known.
    pub fn new(kind: SignalKind) -> Self {
        Self { kind, details: SignalDetails::default() }
    }

    /// Is it about the connection whose packets are `flow`, and is the number that it quotes outstanding
    /// there (RFC 5927 §4.1)? What is not known of it is not asked. That a route has failed is also
    /// said about an acknowledgment without data, which begins where the next data will
    /// (chandran-1998 §5.4: each packet draws an RFN).
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
    fn ranges_that_touch_are_one_and_the_rest_is_left_out() {
        let nth = |n: u32| SeqRange::new(Seq(n * 100), Seq(n * 100 + 100));
        let mut ranges = SeqRanges::default();
        assert!(ranges.push(nth(0)) && ranges.push(nth(1)));
        assert_eq!(ranges.as_slice(), [SeqRange::new(Seq(0), Seq(200))]);
        assert!((1..8).all(|n| ranges.push(nth(3 * n))));
        assert!(!ranges.push(nth(90)) && ranges.as_slice().len() == SeqRanges::MAX);
        assert!(ranges.push(nth(22)), "it touches the last");
        assert_eq!(ranges.as_slice()[7], SeqRange::new(Seq(2100), Seq(2300)));
    }

    #[test]
    fn a_signal_is_for_the_flow_and_the_numbers_that_it_quotes() {
        use crate::{Endpoint, Known};
        let end = |host, port| Endpoint::new(Ipv4Addr::new(10, 0, 0, host), port);
        let flow = FlowKey { source: end(1, 1000), destination: end(2, 80) };
        let view = TcpView {
            snd_una: Known::Exact(Seq(u32::MAX - 9)),
            snd_max: Known::Exact(Seq(90)),
            ..TcpView::default()
        };
        let concerns = |kind, flow_of_it, seq| {
            let about = SignalDetails { flow: flow_of_it, seq, ..SignalDetails::default() };
            Signal { kind, details: about }.concerns(flow, &view)
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
