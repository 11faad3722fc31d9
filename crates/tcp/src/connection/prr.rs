//! Proportional rate reduction in fast recovery and after an ECN echo (see [`Prr`](crate::prr)).

use super::control_block::Connection;
use crate::prr::{Delivery, Prr};
use crate::send_state::{DeliverySnapshot, RecoveryPhase};

impl Connection {
    /// Sets cwnd for the data that may be sent after an acknowledgment, while the window is being
    /// reduced.
    pub(super) fn apply_prr(&mut self, before: DeliverySnapshot) {
        self.reduce_proportionally(before, 0);
    }

    /// Sets cwnd for the data that may be sent after a recovery that a timer has started. Linux counts one segment as
    /// delivered then (RFC 9937 §6 has no such case).
    pub(super) fn begin_prr_by_timer(&mut self, before: DeliverySnapshot) {
        let counted = if self.config.ssthresh_from_cwnd { self.snd.send_state.mss() } else { 0 };
        self.reduce_proportionally(before, counted);
    }

    /// Sets cwnd for the data delivered since `before` and `besides`.
    fn reduce_proportionally(&mut self, before: DeliverySnapshot, besides: u32) {
        let recovers = self.negotiated.sack && !self.snd.send_state.has_model();
        let send = &mut self.snd.send_state;
        let paced = match send.phase() {
            RecoveryPhase::Recovery { .. } => recovers,
            RecoveryPhase::Open => send.is_reducing(),
            RecoveryPhase::Loss { .. } => false,
        };
        if !paced {
            return;
        }
        let Some(mut prr) = send.prr() else { return };
        let reported = send.scoreboard().sacked_bytes();
        let advanced = send.una().since(before.una);
        let delivered_data = advanced
            .saturating_add(reported)
            .saturating_sub(before.sacked_bytes)
            .saturating_add(besides);
        let begins = !prr.is_active();
        if begins {
            let flight =
                || send.outstanding().saturating_sub(reported).saturating_add(delivered_data);
            // RFC 9937 §6: RecoverFS. Linux: the window that is reduced.
            let prior = send
                .congestion
                .prior_window()
                .filter(|of| self.config.ssthresh_from_cwnd && of.cwnd > 0);
            let recover_fs = prior.map_or_else(flight, |window| window.cwnd);
            prr = Prr::begin(recover_fs, self.config.ssthresh_from_cwnd);
        }
        let further = self.snd.recovery.take_new_losses(send);
        if delivered_data > 0 || begins {
            let arrived = Delivery { delivered_data, safe_ack: advanced > 0 && !further };
            let pipe = self.snd.recovery.pipe(send);
            let snd_cnt = prr.on_ack(arrived, pipe, send.ssthresh(), send.mss());
            send.set_recovery_cwnd(pipe.saturating_add(snd_cnt));
        }
        send.set_prr(prr);
    }
}
