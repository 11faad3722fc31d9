//! Frames on the air.

use driftway_base::StationId;
use typed_index_collections::TiVec;

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

#[derive(Clone, Copy, Debug)]
pub(super) struct FrameReceiver {
    pub station: StationId,
    /// Propagation delay (ns).
    pub delay: u32,
    pub state: ReceptionState,
}

#[derive(Clone, Debug)]
pub(super) struct Transmission {
    pub kind: FrameKind,
    pub from: StationId,
    /// `None`: broadcast.
    pub to: Option<StationId>,
    /// End of the transmission at the sender (ns).
    pub end: u64,
    /// Duration field (µs).
    pub duration: u32,
    /// Sequence number of the sender's packet.
    pub sequence: u16,
    /// Its number in the recorder.
    pub record_number: u64,
    /// True if its sender was disabled before its end.
    pub is_cut: bool,
    /// Stations that can decode it, in order of their numbers.
    pub receivers: Vec<FrameReceiver>,
}

impl Transmission {
    /// Returns whether it is addressed to this station, alone or as a broadcast.
    pub fn is_for(&self, station: StationId) -> bool {
        self.to.is_none_or(|to| to == station)
    }
}

/// All frames on the air. Slots and their lists are reused.
#[derive(Clone, Debug)]
pub(super) struct Transmissions {
    slots: TiVec<TransmissionId, Transmission>,
    free: Vec<TransmissionId>,
    /// Capacity of a new list of receivers.
    receiver_capacity: usize,
}

/// Slots and receivers per slot allocated initially (at most one per station): more than a network
/// of the usual density needs within a few hundred metres.
const RESERVED_SLOTS: usize = 32;
const RESERVED_RECEIVERS: usize = 64;

impl Transmissions {
    pub fn new(stations: usize) -> Self {
        let receiver_capacity = stations.min(RESERVED_RECEIVERS);
        let mut flights = Self { slots: TiVec::new(), free: Vec::new(), receiver_capacity };
        for _ in 0..stations.min(RESERVED_SLOTS) {
            let slot = flights.add();
            flights.free.push(slot);
        }
        flights
    }

    fn add(&mut self) -> TransmissionId {
        let receivers = Vec::with_capacity(self.receiver_capacity);
        self.slots.push_and_get_key(Transmission {
            kind: FrameKind::Data,
            from: StationId::new(0),
            to: None,
            end: 0,
            duration: 0,
            sequence: 0,
            record_number: 0,
            is_cut: false,
            receivers,
        })
    }

    /// Allocates a slot with an empty list.
    pub fn allocate(&mut self) -> TransmissionId {
        self.free.pop().unwrap_or_else(|| self.add())
    }

    pub fn release(&mut self, transmission: TransmissionId) {
        self.slots[transmission].receivers.clear();
        self.free.push(transmission);
    }

    pub fn get(&mut self, transmission: TransmissionId) -> &mut Transmission {
        &mut self.slots[transmission]
    }

    /// Cuts the transmissions of a station. Slots that are free are overwritten later.
    pub fn cut(&mut self, from: StationId) {
        for transmission in self.slots.iter_mut().filter(|slot| slot.from == from) {
            transmission.is_cut = true;
        }
    }

    /// Lets a station lose all transmissions that it could decode until now.
    pub fn lose_at(&mut self, station: StationId) {
        let receivers = self.slots.iter_mut().flat_map(|slot| &mut slot.receivers);
        for receiver in receivers.filter(|receiver| receiver.station == station) {
            if receiver.state == ReceptionState::Decodable {
                receiver.state = ReceptionState::Disabled;
            }
        }
    }

    /// Sets the state of a transmission at a station.
    pub fn set_reception(
        &mut self,
        transmission: TransmissionId,
        station: StationId,
        reception: ReceptionState,
    ) {
        let receivers = &mut self.slots[transmission].receivers;
        if let Ok(place) = receivers.binary_search_by_key(&station, |receiver| receiver.station) {
            receivers[place].state = reception;
        }
    }
}
