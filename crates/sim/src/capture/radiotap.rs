//! The radiotap header in front of each 802.11 frame of a capture (radiotap.org): facts about a
//! transmission that the frame does not contain.
//!
//! Fields are in the order of their bit numbers, each aligned to its own size, in little-endian order.

use driftway_base::{Instant, Rate};

/// Bit numbers of the fields used here.
mod field {
    pub const TSFT: u32 = 0;
    pub const FLAGS: u32 = 1;
    pub const RATE: u32 = 2;
    pub const CHANNEL: u32 = 3;
    pub const ANTENNA_SIGNAL: u32 = 5;
    pub const TX_FLAGS: u32 = 15;
}

const SHORT_PREAMBLE: u8 = 0x02;
const FCS_AT_END: u8 = 0x10;

const CHANNEL_CCK: u16 = 0x0020;
const CHANNEL_OFDM: u16 = 0x0040;
const CHANNEL_2_GHZ: u16 = 0x0080;
const CHANNEL_5_GHZ: u16 = 0x0100;

/// Transmit flags: the transmission failed after all retries.
const TX_FAILED: u16 = 0x0001;

/// The radiotap fields of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Radiotap {
    /// The time of the first bit after the PHY header.
    pub at: Instant,
    /// The PHY header was the short one.
    pub short_preamble: bool,
    /// The frame ends with its check sequence.
    pub fcs: bool,
    /// The rate of the bits after the PHY header; `None` if nothing was transmitted.
    pub rate: Option<Rate>,
    /// The carrier frequency (MHz).
    pub channel_mhz: u16,
    /// The power received by the addressee (dBm), if known.
    pub signal_dbm: Option<i8>,
    /// The packet was dropped in its node.
    pub failed: bool,
}

impl Radiotap {
    /// Appends the header to `out`, which must be empty: fields are aligned to its start.
    pub fn write(&self, out: &mut Vec<u8>) {
        let rate = self.rate.and_then(half_megabits);
        let present = bit(field::TSFT, true)
            | bit(field::FLAGS, true)
            | bit(field::RATE, rate.is_some())
            | bit(field::CHANNEL, true)
            | bit(field::ANTENNA_SIGNAL, self.signal_dbm.is_some())
            | bit(field::TX_FLAGS, self.failed);
        // Version, padding, and the length, which is filled in at the end.
        out.extend([0; 4]);
        out.extend(present.to_le_bytes());
        out.extend((self.at.as_nanos() / 1000).to_le_bytes());
        let preamble = if self.short_preamble { SHORT_PREAMBLE } else { 0 };
        out.push(preamble | if self.fcs { FCS_AT_END } else { 0 });
        out.extend(rate);
        align(out, 2);
        out.extend(self.channel_mhz.to_le_bytes());
        out.extend(self.channel_flags().to_le_bytes());
        out.extend(self.signal_dbm.map(|dbm| dbm as u8));
        if self.failed {
            align(out, 2);
            out.extend(TX_FAILED.to_le_bytes());
        }
        let length = (out.len() as u16).to_le_bytes();
        out[2..4].copy_from_slice(&length);
    }

    fn channel_flags(&self) -> u16 {
        let band = match self.channel_mhz {
            2400..2500 => CHANNEL_2_GHZ,
            5000..6000 => CHANNEL_5_GHZ,
            _ => 0,
        };
        // The rates of 802.11 and 802.11b are DSSS or CCK; all others are OFDM.
        let cck = matches!(
            self.rate.map(Rate::as_bps),
            None | Some(1_000_000 | 2_000_000 | 5_500_000 | 11_000_000)
        );
        band | if cck { CHANNEL_CCK } else { CHANNEL_OFDM }
    }
}

const fn bit(number: u32, set: bool) -> u32 {
    (set as u32) << number
}

fn align(out: &mut Vec<u8>, to: usize) {
    out.resize(out.len().next_multiple_of(to), 0);
}

/// A rate in units of 500 kbit/s, if it is a multiple of that and fits.
fn half_megabits(rate: Rate) -> Option<u8> {
    const UNIT: u64 = 500_000;
    let bits = rate.as_bps();
    if bits.is_multiple_of(UNIT) { u8::try_from(bits / UNIT).ok().filter(|n| *n > 0) } else { None }
}

#[cfg(test)]
mod test {
    use super::*;

    fn bytes(radiotap: Radiotap) -> Vec<u8> {
        let mut out = Vec::new();
        radiotap.write(&mut out);
        out
    }

    const SENT: Radiotap = Radiotap {
        at: Instant::from_nanos(1_000_192_999),
        short_preamble: false,
        fcs: true,
        rate: Some(Rate::from_bps(2_000_000)),
        channel_mhz: 2412,
        signal_dbm: None,
        failed: false,
    };

    #[test]
    fn a_frame_sent_at_2_mbit() {
        let expected = [
            0, 0, 22, 0, // version, padding, length
            0b1111, 0, 0, 0, // TSFT, flags, rate, channel
            0x00, 0x43, 0x0f, 0, 0, 0, 0, 0, // 1,000,192 µs
            0x10, 4, // FCS at the end; 4 × 500 kbit/s
            0x6c, 0x09, 0xa0, 0x00, // 2412 MHz, CCK, 2 GHz
        ];
        let mut wanted = expected;
        wanted[8..16].copy_from_slice(&1_000_192_u64.to_le_bytes());
        assert_eq!(bytes(SENT), wanted);
    }

    #[test]
    fn a_rate_that_does_not_fit_is_left_out() {
        let odd = Radiotap { rate: Some(Rate::from_bps(1_300_000)), ..SENT };
        let header = bytes(odd);
        assert_eq!(header[4], 0b1011);
        // The channel is aligned to 2 if no rate precedes it.
        assert_eq!((header.len(), header[2], header[18]), (22, 22, 0x6c));
        let fast = Radiotap { rate: Some(Rate::from_bps(200_000_000)), ..SENT };
        assert_eq!(bytes(fast)[4], 0b1011);
    }

    #[test]
    fn a_failed_transmission_has_tx_flags_after_its_signal() {
        let header =
            bytes(Radiotap { signal_dbm: Some(-64), failed: true, rate: None, fcs: false, ..SENT });
        assert_eq!(header[4..8], [0b0010_1011, 0x80, 0, 0]);
        assert_eq!(header[22] as i8, -64);
        assert_eq!(header[24..], [1, 0]);
        assert_eq!(header[2], 26);
    }
}
