//! The TCP option reader: correct offsets for arbitrary bytes, and agreement with the decoder.

use crate::packets::{encoded, packet};
use driftway_wire::*;
use proptest::prelude::*;

/// Bytes with frequent known options, complete or not.
fn area() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![0_u8, 1, 2, 3, 4, 5, 8, 10, 18, 34]);
    prop::collection::vec(prop_oneof![known, any::<u8>()], 0..=40)
}

proptest! {
    /// Each option lies in the area, begins after the previous one or after padding, and has the length in
    /// its length byte; nothing follows an error.
    #[test]
    fn options_lie_in_the_area_and_never_overlap(area in area()) {
        let mut reader = TcpOptionReader::new(&area);
        let mut end = 0;
        while let Some(Ok(found)) = reader.next() {
            let (at, len) = (found.offset, found.size());
            prop_assert!(end <= at && at + len <= area.len());
            prop_assert!(area[end..at].iter().all(|&filler| filler == TcpOption::NOP));
            prop_assert_eq!(usize::from(area[at + 1]), len);
            end = at + len;
        }
        prop_assert!(reader.next().is_none());
    }

    /// The reader finds the options that the decoder finds, at the offsets of their bytes.
    #[test]
    fn it_agrees_with_the_decoder(packet in packet(50)) {
        let Body::Tcp(segment) = packet.body else { return Ok(()) };
        let bytes = encoded(&packet);
        let start = 20 + packet.ip.options.as_slice().len() + 20;
        let area = &bytes[start..start + segment.options.len() as usize];
        let mut options = TcpOptions::default();
        for found in TcpOptionReader::new(area) {
            let found = found.unwrap();
            if options.add_option(&found) == TcpOption::Timestamps {
                let value = options.timestamps.unwrap().value;
                prop_assert_eq!(&area[found.offset + 2..found.offset + 6], &value.to_be_bytes());
            }
        }
        let decoded = Packet::decode(&bytes).unwrap().packet;
        let Body::Tcp(decoded) = decoded.body else { panic!("it was a segment") };
        prop_assert_eq!(options, decoded.options);
    }
}
