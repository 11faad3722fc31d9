//! Conservative recovery from SACK information (RFC 6675).

use driftway_base::{Instant, Seq, SeqRange};

use super::contract::{Advance, Listed, LossRecovery};
use crate::flight::{DUP_THRESHOLD, Flight, Phase};

/// State of a recovery in addition to the scoreboard.
#[derive(Debug, Default)]
pub struct Sack {
    /// No rescue retransmission until this is acknowledged (§4: RescueRxt).
    rescued: Option<Seq>,
    /// End of the data known to be lost.
    lost_to: Option<Seq>,
}

impl Sack {
    /// A full-sized segment from `start`, up to SACKed or unsent data.
    fn segment(flight: &Flight, start: Seq) -> SeqRange {
        let reported = flight.board().next_reported(start).unwrap_or(flight.max());
        SeqRange::new(start, (start + flight.mss()).min(reported).min(flight.max()))
    }
}

impl Listed for Sack {
    const NAME: &'static str = "sack";
    const USES_SACK: bool = true;
}

impl LossRecovery for Sack {
    fn on_duplicate(&mut self, now: Instant, flight: &mut Flight) -> bool {
        // §5: three duplicates, or enough data SACKed above the first hole.
        let lost =
            flight.board().lost_before(flight.mss()).is_some_and(|seq| flight.una().before(seq));
        // §5.1: none until the data that a timeout, or an aid, has sent again is acknowledged.
        let too_early = flight.recover().is_some_and(|point| flight.una().before(point));
        if flight.phase() != Phase::Open
            || too_early
            || (flight.dup_acks() < DUP_THRESHOLD && !lost)
        {
            return false;
        }
        // Step 4: without inflation, because `pipe` is the measure of outstanding data.
        flight.enter_recovery(now);
        flight.resend_first();
        self.rescued = None;
        self.lost_to = flight.board().lost_before(flight.mss());
        true
    }

    fn on_advance(&mut self, _now: Instant, flight: &mut Flight, _bytes: u32) -> Advance {
        if let Phase::Recovery { point } = flight.phase() {
            if flight.una().at_or_after(point) {
                flight.leave_recovery();
            }
            return Advance { grows: false, restarts_timer: true };
        }
        flight.leave_loss();
        Advance { grows: true, restarts_timer: true }
    }

    fn budget(&self, flight: &Flight) -> u32 {
        let pipe = match flight.phase() {
            // §5, step 3.C, is limited transmit by another criterion.
            Phase::Open if !flight.limited_transmit() => flight.nxt().since(flight.una()),
            _ => flight.pipe(),
        };
        flight.window.cwnd.saturating_sub(pipe)
    }

    fn found_more(&mut self, flight: &Flight) -> bool {
        let known = self.lost_to.unwrap_or(flight.una()).max(flight.una());
        let Some(now) = flight.board().lost_before(flight.mss()) else { return false };
        self.lost_to = Some(now.max(known));
        now.after(known) && flight.board().missing(SeqRange::new(known, now)) > 0
    }

    fn resend(&mut self, flight: &Flight, last_resort: bool) -> Option<SeqRange> {
        let Phase::Recovery { point } = flight.phase() else { return None };
        let start = flight.board().first_hole(flight.high_rxt().max(flight.una()));
        if flight.board().highest().is_some_and(|highest| start.before(highest)) {
            // NextSeg rule 1: lost; rule 3: not known to be lost.
            let lost =
                flight.board().lost_before(flight.mss()).is_some_and(|seq| start.before(seq));
            return (lost || last_resort).then(|| Self::segment(flight, start));
        }
        // NextSeg rule 4: once per recovery, the last segment, so that its loss causes no timeout.
        if !last_resort || self.rescued.is_some_and(|seq| flight.una().at_or_before(seq)) {
            return None;
        }
        self.rescued = Some(point);
        Some(flight.board().last_hole(flight.una(), flight.max(), flight.mss()))
    }
}
