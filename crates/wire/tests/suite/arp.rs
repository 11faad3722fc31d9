//! Encoding and decoding of ARP messages.

use driftway_base::{Ipv4Addr, NodeId};
use driftway_wire::{ARP_LEN, ArpMessage, ArpOperation, DecodeError, HardwareAddr};
use proptest::prelude::*;

/// A request as sent by Linux, written by hand from the fields of RFC 826.
const REQUEST: [u8; 28] = [
    0x00, 0x01, 0x08, 0x00, 0x06, 0x04, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x07, 10, 0, 0,
    8, 0, 0, 0, 0, 0, 0, 10, 0, 0, 9,
];

fn request() -> ArpMessage {
    ArpMessage {
        operation: ArpOperation::Request,
        sender_hardware: HardwareAddr::of_node(NodeId::new(7)),
        sender: Ipv4Addr::new(10, 0, 0, 8),
        target_hardware: HardwareAddr::default(),
        target: Ipv4Addr::new(10, 0, 0, 9),
    }
}

#[test]
fn a_request_is_encoded_as_in_rfc_826() {
    assert_eq!(request().encode(), REQUEST);
    assert_eq!(ArpMessage::decode(&REQUEST), Ok(request()));
}

#[test]
fn etherparse_reads_it_the_same() {
    let (packet, rest) = etherparse::ArpPacketSlice::from_slice(&REQUEST)
        .map(|slice| (slice.to_packet(), REQUEST.len() - slice.slice().len()))
        .unwrap();
    assert_eq!((packet.operation, rest), (etherparse::ArpOperation::REQUEST, 0));
    assert_eq!(packet.sender_hw_addr(), HardwareAddr::of_node(NodeId::new(7)).0);
    assert_eq!(packet.sender_protocol_addr(), [10, 0, 0, 8]);
    assert_eq!(packet.target_protocol_addr(), [10, 0, 0, 9]);
}

#[test]
fn padding_is_ignored_and_truncation_is_detected() {
    let mut frame = REQUEST.to_vec();
    frame.extend([0; 18]);
    assert_eq!(ArpMessage::decode(&frame), Ok(request()));
    for len in 0..ARP_LEN as usize {
        assert_eq!(ArpMessage::decode(&REQUEST[..len]), Err(DecodeError::Truncated), "{len}");
    }
}

#[test]
fn other_address_types_and_operations_are_rejected() {
    for (at, value, operation) in
        [(1, 6, 1), (2, 0x86, 1), (4, 8, 1), (5, 16, 1), (7, 3, 3), (7, 0, 0)]
    {
        let mut bytes = REQUEST;
        bytes[at] = value;
        assert_eq!(ArpMessage::decode(&bytes), Err(DecodeError::ArpMessage { operation }), "{at}");
    }
}

#[test]
fn nodes_have_unique_addresses() {
    assert_eq!(HardwareAddr::of_node(NodeId::new(258)).to_string(), "02:00:00:00:01:02");
    let last = NodeId::new(u32::MAX);
    assert_eq!(HardwareAddr::of_node(last).node(), Some(last));
    assert_eq!(HardwareAddr::BROADCAST.node(), None);
}

proptest! {
    #[test]
    fn messages_round_trip(
        reply: bool,
        sender_hardware: [u8; 6],
        sender: u32,
        target_hardware: [u8; 6],
        target: u32,
    ) {
        let message = ArpMessage {
            operation: if reply { ArpOperation::Reply } else { ArpOperation::Request },
            sender_hardware: HardwareAddr(sender_hardware),
            sender: Ipv4Addr::from_bits(sender),
            target_hardware: HardwareAddr(target_hardware),
            target: Ipv4Addr::from_bits(target),
        };
        prop_assert_eq!(ArpMessage::decode(&message.encode()), Ok(message));
    }

    #[test]
    fn any_bytes_are_decoded_or_rejected(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        if let Ok(message) = ArpMessage::decode(&bytes) {
            prop_assert_eq!(&message.encode()[..], &bytes[..ARP_LEN as usize]);
        }
    }
}
