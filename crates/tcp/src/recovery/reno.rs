//! Reno: fast retransmit and fast recovery (RFC 5681 §3.2). The first new acknowledgment ends the
//! recovery, so that several losses in one window need several recoveries, or a timeout.

use driftway_base::Instant;

use super::contract::{Advance, Listed, LossRecovery};
use crate::flight::{Flight, Phase};

/// Stateless.
#[derive(Debug, Default)]
pub struct Reno;

impl Listed for Reno {
    const NAME: &'static str = "reno";
    const LIMITED_TRANSMIT: bool = false;
    const CLASSIC: bool = true;
}

impl LossRecovery for Reno {
    fn on_duplicate(&mut self, now: Instant, flight: &mut Flight) -> bool {
        if let Phase::Recovery { .. } = flight.phase() {
            // Step 4: another segment has left the network.
            flight.window.cwnd = flight.window.cwnd.saturating_add(flight.mss());
            return false;
        }
        let begins = flight.third_duplicate();
        if begins {
            flight.enter_inflated(now);
        }
        begins
    }

    fn on_advance(&mut self, _now: Instant, flight: &mut Flight, _bytes: u32) -> Advance {
        if let Phase::Recovery { .. } = flight.phase() {
            // Step 6: deflate the window.
            flight.window.cwnd = flight.window.ssthresh;
            flight.leave_recovery();
            return Advance { grows: false, restarts_timer: true };
        }
        flight.leave_loss();
        Advance { grows: true, restarts_timer: true }
    }
}
