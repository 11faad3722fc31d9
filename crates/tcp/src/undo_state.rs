//! The last response to a loss, while it may have been for nothing (RFC 3522, RFC 4015, RFC 3708).

use driftway_base::{Duration, Seq, SeqRange};
use driftway_wire::TcpSegment;

/// A response to a loss that may still turn out to have been for nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UndoState {
    /// To a timeout, or to duplicates?
    by_timeout: bool,
    /// SND.UNA when it began.
    start: Seq,
    /// Once more than this is acknowledged it is over; reports of duplicates may come later.
    end: Seq,
    late: bool,
    /// One past the highest number sent again.
    resent: Seq,
    /// Bytes sent again and not reported as duplicates.
    unreported: u32,
    /// Our timestamp in the first retransmission of what is at `start` (RFC 3522 §3.2:
    /// RetransmitTS), until the first acknowledgment has answered.
    stamp: Option<u32>,
    answered: bool,
    /// The estimator as it was (RFC 4015 §3.2, step 0).
    round_trip: Option<(Duration, Duration)>,
}

/// What the next round trip of new data is taken together with (RFC 4015 §3.2, step 11).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remembered {
    after: Seq,
    srtt: Duration,
    variation: Duration,
}

impl Remembered {
    /// The next round trip of what lies beyond `after` is taken together with these.
    pub fn new(after: Seq, srtt: Duration, variation: Duration) -> Self {
        Self { after, srtt, variation }
    }

    /// What the estimator goes on with, once a round trip of `rtt` is measured by the
    /// acknowledgment `ack`.
    pub fn with(&self, ack: Seq, rtt: Duration) -> Option<(Duration, Duration)> {
        let both = (self.srtt.max(rtt), self.variation.max(rtt.over(2)));
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
        let open = open.filter(|state| una.before(state.resent));
        Self {
            by_timeout,
            start: una,
            end: max,
            late: false,
            resent: una,
            unreported: open.map_or(0, |state| state.unreported),
            stamp: None,
            answered: false,
            round_trip,
        }
    }

    /// Has it begun at `una`?
    pub fn begins_at(&self, una: Seq) -> bool {
        self.start == una
    }

    /// RFC 3522 §3.2, step 2: a second timeout of the same segment belongs to the first.
    pub fn joins(&mut self, by_timeout: bool) {
        self.by_timeout |= by_timeout;
    }

    /// RetransmitTS, while the first acknowledgment has not come.
    pub fn stamp(&self) -> Option<u32> {
        self.stamp
    }

    /// The estimator as it was before a timeout.
    pub fn round_trip_before_timeout(&self) -> Option<(Duration, Duration)> {
        self.round_trip.filter(|_| self.by_timeout)
    }

    /// Something goes again, at `now` by our clock of timestamps.
    pub fn on_resent(&mut self, range: SeqRange, now: u32) {
        self.unreported = self.unreported.saturating_add(range.len());
        self.resent = self.resent.max(range.end);
        // RFC 3522 §3.2, step 2: the oldest segment's, and not of another while that is out again.
        if !self.answered && range.start == self.start {
            self.stamp.get_or_insert(now);
        }
    }

    /// SND.UNA has moved; is this still of interest?
    pub fn goes_on(&mut self, una: Seq, max: Seq) -> bool {
        self.answered = true;
        self.stamp = None;
        if una.before(self.end) {
            return true;
        }
        // Whatever was sent again has been answered when all that is out now is.
        let goes_on = !self.late || una == self.end;
        (self.late, self.end) = (true, if self.late { self.end } else { max });
        goes_on
    }

    /// The peer has had `range` twice. Was that the last of what went again?
    pub fn on_duplicate(&mut self, range: SeqRange) -> bool {
        let from = |seq: Seq| seq.since(self.start);
        let ours = from(range.start) < from(range.end) && from(range.end) <= from(self.resent);
        if !ours || self.unreported == 0 {
            return false;
        }
        self.unreported = self.unreported.saturating_sub(range.len());
        self.unreported == 0
    }
}

/// What the peer reports as having come twice: a first block below the acknowledgment, or within
/// the second block (RFC 2883 §4).
pub(crate) fn duplicate(segment: &TcpSegment) -> Option<SeqRange> {
    let blocks = segment.options.sack.as_slice();
    let first = *blocks.first()?;
    let within = |outer: &SeqRange| {
        outer.start.at_or_before(first.start) && first.end.at_or_before(outer.end)
    };
    let twice = first.end.at_or_before(segment.ack) || blocks.get(1).is_some_and(within);
    (first.start.before(first.end) && twice).then_some(first)
}
