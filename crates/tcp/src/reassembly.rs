//! The reassembly queue: data, and a FIN, that arrived out of order.

use alloc::vec::Vec;

use driftway_base::{Seq, SeqRange};
use driftway_wire::{Payload, SackBlocks};

/// A contiguous range of bytes.
#[derive(Clone, Copy, Debug)]
struct DataBlock {
    seq: Seq,
    payload: Payload,
    /// Arrival count when it last grew: orders the SACK blocks.
    last_arrival: u64,
}

impl DataBlock {
    fn end(&self) -> Seq {
        self.seq + self.payload.len
    }
    /// True if `next` follows in sequence numbers and in the same stream.
    fn is_followed_by(&self, next: &DataBlock) -> bool {
        self.end() == next.seq
            && self.payload.stream == next.payload.stream
            && self.payload.offset.wrapping_add(u64::from(self.payload.len)) == next.payload.offset
    }
}

/// Initial capacity in blocks; the vector grows to its largest size once.
const RESERVED: usize = 32;

/// Out-of-order blocks, sorted by sequence number, disjoint, and the FIN behind them.
#[derive(Clone, Debug)]
pub struct Reassembly {
    data_blocks: Vec<DataBlock>,
    /// The sequence number of the FIN, and the arrival count when it came.
    fin: Option<(SeqRange, u64)>,
    arrivals: u64,
}

impl Default for Reassembly {
    fn default() -> Self {
        Self { data_blocks: Vec::with_capacity(RESERVED), fin: None, arrivals: 0 }
    }
}

impl Reassembly {
    /// True if nothing is queued.
    pub fn is_empty(&self) -> bool {
        self.data_blocks.is_empty() && self.fin.is_none()
    }

    /// One past the highest queued byte.
    pub fn end(&self) -> Option<Seq> {
        self.data_blocks.last().map(DataBlock::end)
    }

    /// Inserts `payload` at `seq`; where they overlap, the earlier data stays. Returns the part of
    /// the range that was present already, if any (RFC 2883 §4 reports the first).
    pub fn insert(&mut self, seq: Seq, payload: Payload) -> Option<SeqRange> {
        self.arrivals += 1;
        let (mut seq, mut payload) = (seq, payload);
        let end = seq + payload.len;
        let mut duplicate = None;
        let mut at = self.data_blocks.partition_point(|p| p.end().at_or_before(seq));
        while !payload.is_empty() {
            let taken = match self.data_blocks.get_mut(at) {
                Some(known) if known.seq.at_or_before(seq) => {
                    known.last_arrival = self.arrivals;
                    let overlap = SeqRange::new(seq, known.end().min(end));
                    duplicate = duplicate.or(Some(overlap));
                    overlap.len()
                }
                next => {
                    let fresh = next.map_or(end, |p| p.seq.min(end)).since(seq);
                    let payload = payload.truncated(fresh);
                    self.data_blocks
                        .insert(at, DataBlock { seq, payload, last_arrival: self.arrivals });
                    fresh
                }
            };
            at += 1;
            seq += taken;
            payload = payload.without_front(taken);
        }
        self.merge_adjacent();
        duplicate
    }

    /// Inserts a FIN, with nothing behind it.
    pub fn insert_fin(&mut self, fin: SeqRange) {
        self.arrivals += 1;
        self.fin = Some((fin, self.arrivals));
    }

    /// Removes the FIN once all data before it has arrived.
    pub fn take_fin(&mut self) {
        self.fin = None;
    }

    /// Merges adjacent blocks.
    fn merge_adjacent(&mut self) {
        self.data_blocks.dedup_by(|next, piece| {
            let joins = piece.is_followed_by(next);
            if joins {
                piece.payload.len += next.payload.len;
                piece.last_arrival = piece.last_arrival.max(next.last_arrival);
            }
            joins
        });
    }

    /// Removes the block that begins at or before `next`; the part before `next` is cut off.
    pub fn take(&mut self, next: Seq) -> Option<Payload> {
        while let Some(first) = self.data_blocks.first().copied() {
            if first.seq.after(next) {
                return None;
            }
            self.data_blocks.remove(0);
            if first.end().after(next) {
                return Some(first.payload.without_front(next.since(first.seq)));
            }
        }
        None
    }

    /// Appends the received ranges to `blocks`, most recently updated first (RFC 2018 §4), until
    /// there are `room` of them.
    pub fn fill_sack_blocks(&self, blocks: &mut SackBlocks, room: usize) {
        let mut last = u64::MAX;
        while blocks.len() < room {
            let next =
                self.sequence_runs().filter(|(_, touched)| *touched < last).max_by_key(|r| r.1);
            let Some((range, touched)) = next else { return };
            last = touched;
            if !blocks.as_slice().contains(&range) && !blocks.push(range) {
                return;
            }
        }
    }

