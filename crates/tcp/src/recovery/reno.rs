//! Reno: fast retransmit and fast recovery (RFC 5681 §3.2). The first new acknowledgment ends the
//! recovery, so that several losses in one window need several recoveries, or a timeout.

use driftway_base::Instant;

use super::contract::{LossRecovery, NewAckResponse, RecoveryDescriptor};
use crate::send_state::{RecoveryPhase, SendState};

/// Stateless.
#[derive(Debug, Default)]
pub struct Reno;

impl RecoveryDescriptor for Reno {
    const NAME: &'static str = "reno";
    const LIMITED_TRANSMIT: bool = false;
    const CLASSIC: bool = true;
}

impl LossRecovery for Reno {
    fn on_duplicate(&mut self, now: Instant, send: &mut SendState) -> bool {
        if let RecoveryPhase::Recovery { .. } = send.phase() {
            // Step 4: another segment has left the network.
            send.set_recovery_cwnd(send.cwnd().saturating_add(send.mss()));
            return false;
        }
        let begins = send.may_fast_retransmit();
        if begins {
            send.enter_inflated_recovery(now);
        }
        begins
    }

    fn on_advance(&mut self, _now: Instant, send: &mut SendState, _bytes: u32) -> NewAckResponse {
        if let RecoveryPhase::Recovery { .. } = send.phase() {
            // Step 6: deflate the window.
            send.set_recovery_cwnd(send.ssthresh());
            send.leave_recovery();
            return NewAckResponse { grows_cwnd: false, restarts_timer: true };
        }
        send.leave_loss_if_acknowledged();
        NewAckResponse { grows_cwnd: true, restarts_timer: true }
    }
}
