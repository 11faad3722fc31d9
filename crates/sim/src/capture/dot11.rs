//! Frames of IEEE 802.11 as they are in an independent network (IBSS), from their preamble's end
//! to their check sequence.

use base::Duration;

/// The EtherType of IPv4.
pub const IPV4: u16 = 0x0800;
/// The EtherType of ARP.
pub const ARP: u16 = 0x0806;

/// An address of the link layer.
pub type Mac = [u8; 6];

/// To all.
pub const BROADCAST: Mac = [0xff; 6];
/// To whom is not known: a packet that had no next hop yet.
pub const NOBODY: Mac = [0; 6];
/// The network of all nodes: an address of its own as 802.11 wants it, locally administered
/// ("drift").
const BSSID: Mac = [0x02, b'd', b'r', b'i', b'f', b't'];

/// The address of a node: locally administered, with the node's number.
pub const fn mac(node: u32) -> Mac {
    let [a, b, c, d] = node.to_be_bytes();
    [0x02, 0, a, b, c, d]
}

// The first byte of frame control: type and subtype (802.11-2020 table 9-1).
const DATA: u8 = 0x08;
const RTS: u8 = 0xb4;
const CTS: u8 = 0xc4;
const ACK: u8 = 0xd4;
// In its second byte; ToDS and FromDS are 0 in an IBSS.
const RETRY: u8 = 0x08;

/// What kind of frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Asks for the medium.
    Rts,
    /// Grants it.
    Cts,
    /// Carries a packet.
    Data,
    /// Acknowledges.
    Ack,
}

/// The fields of a frame's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Which kind.
    pub kind: Kind,
    /// Address 1: who is to receive it.
    pub receiver: Mac,
    /// Address 2: who sends it; CTS and ACK don't say.
    pub transmitter: Mac,
    /// How long the medium is taken behind this frame: what others' NAVs learn.
    pub duration: Duration,
    /// The number of its packet, 12 bits; RTS, CTS and ACK have none.
    pub sequence: u16,
    /// Sent before.
    pub retry: bool,
}

impl Header {
    /// Appends the header.
    pub fn write(&self, out: &mut Vec<u8>) {
        let control = match self.kind {
            Kind::Rts => RTS,
            Kind::Cts => CTS,
            Kind::Ack => ACK,
            Kind::Data => DATA,
        };
        out.extend([control, if self.retry { RETRY } else { 0 }]);
        // Values of 32,768 and more mean something else (§9.2.4.2). Started microseconds count.
        let micros = self.duration.as_nanos().div_ceil(1000).min(0x7fff) as u16;
        out.extend(micros.to_le_bytes());
        out.extend(self.receiver);
        if matches!(self.kind, Kind::Rts | Kind::Data) {
            out.extend(self.transmitter);
        }
        if self.kind == Kind::Data {
            out.extend(BSSID);
            // Fragment number in the low 4 bits: nothing is fragmented.
            out.extend((self.sequence << 4).to_le_bytes());
        }
    }
}

/// Appends LLC (SNAP, unnumbered information) and SNAP (RFC 1042).
pub fn write_llc_snap(ether_type: u16, out: &mut Vec<u8>) {
    out.extend([0xaa, 0xaa, 0x03, 0, 0, 0]);
    out.extend(ether_type.to_be_bytes());
}

/// Appends the check sequence of the frame that begins at `start`.
pub fn write_fcs(start: usize, out: &mut Vec<u8>) {
    let fcs = crc32fast::hash(out.get(start..).unwrap_or_default());
    out.extend(fcs.to_le_bytes());
}

#[cfg(test)]
mod test {
    use super::*;

    fn frame(header: &Header) -> Vec<u8> {
        let mut out = Vec::new();
        header.write(&mut out);
        write_fcs(0, &mut out);
        out
    }

    const HEADER: Header = Header {
        kind: Kind::Data,
        receiver: mac(7),
        transmitter: mac(0x0102),
        duration: Duration::from_nanos(313_500),
        sequence: 0xabc,
        retry: true,
    };

    #[test]
    fn frames_have_the_lengths_of_the_standard() {
        let length = |kind| frame(&Header { kind, ..HEADER }).len();
        assert_eq!(length(Kind::Rts), 20);
        assert_eq!(length(Kind::Cts), 14);
        assert_eq!(length(Kind::Ack), 14);
        assert_eq!(length(Kind::Data), 24 + 4);
    }

    #[test]
    fn fields_stand_where_they_belong() {
        let data = frame(&HEADER);
        assert_eq!(data[..2], [0x08, 0x08]);
        assert_eq!(data[2..4], 314_u16.to_le_bytes());
        assert_eq!(data[4..10], [2, 0, 0, 0, 0, 7]);
        assert_eq!(data[10..16], [2, 0, 0, 0, 1, 2]);
        assert_eq!(data[16..22], BSSID);
        assert_eq!(data[22..24], 0xabc0_u16.to_le_bytes());
    }

    #[test]
    fn a_duration_stays_a_duration() {
        let long = Header { duration: Duration::from_secs(1), ..HEADER };
        assert_eq!(frame(&long)[2..4], [0xff, 0x7f]);
    }

    /// What a receiver computes over a frame with its check sequence is the same for all frames.
    #[test]
    fn the_check_sequence_is_that_of_802_3() {
        for kind in [Kind::Rts, Kind::Cts, Kind::Data, Kind::Ack] {
            assert_eq!(crc32fast::hash(&frame(&Header { kind, ..HEADER })), 0x2144_df1c);
        }
    }
}
