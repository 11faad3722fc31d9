//! Recording of transmitted frames.

use driftway_base::{Duration, Instant, Rate};

use super::flight::FrameKind;

/// A transmitted frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AirFrame {
    /// Start of the transmission.
    pub at: Instant,
    /// Airtime, including the preamble.
    pub airtime: Duration,
    /// Rate after the preamble.
    pub rate: Rate,
    /// RTS, CTS, data or ACK.
    pub kind: FrameKind,
    /// Transmitter (absent from the CTS and ACK frame formats).
    pub from: u32,
    /// Receiver; `None`: broadcast.
    pub to: Option<u32>,
    /// Size from the end of the PLCP header to the end of the FCS (bytes).
    pub bytes: u32,
    /// Duration field (µs).
    pub duration_us: u32,
    /// Sequence number of a data frame; else 0.
    pub sequence: u16,
    /// True for a retransmitted data frame.
    pub retry: bool,
    /// Handle of the packet in a data frame.
    pub id: Option<u32>,
    /// Outcome at its receiver.
    pub outcome: Outcome,
}

/// Outcome of a frame at its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Still on the air.
    Pending,
    /// Received.
    Received,
    /// Received again, and discarded as a duplicate.
    Duplicate,
    /// An RTS that was received but is not answered. (Excluding a CTS dropped a SIFS later under
    /// [`super::DcfConfig::cts_needs_idle`].)
    Refused,
    /// Lost in a collision.
    Collided,
    /// Received with an error.
    Damaged,
    /// The receiver was transmitting.
    Deaf,
    /// The receiver was out of range.
    OutOfRange,
    /// A broadcast, and its number of receivers.
    ByAll(u32),
}

/// Records frames while enabled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder {
    on: bool,
    /// Number of frames already handed out.
    before: u64,
    frames: Vec<AirFrame>,
}

impl Recorder {
    pub fn switch(&mut self, on: bool) {
        self.on = on;
    }

    pub const fn is_on(&self) -> bool {
        self.on
    }

    /// Records a frame; returns its number.
    pub fn keep(&mut self, frame: AirFrame) -> u64 {
        self.frames.push(frame);
        self.before + self.frames.len() as u64
    }

    /// Sets the outcome of the frame of this number, if it was recorded.
    pub fn settle(&mut self, number: u64, outcome: Outcome) {
        let place = number.checked_sub(self.before + 1);
        if let Some(frame) = place.and_then(|place| self.frames.get_mut(place as usize)) {
            frame.outcome = outcome;
        }
    }

    /// Moves the frames with a final outcome to `out`, in order of time.
    pub fn hand_out(&mut self, out: &mut Vec<AirFrame>) {
        let pending = self.frames.iter().position(|frame| frame.outcome == Outcome::Pending);
        let settled = pending.unwrap_or(self.frames.len());
        self.before += settled as u64;
        out.extend(self.frames.drain(..settled));
    }
}
