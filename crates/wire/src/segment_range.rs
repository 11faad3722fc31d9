//! The sequence numbers of a segment, of which SYN and FIN occupy one each (RFC 9293 §3.4).

use driftway_base::{Seq, SeqRange};

use crate::tcp_flags::TcpFlags;

/// Sequence numbers of a segment, in this order: its SYN, its payload, its FIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentRange {
    /// SEG.SEQ: the first sequence number.
    pub start: Seq,
    /// The SYN is set.
    pub has_syn: bool,
    /// Payload length (bytes).
    pub payload_len: u32,
    /// The FIN is set.
    pub has_fin: bool,
}

impl SegmentRange {
    /// The range of a segment with these header fields and this payload length.
    pub const fn new(start: Seq, flags: TcpFlags, payload_len: u32) -> Self {
        Self {
            start,
            has_syn: flags.contains(TcpFlags::SYN),
            payload_len,
            has_fin: flags.contains(TcpFlags::FIN),
        }
    }

    /// The range `range` of a stream whose FIN is at `fin_seq`, if that is known.
    pub fn of_stream(range: SeqRange, fin_seq: Option<Seq>) -> Self {
        let payload_end = fin_seq.map_or(range.end, |fin_seq| fin_seq.min(range.end));
        Self {
            start: range.start,
            has_syn: false,
            payload_len: payload_end.since(range.start),
            has_fin: fin_seq.is_some_and(|fin_seq| range.contains(fin_seq)),
        }
    }

    /// SEG.LEN: the number of sequence numbers.
    pub const fn sequence_len(self) -> u32 {
        self.payload_len.wrapping_add(self.has_syn as u32 + self.has_fin as u32)
    }

    /// One past the last sequence number.
    pub const fn end(self) -> Seq {
        Seq(self.start.0.wrapping_add(self.sequence_len()))
    }

    /// All sequence numbers.
    pub const fn all(self) -> SeqRange {
        SeqRange::new(self.start, self.end())
    }

    /// The sequence numbers of the payload.
    pub fn payload(self) -> SeqRange {
        let start = self.start + u32::from(self.has_syn);
        SeqRange::new(start, start + self.payload_len)
    }

    /// The sequence number of the FIN, as a range of one.
    pub fn fin(self) -> Option<SeqRange> {
        self.has_fin.then(|| SeqRange::new(self.payload().end, self.end()))
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn syn_payload_and_fin_follow_each_other() {
        let flags = TcpFlags::SYN.with(TcpFlags::FIN);
        let range = SegmentRange::new(Seq(u32::MAX), flags, 10);
        assert_eq!((range.sequence_len(), range.end()), (12, Seq(11)));
        assert_eq!(range.payload(), SeqRange::new(Seq(0), Seq(10)));
        assert_eq!(range.fin(), Some(SeqRange::new(Seq(10), Seq(11))));
        let empty = SegmentRange::new(Seq(5), TcpFlags::ACK, 0);
        assert!(empty.all().is_empty() && empty.fin().is_none());
    }

    #[test]
    fn a_part_of_a_stream_has_the_fin_if_it_extends_beyond_it() {
        let part = |start, end, fin| {
            let part = SegmentRange::of_stream(SeqRange::new(Seq(start), Seq(end)), fin);
            (part.payload_len, part.has_fin, part.end())
        };
        let fin = Some(Seq(100));
        assert_eq!(part(40, 100, fin), (60, false, Seq(100)));
        assert_eq!(part(40, 101, fin), (60, true, Seq(101)));
        assert_eq!(part(100, 101, fin), (0, true, Seq(101)));
        assert_eq!(part(40, 101, None), (61, false, Seq(101)));
    }
}
