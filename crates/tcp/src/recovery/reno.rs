//! Reno: fast retransmit and fast recovery (RFC 5681 §3.2). The first new acknowledgment ends the
//! recovery, so several losses in one window cost several recoveries, or a timeout.

use base::Instant;

use super::{Advance, LossRecovery, enter_inflated, leave_loss, third_duplicate};
use crate::flight::{Flight, Phase};

/// No state of its own.
#[derive(Debug)]
pub struct Reno;

impl LossRecovery for Reno {
    fn on_duplicate(&mut self, now: Instant, flight: &mut Flight) -> bool {
        if let Phase::Recovery { .. } = flight.phase {
            // Step 4: another segment has left the network.
            flight.window.cwnd = flight.window.cwnd.saturating_add(flight.mss);
            return false;
        }
        let begins = third_duplicate(flight);
        if begins {
            enter_inflated(now, flight);
        }
        begins
    }

    fn on_advance(&mut self, _now: Instant, flight: &mut Flight, _bytes: u32) -> Advance {
        if let Phase::Recovery { .. } = flight.phase {
            // Step 6: deflate.
            flight.window.cwnd = flight.window.ssthresh;
            flight.phase = Phase::Open;
            return Advance { grows: false, restarts_timer: true };
        }
        leave_loss(flight);
        Advance { grows: true, restarts_timer: true }
    }
}