    /// Contiguous ranges of sequence numbers, with their arrival counts. Adjacent blocks of
    /// different streams are one range, and the FIN extends the range that it ends.
    fn sequence_runs(&self) -> impl Iterator<Item = (SeqRange, u64)> + '_ {
        let data = self.data_blocks.iter().map(|p| (SeqRange::new(p.seq, p.end()), p.last_arrival));
        let mut rest = data.chain(self.fin).peekable();
        core::iter::from_fn(move || {
            let (mut run, mut touched) = rest.next()?;
            while let Some((next, when)) = rest.next_if(|(next, _)| next.start == run.end) {
                run.end = next.end;
                touched = touched.max(when);
            }
            Some((run, touched))
        })
    }

    /// The range that contains `range`.
    pub fn enclosing(&self, range: SeqRange) -> Option<SeqRange> {
        self.sequence_runs()
            .map(|(run, _)| run)
            .find(|run| run.contains(range.start) && range.end.at_or_before(run.end))
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use alloc::vec;

    fn piece(at: u32, len: u32) -> (Seq, Payload) {
        (Seq(at), Payload::new(1, u64::from(at), len))
    }

    fn runs(r: &Reassembly) -> Vec<(u32, u32)> {
        r.sequence_runs().map(|(range, _)| (range.start.0, range.end.0)).collect()
    }

    #[test]
    fn blocks_merge_and_overlaps_are_reported() {
        let mut r = Reassembly::default();
        for (at, len) in [(100, 50), (200, 50)] {
            let (seq, payload) = piece(at, len);
            assert_eq!(r.insert(seq, payload), None);
        }
        assert_eq!(runs(&r), [(100, 150), (200, 250)]);
        let (seq, payload) = piece(120, 100);
        assert_eq!(r.insert(seq, payload), Some(SeqRange::new(Seq(120), Seq(150))));
        assert_eq!(runs(&r), [(100, 250)]);
        assert_eq!(r.take(Seq(90)), None);
        assert_eq!(r.take(Seq(110)), Some(Payload::new(1, 110, 140)));
        assert!(r.is_empty());
    }

    #[test]
    fn most_recent_block_comes_first() {
        let mut r = Reassembly::default();
        for at in [100, 300, 500, 200] {
            let (seq, payload) = piece(at, 10);
            r.insert(seq, payload);
        }
        let mut blocks = SackBlocks::EMPTY;
        r.fill_sack_blocks(&mut blocks, 3);
        let starts: Vec<u32> = blocks.as_slice().iter().map(|b| b.start.0).collect();
        assert_eq!(starts, vec![200, 500, 300]);
    }

    #[test]
    fn a_fin_is_reported_alone_or_with_the_data_before_it() {
        let mut r = Reassembly::default();
        let fin = SeqRange::new(Seq(300), Seq(301));
        r.insert_fin(fin);
        assert_eq!((runs(&r), r.is_empty(), r.end()), (std::vec![(300, 301)], false, None));
        for at in [250, 100] {
            let (seq, payload) = piece(at, 50);
            r.insert(seq, payload);
        }
        assert_eq!(runs(&r), [(100, 150), (250, 301)]);
        let mut blocks = SackBlocks::EMPTY;
        r.insert_fin(fin);
        r.fill_sack_blocks(&mut blocks, 1);
        assert_eq!(blocks.as_slice(), [SeqRange::new(Seq(250), Seq(301))]);
        r.take_fin();
        assert_eq!(runs(&r), [(100, 150), (250, 300)]);
    }

    #[test]
    fn sequence_numbers_wrap() {
        let mut r = Reassembly::default();
        let start = Seq(u32::MAX - 9);
        r.insert(start, Payload::new(1, 0, 20));
        r.insert(start + 20, Payload::new(1, 20, 20));
        assert_eq!(r.take(start), Some(Payload::new(1, 0, 40)));
    }

    #[test]
    fn duplicate_data_is_kept_once() {
        let mut r = Reassembly::default();
        let (seq, payload) = piece(100, 50);
        r.insert(seq, payload);
        assert_eq!(r.insert(seq, payload), Some(SeqRange::new(Seq(100), Seq(150))));
        assert_eq!(r.enclosing(SeqRange::new(Seq(110), Seq(120))).map(SeqRange::len), Some(50));
    }
}
