//! Tahoe: a fast retransmit, then slow start from SND.UNA (Jacobson 1988; Fall & Floyd 1996 §2).

use driftway_base::Instant;

use super::contract::{LossRecovery, NewAckResponse, RecoveryDescriptor};
use crate::send_state::SendState;

/// Stateless.
#[derive(Debug, Default)]
pub struct Tahoe;

impl RecoveryDescriptor for Tahoe {
    const NAME: &'static str = "tahoe";
    const LIMITED_TRANSMIT: bool = false;
    const CLASSIC: bool = true;
}

impl LossRecovery for Tahoe {
    fn on_duplicate(&mut self, now: Instant, send: &mut SendState) -> bool {
        let begins = send.may_fast_retransmit();
        if begins {
            // As after a timeout, but at once.
            send.enter_loss_early(now);
            send.request_head_retransmit();
        }
        begins
    }

    fn on_advance(&mut self, _now: Instant, send: &mut SendState, _bytes: u32) -> NewAckResponse {
        send.leave_loss_if_acknowledged();
        NewAckResponse { grows_cwnd: true, restarts_timer: true }
    }
}
