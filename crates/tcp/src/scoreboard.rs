//! The SACK scoreboard (RFC 2018) and the loss detection based on it (RFC 6675 §4).

use alloc::vec::Vec;

use driftway_base::{Seq, SeqRange};

/// Maximum number of ranges. A peer reports at most four at a time; beyond this, only precision is
/// lost.
const MAX_RANGES: usize = 1024;
/// Initial capacity in ranges; the vector grows to its largest size once.
const RESERVED: usize = 32;

/// The SACK scoreboard: ranges above SND.UNA, sorted, disjoint and not adjacent.
#[derive(Clone, Debug)]
pub struct Scoreboard {
    ranges: Vec<SeqRange>,
}

impl Default for Scoreboard {
    fn default() -> Self {
        Self { ranges: Vec::with_capacity(RESERVED) }
    }
}

impl Scoreboard {
    /// True if nothing is SACKed.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
    /// Discards all ranges.
    pub fn clear(&mut self) {
        self.ranges.clear();
    }
    /// One past the highest SACKed sequence number.
    pub fn highest_sacked(&self) -> Option<Seq> {
        self.ranges.last().map(|r| r.end)
    }
    /// SACKed bytes.
    pub fn sacked_bytes(&self) -> u32 {
        self.ranges.iter().fold(0, |sum, r| sum.saturating_add(r.len()))
    }

    /// Adds a SACK block; true if it has new information.
    pub fn add(&mut self, block: SeqRange) -> bool {
        let first = self.ranges.partition_point(|r| r.end.before(block.start));
        let last = self.ranges.partition_point(|r| r.start.at_or_before(block.end));
        let touched = self.ranges.get(first..last).unwrap_or_default();
        match (touched.first(), touched.last()) {
            (Some(a), Some(b)) => {
                let merged = SeqRange::new(a.start.min(block.start), b.end.max(block.end));
                if touched.len() == 1 && *a == merged {
                    return false;
                }
                self.ranges.drain(first + 1..last);
                if let Some(place) = self.ranges.get_mut(first) {
                    *place = merged;
                }
                true
            }
            _ if self.ranges.len() < MAX_RANGES => {
                self.ranges.insert(first, block);
                true
            }
            _ => false,
        }
    }

    /// Discards everything below the new SND.UNA.
    pub fn advance(&mut self, una: Seq) {
        let gone = self.ranges.partition_point(|r| r.end.at_or_before(una));
        self.ranges.drain(..gone);
        if let Some(first) = self.ranges.first_mut() {
            first.start = first.start.max(una);
        }
    }

    /// The SACKed range that contains `seq`.
    pub fn sacked_range_at(&self, seq: Seq) -> Option<SeqRange> {
        let at = self.ranges.partition_point(|r| r.end.at_or_before(seq));
        self.ranges.get(at).copied().filter(|r| r.contains(seq))
    }

    /// The first sequence number at or after `seq` that is not SACKed.
    pub fn first_unsacked(&self, seq: Seq) -> Seq {
        self.sacked_range_at(seq).map_or(seq, |r| r.end)
    }

    /// Start of the next SACKed range at or after `seq`.
    pub fn next_sacked(&self, seq: Seq) -> Option<Seq> {
        let at = self.ranges.partition_point(|r| r.end.at_or_before(seq));
        self.ranges.get(at).map(|r| r.start.max(seq))
    }

    /// The last `mss` bytes, or less, of the last hole between `una` and `max`.
    pub fn last_hole(&self, una: Seq, max: Seq, mss: u32) -> SeqRange {
        let mut below = self.ranges.iter().rev();
        let (end, floor) = match below.next() {
            Some(last) if last.end == max => (last.start, below.next().map_or(una, |r| r.end)),
            last => (max, last.map_or(una, |r| r.end)),
        };
        SeqRange::new((end - mss).max(floor).max(una), end)
    }

    /// Bytes of `range` that are not SACKed.
    pub fn unsacked_bytes(&self, range: SeqRange) -> u32 {
        let reported: u32 =
            self.ranges.iter().map(|r| r.end.min(range.end).since(r.start.max(range.start))).sum();
        range.len().saturating_sub(reported)
    }

    /// The sequence number below which everything unSACKed is lost: at least three ranges, or more
    /// than two segments' bytes, are SACKed above it (IsLost, RFC 6675 §4).
    pub fn lost_before(&self, mss: u32) -> Option<Seq> {
        let mut bytes = 0_u32;
        for (count, range) in self.ranges.iter().rev().enumerate() {
            bytes = bytes.saturating_add(range.len());
            if count >= 2 || bytes > mss.saturating_mul(2) {
                return Some(range.start);
            }
        }
        None
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn range(start: u32, end: u32) -> SeqRange {
        SeqRange::new(Seq(start), Seq(end))
    }

    fn board(ranges: &[(u32, u32)]) -> Scoreboard {
        let mut board = Scoreboard::default();
        for &(start, end) in ranges {
            board.add(range(start, end));
        }
        board
    }

    #[test]
    fn blocks_merge_and_new_information_is_reported() {
        let mut b = board(&[(100, 200), (300, 400)]);
        assert!(!b.add(range(120, 180)));
        assert!(b.add(range(150, 350)));
        assert_eq!(b.ranges, [range(100, 400)]);
        assert!(b.add(range(400, 500)));
        assert_eq!(b.ranges, [range(100, 500)]);
        b.advance(Seq(250));
        assert_eq!(b.ranges, [range(250, 500)]);
        b.advance(Seq(500));
        assert!(b.is_empty());
    }

    #[test]
    fn three_ranges_or_more_than_two_segments_above_mean_lost() {
        assert_eq!(board(&[(200, 300), (400, 500)]).lost_before(100), None);
        assert_eq!(board(&[(200, 300), (400, 500), (600, 700)]).lost_before(100), Some(Seq(200)));
        assert_eq!(board(&[(200, 401)]).lost_before(100), Some(Seq(200)));
        assert_eq!(board(&[(200, 400)]).lost_before(100), None);
    }

    #[test]
    fn the_last_hole_is_the_highest() {
        let b = board(&[(200, 300), (400, 500)]);
        assert_eq!(b.last_hole(Seq(100), Seq(700), 150), range(550, 700));
        assert_eq!(b.last_hole(Seq(100), Seq(600), 150), range(500, 600));
        assert_eq!(b.last_hole(Seq(100), Seq(500), 150), range(300, 400));
        assert_eq!(board(&[(400, 500)]).last_hole(Seq(350), Seq(500), 150), range(350, 400));
    }

    #[test]
    fn holes_are_found_and_counted() {
        let b = board(&[(200, 300), (400, 500)]);
        assert_eq!(b.first_unsacked(Seq(250)), Seq(300));
        assert_eq!(b.first_unsacked(Seq(150)), Seq(150));
        assert_eq!(b.next_sacked(Seq(300)), Some(Seq(400)));
        assert_eq!(b.unsacked_bytes(range(100, 600)), 300);
        assert_eq!(b.unsacked_bytes(range(250, 450)), 100);
        assert_eq!(b.sacked_bytes(), 200);
        assert_eq!(b.highest_sacked(), Some(Seq(500)));
    }
}
