//! Frames on the air.

use driftway_base::StationId;
use typed_index_collections::TiVec;

use super::frame_number::FrameNumber;

/// Frame types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// Data, unicast or broadcast.
    Data,
    /// Acknowledgment.
    Ack,
}

/// Number of a frame on the air, which is used again after the frame's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TransmissionId(u32);

impl TransmissionId {
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    pub const fn number(self) -> u32 {
        self.0
    }
}

impl From<usize> for TransmissionId {
    fn from(index: usize) -> Self {
        Self(index as u32)
    }
}

impl From<TransmissionId> for usize {
    fn from(id: TransmissionId) -> Self {
        id.0 as usize
    }
}

/// A frame on the air, besides what the log has of it.
#[derive(Clone, Debug)]
pub(super) struct Transmission {
    pub frame: FrameNumber,
    /// Its number in the recorder.
    pub record_number: u64,
    /// Stations at which its end has to be handled when it comes, in order of their numbers.
    pub watchers: Vec<StationId>,
}

impl Transmission {
    /// Adds a station at which the end has to be handled.
    pub fn add_watcher(&mut self, station: StationId) {
        if let Err(place) = self.watchers.binary_search(&station) {
            self.watchers.insert(place, station);
        }
    }
}

/// All frames on the air. Slots and their lists are reused.
#[derive(Clone, Debug)]
pub(super) struct Transmissions {
    slots: TiVec<TransmissionId, Transmission>,
    free: Vec<TransmissionId>,
    /// Capacity of a new list of watchers.
    capacity: usize,
}

/// Slots and watchers per slot allocated initially (at most one per station): more than a network
/// of the usual density needs within a few hundred metres.
const RESERVED_SLOTS: usize = 32;
const RESERVED_WATCHERS: usize = 64;

impl Transmissions {
    pub fn new(stations: usize) -> Self {
        let capacity = stations.min(RESERVED_WATCHERS);
        let mut transmissions = Self { slots: TiVec::new(), free: Vec::new(), capacity };
        for _ in 0..stations.min(RESERVED_SLOTS) {
            let slot = transmissions.add();
            transmissions.free.push(slot);
        }
        transmissions
    }

    fn add(&mut self) -> TransmissionId {
        let watchers = Vec::with_capacity(self.capacity);
        self.slots.push_and_get_key(Transmission {
            frame: FrameNumber::FIRST,
            record_number: 0,
            watchers,
        })
    }

    /// Allocates a slot with an empty list.
    pub fn allocate(&mut self) -> TransmissionId {
        self.free.pop().unwrap_or_else(|| self.add())
    }

    pub fn release(&mut self, transmission: TransmissionId) {
        self.slots[transmission].watchers.clear();
        self.free.push(transmission);
    }

    pub fn get(&mut self, transmission: TransmissionId) -> &mut Transmission {
        &mut self.slots[transmission]
    }
}
