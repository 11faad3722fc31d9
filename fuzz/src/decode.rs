//! Arbitrary bytes: packets that are decoded can be encoded and are decoded to the same packet again.

use driftway_wire::{Packet, RoutedPacket};

pub fn run(input: &[u8]) {
    plain(input);
    routed(input);
}

/// Checks what `plain` does, with routing headers.
fn routed(input: &[u8]) {
    let Ok((packet, payload)) = RoutedPacket::decode(input) else { return };
    let mut again = [0; 70_000];
    let fill = |_, place: &mut [u8]| place.copy_from_slice(payload);
    let Ok(len) = packet.encode(&mut again, fill) else { return };
    assert_eq!(len, packet.len() as usize);
    match RoutedPacket::decode(&again[..len]) {
        Ok(second) => assert_eq!(second, (packet, payload)),
        Err(error) => panic!("an encoded packet is not decoded: {error}"),
    }
}

fn plain(input: &[u8]) {
    let Ok(decoded) = Packet::decode(input) else { return };
    let mut again = [0; 70_000];
    let payload = decoded.payload;
    let fill = |_, place: &mut [u8]| place.copy_from_slice(payload);
    // Unknown options are dropped, so that the bytes may differ, but not their meaning.
    let Ok(len) = decoded.packet.encode(&mut again, fill) else { return };
    match Packet::decode(&again[..len]) {
        Ok(second) => {
            assert_eq!(second.packet, decoded.packet);
            assert_eq!(second.payload, payload);
        }
        Err(error) => panic!("an encoded packet is not decoded: {error}"),
    }
}
