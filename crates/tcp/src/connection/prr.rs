//! Proportional rate reduction of the connection's fast recovery (see [`Prr`](crate::prr)).

use super::control_block::Connection;
use crate::prr::{Delivery, Prr};
use crate::send_state::{DeliverySnapshot, RecoveryPhase};

impl Connection {
    /// Sets cwnd for the data that may be sent after an acknowledgment.
    pub(super) fn apply_prr(&mut self, before: DeliverySnapshot) {
        let send = &mut self.snd.send_state;
        let RecoveryPhase::Recovery { .. } = send.phase() else { return };
        let Some(mut prr) = send.prr() else { return };
        let reported = send.scoreboard().sacked_bytes();
        let advanced = send.una().since(before.una);
        let delivered_data = advanced.saturating_add(reported).saturating_sub(before.sacked_bytes);
        let begins = !prr.is_active();
        if begins {
            let out = send.outstanding().saturating_sub(reported).saturating_add(delivered_data);
            prr = Prr::begin(out);
        }
        let further = self.snd.recovery.take_new_losses(send);
        if delivered_data > 0 || begins {
            let arrived = Delivery { delivered_data, safe_ack: advanced > 0 && !further };
            let pipe = self.snd.recovery.pipe(send);
            let snd_cnt = prr.on_ack(arrived, pipe, send.window.ssthresh, send.mss());
            send.window.cwnd = pipe.saturating_add(snd_cnt);
        }
        send.set_prr(prr);
    }
}
