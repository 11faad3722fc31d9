//! NewReno (RFC 6582): a partial acknowledgment means that the next hole is lost, too.

use driftway_base::Instant;

use super::contract::{LossRecovery, NewAckResponse, RecoveryDescriptor};
use crate::send_state::{RecoveryPhase, SendState};

/// State of NewReno: a partial acknowledgment was received in this recovery. Only the first one
/// restarts the timer (§4, the impatient variant).
#[derive(Debug, Default)]
pub struct NewReno {
    partial_ack_seen: bool,
}

impl RecoveryDescriptor for NewReno {
    const NAME: &'static str = "newreno";
}

impl LossRecovery for NewReno {
    fn on_duplicate(&mut self, now: Instant, send: &mut SendState) -> bool {
        if let RecoveryPhase::Recovery { .. } = send.phase() {
            send.set_recovery_cwnd(send.cwnd().saturating_add(send.mss()));
            return false;
        }
        let begins = send.may_fast_retransmit();
        if begins {
            self.partial_ack_seen = false;
            send.set_recover();
            send.enter_inflated_recovery(now);
        }
        begins
    }

    fn on_advance(&mut self, _now: Instant, send: &mut SendState, bytes: u32) -> NewAckResponse {
        let RecoveryPhase::Recovery { point } = send.phase() else {
            send.leave_loss_if_acknowledged();
            return NewAckResponse { grows_cwnd: true, restarts_timer: true };
        };
        if send.una().at_or_after(point) {
            // §3.2, step 3, full acknowledgment: the first option, which avoids a burst.
            let flight_size = send.outstanding().max(send.mss()).saturating_add(send.mss());
            send.set_recovery_cwnd(send.ssthresh().min(flight_size));
            send.leave_recovery();
            return NewAckResponse { grows_cwnd: false, restarts_timer: true };
        }
        // §3.2, step 3, partial acknowledgment: the next hole, and the window deflated by the
        // acknowledged data.
        send.request_head_retransmit();
        let deflated = send.cwnd().saturating_sub(bytes);
        let back = if bytes >= send.mss() { send.mss() } else { 0 };
        send.set_recovery_cwnd(deflated.saturating_add(back).max(send.mss()));
        let first = !core::mem::replace(&mut self.partial_ack_seen, true);
        NewAckResponse { grows_cwnd: false, restarts_timer: first }
    }
}
