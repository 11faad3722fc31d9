//! Frames at a station.

use super::frame_number::FrameNumber;

/// Arrival of a frame at a station.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub at: u64,
    pub until: u64,
    pub signal: f32,
    pub frame: FrameNumber,
    /// True if it can be decoded.
    pub is_decodable: bool,
}

/// State of a frame at a station within decoding range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReceptionState {
    Decodable,
    Collided,
    /// The station was transmitting itself.
    Transmitting,
    /// The station was disabled, at the start of the frame or later.
    Disabled,
}

/// A frame whose end has not been handled at a station within decoding range.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reception {
    pub frame: FrameNumber,
    /// Propagation delay (ns).
    pub delay: u32,
    pub state: ReceptionState,
}
