//! `mac = { … }`: how nodes share the air.

use driftway_base::Probability;
use driftway_radio::dcf::{CaptureModel, ResponseTimeout};
use driftway_radio::{DcfConfig, TdmaConfig};
use serde::de::MapAccess;
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize};

use crate::file_value::{FileValue, Keyword, Keywords, table};
use crate::tagged::{self, Tagged};
use crate::{BitRate, Size, Time};

/// How nodes share the air; `kind` says which of these it is.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Mac {
    /// The distributed coordination function of IEEE 802.11.
    Dcf(Dcf),
    /// Time division: each node has a slot of its own.
    Tdma(Tdma),
}

table! {
    /// `kind = "dcf"`: IEEE 802.11-1999 with the DSSS physical layer. What ns-2.35 does otherwise is
    /// in `docs/ns-2.md`.
    Dcf of DcfConfig = DcfConfig::STANDARD, "a table with the keys of a DCF";
    /// For frames to one node. Default 2 Mbit/s.
    data_rate: BitRate,
    /// For RTS, CTS, ACK and frames to all. Default 1 Mbit/s.
    basic_rate: BitRate,
    /// What precedes each frame: preamble and PLCP header. Default 192 us.
    preamble: Time,
    /// Default 20 us.
    slot: Time,
    /// Default 10 us.
    sifs: Time,
    /// The first contention window, a power of two less one. Default 31.
    cw_min: u16,
    /// The largest one. Default 1023.
    cw_max: u16,
    /// Frames longer than this, header and FCS counted, go after RTS and CTS. Default 2347 B: none.
    rts_threshold: Size,
    /// How often an RTS goes out that no CTS answers, or a frame without RTS that no ACK answers.
    /// Default 7.
    short_retry_limit: u8,
    /// The same of frames above `rts_threshold`. Default 4.
    long_retry_limit: u8,
    /// Header and FCS of a data frame. Default 28 B.
    header_bytes: Size,
    /// LLC and SNAP in front of a packet. Default 8 B.
    llc_bytes: Size,
    /// A back-off is drawn from 0 to CW, both included. Default true.
    backoff_includes_cw: bool,
    /// A frame that finds the medium idle for a DIFS goes at once. Default true.
    first_at_once: bool,
    /// An RTS is not answered while anything makes the medium busy. Default false: only the NAV
    /// keeps a station from it.
    cts_needs_idle: bool,
    /// After a CTS, data waits for an idle medium. Default false.
    data_needs_idle: bool,
    /// Who has sent a CTS counts no slots until the data could have ended. Default false.
    cts_holds_backoff: bool,
    /// EIFS by way of the NAV. Default false.
    eifs_is_nav: bool,
    /// An EIFS also after what was only sensed. Default false.
    eifs_when_only_sensed: bool,
    /// An EIFS leaves room for an ACK at 1 Mbit/s also after the preamble of OFDM, whose lowest
    /// mandatory rate is 6 Mbit/s. Default false.
    eifs_at_1_mbps: bool,
    /// Which of the frames that overlap can be received: the `"stronger"` of two; the one that is so
    /// against all others together, `"sinr"`; or only the `"first"` of two, if it is stronger. By how
    /// much, `radio.capture` says. Default `"stronger"`.
    capture: Keyword<CaptureModel>,
    /// A CTS resets the short retry count. Default true.
    cts_resets_short_count: bool,
    /// Retry counts of one packet are there for the next. Default false.
    counts_outlive_packets: bool,
    /// After the last failure of a packet a back-off runs. Default true.
    backoff_after_giving_up: bool,
    /// How long a station waits for CTS or ACK: `"preamble"`, until one should have come, or
    /// `{ whole-frame = "4 us" }`, until its end, with this much for the way. Default `"preamble"`.
    response_timeout: MacTimeout,
    /// A DIFS lies between a timeout and the first slot of the back-off. Default false.
    difs_after_timeout: bool,
    /// A NAV set by an RTS ends if nothing follows. Default true.
    rts_nav_ends: bool,
    /// Duration fields are rounded up to a microsecond, not to the nearest. Default true.
    durations_round_up: bool,
    /// How long a packet is on its way into the interface queue. Default 0 s.
    delay_down: Time,
    /// How long a received packet is on its way up. Both are spent on the way down, in one: the sum
    /// over a way from host to host is the same. Default 0 s.
    delay_up: Time,
    // `radio.packet_error_rate` has it.
    ; given frame_error = Probability::NEVER,
}

/// How long a station waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", expecting = "\"preamble\" or { whole-frame = \"4 us\" }")]
pub enum MacTimeout {
    /// Until its preamble should have come.
    Preamble,
    /// Until it should have ended, with this much for the way there and back.
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
    /// `kind = "tdma"`: nodes take turns, in order of their numbers, wherever they are. Nothing is
    /// acknowledged, so that routing learns of no failure: AODV says hello by default, and DSR is
    /// for nodes that stay where they are.
    Tdma of TdmaConfig = TdmaConfig::STANDARD, "a table with the keys of a TDMA";
    /// `data_rate`: for all frames. Default 2 Mbit/s.
    #[serde(rename = "data_rate")]
    rate: BitRate,
    /// What precedes each frame. Default 192 us.
    preamble: Time,
    /// The largest packet that a slot holds; a larger one takes several turns. Default 1500 B.
    slot_bytes: Size,
    /// What the link layer adds to a packet. Default 36 B.
    header_bytes: Size,
    /// A round begins with a slot in which nodes say what they will send. Default false.
    announced: bool,
    /// How long a packet is on its way into the interface queue. Default 0 s.
    delay_down: Time,
    /// How long a received packet is on its way up. Both are spent on the way down, in one: the sum
    /// over a way from host to host is the same. Default 0 s.
    delay_up: Time,
    // `radio.packet_error_rate` has it.
    ; given frame_error = Probability::NEVER,
}

impl Default for Mac {
    fn default() -> Self {
        Self::Dcf(Dcf::default())
    }
}

/// The values of `kind`.
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
