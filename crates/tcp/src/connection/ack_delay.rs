//! The delay of acknowledgments.

use driftway_base::{Duration, Instant};

use super::control_block::Connection;
use crate::ack_delay::AckDelayLimits;
use crate::config::DelayedAck;

impl Connection {
    /// What Linux' delay depends on; `None`: the delay is that of the configuration.
    fn ack_delay_limits(&self) -> Option<AckDelayLimits> {
        let delayed = self.config.delayed_ack.filter(|_| self.config.quick_acks)?;
        let rtt = &self.snd.rtt;
        Some(AckDelayLimits {
            least: delayed.timeout,
            rto: rtt.rto(),
            srtt: rtt.srtt(),
            window_segments: self.rcv.window() / u32::from(self.config.mss).max(1),
        })
    }

    /// Notes that data has arrived; `is_duplicate`: nothing of it is new.
    pub(super) fn note_data_for_acks(&mut self, now: Instant, is_duplicate: bool) {
        let Some(limits) = self.ack_delay_limits() else { return };
        if is_duplicate {
            self.pending_ack.delay.acknowledge_at_once(2, &limits);
        } else {
            self.pending_ack.delay.on_data(now, &limits);
        }
    }

    /// Has the next `segments` acknowledged at once.
    pub(super) fn acknowledge_at_once(&mut self, segments: u32) {
        if let Some(limits) = self.ack_delay_limits() {
            self.pending_ack.delay.acknowledge_at_once(segments, &limits);
        }
    }

    /// Delay of an acknowledgment.
    pub(super) fn ack_delay(&self, delayed: DelayedAck) -> Duration {
        match self.ack_delay_limits() {
            Some(limits) => self.pending_ack.delay.delay(&limits),
            None => delayed.timeout,
        }
    }

    /// Handles the end of the delay.
    pub(super) fn delayed_ack_timeout(&mut self) {
        if self.pending_ack.segments == 0 {
            return;
        }
        self.pending_ack.due_now = true;
        if let Some(limits) = self.ack_delay_limits() {
            self.pending_ack.delay.on_timeout(&limits);
        }
    }

    /// Notes that an acknowledgment is sent.
    pub(super) fn note_ack_sent(&mut self) {
        if let Some(limits) = self.ack_delay_limits() {
            self.pending_ack.delay.on_ack_sent(limits.least);
        }
    }
}
