//! Pacing of a connection's data. Acknowledgments, tail loss probes and what an aid or a timeout
//! sends do not wait.

use driftway_base::Instant;

use super::control_block::Connection;
use crate::congestion::{PacingRate, SentData};
use crate::timer::Timer;

/// A burst of a millisecond (Linux: `sk_pacing_shift`), of two segments at least.
const BURSTS_PER_SECOND: f64 = 1024.0;
/// Window per round trip at which a control without a rate of its own is paced (Linux:
/// `tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
const SLOW_START_RATIO: f64 = 2.0;
const AVOIDANCE_RATIO: f64 = 1.2;

impl Connection {
    /// Rate at which data leaves now; `None`: as the window permits.
    fn pacing_rate(&self) -> Option<PacingRate> {
        let send = &self.snd.send_state;
        if let Some(rate) = send.congestion.pacing_rate() {
            return Some(rate);
        }
        if !self.config.pacing {
            return None;
        }
        let srtt = self.snd.rtt.srtt().filter(|srtt| !srtt.is_zero())?;
        let starting = send.cwnd() < send.ssthresh() / 2;
        let ratio = if starting { SLOW_START_RATIO } else { AVOIDANCE_RATIO };
        let used = send.cwnd().max(send.outstanding());
        let bytes_per_second = ratio * f64::from(used) / srtt.as_secs_f64();
        let least = send.mss().saturating_mul(2);
        let quantum = ((bytes_per_second / BURSTS_PER_SECOND) as u32).max(least);
        Some(PacingRate { bytes_per_second, quantum })
    }

    /// True if no data may leave yet; sets the timer of the next burst.
    pub(super) fn waits_for_pacing(&mut self, now: Instant) -> bool {
        let Some(at) = self.snd.pacing.waits_until(now) else { return false };
        self.timers.set(Timer::Pacing, at);
        true
    }

    /// Records that `len` bytes of data have left. Data that is sent again makes a burst of its own, as in Linux.
    pub(super) fn on_paced_data_sent(
        &mut self,
        now: Instant,
        len: u32,
        in_flight: u32,
        again: bool,
    ) {
        if len == 0 || !(self.config.pacing || self.snd.send_state.has_model()) {
            return;
        }
        let after_idle = in_flight == 0 && self.snd.send_state.is_app_limited();
        let sent = SentData { bytes: len, in_flight, after_idle };
        self.snd.send_state.congestion.on_sent(now, sent);
        let Some(rate) = self.pacing_rate().filter(|rate| rate.bytes_per_second > 0.0) else {
            self.snd.pacing.on_sent_unpaced();
            return;
        };
        let mss = self.snd.send_state.mss();
        let quantum = if again { len } else { rate.quantum };
        self.snd.pacing.on_sent(now, len, mss, PacingRate { quantum, ..rate });
    }

    /// Notifies the delivery rate when nothing but the application limits sending.
    pub(super) fn note_lack_of_data(&mut self) {
        let send = &self.snd.send_state;
        if !send.has_model() {
            return;
        }
        let unsent = self.snd.written_bytes_from(send.max()) < u64::from(send.mss());
        if unsent && send.log().lost_bytes() == 0 && send.log().pipe() < send.cwnd() {
            self.snd.send_state.on_app_limited();
        }
    }
}
