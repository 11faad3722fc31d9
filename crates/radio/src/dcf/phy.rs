//! Physical layers of 802.11.

use driftway_base::{Duration, Rate, named};

named! {
    /// Physical layers, which determine the airtime of a frame besides its preamble.
    pub enum Phy {
        /// A stream of bits at the rate of the frame: DSSS (§15) and high-rate DSSS.
        Dsss = "dsss",
        /// OFDM at 2.4 GHz, 802.11g without older stations (ERP-OFDM, IEEE 802.11-2007 §19): whole symbols of 4 µs that
        /// also carry 16 service and 6 tail bits (§17.3.2, §17.4.3), and the signal extension of 6 µs (§19.3.2.4), which
        /// is part of the airtime.
        ErpOfdm = "erp-ofdm",
    }
}

impl Phy {
    /// The rates of ERP-OFDM (Mbit/s; IEEE 802.11-2007 §17.3.2.2).
    pub const OFDM_RATES: [u64; 8] = [6, 9, 12, 18, 24, 36, 48, 54];

    /// Duration of a frame after its preamble.
    pub(super) const fn after_preamble(self, bytes: u32, rate: Rate) -> Duration {
        match self {
            Self::Dsss => rate.transmission_time(bytes),
            Self::ErpOfdm => {
                let bits = SERVICE_AND_TAIL_BITS + 8 * bytes as u64;
                let per_symbol = rate.as_bps() / (1_000_000_000 / SYMBOL.as_nanos());
                let symbols = bits.div_ceil(if per_symbol == 0 { 1 } else { per_symbol });
                let nanos = symbols * SYMBOL.as_nanos() + SIGNAL_EXTENSION.as_nanos();
                Duration::from_nanos(nanos)
            }
        }
    }
}

/// Symbols of OFDM with channels of 20 MHz (IEEE 802.11-2007 §17.3.2.3).
const SYMBOL: Duration = Duration::from_micros(4);
/// Bits besides the frame: 16 of the SERVICE field and 6 of the tail (IEEE 802.11-2007 §17.3.5).
const SERVICE_AND_TAIL_BITS: u64 = 22;
/// Time without a signal after a frame of ERP-OFDM (IEEE 802.11-2007 §19.3.2.4).
const SIGNAL_EXTENSION: Duration = Duration::from_micros(6);
