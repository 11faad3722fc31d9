//! Congestion window validation: an unused window does not grow, and decays with time (RFC 2861 §3,
//! as in Linux).

use driftway_base::Instant;

use super::control_block::Connection;
use super::sender::initial_window;
use crate::cwnd_usage::OutstandingData;
use crate::send_state::RecoveryPhase;

impl Connection {
    /// Validates the window after data has been sent.
    pub(super) fn validate_window(&mut self, now: Instant) {
        if !self.config.window_validation || self.snd.send_state.has_model() {
            return;
        }
        let snd = &mut self.snd;
        let send = &mut snd.send_state;
        let cwnd_full = snd.recovery.budget(send) < send.mss();
        let out = OutstandingData { una: send.una(), max: send.max(), cwnd_full };
        snd.cwnd_usage.on_sent(now, send.congestion.window(), out);
        if now.since(snd.cwnd_usage.unfilled_since()) < snd.rtt.rto() {
            return;
        }
        // Within a burst it is too early; and data that the peer's window keeps back will use the
        // window as soon as that opens.
        if snd.written_bytes_from(snd.send_state.nxt()) > 0 {
            if snd.usable_window() < snd.send_state.mss() {
                snd.cwnd_usage.restart(now);
            }
            return;
        }
        let send = &mut snd.send_state;
        let used = snd.cwnd_usage.max_used().max(initial_window(&self.config, send.mss()));
        if send.phase() == RecoveryPhase::Open {
            send.congestion.decay_unused(used);
        }
        snd.cwnd_usage.restart(now);
    }
}
