//! Conservative recovery from SACK information (RFC 6675).

use driftway_base::{Instant, Seq, SeqRange};

use super::contract::{LossRecovery, NewAckResponse, RecoveryDescriptor};
use crate::send_state::{DUP_THRESHOLD, RecoveryPhase, SendState};

/// State of a recovery in addition to the scoreboard.
#[derive(Debug, Default)]
pub struct Sack {
    /// No rescue retransmission until this is acknowledged (§4: RescueRxt).
    rescue_rxt: Option<Seq>,
    /// End of the data known to be lost.
    lost_end: Option<Seq>,
}

impl Sack {
    /// A full-sized segment from `start`, up to SACKed or unsent data.
    fn segment(flight: &SendState, start: Seq) -> SeqRange {
        let reported = flight.scoreboard().next_sacked(start).unwrap_or(flight.max());
        SeqRange::new(start, (start + flight.mss()).min(reported).min(flight.max()))
    }
}

impl RecoveryDescriptor for Sack {
    const NAME: &'static str = "sack";
    const USES_SACK: bool = true;
}

impl LossRecovery for Sack {
    fn on_duplicate(&mut self, now: Instant, flight: &mut SendState) -> bool {
        // §5: three duplicates, or enough data SACKed above the first hole.
        let lost = flight
            .scoreboard()
            .lost_before(flight.mss())
            .is_some_and(|seq| flight.una().before(seq));
        // §5.1: none until the data that a timeout, or an aid, has sent again is acknowledged.
        let too_early = flight.recover().is_some_and(|point| flight.una().before(point));
        if flight.phase() != RecoveryPhase::Open
            || too_early
            || (flight.dup_acks() < DUP_THRESHOLD && !lost)
        {
            return false;
        }
        // Step 4: without inflation, because `pipe` is the measure of outstanding data.
        flight.enter_recovery(now);
        flight.request_head_retransmit();
        self.rescue_rxt = None;
        self.lost_end = flight.scoreboard().lost_before(flight.mss());
        true
    }

    fn on_advance(&mut self, _now: Instant, flight: &mut SendState, _bytes: u32) -> NewAckResponse {
        if let RecoveryPhase::Recovery { point } = flight.phase() {
            if flight.una().at_or_after(point) {
                flight.leave_recovery();
            }
            return NewAckResponse { grows_cwnd: false, restarts_timer: true };
        }
        flight.leave_loss_if_acknowledged();
        NewAckResponse { grows_cwnd: true, restarts_timer: true }
    }

    fn budget(&self, flight: &SendState) -> u32 {
        let pipe = match flight.phase() {
            // §5, step 3.C, is limited transmit by another criterion.
            RecoveryPhase::Open if !flight.limited_transmit() => flight.nxt().since(flight.una()),
            _ => flight.pipe(),
        };
        flight.window.cwnd.saturating_sub(pipe)
    }

    fn take_new_losses(&mut self, flight: &SendState) -> bool {
        let known = self.lost_end.unwrap_or(flight.una()).max(flight.una());
        let Some(now) = flight.scoreboard().lost_before(flight.mss()) else { return false };
        self.lost_end = Some(now.max(known));
        now.after(known) && flight.scoreboard().unsacked_bytes(SeqRange::new(known, now)) > 0
    }

    fn next_retransmission(&mut self, flight: &SendState, last_resort: bool) -> Option<SeqRange> {
        let RecoveryPhase::Recovery { point } = flight.phase() else { return None };
        let start = flight.scoreboard().first_unsacked(flight.high_rxt().max(flight.una()));
        if flight.scoreboard().highest_sacked().is_some_and(|highest| start.before(highest)) {
            // NextSeg rule 1: lost; rule 3: not known to be lost.
            let lost =
                flight.scoreboard().lost_before(flight.mss()).is_some_and(|seq| start.before(seq));
            return (lost || last_resort).then(|| Self::segment(flight, start));
        }
        // NextSeg rule 4: once per recovery, the last segment, so that its loss causes no timeout.
        if !last_resort || self.rescue_rxt.is_some_and(|seq| flight.una().at_or_before(seq)) {
            return None;
        }
        self.rescue_rxt = Some(point);
        Some(flight.scoreboard().last_hole(flight.una(), flight.max(), flight.mss()))
    }
}
