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
    fn on_duplicate(&mut self, now: Instant, flight: &mut SendState) -> bool {
        if let RecoveryPhase::Recovery { .. } = flight.phase() {
            // Step 4: another segment has left the network.
            flight.window.cwnd = flight.window.cwnd.saturating_add(flight.mss());
            return false;
        }
        let begins = flight.may_fast_retransmit();
        if begins {
            flight.enter_inflated_recovery(now);
        }
        begins
    }

    fn on_advance(&mut self, _now: Instant, flight: &mut SendState, _bytes: u32) -> NewAckResponse {
        if let RecoveryPhase::Recovery { .. } = flight.phase() {
            // Step 6: deflate the window.
            flight.window.cwnd = flight.window.ssthresh;
            flight.leave_recovery();
            return NewAckResponse { grows_cwnd: false, restarts_timer: true };
        }
        flight.leave_loss_if_acknowledged();
        NewAckResponse { grows_cwnd: true, restarts_timer: true }
    }
}
