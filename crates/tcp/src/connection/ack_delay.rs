//! The delay of acknowledgments.

use driftway_base::{Duration, Instant};
use driftway_wire::{TcpFlags, TcpSegment};

use super::control_block::Connection;
use crate::ack_delay::AckDelayLimits;
use crate::config::DelayedAck;

impl Connection {
    /// Limits of Linux' delay; `None`: the delay is that of the configuration.
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

    /// Notes that a segment with data has arrived; `is_duplicate`: nothing of it is new.
    pub(super) fn note_data_for_acks(
        &mut self,
        now: Instant,
        segment: &TcpSegment,
        is_duplicate: bool,
    ) {
        let Some(limits) = self.ack_delay_limits() else { return };
        if is_duplicate {
            self.acknowledge_at_once(2);
        } else {
            let push = segment.flags.contains(TcpFlags::PSH);
            self.pending_ack.delay.on_data(now, segment.payload.len, push, &limits);
        }
    }

    /// True if the acknowledgment of a segment in order waits for the next.
    pub(super) fn ack_waits(&self) -> bool {
        let delay = &self.pending_ack.delay;
        if self.pending_ack.segments < 2 {
            return !delay.is_at_once();
        }
        // RFC 9293 §3.8.6.3: at least every second segment is acknowledged. In Linux when the
        // application has read it, unless the window stays as large without.
        self.config.quick_acks
            && !delay.is_at_once()
            && !self.rcv.keeps_window(self.pending_ack.last_sent)
    }

    /// Makes an acknowledgment due that has waited for the application to read.
    pub(super) fn note_read(&mut self) {
        if !self.config.quick_acks || self.pending_ack.segments == 0 {
            return;
        }
        let drained = self.rcv.readable_bytes() == 0 && self.pending_ack.delay.ends_with_a_read();
        self.pending_ack.due_now |= self.pending_ack.segments >= 2 || drained;
    }

    /// Has the next `segments` acknowledged at once.
    pub(super) fn acknowledge_at_once(&mut self, segments: u32) {
        if let Some(limits) = self.ack_delay_limits() {
            self.pending_ack.delay.acknowledge_at_once(segments, &limits);
            self.pending_ack.delay.leave_ping_pong();
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
