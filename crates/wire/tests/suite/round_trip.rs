//! Encoded packets are decoded to the same packet; damaged ones are rejected; nothing panics.

use crate::packets;
use crate::packets::{encoded, fix_checksums, packet, payload_bytes, without_stream};
use driftway_wire::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn packets_round_trip(packet in packet(3000)) {
        let bytes = encoded(&packet);
        let decoded = Packet::decode(&bytes).unwrap();
        prop_assert_eq!(decoded.packet, without_stream(packet));
        prop_assert_eq!(decoded.payload, payload_bytes(&packet));
    }

    #[test]
    fn bytes_after_a_packet_are_ignored(packet in packet(50), padding in any::<[u8; 9]>()) {
        let mut bytes = encoded(&packet);
        let alone = Packet::decode(&encoded(&packet)).unwrap().packet;
        bytes.extend(padding);
        prop_assert_eq!(Packet::decode(&bytes).unwrap().packet, alone);
    }

    #[test]
    fn a_buffer_that_is_too_small_is_unchanged(packet in packet(50), missing in 1..20usize) {
        let needed = packet.len() as usize;
        let mut buf = vec![0xaa; needed - missing];
        let fill = |_: Payload, _: &mut [u8]| panic!("nothing to fill");
        prop_assert_eq!(packet.encode(&mut buf, fill), Err(EncodeError::BufferTooSmall { needed }));
        prop_assert!(buf.iter().all(|&byte| byte == 0xaa));
    }

    #[test]
    fn a_truncated_packet_is_rejected(packet in packet(50), cut in any::<prop::sample::Index>()) {
        let bytes = encoded(&packet);
        let cut = cut.index(bytes.len());
        prop_assert_eq!(Packet::decode(&bytes[..cut]), Err(DecodeError::Truncated));
    }

    /// One bit changes a ones'-complement sum by a power of two, which is never a multiple of 2¹⁶ − 1, so
    /// that a checksum detects every single bit error that it covers. (A bit error in the length of the IP
    /// header changes the covered range: both checksums would have to be correct by chance.)
    #[test]
    fn a_single_bit_error_is_rejected(packet in packet(60)) {
        let mut bytes = encoded(&packet);
        let udp = matches!(packet.body, Body::Udp(_) | Body::Aodv(_))
            .then(|| 20 + packet.ip.options.as_slice().len());
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let accepted = Packet::decode(&bytes).is_ok();
            let field = udp.and_then(|start| (bit / 8).checked_sub(start));
            let without_checksum = udp.is_some_and(|at| bytes[at + 6..at + 8] == [0, 0]);
            match field {
                // A shorter datagram leaves bytes to the surplus area, which no checksum covers.
                Some(4 | 5) => {}
                Some(6 | 7) => prop_assert_eq!(accepted, without_checksum),
                _ => prop_assert!(!accepted, "bit {}", bit),
            }
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn any_bytes_are_decoded_or_rejected(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Packet::decode(&bytes);
    }

    /// Damaged packets with correct checksums: those that are accepted have the same meaning after encoding
    /// them again.
    #[test]
    fn damaged_packets_are_decoded_or_rejected(
        packet in packet(60),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in 0..4usize,
    ) {
        let mut bytes = encoded(&packet);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(bytes.len() - cut);
        fix_checksums(&mut bytes);
        if let Ok(Decoded { packet, payload }) = Packet::decode(&bytes) {
            let mut again = vec![0; packet.len() as usize];
            match packet.encode(&mut again, |_, to| to.copy_from_slice(payload)) {
                Ok(_) => prop_assert_eq!(Packet::decode(&again), Ok(Decoded { packet, payload })),
                // Unaligned options may not fit after alignment.
                Err(error) => {
                    prop_assert!(matches!(error, EncodeError::TcpOptionsTooLong { .. }), "{error}");
                }
            }
        }
    }
}

/// `fix_checksums` gets the damage of the test above past the checksums.
#[test]
fn packets_with_fixed_checksums_are_accepted() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    runner
        .run(&packet(60), |packet| {
            let mut bytes = encoded(&packet);
            let original = bytes.clone();
            fix_checksums(&mut bytes);
            prop_assert_eq!(&bytes, &original);
            bytes[8] ^= 0xff;
            bytes[12] ^= 0xff;
            fix_checksums(&mut bytes);
            prop_assert!(Packet::decode(&bytes).is_ok());
            Ok(())
        })
        .unwrap();
}

fn udp_packet(len: u32) -> Packet {
    let ip = IpHeader::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
    let payload = Payload::new(1, 0, len);
    Packet { ip, body: Body::Udp(UdpDatagram { source_port: 1, destination_port: 2, payload }) }
}

#[test]
fn the_longest_packet() {
    let longest = udp_packet(65_535 - 28);
    assert_eq!(Packet::decode(&encoded(&longest)).unwrap().packet, without_stream(longest));

    let mut buf = vec![0; 70_000];
    for (len, total) in [(65_535 - 27, 65_536), (u32::MAX, u32::MAX)] {
        let error = udp_packet(len).encode(&mut buf, Payload::fill_pattern);
        assert_eq!(error, Err(EncodeError::TooLong { len: total }));
    }
}

