//! `[network.link]`: rate, delay, errors and queue of a link.

use std::fmt;

use driftway_base::Duration;
use serde::de::{MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize};

use crate::{BitRate, Queue, Time};

/// `[network.link]`: both directions of one hop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a link")]
pub struct Link {
    /// How fast it sends.
    pub rate: BitRate,
    /// Propagation delay, drawn per packet and direction.
    pub delay: Delay,
    /// The probability that a bit is wrong: an IP packet of *n* bits is lost with
    /// 1 − (1 − p)ⁿ. Not together with `packet_error_rate`. Default: no errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bit_error_rate: Option<f64>,
    /// The probability that a packet is lost, whatever its size. Not together with
    /// `bit_error_rate`. Default: no errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_error_rate: Option<f64>,
    /// The queue before it, one for each direction.
    #[serde(default)]
    pub queue: Queue,
    /// Which packets share the rate. Default `"full"`.
    #[serde(default)]
    pub duplex: Duplex,
    /// Whether a packet may overtake another by a shorter delay. Default `"fifo"`.
    #[serde(default)]
    pub order: DeliveryOrder,
    /// The probability that a congestion mark which the queue was to set is not set. Default 0.
    #[serde(default)]
    pub mark_loss: f64,
}

/// Some keys of a link; those left out stay as they are.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with keys of a link")]
pub struct LinkOverride {
    /// See [`Link::rate`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// See [`Link::delay`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    /// See [`Link::bit_error_rate`]; takes the place of either error rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bit_error_rate: Option<f64>,
    /// See [`Link::packet_error_rate`]; takes the place of either error rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_error_rate: Option<f64>,
    /// See [`Link::queue`]; replaced as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// See [`Link::duplex`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplex: Option<Duplex>,
    /// See [`Link::order`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<DeliveryOrder>,
    /// See [`Link::mark_loss`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark_loss: Option<f64>,
}

/// Propagation delay of a link. One key, three ways to write it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Delay {
    /// `"20 ms"`: always the same.
    Fixed(Time),
    /// `{ uniform = ["10 ms", "30 ms"] }`: any value between the two is as likely.
    Uniform {
        /// Shortest and longest.
        uniform: (Time, Time),
    },
    /// `{ mean = "20 ms", spread = 0.5 }`: uniform in mean × (1 ± spread).
    MeanSpread {
        /// The middle.
        mean: Time,
        /// How far it reaches to both sides, as a share of `mean`, 0 to 1. Default 0.
        #[schemars(default)]
        spread: f64,
    },
}

impl Delay {
    /// The shortest and the longest delay; between them it is uniform.
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

/// What errors do to packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LinkErrors {
    /// Nothing.
    None,
    /// Each bit is wrong with this probability.
    Bit(f64),
    /// Each packet is lost with this probability.
    Packet(f64),
}

impl Link {
    /// Which error model holds.
    pub fn errors(&self) -> LinkErrors {
        match (self.bit_error_rate, self.packet_error_rate) {
            (Some(rate), _) => LinkErrors::Bit(rate),
            (None, Some(rate)) => LinkErrors::Packet(rate),
            (None, None) => LinkErrors::None,
        }
    }
}

impl LinkOverride {
    /// `link` with these keys changed.
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

/// Whether packets on a hop share its rate.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Duplex {
    /// Each direction has the whole rate.
    #[default]
    Full,
    /// One packet at a time; when packets wait at both ends, the ends take turns.
    Shared,
    /// `"per-packet"`: each packet has the whole rate to itself. None waits for another, so that
    /// queues stay empty: the model of a network that chandran-1998 §5.2 simulates.
    PerPacket,
}

/// Whether packets stay in order on a link.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum DeliveryOrder {
    /// A packet never arrives before its predecessor.
    #[default]
    Fifo,
    /// Each packet arrives after its own delay.
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
        const FORMS: &str = "a delay: \"20 ms\", { uniform = [\"10 ms\", \"30 ms\"] } \
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
