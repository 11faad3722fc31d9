//! Acknowledgments, as the congestion control gets them.

use driftway_base::{Duration, Instant};
use driftway_wire::{TcpFlags, TcpSegment};

use super::control_block::Connection;
use super::sender::Sender;
use crate::congestion::AckedData;
use crate::send_state::{DUP_THRESHOLD, RecoveryPhase};

/// State of the sender before an acknowledgment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FlightBefore {
    una: u32,
    /// Bytes SACKed, or without SACK reported by duplicates.
    reported: u32,
    in_flight: u32,
    outstanding: u32,
    total_lost: u64,
}

/// Loss recovery's answer to an acknowledgment of new data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    /// The window may grow.
    pub may_grow: bool,
    /// Round-trip time.
    pub rtt: Option<Duration>,
}

impl FlightBefore {
    /// The state now; `exact`: with what is delivered and lost, which takes time.
    pub fn of(snd: &Sender, outstanding: u32, exact: bool) -> Self {
        let send = &snd.send_state;
        if !exact {
            return Self { una: send.una().0, outstanding, ..Self::default() };
        }
        Self {
            una: send.una().0,
            reported: reported(snd),
            in_flight: send.log().pipe(),
            outstanding,
            total_lost: send.log().total_lost(),
        }
    }
}

/// Bytes above SND.UNA that have arrived: SACKed ones, or without SACK a segment for each duplicate.
fn reported(snd: &Sender) -> u32 {
    let send = &snd.send_state;
    let by_duplicates = send.dup_acks().saturating_mul(send.mss()).min(send.outstanding());
    send.scoreboard().sacked_bytes().max(by_duplicates)
}

impl Connection {
    /// The window depends on what is delivered, not on what is acknowledged.
    pub(super) fn counts_delivered(&self) -> bool {
        self.config.linux_growth || self.snd.send_state.has_model()
    }

    /// Passes an acknowledgment to the congestion control, if the window may change for it: after
    /// loss recovery, so that the window that it grows is the one that stays.
    pub(super) fn control_congestion(
        &mut self,
        now: Instant,
        segment: &TcpSegment,
        before: &FlightBefore,
        growth: Growth,
    ) {
        let send = &self.snd.send_state;
        let acked = send.una().0.wrapping_sub(before.una);
        let model = send.has_model();
        // RFC 3168 §6.1.2: no growth with an ECN echo.
        let echo = self.snd.ecn.negotiated && segment.flags.contains(TcpFlags::ECE);
        // A recovery that has just begun has set the window.
        let recovering = matches!(send.phase(), RecoveryPhase::Recovery { .. });
        let may_grow = if self.config.linux_growth {
            // Where much is reordered, what is SACKed counts at once.
            let reordered = self.snd.recovery.reordering(send.mss()) > DUP_THRESHOLD;
            (acked > 0 || reordered) && !recovering && !send.is_reducing()
        } else {
            acked > 0 && growth.may_grow && !recovering && !echo
        };
        // chandran-1998 §4: nothing changes while the window is frozen.
        if !(may_grow || model) || self.timers.are_frozen() || (model && self.snd.hold.is_some()) {
            return;
        }
        let bytes = match self.counts_delivered() {
            true => delivered(acked, before, reported(&self.snd), send.mss()),
            false => acked,
        };
        if bytes == 0 && !model {
            return;
        }
        let snd = &mut self.snd;
        let send = &mut snd.send_state;
        let validates = self.config.window_validation;
        let cwnd_limited = if validates {
            snd.cwnd_usage.may_grow(send.congestion.window())
        } else {
            before.outstanding.saturating_add(send.mss()) > send.cwnd()
        };
        let total_lost = send.log().total_lost();
        let lost = total_lost.saturating_sub(before.total_lost).min(u64::from(u32::MAX)) as u32;
        let min_rtt = snd.recovery.min_rtt();
        let rate = model.then(|| {
            send.report_losses(now);
            send.rate_mut().take_sample(now, min_rtt)
        });
        let pacing_wait = snd.pacing.waits_until(now).map_or(Duration::ZERO, |at| at.since(now));
        let acked = AckedData {
            bytes,
            mss: send.mss(),
            byte_counting: self.config.slow_start_by_bytes,
            srtt: snd.rtt.srtt(),
            cwnd_limited,
            rtt: growth.rtt.filter(|_| send.congestion.wants_round_trips()),
            una: send.una(),
            max: send.max(),
            phase: send.phase(),
            prior_in_flight: before.in_flight,
            in_flight: send.log().pipe(),
            lost,
            rate: rate.flatten(),
            pacing_wait,
        };
        send.grow(now, &acked, validates);
    }
}

/// Bytes delivered for the first time: of what is acknowledged, the part that was not reported
/// before, and what is reported now. Without SACK, a hole is filled by a segment at least.
fn delivered(acked: u32, before: &FlightBefore, reported: u32, mss: u32) -> u32 {
    let new = acked.saturating_add(reported).saturating_sub(before.reported);
    if acked > 0 { new.max(acked.min(mss)) } else { new }
}
