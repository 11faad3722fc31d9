//! Access state: the part of a station that every frame in range uses, receiver, carrier sense and
//! backoff. One cache line.
//!
//! The backoff is computed, not ticked: slots are counted from [`AccessState::slots_begin_at`], and
//! when the medium becomes busy the elapsed ones are subtracted.

use super::config::Timing;
use super::transmission::TransmissionId;

/// Phase of a station's exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Phase {
    /// No packet, but a backoff that the next packet will have to wait for.
    PostBackoff,
    /// A packet is waiting for the medium.
    Contend,
    /// Idle.
    Idle,
    /// An RTS was sent, and a CTS is expected.
    AwaitCts,
    /// A CTS was received, and the data follows after a SIFS.
    CtsReceived,
    /// Data was sent, and an ACK is expected.
    AwaitAck,
    /// A broadcast is on the air.
    Broadcast,
    /// The station was disabled, and its packet is yet to be reported.
    Aborted,
}

/// Effect of an arrival on a backoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Suspension {
    /// It waits for the medium.
    Suspended,
    /// It would have transmitted without a backoff, and now needs one.
    NeedsBackoff,
    /// It transmits at this instant, before it can sense the frame.
    Transmits(u64),
}

/// Channel access state of a station; all instants in nanoseconds.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct AccessState {
    /// Start and end of the frame (or overlapping frames) that occupies the receiver.
    pub rx_start: u64,
    pub rx_end: u64,
    /// End of the medium's reservation by others (NAV).
    pub nav: u64,
    /// End of other reasons not to count slots: a frame of this station, a weak signal beside a
    /// strong frame, a wait.
    pub busy_until: u64,
    /// End of the last frame transmitted.
    pub tx_end: u64,
    /// Time of the station's timer; `u64::MAX`: not set.
    pub timer_at: u64,
    /// Signal strength of the frame that occupies the receiver, as a squared distance or a power.
    pub rx_signal: f32,
    /// Transmission that occupies the receiver, if it can be decoded.
    pub rx_transmission: Option<TransmissionId>,
    /// Remaining slots of the backoff.
    pub slots: u16,
    pub phase: Phase,
    pub flags: u8,
}

/// The frame in the receiver was not received correctly: an EIFS follows.
pub(super) const RX_FAILED: u8 = 1;
/// No backoff was drawn, as the medium was idle.
pub(super) const NO_BACKOFF: u8 = 2;
/// It transmits when its timer expires, whatever arrives before.
pub(super) const COMMITTED: u8 = 4;
/// The NAV was set by an RTS that no frame has followed yet.
pub(super) const NAV_FROM_RTS: u8 = 8;
/// Promiscuous mode.
pub(super) const PROMISCUOUS: u8 = 16;
/// The station is disabled: it follows what is on the air, but receives nothing.
pub(super) const DISABLED: u8 = 32;

/// Instants this close count as equal: propagation delays are rounded to nanoseconds, which would
/// otherwise let two stations with aligned slots miss each other's first nanosecond.
const ROUNDING_NS: u64 = 1;

impl AccessState {
    pub const NEW: Self = Self {
        rx_start: 0,
        rx_end: 0,
        nav: 0,
        busy_until: 0,
        tx_end: 0,
        timer_at: u64::MAX,
        rx_signal: 0.0,
        rx_transmission: None,
        slots: 0,
        phase: Phase::Idle,
        flags: 0,
    };

    /// Returns whether it has the flag, or one of several.
    pub const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    pub const fn set(&mut self, flag: u8) {
        self.flags |= flag;
    }

    pub const fn clear(&mut self, flag: u8) {
        self.flags &= !flag;
    }

    pub const fn set_to(&mut self, flag: u8, on: bool) {
        if on { self.set(flag) } else { self.clear(flag) }
    }

