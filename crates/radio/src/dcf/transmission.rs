//! Frames on the air.

use super::station::NONE;

/// What kind of frame it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// Data, to one or to all.
    Data,
    /// Acknowledgment.
    Ack,
}

/// What becomes of a frame at a station that is near enough to decode it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReceptionState {
    Decodable,
    Collided,
    /// The station was sending itself.
    Transmitting,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct FrameReceiver {
    pub node: u32,
    /// How long the frame travels to it (ns).
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
    /// [`NONE`] for all.
    pub to: u32,
    /// The last instant at the sender (ns).
    pub end: u64,
    /// The duration field (µs).
    pub duration: u32,
    /// The number of the packet that its sender has.
    pub sequence: u16,
    /// Its place in the recording.
    pub record_number: u64,
    /// Who can decode it, in order of their numbers.
    pub receivers: Vec<FrameReceiver>,
}

/// All frames on the air. Places and their lists are used again.
#[derive(Clone, Debug)]
pub(super) struct Transmissions {
    slots: Vec<Transmission>,
    free: Vec<u32>,
    /// Room in a new list.
    receiver_capacity: usize,
}

/// So many places, and so much room in a list, are there from the start (or as many as nodes): more
/// than a network at the usual density ever needs within a few hundred metres.
const RESERVED_SLOTS: usize = 32;
const RESERVED_RECEIVERS: usize = 64;

impl Transmissions {
    pub fn new(nodes: usize) -> Self {
        let room = nodes.min(RESERVED_RECEIVERS);
        let mut flights = Self { slots: Vec::new(), free: Vec::new(), receiver_capacity: room };
        for place in 0..nodes.min(RESERVED_SLOTS) {
            flights.add();
            flights.free.push(place as u32);
        }
        flights
    }

    fn add(&mut self) -> u32 {
        let heard = Vec::with_capacity(self.receiver_capacity);
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
            receivers: heard,
        });
        (self.slots.len() - 1) as u32
    }

    /// Takes a place; its list is empty.
    pub fn allocate(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| self.add())
    }

    pub fn release(&mut self, flight: u32) {
        self.slots[flight as usize].receivers.clear();
        self.free.push(flight);
    }

    pub fn get(&mut self, flight: u32) -> &mut Transmission {
        &mut self.slots[flight as usize]
    }

    /// A flight will not be understood by a station.
    pub fn set_reception(&mut self, flight: u32, node: u32, fate: ReceptionState) {
        let heard = &mut self.slots[flight as usize].receivers;
        if let Ok(place) = heard.binary_search_by_key(&node, |heard| heard.node) {
            heard[place].state = fate;
        }
    }
}
