//! Frames on the air.

use super::station::NONE;

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
    pub node: u32,
    /// Propagation delay (ns).
    pub delay: u32,
    pub state: ReceptionState,
}

impl FrameReceiver {
    pub const EMPTY: Self = Self { node: NONE, delay: 0, state: ReceptionState::Decodable };
}

#[derive(Clone, Debug)]
pub(super) struct Transmission {
    pub kind: FrameKind,
    pub from: u32,
    /// [`NONE`]: broadcast.
    pub to: u32,
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

/// All frames on the air. Slots and their lists are reused.
#[derive(Clone, Debug)]
pub(super) struct Transmissions {
    slots: Vec<Transmission>,
    free: Vec<u32>,
    /// Capacity of a new list of receivers.
    receiver_capacity: usize,
}

/// Slots and receivers per slot allocated initially (at most one per node): more than a network of
/// the usual density needs within a few hundred metres.
const RESERVED_SLOTS: usize = 32;
const RESERVED_RECEIVERS: usize = 64;

impl Transmissions {
    pub fn new(nodes: usize) -> Self {
        let receiver_capacity = nodes.min(RESERVED_RECEIVERS);
        let mut flights = Self { slots: Vec::new(), free: Vec::new(), receiver_capacity };
        for place in 0..nodes.min(RESERVED_SLOTS) {
            flights.add();
            flights.free.push(place as u32);
        }
        flights
    }

    fn add(&mut self) -> u32 {
        let receivers = Vec::with_capacity(self.receiver_capacity);
        let kind = FrameKind::Data;
        let (from, to, sequence) = (0, NONE, 0);
        self.slots.push(Transmission {
            kind,
            from,
            to,
            end: 0,
            duration: 0,
            sequence,
            record_number: 0,
            is_cut: false,
            receivers,
        });
        (self.slots.len() - 1) as u32
    }

    /// Allocates a slot with an empty list.
    pub fn allocate(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| self.add())
    }

    pub fn release(&mut self, transmission: u32) {
        self.slots[transmission as usize].receivers.clear();
        self.free.push(transmission);
    }

    pub fn get(&mut self, transmission: u32) -> &mut Transmission {
        &mut self.slots[transmission as usize]
    }

    /// Cuts the transmissions of a station. Slots that are free are overwritten later.
    pub fn cut(&mut self, from: u32) {
        for transmission in self.slots.iter_mut().filter(|slot| slot.from == from) {
            transmission.is_cut = true;
        }
    }

    /// Lets a station lose all transmissions that it could decode until now.
    pub fn lose_at(&mut self, node: u32) {
        let receivers = self.slots.iter_mut().flat_map(|slot| &mut slot.receivers);
        for receiver in receivers.filter(|receiver| receiver.node == node) {
            if receiver.state == ReceptionState::Decodable {
                receiver.state = ReceptionState::Disabled;
            }
        }
    }

    /// Sets the state of a transmission at a station.
    pub fn set_reception(&mut self, transmission: u32, node: u32, reception: ReceptionState) {
        let receivers = &mut self.slots[transmission as usize].receivers;
        if let Ok(place) = receivers.binary_search_by_key(&node, |receivers| receivers.node) {
            receivers[place].state = reception;
        }
    }
}
