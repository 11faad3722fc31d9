//! TCP options (RFC 9293 §3.2).

use driftway_base::{Seq, SeqRange};

use crate::cursor::Writer;
use crate::{DecodeError, EncodeError};

/// Room for options in a TCP header (bytes).
const OPTIONS_MAX_LEN: u32 = 40;

// The kinds, and the lengths that go with those of a fixed length.
const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// The options of one segment. Unknown options are skipped when read, as RFC 9293 §3.2 asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TcpOptions {
    /// Maximum segment size (RFC 9293 §3.7.1); on SYNs.
    pub mss: Option<u16>,
    /// Window scale shift (RFC 7323 §2); on SYNs. Values over 14 are read, and written, as 14.
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018 §2); on SYNs.
    pub sack_permitted: bool,
    /// Timestamps (RFC 7323 §3).
    pub timestamps: Option<Timestamps>,
    /// SACK blocks (RFC 2018 §3), the first one possibly a D-SACK (RFC 2883).
    pub sack: SackBlocks,
}

impl TcpOptions {
    /// Bytes that they take in the header, laid out as common stacks do: each on a 4-byte boundary
    /// behind NOPs (RFC 7323 appendix A), but SACK permitted in place of the NOPs before the
    /// timestamps. A header has room for 40; three SACK blocks beside timestamps fill it.
    pub const fn len(&self) -> u32 {
        let mut bytes = 0;
        if self.mss.is_some() {
            bytes += 4;
        }
        if self.timestamps.is_some() {
            bytes += 12;
        } else if self.sack_permitted {
            bytes += 4;
        }
        if self.window_scale.is_some() {
            bytes += 4;
        }
        if self.sack.count > 0 {
            bytes += 4 + 8 * self.sack.count as u32;
        }
        bytes
    }
    /// No option at all?
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Do they fit into a header?
    pub(crate) const fn fits_header(&self) -> bool {
        self.len() <= OPTIONS_MAX_LEN
    }

    pub(crate) fn write(&self, to: &mut Writer<'_>) -> Result<(), EncodeError> {
        if let Some(mss) = self.mss {
            to.bytes(&[MSS, 4])?;
            to.u16(mss)?;
        }
        match (self.sack_permitted, self.timestamps.is_some()) {
            (true, true) => to.bytes(&[SACK_PERMITTED, 2])?,
            (true, false) => to.bytes(&[NOP, NOP, SACK_PERMITTED, 2])?,
            (false, true) => to.bytes(&[NOP, NOP])?,
            (false, false) => {}
        }
        if let Some(Timestamps { value, echo }) = self.timestamps {
            to.bytes(&[TIMESTAMPS, 10])?;
            to.u32(value)?;
            to.u32(echo)?;
        }
        if let Some(shift) = self.window_scale {
            to.bytes(&[NOP, WINDOW_SCALE, 3, shift.min(14)])?;
        }
        if !self.sack.is_empty() {
            to.bytes(&[NOP, NOP, SACK, 2 + 8 * self.sack.count])?;
            for block in self.sack.as_slice() {
                to.u32(block.start.0)?;
                to.u32(block.end.0)?;
            }
        }
        Ok(())
    }

    /// Reads the options area of a header. Where an option comes twice, the later one counts. An
    /// option that we know with a length that its definition does not know is skipped like one that
    /// we don't know.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut options = Self::default();
        for found in TcpOptionReader::new(bytes) {
            options.add_option(&found?);
        }
        Ok(options)
    }

    /// Takes one option in, and says which it is; an earlier one of its kind no longer counts.
    #[inline]
    pub fn add_option(&mut self, option: &RawTcpOption<'_>) -> TcpOption {
        match (option.kind, option.data) {
            (MSS, &[a, b]) => {
                self.mss = Some(u16::from_be_bytes([a, b]));
                TcpOption::Mss
            }
            (WINDOW_SCALE, &[shift]) => {
                self.window_scale = Some(shift.min(14));
                TcpOption::WindowScale
            }
            (SACK_PERMITTED, []) => {
                self.sack_permitted = true;
                TcpOption::SackPermitted
            }
            (SACK, data) if matches!(data.len(), 8 | 16 | 24 | 32) => {
                self.sack = SackBlocks::EMPTY;
                for &[a, b, c, d, e, f, g, h] in data.as_chunks().0 {
                    let (start, end) = ([a, b, c, d], [e, f, g, h]);
                    let edge = |bytes| Seq(u32::from_be_bytes(bytes));
                    self.sack.push(SeqRange::new(edge(start), edge(end)));
                }
                TcpOption::Sack
            }
            (TIMESTAMPS, &[a, b, c, d, e, f, g, h]) => {
                self.timestamps = Some(Timestamps {
                    value: u32::from_be_bytes([a, b, c, d]),
                    echo: u32::from_be_bytes([e, f, g, h]),
                });
                TcpOption::Timestamps
            }
            _ => TcpOption::Unknown,
        }
    }
}

