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

    /// Fills `bytes` with what the lab says this payload consists of, from its offset on.
    ///
    /// The byte at an offset of a stream is a fixed function of both, so that a packet can be
    /// encoded wherever it is met, and a retransmission carries the bytes of the original. Streams,
    /// and places in a stream, look unlike each other: a byte in the wrong place shows. Can be
    /// handed to [`Packet::encode`](crate::Packet::encode) as it is.
    pub fn fill_pattern(self, bytes: &mut [u8]) {
        // Offsets wrap (as in `without_front`), so the numbers of words have 61 bits.
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

/// The eight bytes of a stream at offset 8 × `index`: a multiply-and-shift mix of both.
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

    /// Frozen: captures and corpora depend on it.
    #[test]
    fn the_pattern_is_frozen() {
        let mut bytes = [0; 8];
        Payload::new(1, 0, 8).fill_pattern(&mut bytes);
        assert_eq!(bytes, FROZEN);
    }
    const FROZEN: [u8; 8] = [25, 55, 39, 120, 7, 130, 219, 184];

    #[test]
    fn a_byte_does_not_depend_on_the_segment_it_travels_in() {
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
    fn a_byte_in_the_wrong_place_shows() {
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
