//! The steps of F-RTO (RFC 5682).

use driftway_base::Instant;
use driftway_wire::TcpSegment;

use super::control_block::Connection;
use crate::f_rto::FRto;
use crate::send_state::RecoveryPhase;

/// What an acknowledgment brought.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckOutcome {
    /// SND.UNA has moved.
    pub advanced: bool,
    /// It was a duplicate; with SACK, it reported something new.
    pub duplicate: bool,
}

impl Connection {
    /// The timer went off (§2.1, step 1). `may`: nothing was being recovered, as after a timeout or in
    /// fast recovery, where losses are known already.
    pub(super) fn begin_f_rto(&mut self, may: bool) {
        let flight = &mut self.snd.send_state;
        let resent = (flight.una() + flight.mss()).min(flight.max());
        flight.set_f_rto((self.config.f_rto && may).then_some(FRto::AwaitingFirstAck { retransmission_end: resent }));
    }

    /// An acknowledgment came: steps 2 and 3 of §2.1, or of §3.1 where SACK is on.
    pub(super) fn advance_f_rto(
        &mut self,
        now: Instant,
        segment: &TcpSegment,
        outcome: AckOutcome,
    ) {
        let Some(f_rto) = self.snd.send_state.f_rto() else { return };
        let sack = self.negotiated.sack;
        let RecoveryPhase::Loss { point } = self.snd.send_state.phase() else {
            self.snd.send_state.set_f_rto(None);
            if !sack && outcome.advanced && matches!(f_rto, FRto::AwaitingSecondAck { .. }) {
                // All has arrived, of which but the first segment went again.
                self.undo_response(now, segment);
            }
            return;
        };
        match f_rto {
            FRto::AwaitingFirstAck { .. } if !outcome.advanced => {
                // Without SACK, a duplicate may be the answer to anything.
                if outcome.duplicate && !sack {
                    self.snd.send_state.set_f_rto(None);
                }
            }
            FRto::AwaitingFirstAck { retransmission_end: resent } => {
                let whole = sack || self.snd.send_state.una().at_or_after(resent);
                let goes = whole && self.can_send_new_data();
                let flight = &mut self.snd.send_state;
                let left = flight.mss().saturating_mul(2);
                flight.set_f_rto(goes.then_some(FRto::AwaitingSecondAck { new_data_left: left }));
                if goes {
                    flight.advance_to_max();
                }
            }
            FRto::AwaitingSecondAck { .. } => {
                let flight = &self.snd.send_state;
                let above = flight.scoreboard().highest_sacked().is_some_and(|highest| highest.after(point));
                if sack && above {
                    // §3.1, step 3a: what is new arrives and what is old does not.
                    self.resume_slow_start();
                } else if outcome.advanced || (sack && outcome.duplicate) {
                    self.undo_response(now, segment);
                } else if outcome.duplicate {
                    self.resume_slow_start();
                }
            }
        }
    }

    /// The detection ends without a result, so the loss counts as real.
    pub(super) fn end_f_rto(&mut self) {
        if let Some(FRto::AwaitingSecondAck { .. }) = self.snd.send_state.f_rto() {
            self.resume_slow_start();
        }
        self.snd.send_state.set_f_rto(None);
    }

    /// The loss was real: slow start goes on with what is missing.
    fn resume_slow_start(&mut self) {
        let flight = &mut self.snd.send_state;
        flight.set_f_rto(None);
        flight.window.cwnd = flight.window.cwnd.min(flight.mss().saturating_mul(3));
        if self.snd.recovery.uses_go_back_n() {
            flight.go_back_to_una();
        }
    }

    /// Is there a segment of new data, and a place for it at the peer? (§2.1, step 2b)
    fn can_send_new_data(&self) -> bool {
        let flight = &self.snd.send_state;
        let room = self.snd.usable_window_from(flight.max());
        room >= flight.mss() && self.snd.written_bytes_from(flight.max()) >= u64::from(flight.mss())
    }
}