#[test]
fn options_that_do_not_fit_are_rejected() {
    let mut segment = TcpSegment::default();
    segment.options.timestamps = Some(Timestamps { value: 1, echo: 2 });
    for _ in 0..4 {
        segment.options.sack.push(driftway_base::SeqRange::default());
    }
    let packet = Packet { body: Body::Tcp(segment), ..udp_packet(0) };
    let error = packet.encode(&mut [0; 200], Payload::fill_pattern);
    assert_eq!(error, Err(EncodeError::TcpOptionsTooLong { len: 48 }));
}

#[test]
fn udp_never_sends_a_checksum_of_zero() {
    // The payload makes the sum zero; a checksum field of zero would mean that there is no checksum.
    let packet = udp_packet(2);
    let mut buf = [0; 30];
    packet.encode(&mut buf, |_, to| to.fill(0)).unwrap();
    let balance = [buf[26], buf[27]];
    packet.encode(&mut buf, |_, to| to.copy_from_slice(&balance)).unwrap();
    assert_eq!(buf[26..28], [0xff, 0xff]);
    assert_eq!(Packet::decode(&buf).unwrap().payload, balance);
}

#[test]
fn udp_without_checksum_is_accepted() {
    let mut bytes = encoded(&udp_packet(5));
    bytes[26..28].fill(0);
    bytes[28] ^= 1;
    assert_eq!(Packet::decode(&bytes).unwrap().packet, without_stream(udp_packet(5)));
}

#[test]
fn a_total_length_inside_the_options_is_rejected() {
    let mut packet = udp_packet(0);
    packet.ip.options = IpOptions::new(&[1; 8]).unwrap();
    let mut bytes = encoded(&packet);
    bytes[3] = 27;
    fix_checksums(&mut bytes);
    assert_eq!(Packet::decode(&bytes), Err(DecodeError::HeaderLength));
}

#[test]
fn a_window_scale_over_14_is_encoded_as_14() {
    let window_scale = |shift| {
        let options = TcpOptions { window_scale: Some(shift), ..TcpOptions::default() };
        let segment = TcpSegment { options, ..TcpSegment::default() };
        encoded(&Packet { body: Body::Tcp(segment), ..udp_packet(0) })
    };
    assert_eq!(window_scale(200), window_scale(14));
}

#[test]
fn a_quoted_fragment_is_rejected_unless_it_is_the_first() {
    let error = Packet::icmp_error([10, 0, 0, 3].into(), &udp_packet(5), |quoted| {
        IcmpMessage::TimeExceeded { reassembly: true, quoted }
    });
    let mut bytes = encoded(&error.unwrap());
    bytes[34] |= 0x20; // more fragments
    fix_checksums(&mut bytes);
    assert!(Packet::decode(&bytes).is_ok());
    bytes[35] |= 0x01; // offset
    fix_checksums(&mut bytes);
    assert_eq!(Packet::decode(&bytes), Err(DecodeError::Fragment));
}

#[test]
fn fragments_are_rejected() {
    for (at, bit) in [(6, 0x20), (6, 0x01), (7, 0x01)] {
        let mut bytes = encoded(&udp_packet(5));
        bytes[at] |= bit;
        assert_eq!(Packet::decode(&bytes), Err(DecodeError::HeaderChecksum));
        fix_checksums(&mut bytes);
        assert_eq!(Packet::decode(&bytes), Err(DecodeError::Fragment));
    }
}

#[test]
fn each_rejection_has_its_reason() {
    let refused = |at: usize, byte: u8| {
        let mut bytes = encoded(&udp_packet(5));
        bytes[at] = byte;
        fix_checksums(&mut bytes);
        Packet::decode(&bytes).unwrap_err()
    };
    assert_eq!(refused(0, 0x65), DecodeError::Version(6));
    assert_eq!(refused(0, 0x44), DecodeError::HeaderLength);
    assert_eq!(refused(3, 19), DecodeError::HeaderLength, "total length");
    assert_eq!(refused(0, 0x46), DecodeError::Truncated, "UDP header after 4 bytes of options");
    assert_eq!(refused(3, 200), DecodeError::Truncated);
    assert_eq!(refused(9, 132), DecodeError::Protocol(132));
    assert_eq!(refused(25, 7), DecodeError::HeaderLength, "UDP length");
    assert_eq!(refused(25, 14), DecodeError::Truncated, "UDP length");
    // Decoded as ICMP, source port 1 is type 0, code 1.
    assert_eq!(refused(9, 1), DecodeError::IcmpMessage { kind: 0, code: 1 });
    assert_eq!(Packet::decode(&[]), Err(DecodeError::Truncated));
}

proptest! {
    /// Connection lists are decoded as they were encoded, alone and in a DSR header.
    #[test]
    fn connection_lists_round_trip(list in packets::conn_list(), cut in any::<prop::sample::Index>()) {
        let bytes = list.as_bytes();
        prop_assert!(bytes.len() <= CONN_LIST_MAX && !bytes.is_empty());
        prop_assert_eq!(ConnList::decode(bytes), Ok(list));
        let mut again = ConnList::EMPTY;
        prop_assert!(list.entries().all(|info| again.push(&info)));
        prop_assert_eq!(again, list);
        let mut header = DsrHeader::default();
        prop_assert!(header.set_conn_list(&list));
        prop_assert_eq!(header.conn_list(), Some(list));
        // A truncated list is rejected, or is a shorter list.
        if let Ok(part) = ConnList::decode(&bytes[..cut.index(bytes.len())]) {
            prop_assert!(part.entries().count() < list.entries().count());
        }
    }
}
