//! Proportional rate reduction of the connection's fast recovery (see [`Prr`](crate::prr)).

use super::control_block::Connection;
use crate::flight::{DeliverySnapshot, Phase};
use crate::prr::{Arrived, Prr};

impl Connection {
    /// Sets cwnd for the data that may be sent after an acknowledgment.
    pub(super) fn reduce_in_proportion(&mut self, before: DeliverySnapshot) {
        let flight = &mut self.snd.flight;
        let Phase::Recovery { .. } = flight.phase() else { return };
        let Some(mut prr) = flight.prr() else { return };
        let reported = flight.board().bytes();
        let advanced = flight.una().since(before.una);
        let bytes = advanced.saturating_add(reported).saturating_sub(before.reported);
        let begins = !prr.is_on();
        if begins {
            let out = flight.outstanding().saturating_sub(reported).saturating_add(bytes);
            prr = Prr::begin(out);
        }
        let further = self.snd.recovery.found_more(flight);
        if bytes > 0 || begins {
            let arrived = Arrived { bytes, safe: advanced > 0 && !further };
            let pipe = self.snd.recovery.pipe(flight);
            let goes = prr.on_ack(arrived, pipe, flight.window.ssthresh, flight.mss());
            flight.window.cwnd = pipe.saturating_add(goes);
        }
        flight.set_prr(prr);
    }
}
