//! `mac = { … }`: how nodes share the air.

use serde::de::MapAccess;
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize};

use base::{Duration, Rate};

use crate::tagged::{self, Tagged};
use crate::{BitRate, Size, Time};

/// How nodes share the air; `kind` says which of these it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Mac {
    /// The distributed coordination function of IEEE 802.11.
    Dcf(Dcf),
    /// Time division: each node has a slot of its own.
    Tdma(Tdma),
}

/// `kind = "dcf"`: IEEE 802.11-2012 §9.3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table with the keys of a DCF")]
pub struct Dcf {
    /// For frames to one node. Default 2 Mbit/s.
    pub data_rate: BitRate,
    /// For RTS, CTS, ACK and frames to all. Default 1 Mbit/s.
    pub basic_rate: BitRate,
    /// Packets for one node that are larger are announced by an RTS. Default 0 B: all are.
    pub rts_threshold: Size,
    /// How often a frame goes out that no CTS or (without RTS) no ACK answers. Default 7.
    pub short_retry_limit: u32,
    /// The same of frames above `rts_threshold`. Default 4.
    pub long_retry_limit: u32,
    /// The first contention window. Default 31.
    pub cw_min: u32,
    /// The largest one. Default 1023.
    pub cw_max: u32,
    /// Default 20 us.
    pub slot: Time,
    /// Default 10 us.
    pub sifs: Time,
}

/// `kind = "tdma"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table with the keys of a TDMA")]
pub struct Tdma {
    /// For all frames. Default 2 Mbit/s.
    pub data_rate: BitRate,
    /// The largest packet that fits into a slot. Default 1500 B.
    pub slot: Size,
}

impl Default for Mac {
    fn default() -> Self {
        Self::Dcf(Dcf::default())
    }
}

const fn mbit(rate: u64) -> BitRate {
    BitRate(Rate::from_bps(rate * 1_000_000))
}

const fn micros(time: u64) -> Time {
    Time(Duration::from_micros(time))
}

impl Default for Dcf {
    fn default() -> Self {
        Self {
            data_rate: mbit(2),
            basic_rate: mbit(1),
            rts_threshold: Size(0),
            short_retry_limit: 7,
            long_retry_limit: 4,
            cw_min: 31,
            cw_max: 1023,
            slot: micros(20),
            sifs: micros(10),
        }
    }
}

impl Default for Tdma {
    fn default() -> Self {
        Self { data_rate: mbit(2), slot: Size(1500) }
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
