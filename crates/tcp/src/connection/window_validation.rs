//! Congestion window validation: a window that is not used does not grow, and falls with time
//! (RFC 2861 §3, as Linux does it).

use driftway_base::Instant;

use super::control_block::Connection;
use super::sender::initial_window;
use crate::send_state::RecoveryPhase;
use crate::cwnd_usage::OutstandingData;

impl Connection {
    /// Data has left: was the window needed for it?
    pub(super) fn validate_window(&mut self, now: Instant) {
        if !self.config.window_validation {
            return;
        }
        let snd = &mut self.snd;
        let flight = &mut snd.send_state;
        let full = snd.recovery.budget(flight) < flight.mss();
        let out = OutstandingData { una: flight.una(), max: flight.max(), cwnd_full: full };
        snd.cwnd_usage.on_sent(now, &flight.window, out);
        if now.since(snd.cwnd_usage.unfilled_since()) < snd.rtt.rto() {
            return;
        }
        // In the midst of a burst it is too early to say; and what the peer's window holds back is
        // used as soon as that opens.
        if snd.written_bytes_from(snd.send_state.nxt()) > 0 {
            if snd.usable_window() < snd.send_state.mss() {
                snd.cwnd_usage.restart(now);
            }
            return;
        }
        let flight = &mut snd.send_state;
        let used = snd.cwnd_usage.max_used().max(initial_window(&self.config, flight.mss()));
        if flight.phase() == RecoveryPhase::Open && used < flight.window.cwnd {
            // RFC 2861 §3.1: ssthresh keeps most of what was known of the path.
            let window = &mut flight.window;
            window.ssthresh = window.ssthresh.max(window.cwnd - window.cwnd / 4);
            window.cwnd = used + (window.cwnd - used) / 2;
        }
        snd.cwnd_usage.restart(now);
    }
}
