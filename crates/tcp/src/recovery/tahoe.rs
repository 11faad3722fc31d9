//! Tahoe: a fast retransmit, then slow start from SND.UNA (Jacobson 1988; Fall & Floyd 1996 §2).

use base::Instant;

use super::{Advance, LossRecovery, leave_loss, third_duplicate};
use crate::flight::Flight;

/// No state of its own.
#[derive(Debug)]
pub struct Tahoe;

impl LossRecovery for Tahoe {
    fn on_duplicate(&mut self, now: Instant, flight: &mut Flight) -> bool {
        let begins = third_duplicate(flight);
        if begins {
            // As after a timeout, but without waiting for it.
            flight.timed_out = None;
            flight.collapse(now);
            flight.resend_first = true;
        }
        begins
    }

    fn on_advance(&mut self, _now: Instant, flight: &mut Flight, _bytes: u32) -> Advance {
        leave_loss(flight);
        Advance { grows: true, restarts_timer: true }
    }
}
