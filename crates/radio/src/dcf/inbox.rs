//! Inboxes: the frames on the air around a station that it has not looked at.

use driftway_base::StationId;
use typed_index_collections::{TiVec, ti_vec};

use super::frame_number::FrameNumber;

/// Frames in an inbox: with their number, two cache lines. Under load fifteen would rarely include a
/// silence.
pub(super) const CAPACITY: usize = 31;

/// In place of the number of frames: the station follows each frame as it begins.
const ATTENTIVE: u32 = u32::MAX;

/// Frames that may have reached a station, in order of their starts.
#[derive(Clone, Copy, Debug)]
#[repr(align(128))]
struct Inbox {
    count: u32,
    frames: [FrameNumber; CAPACITY],
}

/// The inboxes of all stations.
#[derive(Clone, Debug)]
pub(super) struct Inboxes {
    inboxes: TiVec<StationId, Inbox>,
}

impl Inboxes {
    pub fn new(stations: usize) -> Self {
        let empty = Inbox { count: 0, frames: [FrameNumber::FIRST; CAPACITY] };
        Self { inboxes: ti_vec![empty; stations] }
    }

    /// Adds a frame; returns false, and does not add it, if the station is attentive or its inbox
    /// is full.
    #[inline]
    pub fn add(&mut self, station: StationId, frame: FrameNumber) -> bool {
        let inbox = &mut self.inboxes[station];
        let Some(place) = inbox.frames.get_mut(inbox.count as usize) else { return false };
        *place = frame;
        inbox.count += 1;
        true
    }

    /// Adds a frame to the inboxes of these stations; appends those to which it was not added to
    /// `others`.
    #[inline]
    pub fn add_to_all(
        &mut self,
        stations: &[StationId],
        frame: FrameNumber,
        others: &mut Vec<StationId>,
    ) {
        for &station in stations {
            if !self.add(station, frame) {
                others.push(station);
            }
        }
    }

    /// Returns whether a station follows each frame as it begins.
    #[inline]
    pub fn is_attentive(&self, station: StationId) -> bool {
        self.inboxes[station].count == ATTENTIVE
    }

    /// Makes a station with an empty inbox attentive or not.
    pub fn set_attentive(&mut self, station: StationId, attentive: bool) {
        debug_assert!(!self.has_frames(station), "what is in the inbox would be lost");
        self.inboxes[station].count = if attentive { ATTENTIVE } else { 0 };
    }

    /// Returns whether there are frames in a station's inbox.
    #[inline]
    pub fn has_frames(&self, station: StationId) -> bool {
        !matches!(self.inboxes[station].count, 0 | ATTENTIVE)
    }

    /// Moves the frames in a station's inbox to the front of `frames`; returns their number.
    #[inline]
    pub fn take(&mut self, station: StationId, frames: &mut [FrameNumber; CAPACITY]) -> usize {
        if !self.has_frames(station) {
            return 0;
        }
        let inbox = &mut self.inboxes[station];
        *frames = inbox.frames;
        core::mem::take(&mut inbox.count) as usize
    }

    /// Puts the first `count` of these frames into an empty inbox.
    pub fn put_back(&mut self, station: StationId, frames: &[FrameNumber; CAPACITY], count: usize) {
        let inbox = &mut self.inboxes[station];
        inbox.frames = *frames;
        inbox.count = count as u32;
    }
}
