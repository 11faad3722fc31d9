//! State for undoing the last response to a loss that may be spurious (RFC 3522, RFC 4015, RFC
//! 3708).

use driftway_base::{Duration, Seq, SeqRange};
use driftway_wire::TcpSegment;

/// A response to a loss that may still turn out to be spurious.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UndoState {
    /// The reduction was in response to a timeout, not to duplicates.
    by_timeout: bool,
    /// SND.UNA at the response.
    start_una: Seq,
    /// The response is complete once more than this is acknowledged; D-SACKs may come later.
    end_seq: Seq,
    awaiting_late_dsacks: bool,
    /// One past the highest sequence number retransmitted.
    retransmitted_end: Seq,
    /// Retransmitted bytes not yet reported by D-SACK.
    bytes_without_dsack: u32,
    /// Our timestamp in the first retransmission of the segment at SND.UNA (RFC 3522 §3.2:
    /// RetransmitTS), until the first acknowledgment.
    retransmit_ts: Option<u32>,
    first_ack_received: bool,
    /// SRTT and RTTVAR before the response (RFC 4015 §3.2, step 0).
    prior_rtt: Option<(Duration, Duration)>,
}

/// SRTT and RTTVAR from before a spurious timeout, to be combined with the next sample of new data
/// (RFC 4015 §3.2, step 11).
#[derive(Clone, Copy, Debug)]
pub(crate) struct PriorRtt {
    after: Seq,
    srtt: Duration,
    rttvar: Duration,
}

impl PriorRtt {
    /// Estimates to be combined with the next sample of data beyond `after`.
    pub fn new(after: Seq, srtt: Duration, rttvar: Duration) -> Self {
        Self { after, srtt, rttvar }
    }

    /// The combined estimates after a sample `rtt` from the acknowledgment `ack`.
    pub fn combined_with(&self, ack: Seq, rtt: Duration) -> Option<(Duration, Duration)> {
        let both = (self.srtt.max(rtt), self.rttvar.max(rtt.over(2)));
        ack.after(self.after).then_some(both)
    }
}

impl UndoState {
    /// Starts at `una`; `max` is SND.MAX, `open` the previous response, and `prior_rtt` the
    /// present estimates (SRTT_prev, RTTVAR_prev).
    pub fn new(
        by_timeout: bool,
        una: Seq,
        max: Seq,
        open: Option<Self>,
        prior_rtt: Option<(Duration, Duration)>,
    ) -> Self {
        let open = open.filter(|state| una.before(state.retransmitted_end));
        Self {
            by_timeout,
            start_una: una,
            end_seq: max,
            awaiting_late_dsacks: false,
            retransmitted_end: una,
            bytes_without_dsack: open.map_or(0, |state| state.bytes_without_dsack),
            retransmit_ts: None,
            first_ack_received: false,
            prior_rtt,
        }
    }

    /// True if it started at `una`.
    pub fn started_at(&self, una: Seq) -> bool {
        self.start_una == una
    }

    /// SND.UNA at the response.
    pub fn start(&self) -> Seq {
        self.start_una
    }

    /// Merges another response at the same SND.UNA: a second timeout of the same segment belongs to
    /// the first (RFC 3522 §3.2, step 2).
    pub fn merge(&mut self, by_timeout: bool) {
        self.by_timeout |= by_timeout;
    }

    /// RetransmitTS, until the first acknowledgment.
    pub fn retransmit_ts(&self) -> Option<u32> {
        self.retransmit_ts
    }

    /// The estimates from before a timeout.
    pub fn prior_rtt(&self) -> Option<(Duration, Duration)> {
        self.prior_rtt.filter(|_| self.by_timeout)
    }

    /// Records a retransmission with our timestamp `now`.
    pub fn on_retransmission(&mut self, range: SeqRange, now: u32) {
        self.bytes_without_dsack = self.bytes_without_dsack.saturating_add(range.len());
        self.retransmitted_end = self.retransmitted_end.max(range.end);
        // RFC 3522 §3.2, step 2: only of the oldest segment, and of no later one while that is
        // outstanding.
        if !self.first_ack_received && range.start == self.start_una {
            self.retransmit_ts.get_or_insert(now);
        }
    }

    /// Handles an advance of SND.UNA; false once the response is final.
    pub fn on_una_advanced(&mut self, una: Seq, max: Seq) -> bool {
        self.first_ack_received = true;
        self.retransmit_ts = None;
        if una.before(self.end_seq) {
            return true;
        }
        // All retransmissions have been answered once everything sent until now is acknowledged.
        let is_valid = !self.awaiting_late_dsacks || una == self.end_seq;
        (self.awaiting_late_dsacks, self.end_seq) =
            (true, if self.awaiting_late_dsacks { self.end_seq } else { max });
        is_valid
    }

    /// Handles a D-SACK for `range`; true if it was the last of the retransmitted bytes.
    pub fn on_dsack(&mut self, range: SeqRange) -> bool {
        let from = |seq: Seq| seq.since(self.start_una);
        let ours =
            from(range.start) < from(range.end) && from(range.end) <= from(self.retransmitted_end);
        if !ours || self.bytes_without_dsack == 0 {
            return false;
        }
        self.bytes_without_dsack = self.bytes_without_dsack.saturating_sub(range.len());
        self.bytes_without_dsack == 0
    }
}

/// The D-SACK block of a segment: a first block below the acknowledgment, or within the second
/// block (RFC 2883 §4).
pub(crate) fn dsack_block(segment: &TcpSegment) -> Option<SeqRange> {
    let blocks = segment.options.sack.as_slice();
    let first = *blocks.first()?;
    let within = |outer: &SeqRange| {
        outer.start.at_or_before(first.start) && first.end.at_or_before(outer.end)
    };
    let twice = first.end.at_or_before(segment.ack) || blocks.get(1).is_some_and(within);
    (first.start.before(first.end) && twice).then_some(first)
}
