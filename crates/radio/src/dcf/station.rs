//! What of a station every frame in its neighbourhood touches: its receiver, its view of the
//! medium, and its back-off. One cache line.
//!
//! Back-off is computed, not ticked. Slots count from [`Station::count_from`]; when the medium
//! becomes busy, those that have passed are taken off, and that is all.

use super::config::Timing;

/// No frame.
pub(super) const NONE: u32 = u32::MAX;

/// Where a station is in its exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Phase {
    /// No packet, but a back-off that the next one will have to wait for.
    PostBackoff,
    /// A packet, which waits for the medium.
    Contend,
    /// Nothing to do.
    Idle,
    /// An RTS is out; a CTS is to come.
    AwaitCts,
    /// A CTS has come; the data goes after a SIFS.
    CtsReceived,
    /// Data is out; an ACK is to come.
    AwaitAck,
    /// A frame to all is on the air.
    Broadcast,
}

/// What came of an arrival for a back-off under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Suspension {
    /// It waits for the medium.
    Suspended,
    /// It was to send without back-off, and needs one now.
    NeedsBackoff,
    /// It sends at this instant, before it can notice.
    Transmits(u64),
}

/// All instants are nanoseconds.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Station {
    /// The frame (or frames run together) that occupies the receiver: its first and last instant.
    pub rx_start: u64,
    pub rx_end: u64,
    /// Until when others have reserved the medium.
    pub nav: u64,
    /// Until when something besides these two keeps slots from counting: an own frame, a weak
    /// signal beside a strong frame, a wait.
    pub busy_until: u64,
    /// The end of the last own frame.
    pub tx_end: u64,
    /// When the station's timer is in the agenda; `u64::MAX` if it is not.
    pub timer_at: u64,
    /// How strong the frame that occupies the receiver is, in the medium's measure.
    pub rx_signal: f32,
    /// The flight that occupies the receiver, if it can be decoded; else [`NONE`].
    pub rx_transmission: u32,
    /// Slots that the back-off has still to count.
    pub slots: u16,
    pub phase: Phase,
    pub flags: u8,
}

/// What occupied the receiver was not understood: an EIFS follows it.
pub(super) const RX_FAILED: u8 = 1;
/// No back-off was drawn, as the medium was idle.
pub(super) const NO_BACKOFF: u8 = 2;
/// It will send when its timer comes, whatever is on the way to it.
pub(super) const COMMITTED: u8 = 4;
/// The NAV was set by an RTS that nothing has followed yet.
pub(super) const NAV_FROM_RTS: u8 = 8;
/// It hears what is for others, too.
pub(super) const PROMISCUOUS: u8 = 16;

/// Instants this close count as one: whole nanoseconds round the way of a wave, which would make
/// two stations whose slots agree miss each other's first nanosecond.
const ROUNDING_NS: u64 = 1;

impl Station {
    pub const NEW: Self = Self {
        rx_start: 0,
        rx_end: 0,
        nav: 0,
        busy_until: 0,
        tx_end: 0,
        timer_at: u64::MAX,
        rx_signal: 0.0,
        rx_transmission: NONE,
        slots: 0,
        phase: Phase::Idle,
        flags: 0,
    };

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

    /// Does it count slots when the medium is idle?
    pub fn counts_slots(&self) -> bool {
        self.phase <= Phase::Contend
    }

    /// Does a frame that arrives at `at` leave its back-off as it is, and has it no RTS to watch? It
    /// counts no slots, or waits for the medium, counts none yet, and is in no EIFS that may end.
    #[inline]
    pub fn is_unaffected_by_arrival(&self, at: u64, timing: &Timing) -> bool {
        let moves = if timing.eifs_can_end { NO_BACKOFF | RX_FAILED } else { NO_BACKOFF };
        // Most stations count nothing: only of the others is it asked when they begin.
        !self.has(NAV_FROM_RTS)
            && (!self.counts_slots() || !self.has(moves) && self.slots_begin_at(timing) > at + ROUNDING_NS)
    }

    /// From when on slots count, as far as is known: DIFS after the medium is free, physically and
    /// by the NAV, or EIFS after what was not understood (§9.2.3).
    #[inline]
    pub fn slots_begin_at(&self, timing: &Timing) -> u64 {
        let space = if self.has(RX_FAILED) { timing.after_rx_failure } else { timing.difs };
        (self.rx_end + space).max(self.nav.max(self.busy_until) + timing.difs)
    }

    /// When its back-off ends if nothing comes in between.
    pub fn backoff_ends_at(&self, timing: &Timing) -> u64 {
        self.slots_begin_at(timing) + u64::from(self.slots) * timing.slot
    }

    /// Is the medium busy, by all that this station knows?
    pub fn is_busy(&self, at: u64, timing: &Timing) -> bool {
        let bad = if self.has(RX_FAILED) { self.rx_end + timing.after_rx_failure - timing.difs } else { 0 };
        self.rx_end.max(bad).max(self.nav).max(self.busy_until) > at
    }

    /// The medium becomes busy at `at`: slots that have passed are taken off the back-off.
    pub fn suspend_backoff(&mut self, at: u64, timing: &Timing) -> Suspension {
        let from = self.slots_begin_at(timing);
        if from > at + ROUNDING_NS {
            // As nearly always: the medium has not been idle for long enough.
            return if self.has(NO_BACKOFF) { Suspension::NeedsBackoff } else { Suspension::Suspended };
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
        // Below the slots that are left, or it would send.
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
    fn a_station_is_one_cache_line() {
        assert_eq!((size_of::<Station>(), align_of::<Station>()), (64, 64));
    }
}
