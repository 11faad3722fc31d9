//! Arbitrary bytes as a packet of IPv6, or one in an Ethernet frame: what is decoded can be encoded, and is decoded to the same again.

use driftway_base::Ecn;
use driftway_wire::{
    Body, ETHERNET_HEADER_LEN, EthernetFrame, Ipv6Header, Ipv6Packet, edit_ipv6_header,
};

pub fn run(input: &[u8]) {
    packet(input);
    if let Ok(frame) = EthernetFrame::decode(input) {
        assert_eq!(frame.header()[..], input[..ETHERNET_HEADER_LEN]);
        packet(frame.payload);
    }
}

fn packet(input: &[u8]) {
    let mut edited = input.to_vec();
    edit_ipv6_header(&mut edited, 7, Ecn::Ce);
    assert_eq!(Ipv6Packet::decode(&edited).is_ok(), Ipv6Packet::decode(input).is_ok());
    let Ok(packet) = Ipv6Packet::decode(input) else { return };
    let edited = Ipv6Packet::decode(&edited).map(|edited| edited.header);
    assert_eq!(edited, Ok(Ipv6Header { hop_limit: 7, ecn: Ecn::Ce, ..packet.header }));
    let _ = packet.permits_errors();
    let mut again = vec![0; 70_000];
    if let Ok(message) = packet.icmp()
        && let Ok(len) = message.encode(&packet.header, &mut again)
    {
        let second = Ipv6Packet::decode(&again[..len]).and_then(|second| second.icmp());
        // A quotation may have been cut.
        if second.is_err() || (len < 1280 && second != Ok(message)) {
            panic!("{second:?} {message:?}");
        }
    }
    if let Ok((Body::Tcp(segment), payload)) = packet.body()
        && let Ok(len) = packet.header.encode_segment(&segment, payload, &mut again)
    {
        let second = Ipv6Packet::decode(&again[..len]).and_then(|second| second.body());
        assert_eq!(second, Ok((Body::Tcp(segment), payload)));
    }
}
