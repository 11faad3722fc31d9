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
pub(super) enum Fate {
    Good,
    Collided,
    /// The station was transmitting itself.
    Deaf,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    pub node: u32,
    /// Propagation delay (ns).
    pub delay: u32,
    pub fate: Fate,
}

impl Heard {
    pub const NOBODY: Self = Self { node: NONE, delay: 0, fate: Fate::Good };
}

#[derive(Clone, Debug)]
pub(super) struct Flight {
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
    pub entry: u64,
    /// Stations that can decode it, in order of their numbers.
    pub heard: Vec<Heard>,
}

/// All frames on the air. Slots and their lists are reused.
#[derive(Clone, Debug)]
pub(super) struct Flights {
    flights: Vec<Flight>,
    free: Vec<u32>,
    /// Capacity of a new list of receivers.
    room: usize,
}

/// Slots and receivers per slot allocated initially (at most one per node): more than a network of
/// the usual density needs within a few hundred metres.
const PLACES: usize = 32;
const ROOM: usize = 64;

impl Flights {
    pub fn new(nodes: usize) -> Self {
        let room = nodes.min(ROOM);
        let mut flights = Self { flights: Vec::new(), free: Vec::new(), room };
        for place in 0..nodes.min(PLACES) {
            flights.add();
            flights.free.push(place as u32);
        }
        flights
    }

    fn add(&mut self) -> u32 {
        let heard = Vec::with_capacity(self.room);
        let kind = FrameKind::Data;
        let (from, to, sequence) = (0, NONE, 0);
        self.flights.push(Flight {
            kind,
            from,
            to,
            end: 0,
            duration: 0,
            sequence,
            entry: 0,
            heard,
        });
        (self.flights.len() - 1) as u32
    }

    /// Allocates a slot with an empty list.
    pub fn open(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| self.add())
    }

    pub fn close(&mut self, flight: u32) {
        self.flights[flight as usize].heard.clear();
        self.free.push(flight);
    }

    pub fn get(&mut self, flight: u32) -> &mut Flight {
        &mut self.flights[flight as usize]
    }

    /// Sets the state of a transmission at a station.
    pub fn spoil(&mut self, flight: u32, node: u32, fate: Fate) {
        let heard = &mut self.flights[flight as usize].heard;
        if let Ok(place) = heard.binary_search_by_key(&node, |heard| heard.node) {
            heard[place].fate = fate;
        }
    }
}
