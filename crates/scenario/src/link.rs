//! The table `[network.link]`: rate, delay, errors and queue of a link.

use std::fmt;

use driftway_base::Duration;
use serde::de::{MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize};

use crate::{BitRate, Queue, Time};

/// Link of a hop in both directions, `[network.link]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a link")]
pub struct Link {
    /// Bit rate.
    pub rate: BitRate,
    /// Propagation delay, drawn for each packet and direction: `"20 ms"`,
    /// `{ uniform = ["10 ms", "30 ms"] }` or `{ mean = "20 ms", spread = 0.5 }`.
    pub delay: Delay,
    /// Bit error rate p: an IP packet of *n* bits is lost with the probability 1 − (1 − p)ⁿ.
    /// Alternative to `network.link.packet_error_rate`. 0 to 1. Default: no errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bit_error_rate: Option<f64>,
    /// Packet error rate: the probability that a packet is lost, regardless of its size.
    /// Alternative to `network.link.bit_error_rate`. 0 to 1. Default: no errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_error_rate: Option<f64>,
    /// Queue in front of the link, one for each direction. Default: the defaults of its keys, a
    /// drop-tail queue of 50 packets.
    #[serde(default)]
    pub queue: Queue,
    /// Sharing of the rate: `"full"`, `"shared"` or `"per-packet"`. Default `"full"`.
    #[serde(default)]
    pub duplex: Duplex,
    /// Delivery order: `"fifo"` or `"free"`, whereby packets with a shorter delay overtake others.
    /// Default `"fifo"`.
    #[serde(default)]
    pub order: DeliveryOrder,
    /// Probability that a congestion mark which the queue would set is not set. 0 to 1. Default 0.
    #[serde(default)]
    pub mark_loss: f64,
}

/// Some keys of a link; keys that are left out keep the values of `[network.link]`.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with keys of a link")]
pub struct LinkOverride {
    /// Bit rate. Default: that of `[network.link]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// Propagation delay. Default: that of `[network.link]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    /// Bit error rate. Replaces either error rate of `[network.link]`. Default: the error rate of
    /// `[network.link]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bit_error_rate: Option<f64>,
    /// Packet error rate. Replaces either error rate of `[network.link]`. Default: the error rate
    /// of `[network.link]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_error_rate: Option<f64>,
    /// Queue; replaced as a whole. Default: that of `[network.link]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// Sharing of the rate: `"full"`, `"shared"` or `"per-packet"`. Default: that of
    /// `[network.link]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplex: Option<Duplex>,
    /// Delivery order: `"fifo"` or `"free"`. Default: that of `[network.link]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<DeliveryOrder>,
    /// Probability that a congestion mark is not set. 0 to 1. Default: that of `[network.link]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark_loss: Option<f64>,
}

/// Propagation delay of a link, or duration of an outage, in one of three forms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Delay {
    /// `"20 ms"`: constant.
    Fixed(Time),
    /// `{ uniform = ["10 ms", "30 ms"] }`: uniform between two values.
    Uniform {
        /// Minimum and maximum.
        uniform: (Time, Time),
    },
    /// `{ mean = "20 ms", spread = 0.5 }`: uniform in mean × (1 ± spread).
    MeanSpread {
        /// Mean.
        mean: Time,
        /// Maximum deviation as a fraction of `mean`, 0 to 1. Default 0.
        #[schemars(default)]
        spread: f64,
    },
}

impl Delay {
    /// Minimum and maximum; the distribution between them is uniform.
    pub fn bounds(self) -> (Duration, Duration) {
        match self {
            Self::Fixed(Time(delay)) => (delay, delay),
            Self::Uniform { uniform: (Time(low), Time(high)) } => (low, high),
            Self::MeanSpread { mean: Time(mean), spread } => {
                let reach = Duration::from_nanos((mean.as_nanos() as f64 * spread) as u64);
                (mean.saturating_sub(reach), mean + reach)
            }
        }
    }
}

/// Error model of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LinkErrors {
    /// No errors.
    None,
    /// Bit errors with this probability per bit.
    Bit(f64),
    /// Packet losses with this probability per packet.
    Packet(f64),
}

impl Link {
    /// The error model in effect.
    pub fn errors(&self) -> LinkErrors {
        match (self.bit_error_rate, self.packet_error_rate) {
            (Some(rate), _) => LinkErrors::Bit(rate),
            (None, Some(rate)) => LinkErrors::Packet(rate),
            (None, None) => LinkErrors::None,
        }
    }
}

impl LinkOverride {
    /// Returns `link` with these keys changed.
    pub fn apply_to(&self, mut link: Link) -> Link {
        if self.bit_error_rate.is_some() || self.packet_error_rate.is_some() {
            link.bit_error_rate = self.bit_error_rate;
            link.packet_error_rate = self.packet_error_rate;
        }
        Link {
            rate: self.rate.unwrap_or(link.rate),
            delay: self.delay.unwrap_or(link.delay),
            bit_error_rate: link.bit_error_rate,
            packet_error_rate: link.packet_error_rate,
            queue: self.queue.clone().unwrap_or(link.queue),
            duplex: self.duplex.unwrap_or(link.duplex),
            order: self.order.unwrap_or(link.order),
            mark_loss: self.mark_loss.unwrap_or(link.mark_loss),
        }
    }
}

/// Sharing of a hop's rate between packets.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Duplex {
    /// `"full"`: each direction has the whole rate.
    #[default]
    Full,
    /// `"shared"`: one packet at a time in both directions together; when both ends have packets
    /// queued, they alternate.
    Shared,
    /// `"per-packet"`: each packet has the whole rate to itself. No packet waits for another, so
    /// that queues stay empty: the network model of chandran-1998 §5.2.
    PerPacket,
}

/// Delivery order of packets on a link.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum DeliveryOrder {
    /// `"fifo"`: no packet arrives before its predecessor.
    #[default]
    Fifo,
    /// `"free"`: each packet arrives after its own delay.
    Free,
}

impl<'de> Deserialize<'de> for Delay {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Keys {
            uniform: Option<(Time, Time)>,
            mean: Option<Time>,
            spread: Option<f64>,
        }
        struct DelayVisitor;
        const FORMS: &str = "a time: \"20 ms\", { uniform = [\"10 ms\", \"30 ms\"] } \
                             or { mean = \"20 ms\", spread = 0.5 }";
        impl<'de> Visitor<'de> for DelayVisitor {
            type Value = Delay;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(FORMS)
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Delay, E> {
                text.parse().map(Delay::Fixed).map_err(E::custom)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Delay, A::Error> {
                match Keys::deserialize(MapAccessDeserializer::new(map))? {
                    Keys { uniform: Some(uniform), mean: None, spread: None } => {
                        Ok(Delay::Uniform { uniform })
                    }
                    Keys { uniform: None, mean: Some(mean), spread } => {
                        Ok(Delay::MeanSpread { mean, spread: spread.unwrap_or(0.0) })
                    }
                    _ => Err(serde::de::Error::custom(format_args!("expected {FORMS}"))),
                }
            }
        }
        deserializer.deserialize_any(DelayVisitor)
    }
}

/// Defines a list of some keys and those of a link.
macro_rules! keys_of_link {
    ($name:ident: $($own:literal),+) => {
        const $name: &[&str] = &[
            $($own,)+ "rate", "delay", "bit_error_rate", "packet_error_rate", "queue", "duplex",
            "order", "mark_loss",
        ];
    };
}
pub(crate) use keys_of_link;
