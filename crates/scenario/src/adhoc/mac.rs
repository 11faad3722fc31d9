//! The table `mac`: medium access control.

use driftway_base::Probability;
use driftway_radio::dcf::{CaptureModel, ResponseTimeout};
use driftway_radio::{DcfConfig, TdmaConfig};
use serde::de::MapAccess;
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize};

use crate::file_value::{FileValue, Keyword, Keywords, table};
use crate::tagged::{self, Tagged};
use crate::{BitRate, Size, Time};

/// Medium access control; the key `kind` selects the variant.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Mac {
    /// The distributed coordination function of IEEE 802.11.
    Dcf(Dcf),
    /// Time division: each node has its own slot.
    Tdma(Tdma),
}

table! {
    /// IEEE 802.11-1999 DCF with the DSSS physical layer: the table `mac` with `kind = "dcf"`.
    /// Defaults are those of the standard. The deviations of ns-2.35 are listed in `docs/ns-2.md`.
    Dcf of DcfConfig = DcfConfig::STANDARD, "a table with the keys of a DCF";
    /// Bit rate of unicast data frames. Default 2 Mbit/s.
    data_rate: BitRate,
    /// Bit rate of RTS, CTS, ACK and broadcast frames. Default 1 Mbit/s.
    basic_rate: BitRate,
    /// Duration of the PLCP preamble and header before each frame (IEEE 802.11-1999 §15.2.2). At
    /// most 1 s. Default 192 us.
    preamble: Time,
    /// Slot time (aSlotTime, IEEE 802.11-1999 §15.3.3). At most 10 ms. Default 20 us.
    slot: Time,
    /// Short interframe space (aSIFSTime, IEEE 802.11-1999 §15.3.3); the DIFS is this plus two
    /// slots. At most 10 ms. Default 10 us.
    sifs: Time,
    /// Minimum contention window in slots, a power of two minus one (aCWmin, IEEE 802.11-1999
    /// §15.3.3). Default 31.
    cw_min: u16,
    /// Maximum contention window in slots, a power of two minus one (aCWmax, IEEE 802.11-1999
    /// §15.3.3). Default 1023.
    cw_max: u16,
    /// Frame size, with MAC header and FCS, above which a unicast frame is preceded by RTS and CTS
    /// (dot11RTSThreshold, IEEE 802.11-1999 §9.2.6); `"0 B"`: all unicast frames; no frame is
    /// longer than the default. Default 2347 B.
    rts_threshold: Size,
    /// Maximum number of attempts for an RTS, or for a frame sent without RTS
    /// (dot11ShortRetryLimit, IEEE 802.11-1999 §9.2.5.3). 1 to 255. Default 7.
    short_retry_limit: u8,
    /// Maximum number of attempts for a frame longer than `network.mac.rts_threshold`
    /// (dot11LongRetryLimit, IEEE 802.11-1999 §9.2.5.3). 1 to 255. Default 4.
    long_retry_limit: u8,
    /// Size of the MAC header and FCS of a data frame (IEEE 802.11-1999 §7.2.2). At most 1000 B.
    /// Default 28 B.
    header_bytes: Size,
    /// Size of the LLC and SNAP headers in front of a packet (RFC 1042). At most 1000 B.
    /// Default 8 B.
    llc_bytes: Size,
    /// The backoff is drawn from 0 to CW inclusive (IEEE 802.11-1999 §9.2.4); false: from 0 to
    /// CW − 1, as in ns-2.35. Default true.
    backoff_includes_cw: bool,
    /// A DIFS and a backoff precede the first attempt of every frame, as in ns-2.35; false: a frame
    /// that finds the medium idle for a DIFS is sent without backoff (IEEE 802.11-1999 §9.2.5.1).
    /// Default false.
    backoff_before_first: bool,
    /// A CTS is suppressed whenever the medium is busy for any reason, as in ns-2.35; false: only
    /// the NAV suppresses it (IEEE 802.11-1999 §9.2.5.7). Default false.
    cts_needs_idle: bool,
    /// A data frame after a CTS is sent only if the medium is idle, as in ns-2.35; false: it
    /// follows the CTS after a SIFS (IEEE 802.11-1999 §9.2.5.7). Default false.
    data_needs_idle: bool,
    /// A station that has sent a CTS freezes its backoff until the data frame could have ended, as
    /// in ns-2.35. Default false.
    cts_holds_backoff: bool,
    /// An EIFS sets the NAV, as in ns-2.35; false: it replaces the DIFS after a frame received in
    /// error, and ends with the next correct frame (IEEE 802.11-1999 §9.2.3.4). Default false.
    eifs_is_nav: bool,
    /// An EIFS also follows a frame that was only sensed, or that began while the station was
    /// transmitting, as in ns-2.35. Default false.
    eifs_when_only_sensed: bool,
    /// The EIFS includes an ACK at 1 Mbit/s even with an OFDM preamble, as in ns-2.35; false: at
    /// the lowest mandatory rate, which is 6 Mbit/s for OFDM (IEEE 802.11-2007 §9.2.3.5).
    /// Default false.
    eifs_at_1_mbps: bool,
    /// Capture model, with the ratio `radio.capture`: `"stronger"`, the stronger of two overlapping
    /// frames is received; `"sinr"`, a frame is received if it exceeds the sum of all others; or
    /// `"first"`, only the earlier of two, if it is the stronger one, as in ns-2.35.
    /// Default `"stronger"`.
    capture: Keyword<CaptureModel>,
    /// A CTS resets the short retry count (IEEE 802.11-1999 §9.2.5.3). Default true.
    cts_resets_short_count: bool,
    /// The retry counts of a packet carry over to the next one, as in ns-2.35; false: they belong
    /// to one packet (IEEE 802.11-1999 §9.2.5.3). Default false.
    counts_outlive_packets: bool,
    /// A backoff follows the last failed attempt of a packet (IEEE 802.11-1999 §9.2.5.2).
    /// Default true.
    backoff_after_giving_up: bool,
    /// Timeout for a CTS or ACK: `"preamble"`, until its preamble should have been received (IEEE
    /// 802.11-1999 §9.2.8), or `{ whole-frame = "4 us" }`, until the whole frame should have been
    /// received, with this allowance for the propagation delay of both directions (at most 10 ms),
    /// as in ns-2.35. Default `"preamble"`.
    response_timeout: MacTimeout,
    /// A DIFS separates a CTS or ACK timeout from the first backoff slot, as in ns-2.35 (IEEE
    /// 802.11-1999 §9.2.5.2: no). Default false.
    difs_after_timeout: bool,
    /// A NAV set by an RTS is reset if no frame follows the RTS (IEEE 802.11-1999 §9.2.5.4).
    /// Default true.
    rts_nav_ends: bool,
    /// Duration fields are rounded up to whole microseconds (IEEE 802.11-1999 §7.1.3.2); false: to
    /// the nearest one, as in ns-2.35. Default true.
    durations_round_up: bool,
    /// Link-layer delay of an outgoing packet before it enters the interface queue. At most 1 s.
    /// Default 0 s.
    delay_down: Time,
    /// Link-layer delay of a received packet before it reaches the network layer. It is simulated
    /// together with `network.mac.delay_down` before the packet enters the interface queue, so that
    /// the end-to-end sum is the same. At most 1 s. Default 0 s.
    delay_up: Time,
    // Set from `radio.packet_error_rate`.
    ; given frame_error = Probability::NEVER,
}

