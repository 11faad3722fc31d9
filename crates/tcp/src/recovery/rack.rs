//! RACK-TLP (RFC 8985): a segment is lost once a segment sent later has been delivered and the
//! reordering window has passed; without further acknowledgments, a tail loss probe is sent (see
//! [`super::tail_loss_probe`]).

use alloc::boxed::Box;

use driftway_base::{Duration, Instant, Seq, SeqRange};

use super::contract::{Advance, Feedback, Listed, LossRecovery, Response};
use super::newreno::NewReno;
use super::sent::{RecentMinimum, Sent, SentLog};
use super::tail::Tail;
use crate::flight::{DUP_THRESHOLD, Flight, Phase};

/// Recoveries without D-SACK until the reordering window returns to its initial size (§6.2, step
/// 4).
const PERSISTS: u32 = 16;

/// State of RACK (§5.3).
#[derive(Debug)]
pub struct RackTlp {
    log: SentLog,
    arrivals: Arrivals,
    srtt: Duration,
    /// Reordering window in quarters of the minimum RTT (RACK.reo_wnd_mult).
    quarters: u32,
    persists: u32,
    /// The reordering window does not grow again until this is acknowledged (RACK.dsack_round).
    round: Option<Seq>,
    /// Time at which the reordering window of a segment ends.
    deadline: Option<Instant>,
    /// A segment is retransmitted regardless of the window: recovery has just started.
    urgent: bool,
    found: bool,
    tail: Tail,
}

/// State derived from delivered segments.
#[derive(Clone, Copy, Debug, Default)]
struct Arrivals {
    /// Transmission number of the delivered segment sent last.
    newest: Option<u64>,
    /// RTT of that segment (RACK.rtt).
    rtt: Duration,
    min_rtt: RecentMinimum,
    /// Highest sequence number delivered (RACK.fack).
    highest: Option<Seq>,
    /// Ends of the highest SACKed segments.
    reported: [Option<Seq>; DUP_THRESHOLD as usize],
    /// Reordering was observed (RACK.reordering_seen).
    reordered: bool,
}

impl Default for RackTlp {
    fn default() -> Self {
        Self {
            log: SentLog::default(),
            arrivals: Arrivals::default(),
            srtt: Duration::ZERO,
            quarters: 1,
            persists: PERSISTS,
            round: None,
            deadline: None,
            urgent: false,
            found: false,
            tail: Tail::default(),
        }
    }
}

impl Arrivals {
    /// Updates the state for a delivered segment, or part of one (§6.2, steps 1 to 3).
    fn add(&mut self, now: Instant, feedback: &Feedback<'_>, sent: Sent) {
        let rtt = now.since(sent.left);
        let end = sent.range.end;
        // Karn: an RTT sample that spans frozen timers is not a measure of the path.
        let whole = !feedback.held && sent.at == sent.left;
        if !sent.again && whole {
            self.min_rtt.add(now, rtt);
        }
        let above = self.highest.is_none_or(|highest| end.after(highest));
        if above {
            self.highest = Some(end);
        } else if !sent.again && self.highest != Some(end) {
            self.reordered = true;
        }
        // An acknowledgment of an earlier transmission gives no RTT of this one.
        let earlier = feedback.echoes_before(sent.left)
            || self.min_rtt.get().is_some_and(|least| rtt < least);
        if sent.again && earlier {
            return;
        }
        if whole {
            self.rtt = rtt;
        } else if self.rtt == Duration::ZERO {
            self.rtt = feedback.srtt;
        }
        self.newest = self.newest.max(Some(sent.order));
    }
}

impl Arrivals {
    /// Adds a SACKed segment that ends at `end`.
    fn add_report(&mut self, end: Seq) {
        let mut end = Some(end);
        for place in &mut self.reported {
            // In descending order.
            if place.is_none() || end.zip(*place).is_some_and(|(new, old)| new.after(old)) {
                core::mem::swap(place, &mut end);
            }
        }
    }

    /// True if enough segments are SACKed (RACK.segs_sacked) to do without a reordering window
    /// (§6.2, step 4).
    fn enough_reports(&self) -> bool {
        self.reported.iter().all(Option::is_some)
    }
}

