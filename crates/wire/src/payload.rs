//! Payloads without bytes.

/// A section of a byte stream, identified instead of stored.
///
/// In a simulation no payload is copied: a segment identifies its bytes, and the stream offset is carried
/// *beside* the TCP sequence number, so that a sink can check what was delivered independently of TCP. On a
/// host the offset locates the bytes in the driver's buffer. Protocol code only moves, trims and counts
/// payloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Payload {
    /// Stream number.
    pub stream: u32,
    /// Offset of the first byte in its stream.
    pub offset: u64,
    /// Number of bytes.
    pub len: u32,
}

impl Payload {
    /// The empty payload.
    pub const EMPTY: Self = Self { stream: 0, offset: 0, len: 0 };

    /// `len` bytes of `stream` from `offset` on.
    pub const fn new(stream: u32, offset: u64, len: u32) -> Self {
        Self { stream, offset, len }
    }
    /// Returns true if the payload is empty.
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }
    /// The payload without its first `bytes` bytes.
    #[must_use]
    pub const fn without_front(self, bytes: u32) -> Self {
        let cut = if bytes < self.len { bytes } else { self.len };
        Self {
            stream: self.stream,
            offset: self.offset.wrapping_add(cut as u64),
            len: self.len - cut,
        }
    }
    /// Its first `len` bytes, or all of it if it is shorter.
    #[must_use]
    pub const fn truncated(self, len: u32) -> Self {
        Self {
            stream: self.stream,
            offset: self.offset,
            len: if len < self.len { len } else { self.len },
        }
    }

    /// Fills `bytes` with the simulated content of this payload, from its offset on.
    ///
    /// Each byte is a fixed function of its stream and offset, so that a packet can be encoded at any point
    /// of a run, and a retransmission carries the original bytes. Different streams, and different positions
    /// of a stream, have different content, which reveals misplaced bytes. Can be passed to
    /// [`Packet::encode`](crate::Packet::encode).
    pub fn fill_pattern(self, bytes: &mut [u8]) {
        // Offsets wrap (see `without_front`), therefore word indices have 61 bits.
        let word = |index| pattern_word(self.stream, index & (u64::MAX / 8)).to_le_bytes();
        let mut index = self.offset / 8;
        let into_word = (self.offset % 8) as usize;

        let (head, rest) = bytes.split_at_mut(bytes.len().min((8 - into_word) % 8));
        if !head.is_empty() {
            head.iter_mut().zip(word(index).iter().skip(into_word)).for_each(|(to, b)| *to = *b);
            index += 1;
        }
        let (words, tail) = rest.as_chunks_mut();
        for to in words {
            *to = word(index);
            index += 1;
        }
        tail.iter_mut().zip(word(index)).for_each(|(to, byte)| *to = byte);
    }
}

/// The eight bytes at offset 8 × `index` of a stream: a multiply-and-shift mix of both.
const fn pattern_word(stream: u32, index: u64) -> u64 {
    let stream_key = (stream as u64 + 1).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let x = (index ^ stream_key).wrapping_mul(0xa076_1d64_78bd_642f);
    let x = (x ^ (x >> 32)).wrapping_mul(0xe703_7ed1_a0b4_28db);
    x ^ (x >> 29)
}

#[cfg(test)]
mod test {
    use super::*;

    fn byte(stream: u32, offset: u64) -> u8 {
        let mut byte = [0];
        Payload::new(stream, offset, 1).fill_pattern(&mut byte);
        byte[0]
    }

    /// Frozen, because captures and corpora depend on it.
    #[test]
    fn the_pattern_is_frozen() {
        let mut bytes = [0; 8];
        Payload::new(1, 0, 8).fill_pattern(&mut bytes);
        assert_eq!(bytes, FROZEN);
    }
    const FROZEN: [u8; 8] = [25, 55, 39, 120, 7, 130, 219, 184];

    #[test]
    fn a_byte_does_not_depend_on_its_segment() {
        for start in (0..20).chain([u64::from(u32::MAX) - 9, u64::MAX - 7, u64::MAX - 2]) {
            for len in 0..30 {
                let mut bytes = [0; 30];
                Payload::new(3, start, len).fill_pattern(&mut bytes[..len as usize]);
                for i in 0..len {
                    let expected = byte(3, start.wrapping_add(u64::from(i)));
                    assert_eq!(bytes[i as usize], expected, "{start} + {i} of {len}");
                }
            }
        }
    }

    #[test]
    fn misplaced_bytes_are_detected() {
        let window = |stream, offset| -> [u8; 16] {
            core::array::from_fn(|i| byte(stream, offset + i as u64))
        };
        for a in 0..200 {
            assert_ne!(window(1, a), window(2, a));
            for b in 0..a {
                assert_ne!(window(1, a), window(1, b));
            }
        }
    }
}
