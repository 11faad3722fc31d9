//! Payload without its bytes.

/// A piece of a byte stream, named instead of carried.
///
/// In the lab nothing is copied: a segment carries the name of its bytes, and the offset travels
/// *beside* the TCP sequence number, so that a sink can check what was delivered without believing
/// TCP. On a host the offset says where the driver keeps the bytes. Protocol code only moves, trims
/// and counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Payload {
    /// Which stream.
    pub stream: u32,
    /// Offset of the first byte in its stream.
    pub offset: u64,
    /// How many bytes.
    pub len: u32,
}

impl Payload {
    /// No bytes.
    pub const EMPTY: Self = Self { stream: 0, offset: 0, len: 0 };

    /// `len` bytes of `stream` from `offset` on.
    pub const fn new(stream: u32, offset: u64, len: u32) -> Self {
        Self { stream, offset, len }
    }
    /// Nothing in it?
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }
    /// Without its first `bytes` bytes.
    #[must_use]
    pub const fn without_front(self, bytes: u32) -> Self {
        let cut = if bytes < self.len { bytes } else { self.len };
        Self {
            stream: self.stream,
            offset: self.offset.wrapping_add(cut as u64),
            len: self.len - cut,
        }
    }
    /// Its first `len` bytes, or all if it has fewer.
    #[must_use]
    pub const fn truncated(self, len: u32) -> Self {
        Self {
            stream: self.stream,
            offset: self.offset,
            len: if len < self.len { len } else { self.len },
        }
    }
}
