//! The bytes of kernels' packets in transit, by numbers that travel in the packets.

use std::collections::VecDeque;

use driftway_base::{Duration, Instant, NodeId};

/// Time for which the bytes of a packet that has ended are kept, where another copy may follow.
/// Copies arise from lost ACKs of a link layer, and the longest delay of the second is the time in
/// the queues behind it.
const COPY_LIFETIME: Duration = Duration::from_secs(10);
/// Time after which a packet is considered lost without a report, where copies can arise: longer
/// than any protocol of routing holds a packet.
const TRANSIT_LIFETIME: Duration = Duration::from_secs(300);
/// Limit on the bytes that are kept for further copies. Beyond it the oldest are discarded.
const COPY_BYTES_MAX: usize = 64 << 20;

/// A packet that was taken from the store, or a copy of it.
#[derive(Debug, PartialEq, Eq)]
pub struct StoredPacket {
    /// Node at which it entered.
    pub from: NodeId,
    /// True if no copy of it was delivered before.
    pub is_first: bool,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Bytes of packets, by number, with the node at which each entered. Buffers are reused.
///
/// Numbers are never used twice within 2³² packets of one slot, so the number of a packet that was
/// discarded finds nothing.
#[derive(Debug, Default)]
pub struct PacketStore {
    /// True if a packet may end more than once.
    keeps_copies: bool,
    slots: Vec<Slot>,
    free: Vec<u32>,
    spare: Vec<Vec<u8>>,
    /// Packets that have ended, in order, where copies can follow.
    ended: VecDeque<(Instant, u64)>,
    /// All packets, in order of entry, where copies can arise.
    entered: VecDeque<(Instant, u64)>,
    /// Bytes of the packets in `ended`.
    ended_bytes: usize,
}

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    from: NodeId,
    bytes: Vec<u8>,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Free,
    InTransit,
    Dropped,
    Delivered,
}

impl PacketStore {
    /// Creates an empty store, for a network that may deliver a packet twice or one that does not.
    pub fn new(may_duplicate: bool) -> Self {
        Self { keeps_copies: may_duplicate, ..Self::default() }
    }

    /// Stores a packet that enters at a node; returns its number.
    pub fn insert(&mut self, now: Instant, from: NodeId, bytes: &[u8]) -> u64 {
        self.discard_old(now);
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() as u32 - 1
        });
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(bytes);
        let slot = &mut self.slots[index as usize];
        *slot = Slot {
            generation: slot.generation.wrapping_add(1),
            from,
            bytes: buffer,
            state: State::InTransit,
        };
        let number = u64::from(slot.generation) << 32 | u64::from(index);
        if self.keeps_copies {
            self.entered.push_back((now, number));
        }
        number
    }

    /// Returns a packet that is delivered; `None` if it is unknown.
    pub fn deliver(&mut self, now: Instant, number: u64) -> Option<StoredPacket> {
        let mut bytes =
            if self.keeps_copies { self.spare.pop().unwrap_or_default() } else { Vec::new() };
        let keeps_copies = self.keeps_copies;
        let Some(slot) = self.slot(number) else {
            self.give_back(bytes);
            return None;
        };
        let (from, is_first) = (slot.from, slot.state != State::Delivered);
        let has_ended = slot.state != State::InTransit;
        slot.state = State::Delivered;
        if keeps_copies {
            bytes.clear();
            bytes.extend_from_slice(&slot.bytes);
            if !has_ended {
                self.on_end(now, number);
            }
        } else {
            bytes = std::mem::take(&mut slot.bytes);
            self.discard(number);
        }
        Some(StoredPacket { from, is_first, bytes })
    }

    /// Returns the bytes of a packet, as they entered; `None` if it is unknown.
    pub fn bytes(&self, number: u64) -> Option<&[u8]> {
        let slot = self.slots.get(number as u32 as usize)?;
        let is_it = slot.generation == (number >> 32) as u32 && slot.state != State::Free;
        is_it.then_some(&*slot.bytes)
    }

    /// Handles the drop of a packet; returns true if it is known, and no copy of it has ended.
    pub fn on_dropped(&mut self, now: Instant, number: u64) -> bool {
        let keeps_copies = self.keeps_copies;
        let Some(slot) = self.slot(number) else { return false };
        if slot.state != State::InTransit {
            return false;
        }
        slot.state = State::Dropped;
        if keeps_copies {
            self.on_end(now, number);
        } else {
            self.discard(number);
        }
        true
    }

    /// Returns a buffer for reuse.
    pub fn give_back(&mut self, buffer: Vec<u8>) {
        if buffer.capacity() > 0 {
            self.spare.push(buffer);
        }
    }

    /// Returns an empty buffer.
    pub fn buffer(&mut self) -> Vec<u8> {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer
    }

    fn slot(&mut self, number: u64) -> Option<&mut Slot> {
        let slot = self.slots.get_mut(number as u32 as usize)?;
        let is_it = slot.generation == (number >> 32) as u32 && slot.state != State::Free;
        is_it.then_some(slot)
    }

    fn on_end(&mut self, now: Instant, number: u64) {
        self.ended_bytes += self.slots[number as u32 as usize].bytes.len();
        self.ended.push_back((now, number));
    }

    /// Discards packets of which no further copy is expected, and those lost without a report.
    fn discard_old(&mut self, now: Instant) {
        while let Some((at, number)) = self.ended.front().copied()
            && (now.since(at) > COPY_LIFETIME || self.ended_bytes > COPY_BYTES_MAX)
        {
            self.ended.pop_front();
            self.ended_bytes -= self.slots[number as u32 as usize].bytes.len();
            self.discard(number);
        }
        while let Some((at, number)) = self.entered.front().copied() {
            let state = self.slot(number).map(|slot| slot.state);
            match state {
                Some(State::InTransit) if now.since(at) <= TRANSIT_LIFETIME => break,
                Some(State::InTransit) => self.discard(number),
                // Its end is in the other list, or it is gone.
                Some(_) | None => {}
            }
            self.entered.pop_front();
        }
    }

    fn discard(&mut self, number: u64) {
        let Some(slot) = self.slot(number) else { return };
        slot.state = State::Free;
        let buffer = std::mem::take(&mut slot.bytes);
        self.give_back(buffer);
        self.free.push(number as u32);
    }
}

#[cfg(test)]
#[path = "packet_store/test.rs"]
mod test;
