//! NewReno (RFC 6582): a partial acknowledgment means that the next hole is lost, too.

use driftway_base::Instant;

use super::contract::{Advance, Listed, LossRecovery};
use crate::flight::{Flight, Phase};

/// State of NewReno: a partial acknowledgment was received in this recovery. Only the first one
/// restarts the timer (§4, the impatient variant).
#[derive(Debug, Default)]
pub struct NewReno {
    partial: bool,
}

impl Listed for NewReno {
    const NAME: &'static str = "newreno";
}

impl LossRecovery for NewReno {
    fn on_duplicate(&mut self, now: Instant, flight: &mut Flight) -> bool {
        if let Phase::Recovery { .. } = flight.phase() {
            flight.window.cwnd = flight.window.cwnd.saturating_add(flight.mss());
            return false;
        }
        let begins = flight.third_duplicate();
        if begins {
            self.partial = false;
            flight.bar_until_all_acknowledged();
            flight.enter_inflated(now);
        }
        begins
    }

    fn on_advance(&mut self, _now: Instant, flight: &mut Flight, bytes: u32) -> Advance {
        let Phase::Recovery { point } = flight.phase() else {
            flight.leave_loss();
            return Advance { grows: true, restarts_timer: true };
        };
        if flight.una().at_or_after(point) {
            // §3.2, step 3, full acknowledgment: the first option, which avoids a burst.
            let flight_size = flight.outstanding().max(flight.mss()).saturating_add(flight.mss());
            flight.window.cwnd = flight.window.ssthresh.min(flight_size);
            flight.leave_recovery();
            return Advance { grows: false, restarts_timer: true };
        }
        // §3.2, step 3, partial acknowledgment: the next hole, and the window deflated by the
        // acknowledged data.
        flight.resend_first();
        let deflated = flight.window.cwnd.saturating_sub(bytes);
        let back = if bytes >= flight.mss() { flight.mss() } else { 0 };
        flight.window.cwnd = deflated.saturating_add(back).max(flight.mss());
        let first = !core::mem::replace(&mut self.partial, true);
        Advance { grows: false, restarts_timer: first }
    }
}
