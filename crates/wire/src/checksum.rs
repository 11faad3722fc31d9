//! The Internet checksum (RFC 1071).

use driftway_base::Ipv4Addr;

/// A partial ones'-complement sum.
///
/// All parts but the last must have an even length; those of a packet do.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Checksum(u64);

impl Checksum {
    /// The sum of the pseudo-header of TCP and UDP (RFC 9293 §3.1, RFC 768). `len` counts the transport
    /// header and the payload.
    pub(crate) fn pseudo_header(
        source: Ipv4Addr,
        destination: Ipv4Addr,
        protocol: u8,
        len: usize,
    ) -> Self {
        let sum = u64::from(source.to_bits()) + u64::from(destination.to_bits());
        Self(sum + u64::from(protocol) + len as u64)
    }

    /// Adds `bytes`.
    pub(crate) fn add(self, bytes: &[u8]) -> Self {
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
    pub(crate) const fn finish(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum >> 16) + (sum & 0xffff);
        }
        !(sum as u16)
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_example_of_rfc_1071() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Checksum::default().add(&bytes).finish(), !0xddf2);
    }

    #[test]
    fn an_odd_byte_counts_as_the_high_half_of_a_word() {
        let odd = Checksum::default().add(&[1, 2, 3, 4, 5]).finish();
        assert_eq!(odd, Checksum::default().add(&[1, 2, 3, 4, 5, 0]).finish());
        assert_ne!(odd, Checksum::default().add(&[1, 2, 3, 4, 0, 5]).finish());
    }

    #[test]
    fn carries_of_the_largest_packet_are_not_lost() {
        // 32,768 words of 0xffff sum to 0xffff.
        assert_eq!(Checksum::default().add(&[0xff; 65_536]).finish(), 0);
    }
}
