//! TCP segments (RFC 9293 §3.1) with the options that driftway's TCP speaks.

use base::{Seq, SeqRange};

use crate::Payload;

/// A TCP header and the name of what it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TcpSegment {
    /// Port of the sender.
    pub source_port: u16,
    /// Port of the receiver.
    pub destination_port: u16,
    /// Sequence number of the first byte (of the SYN, if there is one).
    pub seq: Seq,
    /// Acknowledgment number; counts only with [`TcpFlags::ACK`].
    pub ack: Seq,
    /// Control bits.
    pub flags: TcpFlags,
    /// The window field as it stands in the header, not scaled.
    pub window: u16,
    /// The urgent pointer; counts only with [`TcpFlags::URG`].
    pub urgent: u16,
    /// Options.
    pub options: TcpOptions,
    /// What it carries.
    pub payload: Payload,
}

impl TcpSegment {
    /// Sequence numbers that it takes: payload, SYN and FIN (SEG.LEN of RFC 9293).
    pub const fn sequence_len(&self) -> u32 {
        self.payload.len.wrapping_add(
            self.flags.contains(TcpFlags::SYN) as u32 + self.flags.contains(TcpFlags::FIN) as u32,
        )
    }
    /// One past its last sequence number.
    pub const fn end(&self) -> Seq {
        Seq(self.seq.0.wrapping_add(self.sequence_len()))
    }
}

/// The control bits, as in the header's fourteenth byte.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronize sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Push.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgment field counts.
    pub const ACK: Self = Self(0x10);
    /// The urgent pointer counts.
    pub const URG: Self = Self(0x20);
    /// Congestion echo (RFC 3168).
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Self = Self(0x80);

    /// Are all bits of `other` set?
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
    /// Is one bit of `other` set?
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
    /// With the bits of `other` set.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// With the bits of `other` cleared.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl core::fmt::Debug for TcpFlags {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        const NAMES: [&str; 8] = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];
        let mut names = NAMES.iter().enumerate().filter(|(bit, _)| self.0 & (1 << bit) != 0);
        match names.next() {
            None => f.write_str("-"),
            Some((_, first)) => {
                f.write_str(first)?;
                names.try_for_each(|(_, name)| write!(f, "|{name}"))
            }
        }
    }
}

/// The options of one segment. Unknown options are skipped when read, as RFC 9293 §3.2 asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TcpOptions {
    /// Maximum segment size (RFC 9293 §3.7.1); on SYNs.
    pub mss: Option<u16>,
    /// Window scale shift (RFC 7323 §2); on SYNs. Values over 14 are read as 14.
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018 §2); on SYNs.
    pub sack_permitted: bool,
    /// Timestamps (RFC 7323 §3).
    pub timestamps: Option<Timestamps>,
    /// SACK blocks (RFC 2018 §3), the first one possibly a D-SACK (RFC 2883).
    pub sack: SackBlocks,
}

impl TcpOptions {
    /// Bytes that they take in the header, padded to a multiple of 4.
    pub const fn len(&self) -> u32 {
        let mut bytes = 0;
        if self.mss.is_some() {
            bytes += 4;
        }
        if self.window_scale.is_some() {
            bytes += 3;
        }
        if self.sack_permitted {
            bytes += 2;
        }
        if self.timestamps.is_some() {
            bytes += 10;
        }
        if self.sack.count > 0 {
            bytes += 2 + 8 * self.sack.count as u32;
        }
        bytes.next_multiple_of(4)
    }
    /// No option at all?
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
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
