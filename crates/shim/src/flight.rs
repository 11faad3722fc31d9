//! What the local TCP has sent and the peer has not acknowledged.

use alloc::collections::VecDeque;

use base::{Instant, Seq, SeqRange};

use crate::pool::{Piece, Pool};

/// Originals that are remembered for one flow at most, with or without their bytes.
pub(crate) const ORIGINALS_MAX: usize = 16_384;

/// Where an original is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the shim, to be sent in its turn.
    Waiting,
    /// Sent at that time, as far as the shim knows not lost.
    Out(Instant),
    /// Sent, and lost: to be sent ahead of those that wait.
    Lost,
}

/// A segment as it was sent for the first time.
#[derive(Debug)]
pub(crate) struct Original {
    /// The numbers that it was the first to carry; its packet may begin before.
    pub range: SeqRange,
    /// Its TSval.
    pub stamp: Option<u32>,
    /// It was sent with an ECT codepoint.
    pub capable: bool,
    /// The packet; `None` where a bound did not allow it to be stored.
    pub packet: Option<Piece>,
    pub place: Place,
    /// It has left this host at least once.
    pub left: bool,
    /// The peer has reported it (SACK).
    pub delivered: bool,
    /// The local TCP has sent it again.
    pub resent: bool,
}

/// What an acknowledgment covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Covered {
    /// Bytes, or rather numbers.
    pub numbers: u32,
    /// Of the first original that the local TCP has sent again: TSval, and whether it could have
    /// been marked instead of dropped.
    pub resent: Option<(u32, bool)>,
    /// When the last one was sent that was sent only once.
    pub sent_once: Option<Instant>,
    /// When the one that was sent last was sent.
    pub newest: Option<Instant>,
}

/// The originals, in the order of their numbers, without gaps, from `una` to `max`.
#[derive(Debug)]
pub(crate) struct Flight {
    originals: VecDeque<Original>,
    /// The peer has acknowledged everything before.
    pub una: Seq,
    /// One past the highest number that the local TCP has sent.
    pub max: Seq,
    /// Bytes of the pool that the packets take.
    pub stored: usize,
}

impl Flight {
    pub fn new(first: Seq) -> Self {
        Self { originals: VecDeque::new(), una: first, max: first, stored: 0 }
    }

    pub fn outstanding(&self) -> u32 {
        self.max.since(self.una)
    }
    pub fn is_empty(&self) -> bool {
        self.originals.is_empty()
    }
    pub fn len(&self) -> usize {
        self.originals.len()
    }
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Original> {
        self.originals.iter()
    }
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut Original> {
        self.originals.iter_mut()
    }
    pub fn front(&self) -> Option<&Original> {
        self.originals.front()
    }
    pub fn get(&self, index: usize) -> Option<&Original> {
        self.originals.get(index)
    }
    pub fn get_mut(&mut self, index: usize) -> Option<&mut Original> {
        self.originals.get_mut(index)
    }

    /// The index of the first original that reaches beyond `seq`.
    fn index_of(&self, seq: Seq) -> usize {
        self.originals.partition_point(|original| original.range.end.at_or_before(seq))
    }

    /// Those that have a number in `range`.
    pub fn overlapping(&self, range: SeqRange) -> impl Iterator<Item = &Original> {
        let rest = self.originals.iter().skip(self.index_of(range.start));
        rest.take_while(move |original| original.range.start.before(range.end))
    }
    pub fn overlapping_mut(&mut self, range: SeqRange) -> impl Iterator<Item = &mut Original> {
        let from = self.index_of(range.start);
        let rest = self.originals.iter_mut().skip(from);
        rest.take_while(move |original| original.range.start.before(range.end))
    }

    /// Appends what begins at `max`.
    pub fn push(&mut self, original: Original) {
        self.max = original.range.end;
        self.stored += original.packet.as_ref().map_or(0, Piece::size);
        self.originals.push_back(original);
    }

