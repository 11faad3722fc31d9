//! Steps of F-RTO (RFC 5682).

use driftway_base::Instant;
use driftway_wire::TcpSegment;

use super::control_block::Connection;
use crate::f_rto::FRto;
use crate::send_state::RecoveryPhase;

/// Effect of an acknowledgment on the sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckOutcome {
    /// SND.UNA has advanced.
    pub advanced: bool,
    /// A duplicate; with SACK, with new SACK information.
    pub duplicate: bool,
}

impl Connection {
    /// Starts F-RTO after a timeout (§2.1, step 1). `allowed`: no loss was being recovered; after a
    /// timeout or in fast recovery, losses are already known.
    pub(super) fn begin_f_rto(&mut self, allowed: bool) {
        let send = &mut self.snd.send_state;
        let retransmission_end = (send.una() + send.mss()).min(send.max());
        send.set_f_rto(
            (self.config.f_rto && allowed).then_some(FRto::AwaitingFirstAck { retransmission_end }),
        );
    }

    /// Handles an acknowledgment: steps 2 and 3 of §2.1, or of §3.1 with SACK.
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
                // Everything has arrived, although only the first segment was retransmitted.
                self.undo_response(now, segment);
            }
            return;
        };
        match f_rto {
            FRto::AwaitingFirstAck { .. } if !outcome.advanced => {
                // Without SACK, the cause of a duplicate is unknown.
                if outcome.duplicate && !sack {
                    self.snd.send_state.set_f_rto(None);
                }
            }
            FRto::AwaitingFirstAck { retransmission_end } => {
                let whole = sack || self.snd.send_state.una().at_or_after(retransmission_end);
                let proceeds = whole && self.can_send_new_data();
                let send = &mut self.snd.send_state;
                let new_data_left = send.mss().saturating_mul(2);
                send.set_f_rto(proceeds.then_some(FRto::AwaitingSecondAck { new_data_left }));
                if proceeds {
                    send.advance_to_max();
                }
            }
            FRto::AwaitingSecondAck { .. } => {
                let send = &self.snd.send_state;
                let above =
                    send.scoreboard().highest_sacked().is_some_and(|highest| highest.after(point));
                if sack && above {
                    // §3.1, step 3a: new data arrives, but not the old data.
                    self.resume_slow_start();
                } else if outcome.advanced || (sack && outcome.duplicate) {
                    self.undo_response(now, segment);
                } else if outcome.duplicate {
                    self.resume_slow_start();
                }
            }
        }
    }

    /// Ends the detection without a result, so that the loss counts as real.
    pub(super) fn end_f_rto(&mut self) {
        if let Some(FRto::AwaitingSecondAck { .. }) = self.snd.send_state.f_rto() {
            self.resume_slow_start();
        }
        self.snd.send_state.set_f_rto(None);
    }

    /// Resumes slow start with the missing data, because the loss was real.
    fn resume_slow_start(&mut self) {
        let send = &mut self.snd.send_state;
        send.set_f_rto(None);
        send.set_recovery_cwnd(send.cwnd().min(send.mss().saturating_mul(3)));
        if self.snd.recovery.uses_go_back_n() {
            send.go_back_to_una();
        }
    }

    /// True if a segment of new data is available and fits into the peer's window (§2.1, step 2b).
    fn can_send_new_data(&self) -> bool {
        let send = &self.snd.send_state;
        let room = self.snd.usable_window_from(send.max());
        room >= send.mss() && self.snd.written_bytes_from(send.max()) >= u64::from(send.mss())
    }
}
