//! TCP options (RFC 9293 §3.2).

use driftway_base::{Seq, SeqRange};

use crate::cursor::Writer;
use crate::{DecodeError, EncodeError};

/// Maximum length of the options in a TCP header (bytes).
const OPTIONS_MAX_LEN: u32 = 40;

// Option kinds.
const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// The options of one segment. Unknown options are ignored when decoding (RFC 9293 §3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TcpOptions {
    /// Maximum segment size (RFC 9293 §3.7.1); on SYNs.
    pub mss: Option<u16>,
    /// Window scale shift (RFC 7323 §2); on SYNs. Values over 14 are decoded and encoded as 14.
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018 §2); on SYNs.
    pub sack_permitted: bool,
    /// Timestamps (RFC 7323 §3).
    pub timestamps: Option<Timestamps>,
    /// SACK blocks (RFC 2018 §3); the first may be a D-SACK block (RFC 2883).
    pub sack: SackBlocks,
}

impl TcpOptions {
    /// Length of the encoded options (bytes), in the usual layout: each option on a 4-byte boundary after
    /// NOPs (RFC 7323 appendix A), except that SACK-permitted replaces the NOPs before the timestamps. The
    /// maximum is 40; three SACK blocks and timestamps reach it.
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
    /// Returns true if there are no options.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if the options fit into a header.
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

    /// Decodes the options of a header. Of repeated options the last one is used. A known option with an
    /// undefined length is ignored like an unknown one.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut options = Self::default();
        for found in TcpOptionReader::new(bytes) {
            options.add_option(&found?);
        }
        Ok(options)
    }

    /// Adds a decoded option, replacing an earlier one of its kind, and returns its kind.
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

/// Kind of a TCP option.
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
    /// An unknown option, or a known one with an undefined length.
    Unknown,
}

impl TcpOption {
    /// The padding byte between options (No-Operation, RFC 9293 §3.2).
    pub const NOP: u8 = NOP;
}

/// An undecoded option and its position; [`TcpOptions::add_option`] decodes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawTcpOption<'a> {
    /// Offset of its kind byte in the options area; its data follows two bytes later.
    pub offset: usize,
    kind: u8,
    data: &'a [u8],
}

impl RawTcpOption<'_> {
    /// Length including kind and length bytes (bytes).
    pub const fn size(&self) -> usize {
        self.data.len() + 2
    }
}

/// Iterator over the options of a TCP header, without copying, for callers that need their positions. Padding
/// is skipped. Ends at the end of the list, or after the first error.
#[derive(Clone, Debug)]
pub struct TcpOptionReader<'a> {
    area: &'a [u8],
    at: usize,
}

impl<'a> TcpOptionReader<'a> {
    /// Reads the options in `area`, the part of a header after its first 20 bytes.
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
                    // RFC 9293 §3.1 (MUST-7): a length below 2, or beyond the end of the header, is illegal.
                    // No option after it can be located, so the whole segment is rejected. The RFC's
                    // suggestion to reset and log is left to the caller, because it would let anyone who
                    // guesses the ports reset a connection.
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

/// Timestamps option (RFC 7323 §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// TSval: the sender's timestamp clock.
    pub value: u32,
    /// TSecr: the echoed timestamp of the peer.
    pub echo: u32,
}

/// Up to four SACK blocks (RFC 2018 §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SackBlocks {
    blocks: [SeqRange; 4],
    count: u8,
}

impl SackBlocks {
    /// No blocks.
    pub const EMPTY: Self = Self { blocks: [SeqRange::new(Seq(0), Seq(0)); 4], count: 0 };

    /// Appends a block; returns false if there is no space left.
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
    /// Number of blocks.
    pub const fn len(&self) -> usize {
        self.count as usize
    }
    /// Returns true if there are no blocks.
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
    fn illegal_lengths_are_rejected() {
        assert_eq!(read(&[NOP, MSS, 0, 0]), illegal(MSS), "zero");
        assert_eq!(read(&[NOP, 99, 1, 0]), illegal(99), "shorter than kind and length");
        assert_eq!(read(&[TIMESTAMPS, 10, 0, 0]), illegal(TIMESTAMPS), "beyond the header");
        assert_eq!(read(&[NOP, NOP, NOP, SACK]), illegal(SACK), "no length");
    }

    #[test]
    fn a_known_option_of_another_length_is_unknown() {
        let bytes = [MSS, 3, 9, SACK_PERMITTED, 3, 9, SACK, 6, 1, 2, 3, 4, SACK, 2];
        assert_eq!(read(&bytes), Ok(TcpOptions::default()));
    }

    #[test]
    fn the_last_of_repeated_options_is_used() {
        let bytes = [MSS, 4, 1, 0, WINDOW_SCALE, 3, 200, WINDOW_SCALE, 3, 7, MSS, 4, 2, 0];
        let options = TcpOptions { mss: Some(512), window_scale: Some(7), ..TcpOptions::default() };
        assert_eq!(read(&bytes), Ok(options));
        let sack = [SACK, 10, 0, 0, 0, 1, 0, 0, 0, 2, SACK, 10, 0, 0, 0, 3, 0, 0, 0, 4];
        let blocks = read(&sack).map(|options| options.sack);
        assert_eq!(blocks.unwrap().as_slice(), [SeqRange::new(Seq(3), Seq(4))]);
        assert_eq!(read(&bytes[4..7]).map(|o| o.window_scale), Ok(Some(14)), "RFC 7323 §2.3");
    }

    #[test]
    fn options_are_returned_with_their_offsets() {
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
        assert_eq!(cut.next(), None, "no option after it can be located");
    }

    #[test]
    fn timestamps_leave_space_for_three_blocks() {
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