/// Timeout for a CTS or ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", expecting = "\"preamble\" or { whole-frame = \"4 us\" }")]
pub enum MacTimeout {
    /// `"preamble"`: until its preamble should have been received.
    Preamble,
    /// `{ whole-frame = "4 us" }`: until it should have ended, with this allowance for the
    /// propagation delay of both directions.
    WholeFrame(Time),
}

impl FileValue<ResponseTimeout> for MacTimeout {
    fn from_config(value: ResponseTimeout) -> Self {
        match value {
            ResponseTimeout::Preamble => Self::Preamble,
            ResponseTimeout::WholeFrame { propagation } => Self::WholeFrame(Time(propagation)),
        }
    }
    fn to_config(&self) -> ResponseTimeout {
        match *self {
            Self::Preamble => ResponseTimeout::Preamble,
            Self::WholeFrame(Time(propagation)) => ResponseTimeout::WholeFrame { propagation },
        }
    }
}

impl Keywords for CaptureModel {
    const ALL: &'static [(&'static str, Self)] =
        &[("stronger", Self::Stronger), ("sinr", Self::Sinr), ("first", Self::First)];
}

table! {
    /// Time division multiple access: the table `mac` with `kind = "tdma"`. Nodes transmit in turn
    /// in the order of their numbers, wherever they are. There are no acknowledgments, so that no
    /// link failures are reported to the routing protocol: by default AODV sends hello messages,
    /// and DSR requires static nodes or `confirm = "network-layer"`.
    Tdma of TdmaConfig = TdmaConfig::STANDARD, "a table with the keys of a TDMA";
    /// Bit rate of all frames. Default 2 Mbit/s.
    #[serde(rename = "data_rate")]
    rate: BitRate,
    /// Duration of the preamble before each frame. At most 1 s. Default 192 us.
    preamble: Time,
    /// Size of the largest packet that fits into one slot; a larger one takes several of its node's
    /// slots. 100 B to 65535 B. Default 1500 B.
    slot_bytes: Size,
    /// Size of the link-layer header of a packet. At most 1000 B. Default 36 B.
    header_bytes: Size,
    /// Each frame of slots begins with a slot in which nodes announce their transmissions, as in
    /// ns-2.35; packets that arrive later wait for the next one. Default false.
    announced: bool,
    /// Link-layer delay of an outgoing packet before it enters the interface queue. At most 1 s.
    /// Default 0 s.
    delay_down: Time,
    /// Link-layer delay of a received packet before it reaches the network layer. It is simulated
    /// together with `network.mac.delay_down` before the packet enters the interface queue, so that
    /// the end-to-end sum is the same. At most 1 s. Default 0 s.
    delay_up: Time,
    // Set from `radio.packet_error_rate`.
    ; given frame_error = Probability::NEVER,
}

impl Default for Mac {
    fn default() -> Self {
        Self::Dcf(Dcf::default())
    }
}

/// Values of `kind`.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    Dcf,
    Tdma,
}

impl<'de> Tagged<'de> for Mac {
    const KEY: &'static str = "kind";
    type Kind = Kind;
    fn read<A: MapAccess<'de>>(
        kind: Kind,
        rest: MapAccessDeserializer<A>,
    ) -> Result<Self, A::Error> {
        match kind {
            Kind::Dcf => Dcf::deserialize(rest).map(Self::Dcf),
            Kind::Tdma => Tdma::deserialize(rest).map(Self::Tdma),
        }
    }
}

impl<'de> Deserialize<'de> for Mac {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}
