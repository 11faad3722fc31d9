//! The last response to a loss, while it may have been for nothing (RFC 3522, RFC 4015, RFC 3708).

use driftway_base::{Duration, Seq, SeqRange};
use driftway_wire::TcpSegment;

/// A response to a loss that may still turn out to have been for nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UndoState {
    /// To a timeout, or to duplicates?
    by_timeout: bool,
    /// SND.UNA when it began.
    start_una: Seq,
    /// Once more than this is acknowledged it is over; reports of duplicates may come later.
    end_seq: Seq,
    awaiting_late_dsacks: bool,
    /// One past the highest number sent again.
    retransmitted_end: Seq,
    /// Bytes sent again and not reported as duplicates.
    bytes_without_dsack: u32,
    /// Our timestamp in the first retransmission of what is at `start` (RFC 3522 §3.2:
    /// RetransmitTS), until the first acknowledgment has answered.
    retransmit_ts: Option<u32>,
    first_ack_received: bool,
    /// The estimator as it was (RFC 4015 §3.2, step 0).
    round_trip: Option<(Duration, Duration)>,
}

/// What the next round trip of new data is taken together with (RFC 4015 §3.2, step 11).
#[derive(Clone, Copy, Debug)]
pub(crate) struct PriorRtt {
    after: Seq,
    srtt: Duration,
    rttvar: Duration,
}

impl PriorRtt {
    /// The next round trip of what lies beyond `after` is taken together with these.
    pub fn new(after: Seq, srtt: Duration, variation: Duration) -> Self {
        Self { after, srtt, rttvar: variation }
    }

    /// What the estimator goes on with, once a round trip of `rtt` is measured by the
    /// acknowledgment `ack`.
    pub fn combined_with(&self, ack: Seq, rtt: Duration) -> Option<(Duration, Duration)> {
        let both = (self.srtt.max(rtt), self.rttvar.max(rtt.over(2)));
        ack.after(self.after).then_some(both)
    }
}

impl UndoState {
    /// One begins at `una`; `max` is the highest number sent, `open` the one before, and
    /// `round_trip` the estimator as it is (SRTT_prev, RTTVAR_prev).
    pub fn new(
        by_timeout: bool,
        una: Seq,
        max: Seq,
        open: Option<Self>,
        round_trip: Option<(Duration, Duration)>,
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
            round_trip,
        }
    }

    /// Has it begun at `una`?
    pub fn started_at(&self, una: Seq) -> bool {
        self.start_una == una
    }

    /// RFC 3522 §3.2, step 2: a second timeout of the same segment belongs to the first.
    pub fn merge(&mut self, by_timeout: bool) {
        self.by_timeout |= by_timeout;
    }

    /// RetransmitTS, while the first acknowledgment has not come.
    pub fn retransmit_ts(&self) -> Option<u32> {
        self.retransmit_ts
    }

    /// The estimator as it was before a timeout.
    pub fn prior_rtt(&self) -> Option<(Duration, Duration)> {
        self.round_trip.filter(|_| self.by_timeout)
    }

    /// Something goes again, at `now` by our clock of timestamps.
    pub fn on_retransmission(&mut self, range: SeqRange, now: u32) {
        self.bytes_without_dsack = self.bytes_without_dsack.saturating_add(range.len());
        self.retransmitted_end = self.retransmitted_end.max(range.end);
        // RFC 3522 §3.2, step 2: the oldest segment's, and not of another while that is out again.
        if !self.first_ack_received && range.start == self.start_una {
            self.retransmit_ts.get_or_insert(now);
        }
    }

    /// SND.UNA has moved; is this still of interest?
    pub fn on_una_advanced(&mut self, una: Seq, max: Seq) -> bool {
        self.first_ack_received = true;
        self.retransmit_ts = None;
        if una.before(self.end_seq) {
            return true;
        }
        // Whatever was sent again has been answered when all that is out now is.
        let goes_on = !self.awaiting_late_dsacks || una == self.end_seq;
        (self.awaiting_late_dsacks, self.end_seq) = (true, if self.awaiting_late_dsacks { self.end_seq } else { max });
        goes_on
    }

    /// The peer has had `range` twice. Was that the last of what went again?
    pub fn on_dsack(&mut self, range: SeqRange) -> bool {
        let from = |seq: Seq| seq.since(self.start_una);
        let ours = from(range.start) < from(range.end) && from(range.end) <= from(self.retransmitted_end);
        if !ours || self.bytes_without_dsack == 0 {
            return false;
        }
        self.bytes_without_dsack = self.bytes_without_dsack.saturating_sub(range.len());
        self.bytes_without_dsack == 0
    }
}

/// What the peer reports as having come twice: a first block below the acknowledgment, or within
/// the second block (RFC 2883 §4).
pub(crate) fn dsack_block(segment: &TcpSegment) -> Option<SeqRange> {
    let blocks = segment.options.sack.as_slice();
    let first = *blocks.first()?;
    let within = |outer: &SeqRange| {
        outer.start.at_or_before(first.start) && first.end.at_or_before(outer.end)
    };
    let twice = first.end.at_or_before(segment.ack) || blocks.get(1).is_some_and(within);
    (first.start.before(first.end) && twice).then_some(first)
}
