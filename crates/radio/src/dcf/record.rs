//! Recording of transmitted frames.

use driftway_base::{Duration, Instant, PacketId, Rate, StationId};

use super::transmission::FrameKind;

/// A transmitted frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRecord {
    /// Start of the transmission.
    pub at: Instant,
    /// Airtime, including the preamble.
    pub airtime: Duration,
    /// Rate after the preamble.
    pub rate: Rate,
    /// RTS, CTS, data or ACK.
    pub kind: FrameKind,
    /// Transmitter (absent from the CTS and ACK frame formats).
    pub from: StationId,
    /// Receiver; `None`: broadcast.
    pub to: Option<StationId>,
    /// Size from the end of the PLCP header to the end of the FCS (bytes).
    pub bytes: u32,
    /// Duration field (µs).
    pub duration_us: u32,
    /// Sequence number of a data frame; else 0.
    pub sequence: u16,
    /// True for a retransmitted data frame.
    pub retry: bool,
    /// Handle of the packet in a data frame.
    pub id: Option<PacketId>,
    /// Outcome at its receiver.
    pub outcome: ReceptionOutcome,
}

/// Outcome of a frame at its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceptionOutcome {
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
    /// Received with an error, or cut because its sender was disabled.
    Damaged,
    /// The receiver was transmitting.
    Transmitting,
    /// The receiver was out of range, or disabled.
    OutOfRange,
    /// A broadcast, and its number of receivers.
    Broadcast(u32),
}

/// Records frames while enabled.
#[derive(Clone, Debug, Default)]
pub(crate) struct FrameRecorder {
    enabled: bool,
    /// Number of frames already handed out.
    drained: u64,
    frames: Vec<FrameRecord>,
}

impl FrameRecorder {
    pub fn set_enabled(&mut self, on: bool) {
        self.enabled = on;
    }

    pub const fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Records a frame; returns its number.
    pub fn record(&mut self, frame: FrameRecord) -> u64 {
        self.frames.push(frame);
        self.drained + self.frames.len() as u64
    }

    /// Sets the outcome of the frame of this number, if it was recorded.
    pub fn set_reception_outcome(&mut self, number: u64, outcome: ReceptionOutcome) {
        let place = number.checked_sub(self.drained + 1);
        if let Some(frame) = place.and_then(|place| self.frames.get_mut(place as usize)) {
            frame.outcome = outcome;
        }
    }

    /// Moves the frames with a final outcome to `out`, in order of time.
    pub fn drain_into(&mut self, out: &mut Vec<FrameRecord>) {
        let pending =
            self.frames.iter().position(|frame| frame.outcome == ReceptionOutcome::Pending);
        let settled = pending.unwrap_or(self.frames.len());
        self.drained += settled as u64;
        out.extend(self.frames.drain(..settled));
    }
}