impl RackTlp {
    /// Removes the newly delivered segments from the log in ascending order, as within one
    /// acknowledgment no order is known.
    fn take(&mut self, now: Instant, flight: &Flight, feedback: &Feedback<'_>) {
        let mut blocks = [SeqRange::new(flight.una() - feedback.advanced, flight.una()); 5];
        for (place, block) in blocks.iter_mut().skip(1).zip(feedback.blocks) {
            *place = *block;
        }
        blocks.sort_unstable_by_key(|block| block.end.since(flight.una()));
        let arrivals = &mut self.arrivals;
        for place in &mut arrivals.reported {
            *place = place.filter(|end| end.after(flight.una()));
        }
        for block in blocks {
            self.log.remove(block, |sent| {
                arrivals.add(now, feedback, sent);
                if sent.range.end.after(flight.una()) {
                    arrivals.add_report(sent.range.end);
                }
            });
        }
        // Sequence numbers wrap after 2 GiB.
        arrivals.highest = arrivals.highest.map(|highest| highest.max(flight.una()));
    }

    /// Adapts the reordering window (§6.2, step 4).
    fn adapt_window(&mut self, flight: &Flight, feedback: &Feedback<'_>) {
        self.round = self.round.filter(|round| flight.una().before(*round));
        // A probe delivered in addition to its original is no sign of reordering.
        let duplicate = feedback.duplicate.filter(|range| !self.tail.is_probe(*range));
        if duplicate.is_some() && self.round.is_none() {
            self.round = Some(flight.max());
            self.quarters = self.quarters.saturating_add(1);
            self.persists = PERSISTS;
        }
    }

    fn window(&self, flight: &Flight) -> Duration {
        let at_once = flight.phase() != Phase::Open || self.arrivals.enough_reports();
        if !self.arrivals.reordered && at_once {
            return Duration::ZERO;
        }
        let least = self.arrivals.min_rtt.get().unwrap_or(self.srtt);
        least.times(u64::from(self.quarters)).over(4).min(self.srtt)
    }

    /// Detects losses (§6.2, step 5).
    fn detect(&mut self, now: Instant, flight: &Flight) {
        self.deadline = None;
        let Some(newest) = self.arrivals.newest else { return };
        let allowed = self.arrivals.rtt + self.window(flight);
        let (before, mut latest) = (self.log.lost(), None);
        // Segments beyond SND.NXT are sent again in any case.
        self.log.mark(flight.nxt(), |sent| {
            // RACK_sent_after. Sequence numbers, by which §6.2 orders equal times, are not the
            // order of transmission once segments are retransmitted.
            if sent.order >= newest {
                // Later segments were sent later still, unless they were retransmitted.
                return sent.again.then_some(false);
            }
            let due = sent.at + allowed;
            if due > now {
                latest = latest.max(Some(due));
            }
            Some(due <= now)
        });
        self.found |= self.log.lost() > before;
        self.deadline = latest;
    }

    /// Starts fast recovery if a segment is lost.
    fn enter(&mut self, now: Instant, flight: &mut Flight) -> bool {
        if flight.phase() != Phase::Open || self.log.lost() == 0 || going_back(flight) {
            return false;
        }
        flight.enter_recovery(now);
        self.urgent = true;
        self.tail.forget();
        true
    }
}

/// True if SND.NXT was set back for another reason (a closed window, a hold).
fn going_back(flight: &Flight) -> bool {
    flight.nxt().before(flight.max())
}

impl Listed for RackTlp {
    const NAME: &'static str = "rack-tlp";
    const USES_SACK: bool = true;
}

impl LossRecovery for RackTlp {
    /// Does not count duplicates: [`on_feedback`](LossRecovery::on_feedback) detects losses.
    fn on_duplicate(&mut self, _now: Instant, _flight: &mut Flight) -> bool {
        false
    }

    fn on_advance(&mut self, _now: Instant, flight: &mut Flight, _bytes: u32) -> Advance {
        let before = flight.phase();
        let recovering = match before {
            Phase::Recovery { point } => {
                if flight.una().at_or_after(point) {
                    flight.leave_recovery();
                }
                true
            }
            _ => {
                flight.leave_loss();
                false
            }
        };
        if before != Phase::Open && flight.phase() == Phase::Open {
            // §6.2, step 4
            self.persists = self.persists.saturating_sub(1);
            if self.persists == 0 {
                self.quarters = 1;
            }
        }
        Advance { grows: !recovering, restarts_timer: true }
    }

