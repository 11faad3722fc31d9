//! The log of the frames transmitted lately, from which stations learn what they have missed.
//!
//! A frame leaves the log when it can no longer have an effect at any station that has not heard
//! it, at the latest when its end is as long ago as the longest run of overlapping frames that an
//! [inbox](super::inbox) can hold.

use std::collections::VecDeque;

use driftway_base::StationId;

use super::config::Timing;
use super::frame_number::FrameNumber;
use super::inbox::CAPACITY;
use super::transmission::{FrameKind, TransmissionId};

/// A frame in the log; instants in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoggedFrame {
    pub start: u64,
    /// End of the transmission at the sender.
    pub end: u64,
    /// Instant after which no reservation or interframe space that it causes is left anywhere.
    pub effect_end: u64,
    /// Positions of its start and of the handling of its end, in the order of both ([`ON_AIR`] before).
    pub began: u64,
    pub ended: u64,
    /// Position of the sender at the start (m).
    pub place: (f64, f64),
    pub from: StationId,
    /// `None`: broadcast.
    pub to: Option<StationId>,
    /// Duration field (µs).
    pub duration: u32,
    pub transmission: TransmissionId,
    /// Sequence number of the sender's packet.
    pub sequence: u16,
    pub kind: FrameKind,
    /// True if its sender was disabled before its end.
    pub is_cut: bool,
}

/// In place of the end of a frame that is on the air.
pub(super) const ON_AIR: u64 = u64::MAX;

impl LoggedFrame {
    /// Returns whether it is addressed to this station, alone or as a broadcast.
    pub fn is_for(&self, station: StationId) -> bool {
        self.to.is_none_or(|to| to == station)
    }
}

/// Spans of time that depend on the configuration (ns).
#[derive(Clone, Copy, Debug)]
pub(super) struct Spans {
    /// Bound of the time from a frame's end at its sender to the end of every interframe space that
    /// it causes.
    pub interframe: u64,
    /// The same from the end of a NAV.
    after_nav: u64,
    /// A gap of this length between frames is one at every station.
    pub gap: u64,
}

/// Margin for roundings to a microsecond (ns).
const ROUNDING: u64 = 2_000;

impl Spans {
    /// Derives the spans; `delay` bounds the propagation delay over which a frame has an effect.
    pub fn new(timing: &Timing, delay: u64) -> Self {
        let gap = 2 * delay + 10;
        let after_nav = timing.difs + 2 * gap + ROUNDING;
        let longest = timing.eifs.max(timing.rts_nav_timeout);
        let interframe = (longest + after_nav).max(timing.after_rx_failure + 2 * gap + ROUNDING);
        Self { interframe, after_nav, gap }
    }
}

/// A frame that began in silence: what came before can have an effect until `effect_end`.
#[derive(Clone, Copy, Debug)]
struct SilentStart {
    frame: FrameNumber,
    effect_end: u64,
}

#[derive(Clone, Debug)]
pub(super) struct FrameLog {
    frames: VecDeque<LoggedFrame>,
    /// Number of the first of them.
    first: FrameNumber,
    silent_starts: VecDeque<SilentStart>,
    spans: Spans,
    /// Number of starts and ends so far.
    clock: u64,
    /// Latest end and latest end of an effect so far.
    last_end: u64,
    last_effect_end: u64,
    longest_airtime: u64,
    longest_effect: u64,
    /// The frame that began last, if no other has been on the air since.
    alone: Option<FrameNumber>,
}

/// Frames for which there is room initially.
const RESERVED_FRAMES: usize = 256;

impl FrameLog {
    pub fn new(spans: Spans) -> Self {
        Self {
            frames: VecDeque::with_capacity(RESERVED_FRAMES),
            first: FrameNumber::FIRST,
            silent_starts: VecDeque::with_capacity(RESERVED_FRAMES),
            spans,
            clock: 0,
            last_end: 0,
            last_effect_end: 0,
            longest_airtime: 0,
            longest_effect: 0,
            alone: None,
        }
    }

    pub const fn spans(&self) -> &Spans {
        &self.spans
    }

    /// Returns the number of the next frame.
    pub fn next_number(&self) -> FrameNumber {
        self.first.after(self.frames.len())
    }

    /// Adds a frame that begins, with the place of its start in the order of all; forgets frames
    /// without effect.
    pub fn push(&mut self, frame: LoggedFrame) {
        let LoggedFrame { start, end, .. } = frame;
        let nav = u64::from(frame.duration) * 1_000;
        let reserved = (nav + self.spans.after_nav).max(self.spans.interframe);
        let effect_end = end + reserved;
        self.alone = None;
        if start > self.last_end + self.spans.gap {
            let (frame, effect_end) = (self.next_number(), self.last_effect_end);
            self.silent_starts.push_back(SilentStart { frame, effect_end });
            self.alone = Some(frame);
        }
        self.last_end = self.last_end.max(end);
        self.last_effect_end = self.last_effect_end.max(effect_end);
        self.longest_airtime = self.longest_airtime.max(end - start);
        self.longest_effect = self.longest_effect.max(reserved);
        let began = self.tick();
        self.frames.push_back(LoggedFrame { effect_end, began, ..frame });
        self.forget(start);
    }

    /// Notes that the end of a frame has been handled.
    pub fn end(&mut self, number: FrameNumber) {
        let ended = self.tick();
        if let Some(frame) = self.get_mut(number) {
            frame.ended = ended;
        }
    }

    /// Returns whether a frame that ends was the only one on the air, and all stations were enabled
    /// or disabled throughout: each enabled one within decoding range has received it.
    pub fn is_alone(&self, number: FrameNumber) -> bool {
        self.alone == Some(number)
    }

    /// Notes that a station has been enabled or disabled.
    pub fn note_switch(&mut self) {
        self.alone = None;
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Forgets frames that have no effect from `now` on.
    fn forget(&mut self, now: u64) {
        while let Some(silent) = self.silent_starts.front()
            && silent.effect_end <= now
        {
            let past = self.index(silent.frame).min(self.frames.len());
            self.frames.drain(..past);
            self.first = silent.frame;
            self.silent_starts.pop_front();
        }
        // The frames in an inbox that overlap, directly or by others between them.
        let run = (CAPACITY as u64 + 2) * (self.longest_airtime + self.spans.gap);
        while let Some(frame) = self.frames.front()
            && frame.ended != ON_AIR
            && frame.end + run + self.longest_effect <= now
        {
            self.frames.pop_front();
            self.first = self.first.after(1);
        }
    }

    /// Returns the start of the first frame in the log.
    pub fn oldest_start(&self) -> Option<u64> {
        self.frames.front().map(|frame| frame.start)
    }

    const fn index(&self, number: FrameNumber) -> usize {
        number.since(self.first)
    }

    /// Returns a frame; `None` if it can no longer have an effect.
    #[inline]
    pub fn get(&self, number: FrameNumber) -> Option<&LoggedFrame> {
        self.frames.get(self.index(number))
    }

    pub fn get_mut(&mut self, number: FrameNumber) -> Option<&mut LoggedFrame> {
        let index = self.index(number);
        self.frames.get_mut(index)
    }

    /// Cuts the frames of a station that are on the air.
    pub fn cut(&mut self, from: StationId) {
        for frame in self.frames.iter_mut().filter(|frame| frame.from == from) {
            frame.is_cut |= frame.ended == ON_AIR;
        }
    }
}
