//! The table `[network.link]`: rate, delay, errors and queue of a link.

use std::fmt;

use driftway_base::Duration;
use driftway_link::{DeliveryOrder, Duplex, ErrorModel, LinkConfig, QueueConfig, RedConfig};
use serde::de::{MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize};

use crate::file_value::Keyword;
use crate::keys::keys;
use crate::{BitRate, Queue, Time};

keys! {
    /// Link of a hop in both directions, `[network.link]`.
    pub struct Link expecting "a table with the keys of a link" {
        /// Bit rate.
        rate: BitRate,
        /// Propagation delay, drawn for each packet and direction: `"20 ms"`,
        /// `{ uniform = ["10 ms", "30 ms"] }` or `{ mean = "20 ms", spread = 0.5 }`.
        delay: Delay,
        /// Bit error rate p: an IP packet of *n* bits is lost with the probability 1 − (1 − p)ⁿ.
        /// Alternative to `network.link.packet_error_rate`. 0 to 1.
        bit_error_rate: Option<f64> => "no errors",
        /// Packet error rate: the probability that a packet is lost, regardless of its size.
        /// Alternative to `network.link.bit_error_rate`. 0 to 1.
        packet_error_rate: Option<f64> => "no errors",
        /// Queue in front of the link, one for each direction.
        #[schemars(extend("x-default" = "the defaults of its keys, a drop-tail queue of 50 packets"))]
        queue: Queue = default,
        /// Sharing of the rate: `"full"`, `"shared"` or `"per-packet"`.
        duplex: Keyword<Duplex> = default,
        /// Delivery order: `"fifo"` or `"free"`, whereby packets with a shorter delay overtake
        /// others.
        order: Keyword<DeliveryOrder> = default,
        /// Probability that a congestion mark which the queue would set is not set. 0 to 1.
        mark_loss: f64 = default,
    }
}

keys! {
    /// Some keys of a link; keys that are left out keep the values of `[network.link]`.
    #[derive(Default)]
    pub struct LinkOverride expecting "a table with keys of a link" {
        /// Bit rate.
        rate: Option<BitRate> => "that of `[network.link]`",
        /// Propagation delay.
        delay: Option<Delay> => "that of `[network.link]`",
        /// Bit error rate. Replaces either error rate of `[network.link]`.
        bit_error_rate: Option<f64> => "the error rate of `[network.link]`",
        /// Packet error rate. Replaces either error rate of `[network.link]`.
        packet_error_rate: Option<f64> => "the error rate of `[network.link]`",
        /// Queue; replaced as a whole.
        queue: Option<Queue> => "that of `[network.link]`",
        /// Sharing of the rate: `"full"`, `"shared"` or `"per-packet"`.
        duplex: Option<Keyword<Duplex>> => "that of `[network.link]`",
        /// Delivery order: `"fifo"` or `"free"`.
        order: Option<Keyword<DeliveryOrder>> => "that of `[network.link]`",
        /// Probability that a congestion mark is not set. 0 to 1.
        mark_loss: Option<f64> => "that of `[network.link]`",
    }
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
        /// Maximum deviation as a fraction of `mean`, 0 to 1.
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

    /// Configuration of the delay.
    pub fn config(self) -> driftway_link::Delay {
        match self.bounds() {
            (low, high) if low == high => driftway_link::Delay::Fixed(low),
            (low, high) => driftway_link::Delay::Uniform { low, high },
        }
    }
}

impl Link {
    /// Configuration of the link.
    pub fn config(&self) -> LinkConfig {
        let BitRate(rate) = self.rate;
        LinkConfig {
            rate,
            delay: self.delay.config(),
            errors: match (self.bit_error_rate, self.packet_error_rate) {
                (Some(rate), _) => ErrorModel::BitErrorRate(rate),
                (None, Some(rate)) => ErrorModel::FrameErrorRate(rate),
                (None, None) => ErrorModel::None,
            },
            queue: QueueConfig {
                limit: self.queue.packets as usize,
                discipline: self
                    .queue
                    .config(rate.transmission_time(RedConfig::TYPICAL_FRAME_BYTES)),
                mark_loss: self.mark_loss,
            },
            duplex: self.duplex.0,
            order: self.order.0,
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

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn delays_are_fixed_where_their_bounds_are_equal() {
        let ms = Duration::from_millis;
        let around = |spread| Delay::MeanSpread { mean: Time(ms(20)), spread }.config();
        assert_eq!(Delay::Fixed(Time(ms(20))).config(), driftway_link::Delay::Fixed(ms(20)));
        assert_eq!(around(0.0), driftway_link::Delay::Fixed(ms(20)));
        assert_eq!(around(0.5), driftway_link::Delay::Uniform { low: ms(10), high: ms(30) });
    }
}