/// Which option of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpOption {
    /// Maximum segment size (RFC 9293 §3.7.1).
    Mss,
    /// Window scale shift (RFC 7323 §2).
    WindowScale,
    /// SACK permitted (RFC 2018 §2).
    SackPermitted,
    /// SACK blocks (RFC 2018 §3).
    Sack,
    /// Timestamps (RFC 7323 §3).
    Timestamps,
    /// An option that we don't know, or one that we know with a length that its definition does
    /// not know.
    Unknown,
}

impl TcpOption {
    /// The byte that fills the room between options (RFC 9293 §3.2, No-Operation).
    pub const NOP: u8 = NOP;
}

/// An option's bytes, and where they stand; [`TcpOptions::add`] says what they mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawTcpOption<'a> {
    /// Where its first byte stands in the options area; its data begins two bytes further on.
    pub offset: usize,
    kind: u8,
    data: &'a [u8],
}

impl RawTcpOption<'_> {
    /// Bytes that it takes, kind and length included.
    pub const fn size(&self) -> usize {
        self.data.len() + 2
    }
}

/// Reads the options area of a TCP header one option at a time, without copying it: for those that
/// need to know where an option stands. Fillers are passed over. Ends at the end of the list, or
/// with the first error.
#[derive(Clone, Debug)]
pub struct TcpOptionReader<'a> {
    area: &'a [u8],
    at: usize,
}

impl<'a> TcpOptionReader<'a> {
    /// The options in `area`, which is what a header has behind its first 20 bytes.
    #[inline]
    pub const fn new(area: &'a [u8]) -> Self {
        Self { area, at: 0 }
    }
}

impl<'a> Iterator for TcpOptionReader<'a> {
    type Item = Result<RawTcpOption<'a>, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let at = self.at;
            match *self.area.get(at)? {
                END => {
                    self.at = self.area.len();
                    return None;
                }
                NOP => self.at = at + 1,
                kind => {
                    // RFC 9293 §3.1 (MUST-7): a length below 2, or one that leads out of the
                    // header, is illegal. Nothing behind it can be found, so the whole segment is
                    // refused; the RFC's suggestion to reset and log is left to the caller, because
                    // it lets anybody who guesses the ports tear a connection down.
                    let len = self.area.get(at + 1).map_or(0, |len| usize::from(*len));
                    let Some(data) = self.area.get(at + 2..at + len) else {
                        self.at = self.area.len();
                        return Some(Err(DecodeError::TcpOptionLength { kind }));
                    };
                    self.at = at + len;
                    return Some(Ok(RawTcpOption { offset: at, kind, data }));
                }
            }
        }
    }
}

/// The timestamps option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// TSval: the sender's clock.
    pub value: u32,
    /// TSecr: the peer's clock, echoed.
    pub echo: u32,
}

/// Up to four SACK blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SackBlocks {
    blocks: [SeqRange; 4],
    count: u8,
}

impl SackBlocks {
    /// No block.
    pub const EMPTY: Self = Self { blocks: [SeqRange::new(Seq(0), Seq(0)); 4], count: 0 };

