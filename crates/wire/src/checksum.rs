//! The Internet checksum (RFC 1071).

/// A partial ones'-complement sum.
///
/// All parts but the last must have an even length; those of a packet do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checksum(u64);

impl Checksum {
    /// The sum of the pseudo-header of an upper layer: of IPv4 (RFC 9293 §3.1, RFC 768), or of IPv6 (RFC 8200
    /// §8.1), which has the same sum. `addresses` are source and destination; `len` counts the transport header
    /// and the payload.
    pub fn pseudo_header(addresses: &[u8], protocol: u8, len: usize) -> Self {
        let Self(sum) = Self::of(addresses);
        Self(sum + u64::from(protocol) + len as u64)
    }

    /// The sum of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self::default().and(bytes)
    }

    /// This sum and that of `bytes`.
    #[must_use]
    pub fn and(self, bytes: &[u8]) -> Self {
        // RFC 1071 §2: words of any width may be summed if the carries are folded at the end. 64 bits hold
        // the sum of 2³² words of 32 bits, and no packet is that long.
        let (words, rest) = bytes.as_chunks::<4>();
        let sum = words.iter().fold(self.0, |sum, word| sum + u64::from(u32::from_be_bytes(*word)));
        let mut last = [0; 4];
        for (place, byte) in last.iter_mut().zip(rest) {
            *place = *byte;
        }
        Self(sum + u64::from(u32::from_be_bytes(last)))
    }

    /// The checksum; 0 if the sum included a correct checksum.
    pub const fn finish(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum >> 16) + (sum & 0xffff);
        }
        !(sum as u16)
    }
}

/// Computes the checksum of `bytes`, with what is already in `sum`, in its field at `at`. `None`: there is no such
/// field.
pub fn complete_checksum(bytes: &mut [u8], at: usize, sum: Checksum) -> Option<()> {
    bytes.get_mut(at..at + 2)?.fill(0);
    set_checksum(bytes, at, sum.and(bytes).finish());
    Some(())
}

/// Writes the checksum field at offset `at`, if it exists.
pub(crate) fn set_checksum(bytes: &mut [u8], at: usize, checksum: u16) {
    if let Some(field) = bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *field = checksum.to_be_bytes();
    }
}

/// Replaces the bytes of a header at `at` by `new` and updates its checksum at `checksum_at` incrementally
/// (RFC 1624 §3): a wrong checksum stays wrong. Does nothing where the header has no such bytes.
pub fn edit_header(header: &mut [u8], at: usize, new: &[u8], checksum_at: usize) {
    // Whole 16-bit words around the bytes: an option may begin at an odd offset.
    let (start, end) = (at & !1, (at + new.len() + 1) & !1);
    let sum = |header: &[u8]| header.get(start..end).map(Checksum::of);
    let Some(before) = sum(header) else { return };
    let old = header.get(checksum_at..).and_then(<[u8]>::first_chunk).copied();
    let Some(old) = old.map(u16::from_be_bytes) else { return };
    if let Some(place) = header.get_mut(at..at + new.len()) {
        place.copy_from_slice(new);
    }
    // Equation 3: HC' = ~(~HC + ~m + m').
    let after = sum(header).unwrap_or_default();
    let updated = Checksum(u64::from(!old) + u64::from(before.finish()) + after.0).finish();
    set_checksum(header, checksum_at, updated);
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_example_of_rfc_1071() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Checksum::of(&bytes).finish(), !0xddf2);
    }

    #[test]
    fn an_odd_byte_counts_as_the_high_half_of_a_word() {
        let odd = Checksum::of(&[1, 2, 3, 4, 5]).finish();
        assert_eq!(odd, Checksum::of(&[1, 2, 3, 4, 5, 0]).finish());
        assert_ne!(odd, Checksum::of(&[1, 2, 3, 4, 0, 5]).finish());
    }

    #[test]
    fn carries_of_the_largest_packet_are_not_lost() {
        // 32,768 words of 0xffff sum to 0xffff.
        assert_eq!(Checksum::of(&[0xff; 65_536]).finish(), 0);
    }

    #[test]
    fn an_edit_leaves_the_checksum_as_right_or_wrong_as_it_was() {
        for (at, new) in [(0, &[9][..]), (3, &[1, 2, 3]), (6, &[0, 0]), (9, &[0xff]), (8, &[7, 5])]
        {
            let mut header = [1, 2, 3, 4, 0, 0, 5, 6, 7, 8];
            let checksum = Checksum::of(&header).finish();
            set_checksum(&mut header, 4, checksum);
            // Bytes 4 and 5 are the checksum itself.
            let new = if at == 3 { &new[..1] } else { new };
            edit_header(&mut header, at, new, 4);
            assert_eq!(&header[at..at + new.len()], new);
            assert_eq!(Checksum::of(&header).finish(), 0, "at {at}");
            header[7] ^= 1;
            edit_header(&mut header, at, &[3], 4);
            assert_ne!(Checksum::of(&header).finish(), 0, "at {at}");
        }
        let mut short = [1, 2, 3, 4, 5];
        edit_header(&mut short, 4, &[1, 2], 0);
        edit_header(&mut short, 0, &[1], 4);
        assert_eq!(short, [1, 2, 3, 4, 5]);
    }
}
