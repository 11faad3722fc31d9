//! Encoding of AODV messages, compared with the formats of RFC 3561 §5.

use driftway_base::Ipv4Addr;
use driftway_wire::*;

const HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const PEER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// The UDP datagram of a message, without the IP header.
fn datagram(message: AodvMessage) -> Vec<u8> {
    let ip = IpHeader { ttl: 1, ..IpHeader::new(HOST, Ipv4Addr::BROADCAST) };
    let packet = Packet { ip, body: Body::Aodv(message) };
    let mut bytes = vec![0; packet.len() as usize];
    packet.encode(&mut bytes, |_, _| panic!("no payload")).unwrap();
    let decoded = Packet::decode(&bytes).unwrap();
    assert_eq!((decoded.packet, decoded.payload), (packet, [].as_slice()));
    assert_eq!(bytes[9], 17, "UDP");
    assert_eq!(bytes[20..24], [2, 142, 2, 142], "port 654 both ways");
    assert_eq!(usize::from(bytes[25]), bytes.len() - 20);
    bytes.split_off(20)
}

/// Decodes `message` in a datagram without a checksum.
fn read(message: &[u8]) -> Result<Body, DecodeError> {
    let payload = Payload::new(0, 0, message.len() as u32);
    let datagram = UdpDatagram { source_port: AODV_PORT, destination_port: AODV_PORT, payload };
    let packet = Packet { ip: IpHeader::new(HOST, PEER), body: Body::Udp(datagram) };
    let mut bytes = vec![0; packet.len() as usize];
    packet.encode(&mut bytes, |_, to| to.copy_from_slice(message)).unwrap();
    Packet::decode(&bytes).map(|decoded| decoded.packet.body)
}

const REQUEST: AodvRequest = AodvRequest {
    join: false,
    repair: false,
    gratuitous: false,
    destination_only: false,
    hops: 4,
    id: 0x0102_0304,
    destination: PEER,
    destination_seq: Some(0x0a0b_0c0d),
    originator: HOST,
    originator_seq: 0x1122_3344,
    timestamp: None,
};

#[test]
fn a_request() {
    let bytes = datagram(AodvMessage::Request(REQUEST));
    let expected = [
        1, 0, 0, 4, 1, 2, 3, 4, 10, 0, 0, 2, 0x0a, 0x0b, 0x0c, 0x0d, 10, 0, 0, 1, 0x11, 0x22, 0x33,
        0x44,
    ];
    assert_eq!(bytes[8..], expected);
}

#[test]
fn each_flag_of_a_request() {
    let flags = |request| datagram(AodvMessage::Request(request))[9];
    assert_eq!(flags(AodvRequest { join: true, ..REQUEST }), 0x80);
    assert_eq!(flags(AodvRequest { repair: true, ..REQUEST }), 0x40);
    assert_eq!(flags(AodvRequest { gratuitous: true, ..REQUEST }), 0x20);
    assert_eq!(flags(AodvRequest { destination_only: true, ..REQUEST }), 0x10);
    let unknown = AodvRequest { destination_seq: None, ..REQUEST };
    assert_eq!(flags(unknown), 0x08);
    assert_eq!(datagram(AodvMessage::Request(unknown))[20..24], [0; 4]);
}

#[test]
fn a_reply() {
    let reply = AodvReply {
        repair: false,
        ack_required: true,
        prefix_size: 17,
        hops: 2,
        destination: PEER,
        destination_seq: 7,
        originator: HOST,
        lifetime_ms: 6000,
        timestamp: None,
    };
    let expected = [2, 0x40, 17, 2, 10, 0, 0, 2, 0, 0, 0, 7, 10, 0, 0, 1, 0, 0, 0x17, 0x70];
    assert_eq!(datagram(AodvMessage::Reply(reply))[8..], expected);
    let repair = AodvReply { repair: true, ack_required: false, ..reply };
    assert_eq!(datagram(AodvMessage::Reply(repair))[9], 0x80);
}

#[test]
fn an_error_and_an_acknowledgment() {
    let mut error = AodvError::new(true);
    assert!(error.push(PEER, 8) && error.push(HOST, 0x0100_0000));
    let expected = [3, 0x80, 0, 2, 10, 0, 0, 2, 0, 0, 0, 8, 10, 0, 0, 1, 1, 0, 0, 0];
    assert_eq!(datagram(AodvMessage::Error(error))[8..], expected);
    assert_eq!(datagram(AodvMessage::ReplyAck)[8..], [4, 0]);
}

#[test]
fn reserved_bits_are_ignored() {
    let mut bytes = datagram(AodvMessage::Request(REQUEST)).split_off(8);
    bytes[1] |= 0x07;
    bytes[2] = 0xff;
    assert_eq!(read(&bytes), Ok(Body::Aodv(AodvMessage::Request(REQUEST))));
    assert_eq!(read(&[4, 0xff]), Ok(Body::Aodv(AodvMessage::ReplyAck)));
}

#[test]
fn unknown_extensions_are_ignored_unless_mandatory() {
    let mut bytes = datagram(AodvMessage::Request(REQUEST)).split_off(8);
    // A hello interval (RFC 3561 §9.1), and an unknown extension.
    bytes.extend([1, 4, 0, 0, 3, 0xe8, 127, 0]);
    assert_eq!(read(&bytes), Ok(Body::Aodv(AodvMessage::Request(REQUEST))));
    let mut cut = bytes.clone();
    cut.extend([2, 5, 0]);
    assert_eq!(read(&cut), Err(DecodeError::Truncated));
    bytes.extend([128, 0]);
    assert_eq!(read(&bytes), Err(DecodeError::AodvExtension { kind: 128 }));
}

#[test]
fn a_timestamp_is_an_extension() {
    let stamped = AodvRequest { timestamp: Some(0x0102_0304_0506_0708), ..REQUEST };
    let bytes = datagram(AodvMessage::Request(stamped)).split_off(8);
    assert_eq!(bytes[24..], [3, 8, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(read(&bytes), Ok(Body::Aodv(AodvMessage::Request(stamped))));
    // With another length it is not a timestamp.
    let mut odd = datagram(AodvMessage::Request(REQUEST)).split_off(8);
    odd.extend([3, 4, 1, 2, 3, 4]);
    assert_eq!(read(&odd), Ok(Body::Aodv(AodvMessage::Request(REQUEST))));
}

#[test]
fn invalid_messages_are_rejected() {
    assert_eq!(read(&[]), Err(DecodeError::Truncated));
    assert_eq!(read(&[5, 0, 0, 0]), Err(DecodeError::AodvMessage { kind: 5 }));
    assert_eq!(read(&[3, 0, 0, 0]), Err(DecodeError::AodvDestinations { count: 0 }));
    assert_eq!(read(&[3, 0, 0, 17]), Err(DecodeError::AodvDestinations { count: 17 }));
    assert_eq!(read(&[3, 0, 0, 1, 10, 0, 0]), Err(DecodeError::Truncated));
    assert_eq!(read(&[4]), Err(DecodeError::Truncated));
    let request = datagram(AodvMessage::Request(REQUEST)).split_off(8);
    assert_eq!(read(&request[..23]), Err(DecodeError::Truncated));
}

#[test]
fn an_error_holds_sixteen_destinations() {
    let mut error = AodvError::new(false);
    for i in 0..16 {
        assert!(error.push(PEER, i));
    }
    assert!(!error.push(PEER, 16));
    assert_eq!(datagram(AodvMessage::Error(error)).len(), 8 + 4 + 16 * 8);
}
