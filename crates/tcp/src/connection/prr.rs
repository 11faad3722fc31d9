//! Proportional rate reduction of the connection's fast recovery (see [`Prr`](crate::prr)).

use super::control_block::Connection;
use crate::prr::{Delivery, Prr};
use crate::send_state::{DeliverySnapshot, RecoveryPhase};

impl Connection {
    /// Sets cwnd for the data that may be sent after an acknowledgment.
    pub(super) fn apply_prr(&mut self, before: DeliverySnapshot) {
        let flight = &mut self.snd.send_state;
        let RecoveryPhase::Recovery { .. } = flight.phase() else { return };
        let Some(mut prr) = flight.prr() else { return };
        let reported = flight.scoreboard().sacked_bytes();
        let advanced = flight.una().since(before.una);
        let bytes = advanced.saturating_add(reported).saturating_sub(before.sacked_bytes);
        let begins = !prr.is_active();
        if begins {
            let out = flight.outstanding().saturating_sub(reported).saturating_add(bytes);
            prr = Prr::begin(out);
        }
        let further = self.snd.recovery.take_new_losses(flight);
        if bytes > 0 || begins {
            let arrived = Delivery { delivered_data: bytes, safe_ack: advanced > 0 && !further };
            let pipe = self.snd.recovery.pipe(flight);
            let goes = prr.on_ack(arrived, pipe, flight.window.ssthresh, flight.mss());
            flight.window.cwnd = pipe.saturating_add(goes);
        }
        flight.set_prr(prr);
    }
}
