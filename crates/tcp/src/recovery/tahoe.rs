//! Tahoe: a fast retransmit, then slow start from SND.UNA (Jacobson 1988; Fall & Floyd 1996 §2).

use driftway_base::Instant;

use super::contract::{Advance, Listed, LossRecovery};
use crate::flight::Flight;

/// Stateless.
#[derive(Debug, Default)]
pub struct Tahoe;

impl Listed for Tahoe {
    const NAME: &'static str = "tahoe";
    const LIMITED_TRANSMIT: bool = false;
    const CLASSIC: bool = true;
}

impl LossRecovery for Tahoe {
    fn on_duplicate(&mut self, now: Instant, flight: &mut Flight) -> bool {
        let begins = flight.third_duplicate();
        if begins {
            // As after a timeout, but at once.
            flight.collapse_early(now);
            flight.resend_first();
        }
        begins
    }

    fn on_advance(&mut self, _now: Instant, flight: &mut Flight, _bytes: u32) -> Advance {
        flight.leave_loss();
        Advance { grows: true, restarts_timer: true }
    }
}
