//! Frames as a capture shows them.

use driftway_base::{Duration, Instant, Rate};

use super::transmission::FrameKind;

/// A frame that was on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRecord {
    /// Its first instant at the sender.
    pub at: Instant,
    /// How long it took, preamble included.
    pub airtime: Duration,
    /// Rate after the preamble.
    pub rate: Rate,
    /// RTS, CTS, data or ACK.
    pub kind: FrameKind,
    /// Who sent it (a CTS or an ACK does not say so on the air).
    pub from: u32,
    /// Whom it is for; `None` for all.
    pub to: Option<u32>,
    /// Size between PLCP header and the end of the FCS (bytes).
    pub bytes: u32,
    /// The duration field (µs).
    pub duration_us: u32,
    /// The sequence number of a data frame; else 0.
    pub sequence: u16,
    /// A data frame that was sent before.
    pub retry: bool,
    /// The handle of the packet in a data frame.
    pub id: Option<u32>,
    /// What became of it where it was to go.
    pub outcome: ReceptionOutcome,
}

/// What became of a frame at its addressee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceptionOutcome {
    /// It is on the air.
    Pending,
    /// Understood, and taken.
    Received,
    /// Understood, but received before.
    Duplicate,
    /// An RTS that was understood, but will not be answered. (Not one whose CTS was dropped a SIFS
    /// later, as [`super::DcfConfig::cts_needs_idle`] may have it.)
    Refused,
    /// Another frame spoilt it.
    Collided,
    /// It had an error.
    Damaged,
    /// The addressee was sending itself.
    Transmitting,
    /// The addressee was too far away.
    OutOfRange,
    /// It was for all, and so many understood it.
    Broadcast(u32),
}

/// Keeps frames while it is on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder {
    enabled: bool,
    /// How many frames were handed out.
    drained: u64,
    frames: Vec<FrameRecord>,
}

impl Recorder {
    pub fn set_enabled(&mut self, on: bool) {
        self.enabled = on;
    }

    pub const fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Keeps a frame; gives its number.
    pub fn record(&mut self, frame: FrameRecord) -> u64 {
        self.frames.push(frame);
        self.drained + self.frames.len() as u64
    }

    /// The outcome of the frame of this number, if it has been kept.
    pub fn set_outcome(&mut self, number: u64, outcome: ReceptionOutcome) {
        let place = number.checked_sub(self.drained + 1);
        if let Some(frame) = place.and_then(|place| self.frames.get_mut(place as usize)) {
            frame.outcome = outcome;
        }
    }

    /// Moves what is settled to `out`, in order of time.
    pub fn drain_into(&mut self, out: &mut Vec<FrameRecord>) {
        let pending = self.frames.iter().position(|frame| frame.outcome == ReceptionOutcome::Pending);
        let settled = pending.unwrap_or(self.frames.len());
        self.drained += settled as u64;
        out.extend(self.frames.drain(..settled));
    }
}