    /// Appends a block; `false` if there was no room.
    pub fn push(&mut self, block: SeqRange) -> bool {
        match self.blocks.get_mut(usize::from(self.count)) {
            Some(place) => {
                *place = block;
                self.count += 1;
                true
            }
            None => false,
        }
    }
    /// The blocks, in the order of the option.
    pub fn as_slice(&self) -> &[SeqRange] {
        self.blocks.get(..usize::from(self.count)).unwrap_or_default()
    }
    /// How many.
    pub const fn len(&self) -> usize {
        self.count as usize
    }
    /// None?
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn read(bytes: &[u8]) -> Result<TcpOptions, DecodeError> {
        TcpOptions::read(bytes)
    }
    fn illegal(kind: u8) -> Result<TcpOptions, DecodeError> {
        Err(DecodeError::TcpOptionLength { kind })
    }

    #[test]
    fn unknown_options_are_skipped() {
        let bytes = [NOP, 254, 6, 0xde, 0xad, 0xbe, 0xef, 30, 2, MSS, 4, 5, 0xb4, END, MSS, 0];
        assert_eq!(read(&bytes), Ok(TcpOptions { mss: Some(1460), ..Default::default() }));
    }

    #[test]
    fn illegal_lengths_are_refused() {
        assert_eq!(read(&[NOP, MSS, 0, 0]), illegal(MSS), "zero");
        assert_eq!(read(&[NOP, 99, 1, 0]), illegal(99), "shorter than kind and length");
        assert_eq!(read(&[TIMESTAMPS, 10, 0, 0]), illegal(TIMESTAMPS), "out of the header");
        assert_eq!(read(&[NOP, NOP, NOP, SACK]), illegal(SACK), "no length at all");
    }

    #[test]
    fn a_known_option_of_another_length_is_unknown() {
        let bytes = [MSS, 3, 9, SACK_PERMITTED, 3, 9, SACK, 6, 1, 2, 3, 4, SACK, 2];
        assert_eq!(read(&bytes), Ok(TcpOptions::default()));
    }

    #[test]
    fn the_later_of_two_counts() {
        let bytes = [MSS, 4, 1, 0, WINDOW_SCALE, 3, 200, WINDOW_SCALE, 3, 7, MSS, 4, 2, 0];
        let options = TcpOptions { mss: Some(512), window_scale: Some(7), ..TcpOptions::default() };
        assert_eq!(read(&bytes), Ok(options));
        let sack = [SACK, 10, 0, 0, 0, 1, 0, 0, 0, 2, SACK, 10, 0, 0, 0, 3, 0, 0, 0, 4];
        let blocks = read(&sack).map(|options| options.sack);
        assert_eq!(blocks.unwrap().as_slice(), [SeqRange::new(Seq(3), Seq(4))]);
        assert_eq!(read(&bytes[4..7]).map(|o| o.window_scale), Ok(Some(14)), "RFC 7323 §2.3");
    }

    #[test]
    fn an_option_is_found_where_it_stands() {
        let area = [NOP, NOP, TIMESTAMPS, 10, 0, 0, 0, 1, 0, 0, 0, 2, NOP, 254, 3, 9, END, MSS];
        let mut options = TcpOptions::default();
        let found = TcpOptionReader::new(&area).map(|found| {
            let found = found.unwrap();
            (found.offset, found.size(), options.add_option(&found))
        });
        assert!(found.eq([(2, 10, TcpOption::Timestamps), (13, 3, TcpOption::Unknown)]));
        assert_eq!(options.timestamps, Some(Timestamps { value: 1, echo: 2 }));
        let mut cut = TcpOptionReader::new(&area[..8]);
        assert_eq!(cut.next(), Some(Err(DecodeError::TcpOptionLength { kind: TIMESTAMPS })));
        assert_eq!(cut.next(), None, "nothing behind it can be found");
    }

    #[test]
    fn timestamps_leave_room_for_three_blocks() {
        let mut options = TcpOptions::default();
        for _ in 0..3 {
            assert!(options.sack.push(SeqRange::default()));
        }
        options.timestamps = Some(Timestamps { value: 1, echo: 2 });
        assert_eq!(options.len(), OPTIONS_MAX_LEN);
        assert!(options.sack.push(SeqRange::default()) && !options.fits_header());
        options.timestamps = None;
        assert!(options.fits_header() && !options.sack.push(SeqRange::default()));
    }
}