    /// Extends the NAV, which no longer is that of an RTS.
    #[inline]
    pub fn extend_nav(&mut self, until: u64) {
        if until > self.nav {
            self.nav = until;
            self.clear(NAV_FROM_RTS);
        }
    }

    /// Returns whether it counts slots when the medium is idle.
    pub fn counts_slots(&self) -> bool {
        self.phase <= Phase::Contend
    }

    /// Returns whether an arrival at `at` leaves its backoff unchanged and needs no check of the
    /// NAV of an RTS: it is enabled, and it counts no slots, or waits for the medium before the
    /// first slot, and is in no EIFS that may end.
    #[inline]
    pub fn is_unaffected_by_arrival(&self, at: u64, timing: &Timing) -> bool {
        let moves = if timing.eifs_can_end { NO_BACKOFF | RX_FAILED } else { NO_BACKOFF };
        // Most stations count no slots: the start of the slots is computed only for the others.
        !self.has(NAV_FROM_RTS | DISABLED)
            && (!self.counts_slots()
                || !self.has(moves) && self.slots_begin_at(timing) > at + ROUNDING_NS)
    }

    /// Suspends a backoff at an arrival at `at`, if the station needs nothing else then: it has drawn
    /// its backoff, which does not end before, and is in no EIFS that may end. Returns whether that
    /// is so.
    #[inline]
    pub fn only_suspends_backoff(&mut self, at: u64, timing: &Timing) -> bool {
        let more = if timing.eifs_can_end { RX_FAILED } else { 0 };
        self.counts_slots()
            && !self.has(NAV_FROM_RTS | DISABLED | COMMITTED | NO_BACKOFF | more)
            && self.suspend_backoff(at, timing) == Suspension::Suspended
    }

    /// Returns the start of the slots, as far as known: a DIFS after the medium is free, physically
    /// and by the NAV, or an EIFS after a reception failure (§9.2.3).
    #[inline]
    pub fn slots_begin_at(&self, timing: &Timing) -> u64 {
        let space = if self.has(RX_FAILED) { timing.after_rx_failure } else { timing.difs };
        (self.rx_end + space).max(self.nav.max(self.busy_until) + timing.difs)
    }

    /// Returns the end of its backoff if the medium stays idle.
    pub fn backoff_ends_at(&self, timing: &Timing) -> u64 {
        self.slots_begin_at(timing) + u64::from(self.slots) * timing.slot
    }

    /// Returns whether this station considers the medium busy.
    pub fn is_busy(&self, at: u64, timing: &Timing) -> bool {
        let bad = if self.has(RX_FAILED) {
            self.rx_end + timing.after_rx_failure - timing.difs
        } else {
            0
        };
        self.rx_end.max(bad).max(self.nav).max(self.busy_until) > at
    }

    /// Subtracts the elapsed slots from the backoff when the medium becomes busy at `at`.
    pub fn suspend_backoff(&mut self, at: u64, timing: &Timing) -> Suspension {
        let from = self.slots_begin_at(timing);
        if from > at + ROUNDING_NS {
            // The usual case: the medium has not been idle for long enough.
            return if self.has(NO_BACKOFF) {
                Suspension::NeedsBackoff
            } else {
                Suspension::Suspended
            };
        }
        let passed = (at + ROUNDING_NS - from) / timing.slot;
        let sends = from + u64::from(self.slots) * timing.slot;
        if sends <= at + ROUNDING_NS {
            if self.phase == Phase::PostBackoff {
                self.phase = Phase::Idle;
                self.slots = 0;
                return Suspension::Suspended;
            }
            return Suspension::Transmits(sends);
        }
        // Less than the remaining slots, or it would transmit.
        self.slots -= passed as u16;
        if self.has(NO_BACKOFF) {
            return Suspension::NeedsBackoff;
        }
        Suspension::Suspended
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_state_is_one_cache_line() {
        assert_eq!((size_of::<AccessState>(), align_of::<AccessState>()), (64, 64));
    }
}
