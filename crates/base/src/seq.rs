//! 32-bit sequence numbers that wrap (RFC 9293 §3.4).

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// A sequence number. Comparisons use serial number arithmetic: `a.before(b)` if `b` is at most 2³¹ − 1 ahead
/// of `a`. There is no `Ord`, because this relation is not a total order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Seq(pub u32);

impl Seq {
    /// Signed distance from `earlier` to `self`.
    pub const fn distance(self, earlier: Self) -> i32 {
        self.0.wrapping_sub(earlier.0) as i32
    }
    /// Distance by which `self` is ahead of `earlier`; 0 if it is not ahead.
    pub const fn since(self, earlier: Self) -> u32 {
        let d = self.distance(earlier);
        if d > 0 { d as u32 } else { 0 }
    }
    /// `self` < `other`
    pub const fn before(self, other: Self) -> bool {
        self.distance(other) < 0
    }
    /// `self` ≤ `other`
    pub const fn at_or_before(self, other: Self) -> bool {
        self.distance(other) <= 0
    }
    /// `self` > `other`
    pub const fn after(self, other: Self) -> bool {
        self.distance(other) > 0
    }
    /// `self` ≥ `other`
    pub const fn at_or_after(self, other: Self) -> bool {
        self.distance(other) >= 0
    }
    /// The later of the two.
    pub const fn max(self, other: Self) -> Self {
        if self.after(other) { self } else { other }
    }
    /// The earlier of the two.
    pub const fn min(self, other: Self) -> Self {
        if self.before(other) { self } else { other }
    }
}

impl Add<u32> for Seq {
    type Output = Self;
    fn add(self, bytes: u32) -> Self {
        Self(self.0.wrapping_add(bytes))
    }
}

impl AddAssign<u32> for Seq {
    fn add_assign(&mut self, bytes: u32) {
        *self = *self + bytes;
    }
}

impl Sub<u32> for Seq {
    type Output = Self;
    fn sub(self, bytes: u32) -> Self {
        Self(self.0.wrapping_sub(bytes))
    }
}

impl fmt::Debug for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// Sequence numbers from `start` up to but not including `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SeqRange {
    /// First sequence number.
    pub start: Seq,
    /// One past the last sequence number.
    pub end: Seq,
}

impl SeqRange {
    /// The numbers from `start` up to but not including `end`.
    pub const fn new(start: Seq, end: Seq) -> Self {
        Self { start, end }
    }
    /// Number of sequence numbers; 0 if `end` is not after `start`.
    pub const fn len(self) -> u32 {
        self.end.since(self.start)
    }
    /// Returns true if the range is empty.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }
    /// Returns true if `seq` lies in the range.
    pub const fn contains(self, seq: Seq) -> bool {
        seq.at_or_after(self.start) && seq.before(self.end)
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn order_holds_across_the_wrap() {
        let low = Seq(u32::MAX - 1);
        let high = low + 4;
        assert_eq!(high, Seq(2));
        assert!(low.before(high) && high.after(low) && low.at_or_before(low));
        assert_eq!(high.since(low), 4);
        assert_eq!(low.since(high), 0);
        assert_eq!(low.max(high), high);
        assert!(SeqRange::new(low, high).contains(Seq(0)));
        assert!(!SeqRange::new(low, high).contains(high));
    }
}
