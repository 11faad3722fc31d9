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
    fn segment(send: &SendState, start: Seq) -> SeqRange {
        let reported = send.scoreboard().next_sacked(start).unwrap_or(send.max());
        SeqRange::new(start, (start + send.mss()).min(reported).min(send.max()))
    }
}

impl RecoveryDescriptor for Sack {
    const NAME: &'static str = "sack";
    const USES_SACK: bool = true;
}

impl LossRecovery for Sack {
    fn on_duplicate(&mut self, now: Instant, send: &mut SendState) -> bool {
        // §5: three duplicates, or enough data SACKed above the first hole.
        let lost =
            send.scoreboard().lost_before(send.mss()).is_some_and(|seq| send.una().before(seq));
        // §5.1: none until the data that a timeout, or an aid, has sent again is acknowledged.
        let too_early = send.recover().is_some_and(|point| send.una().before(point));
        if send.phase() != RecoveryPhase::Open
            || too_early
            || (send.dup_acks() < DUP_THRESHOLD && !lost)
        {
            return false;
        }
        // Step 4: without inflation, because `pipe` is the measure of outstanding data.
        send.enter_recovery(now);
        send.request_head_retransmit();
        self.rescue_rxt = None;
        self.lost_end = send.scoreboard().lost_before(send.mss());
        true
    }

    fn on_advance(&mut self, _now: Instant, send: &mut SendState, _bytes: u32) -> NewAckResponse {
        if let RecoveryPhase::Recovery { point } = send.phase() {
            if send.una().at_or_after(point) {
                send.leave_recovery();
            }
            return NewAckResponse { grows_cwnd: false, restarts_timer: true };
        }
        send.leave_loss_if_acknowledged();
        NewAckResponse { grows_cwnd: true, restarts_timer: true }
    }

    fn budget(&self, send: &SendState) -> u32 {
        let pipe = match send.phase() {
            // §5, step 3.C, is limited transmit by another criterion.
            RecoveryPhase::Open if !send.limited_transmit() => send.nxt().since(send.una()),
            _ => send.pipe(),
        };
        send.cwnd().saturating_sub(pipe)
    }

    fn take_new_losses(&mut self, send: &SendState) -> bool {
        let known = self.lost_end.unwrap_or(send.una()).max(send.una());
        let Some(now) = send.scoreboard().lost_before(send.mss()) else { return false };
        self.lost_end = Some(now.max(known));
        now.after(known) && send.scoreboard().unsacked_bytes(SeqRange::new(known, now)) > 0
    }

    fn next_retransmission(&mut self, send: &SendState, last_resort: bool) -> Option<SeqRange> {
        let RecoveryPhase::Recovery { point } = send.phase() else { return None };
        let start = send.scoreboard().first_unsacked(send.high_rxt().max(send.una()));
        if send.scoreboard().highest_sacked().is_some_and(|highest| start.before(highest)) {
            // NextSeg rule 1: lost; rule 3: not known to be lost.
            let lost =
                send.scoreboard().lost_before(send.mss()).is_some_and(|seq| start.before(seq));
            return (lost || last_resort).then(|| Self::segment(send, start));
        }
        // NextSeg rule 4: once per recovery, the last segment, so that its loss causes no timeout.
        if !last_resort || self.rescue_rxt.is_some_and(|seq| send.una().at_or_before(seq)) {
            return None;
        }
        self.rescue_rxt = Some(point);
        Some(send.scoreboard().last_hole(send.una(), send.max(), send.mss()))
    }
}
