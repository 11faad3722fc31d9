//! RACK-TLP (RFC 8985): a segment is lost once one that was sent later has arrived and enough time
//! for reordering has passed; and where nothing arrives any more, a probe asks. See [`super::tail`]
//! for the probe.

use alloc::boxed::Box;

use driftway_base::{Duration, Instant, Seq, SeqRange};

use super::contract::{Advance, Feedback, Listed, LossRecovery, Response};
use super::newreno::NewReno;
use super::sent::{RecentMinimum, Sent, SentLog};
use super::tail::Tail;
use crate::flight::{DUP_THRESHOLD, Flight, Phase};

/// Recoveries without a reported duplicate until the reordering window is as small as at first
/// (§6.2, step 4).
const PERSISTS: u32 = 16;

/// What RACK keeps of a connection (§5.3).
#[derive(Debug)]
pub struct RackTlp {
    log: SentLog,
    arrivals: Arrivals,
    srtt: Duration,
    /// The reordering window in quarters of the least round trip.
    quarters: u32,
    persists: u32,
    /// No second growth of the window until this is acknowledged.
    round: Option<Seq>,
    /// When the reordering window of a segment will have passed.
    deadline: Option<Instant>,
    /// A retransmission goes whatever the window: a recovery has just begun.
    urgent: bool,
    found: bool,
    tail: Tail,
}

/// What has arrived.
#[derive(Clone, Copy, Debug, Default)]
struct Arrivals {
    /// Of all segments the one sent last, by its place in the order of transmissions.
    newest: Option<u64>,
    /// Its round trip.
    rtt: Duration,
    min_rtt: RecentMinimum,
    /// The highest number.
    highest: Option<Seq>,
    /// The ends of the highest segments that are reported and not acknowledged.
    reported: [Option<Seq>; DUP_THRESHOLD as usize],
    /// Has anything come out of order that was not sent again?
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
    /// §6.2, steps 1 to 3: one segment, or a part of one, has arrived.
    fn add(&mut self, now: Instant, feedback: &Feedback<'_>, sent: Sent) {
        let rtt = now.since(sent.left);
        let end = sent.range.end;
        // Karn: a round trip in which time stood still says nothing about the path.
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
        // What answers an earlier transmission says nothing about this one.
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
    /// A segment that ends there is reported.
    fn add_report(&mut self, end: Seq) {
        let mut end = Some(end);
        for place in &mut self.reported {
            // The highest first.
            if place.is_none() || end.zip(*place).is_some_and(|(new, old)| new.after(old)) {
                core::mem::swap(place, &mut end);
            }
        }
    }

    /// Are as many segments reported (RACK.segs_sacked) as do without a wait (§6.2, step 4)?
    fn enough_reports(&self) -> bool {
        self.reported.iter().all(Option::is_some)
    }
}

impl RackTlp {
    /// Takes what the acknowledgment covers out of the log, in ascending order: within one of them
    /// nothing is out of order.
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
        // Serial numbers turn around after 2 GiB.
        arrivals.highest = arrivals.highest.map(|highest| highest.max(flight.una()));
    }

    /// §6.2, step 4.
    fn adapt_window(&mut self, flight: &Flight, feedback: &Feedback<'_>) {
        self.round = self.round.filter(|round| flight.una().before(*round));
        // A probe that came beside its original says nothing of reordering.
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

    /// §6.2, step 5.
    fn detect(&mut self, now: Instant, flight: &Flight) {
        self.deadline = None;
        let Some(newest) = self.arrivals.newest else { return };
        let allowed = self.arrivals.rtt + self.window(flight);
        let (before, mut latest) = (self.log.lost(), None);
        // What lies beyond SND.NXT goes again anyway.
        self.log.mark(flight.nxt(), |sent| {
            // RACK_sent_after. Numbers, by which §6.2 decides between equal times, are not the order
            // of sending where something goes again.
            if sent.order >= newest {
                // What follows was sent later still, unless it went again.
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

    /// Fast recovery begins if anything is lost.
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

/// Is SND.NXT behind, for a reason that is none of ours (a closed window, a hold)?
fn going_back(flight: &Flight) -> bool {
    flight.nxt().before(flight.max())
}

impl Listed for RackTlp {
    const NAME: &'static str = "rack-tlp";
    const USES_SACK: bool = true;
}

impl LossRecovery for RackTlp {
    /// Duplicates are not counted: [`on_feedback`](LossRecovery::on_feedback) does all.
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

    /// The reordering window of a segment has passed.
    fn on_timeout(&mut self, now: Instant, flight: &mut Flight) -> bool {
        self.detect(now, flight);
        self.enter(now, flight)
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.deadline
    }

    /// §6.3: what is at the left edge is lost, and what was sent a round trip ago or more.
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
            // RFC 6675 §5, step 3.C, is limited transmit by another measure.
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

    /// Without reports nothing says which segment has arrived.
    fn without_sack(&self) -> Option<Box<dyn LossRecovery>> {
        Some(Box::new(NewReno::default()))
    }

    fn last_sent(&self) -> Option<SeqRange> {
        self.log.last().map(|sent| sent.range)
    }
}
