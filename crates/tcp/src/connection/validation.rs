//! Congestion window validation: an unused window does not grow, and decays with time (RFC 2861 §3,
//! as in Linux).

use driftway_base::Instant;

use super::control_block::Connection;
use super::sender::initial_window;
use crate::flight::Phase;
use crate::window_use::Outstanding;

impl Connection {
    /// Validates the window after data has been sent.
    pub(super) fn validate_window(&mut self, now: Instant) {
        if !self.config.window_validation {
            return;
        }
        let snd = &mut self.snd;
        let flight = &mut snd.flight;
        let full = snd.recovery.budget(flight) < flight.mss();
        let out = Outstanding { una: flight.una(), max: flight.max(), full };
        snd.window_use.on_sent(now, &flight.window, out);
        if now.since(snd.window_use.unfilled_since()) < snd.rtt.rto() {
            return;
        }
        // Within a burst it is too early; and data that the peer's window keeps back will use the
        // window as soon as that opens.
        if snd.waiting_from(snd.flight.nxt()) > 0 {
            if snd.peer_room() < snd.flight.mss() {
                snd.window_use.start_over(now);
            }
            return;
        }
        let flight = &mut snd.flight;
        let used = snd.window_use.used().max(initial_window(&self.config, flight.mss()));
        if flight.phase() == Phase::Open && used < flight.window.cwnd {
            // RFC 2861 §3.1: ssthresh keeps most of the knowledge of the path.
            let window = &mut flight.window;
            window.ssthresh = window.ssthresh.max(window.cwnd - window.cwnd / 4);
            window.cwnd = used + (window.cwnd - used) / 2;
        }
        snd.window_use.start_over(now);
    }
}
