//! Losses that were none: the original arrives after all, and the window gets back what the
//! response to the loss took. Eifel (RFC 3522, RFC 4015) learns it from the first timestamp that
//! comes back, D-SACK (RFC 2883, RFC 3708) from the duplicates that the peer reports; F-RTO has a
//! file of its own.

use base::{Duration, Instant, Seq, SeqRange};
use wire::{TcpFlags, TcpSegment};

use crate::connection::Connection;
use crate::growth::Window;

/// A response to a loss that may still turn out to have been for nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Episode {
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

impl Episode {
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
    fn on_duplicate(&mut self, range: SeqRange) -> bool {
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

impl Connection {
    /// The window was reduced for a loss; `before` is what an undo would have restored until now.
    pub(crate) fn begin_episode(&mut self, by_timeout: bool, before: Option<Window>) {
        if !(self.config.eifel || self.config.dsack || self.config.f_rto) {
            return;
        }
        let snd = &mut self.snd;
        let una = snd.flight.una;
        if let Some(episode) = snd.episode.as_mut().filter(|episode| episode.start == una) {
            // RFC 3522 §3.2, step 2: a second timeout of the same segment belongs to the first.
            episode.by_timeout |= by_timeout;
            snd.flight.before = before.or(snd.flight.before);
            return;
        }
        let open = snd.episode.filter(|episode| una.before(episode.resent));
        // RFC 4015 §3.2, step 0: SRTT_prev, RTTVAR_prev.
        let granularity = self.config.clock.rtt.times(2);
        let round_trip = snd.rtt.srtt().map(|srtt| (srtt + granularity, snd.rtt.variation()));
        snd.episode = Some(Episode {
            by_timeout,
            start: una,
            end: snd.flight.max,
            late: false,
            resent: una,
            unreported: open.map_or(0, |episode| episode.unreported),
            stamp: None,
            answered: false,
            round_trip,
        });
    }

    /// RFC 3522 §3.2, steps 4 and 5: does the first acknowledgment answer the original?
    pub(crate) fn detect_by_timestamp(&mut self, now: Instant, segment: &TcpSegment) {
        let Some(stamp) = self.snd.episode.and_then(|episode| episode.stamp) else { return };
        if !self.config.eifel || !self.agreed.timestamps || duplicate(segment).is_some() {
            return;
        }
        let echo = segment.options.timestamps.map_or(0, |timestamps| timestamps.echo);
        if echo != 0 && Seq(echo).before(Seq(stamp)) {
            self.take_response_back(now, segment);
        }
    }

    /// RFC 3708 §2: every retransmission has arrived beside its original.
    pub(crate) fn detect_by_duplicate(&mut self, now: Instant, segment: &TcpSegment) {
        if !self.config.dsack {
            return;
        }
        let Some(range) = duplicate(segment) else { return };
        if self.snd.episode.as_mut().is_some_and(|episode| episode.on_duplicate(range)) {
            self.take_response_back(now, segment);
        }
    }

    /// RFC 4015 §3.2, steps 8 to 11. The window is what it was, as Linux does it, and not what is
    /// outstanding and a little more: the path was never congested.
    pub(crate) fn take_response_back(&mut self, now: Instant, segment: &TcpSegment) {
        let episode = self.snd.episode.take();
        let flight = &mut self.snd.flight;
        flight.forward = None;
        // Step 9: congestion after all.
        let echo = self.snd.ecn.on && segment.flags.contains(TcpFlags::ECE);
        if echo || !flight.undo() {
            return;
        }
        self.snd.recovery.on_undo();
        let flight = &mut self.snd.flight;
        // RFC 5682 §4: what comes now may start a recovery of its own.
        flight.recover = None;
        self.stats.undone += 1;
        let eifel = episode.filter(|episode| episode.by_timeout && self.config.eifel);
        if let Some((srtt, variation)) = eifel.and_then(|episode| episode.round_trip) {
            self.snd.remembered = Some(Remembered { after: self.snd.flight.max, srtt, variation });
        }
        self.restart_retransmission_timer(now);
    }

    /// RFC 4015 §3.2, step 11: a round trip of `rtt` was measured by the acknowledgment `ack`.
    pub(crate) fn remember_round_trip(&mut self, ack: Seq, rtt: Duration) {
        if let Some(Remembered { after, srtt, variation }) = self.snd.remembered
            && ack.after(after)
        {
            self.snd.remembered = None;
            self.snd.rtt.resume(srtt.max(rtt), variation.max(rtt.over(2)));
        }
    }
}