    /// The peer has acknowledged everything before `ack`, which is not beyond `max`.
    pub fn advance(&mut self, ack: Seq, pool: &mut Pool) -> Covered {
        let mut covered = Covered { numbers: ack.since(self.una), ..Covered::default() };
        self.una = self.una.max(ack);
        while self.originals.front().is_some_and(|o| o.range.end.at_or_before(ack)) {
            let Some(original) = self.originals.pop_front() else { break };
            if original.resent && covered.resent.is_none() {
                covered.resent = original.stamp.map(|stamp| (stamp, original.capable));
            }
            if let Place::Out(at) = original.place {
                covered.newest = covered.newest.max(Some(at));
                if !original.resent {
                    covered.sent_once = Some(at);
                }
            }
            if let Some(piece) = original.packet {
                self.stored = self.stored.saturating_sub(piece.size());
                pool.give_back(piece);
            }
        }
        covered
    }

    /// The peer reports `block`. Returns when the one of those newly reported was sent that was
    /// sent last.
    pub fn report(&mut self, block: SeqRange) -> Option<Instant> {
        let mut newest = None;
        // RFC 2018 §8 lets a peer take back what it has reported; bytes stay stored for that.
        let inside = SeqRange::new(block.start.max(self.una), block.end.min(self.max));
        if block.is_empty() || inside.is_empty() {
            return None;
        }
        for original in self.overlapping_mut(inside) {
            let whole = inside.start.at_or_before(original.range.start)
                && original.range.end.at_or_before(inside.end);
            if whole && !original.delivered {
                original.delivered = true;
                if let Place::Out(at) = original.place {
                    newest = newest.max(Some(at));
                }
            }
        }
        newest
    }

    /// One past the last number up to which every original has its bytes.
    pub fn stored_to(&self) -> Seq {
        let missing = self.originals.iter().find(|original| original.packet.is_none());
        missing.map_or(self.max, |original| original.range.start.max(self.una))
    }

    /// Forgets everything.
    pub fn clear(&mut self, pool: &mut Pool) {
        while let Some(original) = self.originals.pop_front() {
            if let Some(piece) = original.packet {
                pool.give_back(piece);
            }
        }
        self.stored = 0;
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn flight() -> (Flight, Pool) {
        let mut pool = Pool::new(1 << 20);
        let start = Seq(u32::MAX - 150);
        let mut flight = Flight::new(start);
        for n in 0..4 {
            let range = SeqRange::new(start + 100 * n, start + 100 * (n + 1));
            flight.push(Original {
                range,
                stamp: Some(n),
                capable: true,
                packet: pool.store(&[n as u8; 300]),
                place: Place::Out(Instant::from_millis(u64::from(n))),
                left: true,
                delivered: false,
                resent: n == 1 || n == 2,
            });
        }
        (flight, pool)
    }

    #[test]
    fn an_acknowledgment_frees_what_it_covers_across_the_wrap() {
        let (mut flight, mut pool) = flight();
        let start = flight.una;
        assert_eq!(pool.held().0, 4 * 512);
        let covered = flight.advance(start + 250, &mut pool);
        assert_eq!(covered.numbers, 250);
        assert_eq!(covered.resent, Some((1, true)));
        assert_eq!(covered.sent_once, Some(Instant::ZERO));
        assert_eq!(covered.newest, Some(Instant::from_millis(1)));
        assert_eq!((flight.len(), flight.una, pool.held().0), (2, start + 250, 2 * 512));
        flight.advance(start + 400, &mut pool);
        assert!(flight.is_empty() && flight.stored == 0 && pool.held().0 == 0);
    }

    #[test]
    fn reports_count_whole_segments_only_and_once() {
        let (mut flight, _pool) = flight();
        let start = flight.una;
        let block = |from, to| SeqRange::new(start + from, start + to);
        assert_eq!(flight.report(block(150, 300)), Some(Instant::from_millis(2)));
        assert_eq!(flight.report(block(150, 300)), None);
        let delivered: Vec<bool> = flight.iter().map(|o| o.delivered).collect();
        assert_eq!(delivered, [false, false, true, false]);
        assert_eq!(flight.report(block(300, 100)), None);
        assert_eq!(flight.report(SeqRange::new(start - 50, start + 100)), Some(Instant::ZERO));
    }

    #[test]
    fn bytes_that_are_missing_end_what_can_be_repaired() {
        let (mut flight, _pool) = flight();
        let start = flight.una;
        assert_eq!(flight.stored_to(), start + 400);
        flight.get_mut(2).unwrap().packet = None;
        assert_eq!(flight.stored_to(), start + 200);
    }

    use std::vec::Vec;
}
