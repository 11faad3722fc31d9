//! Frames of IEEE 802.11 in an independent basic service set (IBSS), from the end of the preamble to
//! the frame check sequence.

use driftway_radio::dcf::FrameKind;
use driftway_wire::{EtherType, HardwareAddr};

/// The receiver of a packet that had no next hop yet.
pub const UNKNOWN_RECEIVER: HardwareAddr = HardwareAddr([0; 6]);
/// The BSSID of the network: a locally administered address ("drift").
const BSSID: HardwareAddr = HardwareAddr([0x02, b'd', b'r', b'i', b'f', b't']);

// The first byte of frame control: type and subtype (802.11-2020 table 9-1).
const DATA: u8 = 0x08;
const RTS: u8 = 0xb4;
const CTS: u8 = 0xc4;
const ACK: u8 = 0xd4;
// In its second byte; ToDS and FromDS are 0 in an IBSS.
const RETRY: u8 = 0x08;

/// The fields of a frame's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Frame type.
    pub kind: FrameKind,
    /// Address 1: the receiver.
    pub receiver: HardwareAddr,
    /// Address 2: the transmitter; CTS and ACK do not have it.
    pub transmitter: HardwareAddr,
    /// The Duration field: how long the medium is reserved after this frame, by which other stations
    /// set their NAV (µs).
    pub duration_us: u32,
    /// The sequence number of its packet, 12 bits; RTS, CTS and ACK have none.
    pub sequence: u16,
    /// The Retry bit.
    pub retry: bool,
}

impl Header {
    /// Appends the header.
    pub fn write(&self, out: &mut Vec<u8>) {
        let control = match self.kind {
            FrameKind::Rts => RTS,
            FrameKind::Cts => CTS,
            FrameKind::Ack => ACK,
            FrameKind::Data => DATA,
        };
        out.extend([control, if self.retry { RETRY } else { 0 }]);
        // Values from 32,768 on have another meaning (802.11-2020 §9.2.4.2).
        let micros = self.duration_us.min(0x7fff) as u16;
        out.extend(micros.to_le_bytes());
        out.extend(self.receiver.0);
        if matches!(self.kind, FrameKind::Rts | FrameKind::Data) {
            out.extend(self.transmitter.0);
        }
        if self.kind == FrameKind::Data {
            out.extend(BSSID.0);
            // The fragment number is in the low 4 bits; nothing is fragmented.
            out.extend((self.sequence << 4).to_le_bytes());
        }
    }
}

/// Appends the LLC (unnumbered information) and SNAP headers (RFC 1042).
pub fn write_llc_snap(ether_type: EtherType, out: &mut Vec<u8>) {
    out.extend([0xaa, 0xaa, 0x03, 0, 0, 0]);
    out.extend(ether_type.0.to_be_bytes());
}

/// Appends the check sequence of the frame that starts at `start`.
pub fn write_fcs(start: usize, out: &mut Vec<u8>) {
    let fcs = crc32fast::hash(out.get(start..).unwrap_or_default());
    out.extend(fcs.to_le_bytes());
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_base::NodeId;

    fn frame(header: &Header) -> Vec<u8> {
        let mut out = Vec::new();
        header.write(&mut out);
        write_fcs(0, &mut out);
        out
    }

    const HEADER: Header = Header {
        kind: FrameKind::Data,
        receiver: HardwareAddr::of_node(NodeId::new(7)),
        transmitter: HardwareAddr::of_node(NodeId::new(0x0102)),
        duration_us: 314,
        sequence: 0xabc,
        retry: true,
    };

    #[test]
    fn frames_have_the_lengths_of_the_standard() {
        let length = |kind| frame(&Header { kind, ..HEADER }).len();
        assert_eq!(length(FrameKind::Rts), 20);
        assert_eq!(length(FrameKind::Cts), 14);
        assert_eq!(length(FrameKind::Ack), 14);
        assert_eq!(length(FrameKind::Data), 24 + 4);
    }

    #[test]
    fn fields_are_at_their_offsets() {
        let data = frame(&HEADER);
        assert_eq!(data[..2], [0x08, 0x08]);
        assert_eq!(data[2..4], 314_u16.to_le_bytes());
        assert_eq!(data[4..10], [2, 0, 0, 0, 0, 7]);
        assert_eq!(data[10..16], [2, 0, 0, 0, 1, 2]);
        assert_eq!(data[16..22], BSSID.0);
        assert_eq!(data[22..24], 0xabc0_u16.to_le_bytes());
    }

    #[test]
    fn a_long_duration_is_clamped() {
        let long = Header { duration_us: 1_000_000, ..HEADER };
        assert_eq!(frame(&long)[2..4], [0xff, 0x7f]);
    }

    /// The CRC over a frame with its check sequence is the same constant for all frames.
    #[test]
    fn the_check_sequence_is_that_of_802_3() {
        for kind in [FrameKind::Rts, FrameKind::Cts, FrameKind::Data, FrameKind::Ack] {
            assert_eq!(crc32fast::hash(&frame(&Header { kind, ..HEADER })), 0x2144_df1c);
        }
    }
}
