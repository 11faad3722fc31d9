//! Bytes of packets in transit, by packet handle.

use driftway_base::Ecn;

/// One buffer for each handle with bytes, and spare buffers.
#[derive(Debug, Default)]
pub struct PacketBytes {
    by_id: Vec<Vec<u8>>,
    spare: Vec<Vec<u8>>,
}

impl PacketBytes {
    /// Stores a copy of `bytes` for the handle `id`.
    pub fn put(&mut self, id: u32, bytes: &[u8]) {
        let id = id as usize;
        if self.by_id.len() <= id {
            self.by_id.resize_with(id + 1, Vec::new);
        }
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(bytes);
        self.by_id[id] = buffer;
    }

    /// Length of the handle's bytes; `None` if the packet has only a description.
    pub fn len(&self, id: u32) -> Option<usize> {
        self.by_id.get(id as usize).map(Vec::len).filter(|len| *len > 0)
    }

    /// Takes the bytes of a handle whose packet has ended.
    pub fn take(&mut self, id: u32) -> Option<Vec<u8>> {
        self.len(id)?;
        self.by_id.get_mut(id as usize).map(std::mem::take)
    }

    /// Returns a buffer for reuse.
    pub fn give_back(&mut self, buffer: Vec<u8>) {
        self.spare.push(buffer);
    }
}

/// Writes the fields that a network changes into the IPv4 header of `packet`, and updates the
/// checksum.
pub fn rewrite(packet: &mut [u8], ttl: u8, ecn: Ecn) {
    let [version, tos, _, _, _, _, _, _, old_ttl, protocol, high, low, ..] = packet else { return };
    let new_tos = *tos & 0xfc | ecn.bits();
    let word = |first: u8, second: u8| u32::from(u16::from_be_bytes([first, second]));
    // RFC 1624 §3: HC' = ~(~HC + ~m + m'), for each changed 16-bit word m.
    let mut sum = word(*high, *low) ^ 0xffff;
    for (old, new) in [
        (word(*version, *tos), word(*version, new_tos)),
        (word(*old_ttl, *protocol), word(ttl, *protocol)),
    ] {
        sum += (old ^ 0xffff) + new;
    }
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    (*tos, *old_ttl) = (new_tos, ttl);
    [*high, *low] = (!(sum as u16)).to_be_bytes();
}

#[cfg(test)]
mod test {
    use driftway_base::Ipv4Addr;
    use driftway_wire::{Body, IpHeader, Packet, UdpDatagram};

    use super::*;

    /// Covers nearly all checksums, by the identification.
    #[test]
    fn a_rewritten_header_is_right_and_else_as_it_was() {
        for number in 0..2000_u16 {
            let ip = IpHeader {
                identification: number.wrapping_mul(33),
                ttl: 200,
                dscp: 5,
                ecn: Ecn::Ect0,
                ..IpHeader::new(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2))
            };
            let packet = Packet { ip, body: Body::Udp(UdpDatagram::default()) };
            let mut bytes = [0; 28];
            packet.encode(&mut bytes, |_, _| ()).unwrap();
            let (ttl, ecn) = ((number % 256) as u8, Ecn::from_bits(number as u8));
            rewrite(&mut bytes, ttl, ecn);
            let ip = IpHeader { ttl, ecn, ..ip };
            assert_eq!(Packet::decode(&bytes).unwrap().packet, Packet { ip, ..packet });
        }
        rewrite(&mut [0x45, 0], 1, Ecn::Ce);
    }

    #[test]
    fn bytes_belong_to_a_handle_until_they_are_taken() {
        let mut bytes = PacketBytes::default();
        bytes.put(7, b"seven");
        bytes.put(2, b"two");
        assert_eq!((bytes.len(7), bytes.len(3), bytes.len(99)), (Some(5), None, None));
        let seven = bytes.take(7).unwrap();
        assert_eq!((seven.as_slice(), bytes.take(7)), (&b"seven"[..], None));
        bytes.give_back(seven);
        bytes.put(3, b"x");
        assert_eq!(bytes.take(3).unwrap(), b"x");
        assert_eq!(bytes.take(2).unwrap(), b"two");
    }
}
