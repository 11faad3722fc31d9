//! Numbers of transmitted frames.

/// Number of a frame in order of transmission, modulo 2³².
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameNumber(u32);

impl FrameNumber {
    pub const FIRST: Self = Self(0);

    /// The number so many frames later.
    pub const fn after(self, frames: usize) -> Self {
        Self(self.0.wrapping_add(frames as u32))
    }

    /// Number of frames from `earlier` to this one.
    pub const fn since(self, earlier: Self) -> usize {
        self.0.wrapping_sub(earlier.0) as usize
    }
}