    fn on_sent(&mut self, now: Instant, range: SeqRange) {
        self.log.on_sent(now, range);
        self.urgent = false;
    }

    fn wants_feedback(&self) -> bool {
        true
    }

    fn on_feedback(
        &mut self,
        now: Instant,
        flight: &mut Flight,
        feedback: &Feedback<'_>,
    ) -> Response {
        self.srtt = feedback.srtt;
        self.take(now, flight, feedback);
        debug_assert!(self.log.agrees_with(flight.una(), flight.max(), flight.board()));
        self.adapt_window(flight, feedback);
        let repaired = self.tail.on_feedback(flight, feedback);
        if feedback.held {
            return Response::Nothing;
        }
        self.detect(now, flight);
        if self.enter(now, flight) {
            Response::Recover
        } else if repaired && flight.phase() == Phase::Open {
            Response::Cut
        } else {
            Response::Nothing
        }
    }

    fn has_timer(&self) -> bool {
        true
    }

    /// Handles the end of a segment's reordering window.
    fn on_timeout(&mut self, now: Instant, flight: &mut Flight) -> bool {
        self.detect(now, flight);
        self.enter(now, flight)
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.deadline
    }

    /// §6.3: the segment at SND.UNA is lost, and all segments sent at least a round trip ago.
    fn on_retransmission_timeout(&mut self, now: Instant, flight: &mut Flight) {
        let (una, nxt) = (flight.una(), flight.nxt());
        let allowed = self.arrivals.rtt + self.window(flight);
        flight.collapse(now);
        if flight.board().is_empty() && self.log.pipe() + self.log.lost() < flight.outstanding() {
            self.arrivals.reported = Default::default();
            self.log.start_over(una, flight.max(), flight.mss(), now);
        }
        self.log.mark(flight.max(), |sent| {
            let first = sent.range.contains(una);
            let beyond = sent.range.end.after(nxt);
            Some(first || beyond || sent.at + allowed <= now)
        });
        flight.go_on();
        self.deadline = None;
        self.urgent = true;
        self.tail.forget();
    }

    fn on_thaw(&mut self, now: Instant, still: Duration) {
        self.log.later_by(now, still);
    }

    fn on_undo(&mut self) {
        self.log.forgive();
    }

    fn goes_back(&self) -> bool {
        false
    }

    fn pipe(&self, flight: &Flight) -> u32 {
        if going_back(flight) {
            flight.board().missing(SeqRange::new(flight.una(), flight.nxt()))
        } else {
            self.log.pipe()
        }
    }

    fn budget(&self, flight: &Flight) -> u32 {
        let pipe = match flight.phase() {
            // RFC 6675 §5, step 3.C, is limited transmit by another criterion.
            Phase::Open if !flight.limited_transmit() => flight.nxt().since(flight.una()),
            _ => self.pipe(flight),
        };
        let urgent = self.urgent && flight.phase() != Phase::Open;
        let least = if urgent { flight.mss() } else { 0 };
        flight.window.cwnd.saturating_sub(pipe).max(least)
    }

    fn found_more(&mut self, _flight: &Flight) -> bool {
        core::mem::take(&mut self.found)
    }

    fn resend(&mut self, flight: &Flight, last_resort: bool) -> Option<SeqRange> {
        if last_resort || flight.phase() == Phase::Open || going_back(flight) {
            return None;
        }
        self.log.first_lost(flight.mss())
    }

    fn probe_after(&self, flight: &Flight, srtt: Option<Duration>) -> Option<Duration> {
        self.tail.may_probe(flight).then(|| Tail::timeout(flight, srtt))
    }

    fn on_probe(&mut self, end: Seq, again: bool) {
        self.tail.on_sent(end, again);
    }

    /// Without SACK, the delivered segments are unknown.
    fn without_sack(&self) -> Option<Box<dyn LossRecovery>> {
        Some(Box::new(NewReno::default()))
    }

    fn last_sent(&self) -> Option<SeqRange> {
        self.log.last().map(|sent| sent.range)
    }
}
