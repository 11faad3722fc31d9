//! Applications: what the sender of a flow writes, and when.

use driftway_base::{Duration, RandomStream};
use serde::{Deserialize, Serialize};

use crate::keys::keys;
use crate::problem::MAX_PROTOCOL_TIME;
use crate::{Size, Time};

/// RFC 768: an IP datagram without its IP and UDP headers.
const MAX_DATAGRAM_BYTES: u64 = 65_507;

/// Traffic pattern of an application.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(
    rename_all = "kebab-case",
    expecting = "{ transfer = \"1 MB\" }, \"ftp\", { cbr = { every = \"0.25 s\", size = \"512 B\" } }, { poisson = { … } }, { on-off = { … } } or { request-response = { … } }"
)]
pub enum Application {
    /// `{ transfer = "1 MB" }`: a transfer of this size.
    Transfer(Size),
    /// `"ftp"`: unlimited data until the end of the run.
    Ftp,
    /// `{ cbr = { … } }`: packets of constant size at a constant mean rate.
    Cbr(Cbr),
    /// `{ poisson = { … } }`: packets of constant size at exponentially distributed intervals.
    Poisson(Poisson),
    /// `{ on-off = { … } }`: packets of constant size at constant intervals during bursts.
    OnOff(OnOff),
    /// `{ request-response = { … } }`: requests that the receiver answers on the same TCP
    /// connection, one after another until the end of the run.
    RequestResponse(RequestResponse),
}

keys! {
    /// Constant bit rate, `{ every = "0.25 s", size = "512 B" }`.
    #[derive(Copy)]
    pub struct Cbr expecting "a table with the keys `every`, `size` and `jitter`" {
        /// Interval between two packets.
        every: Time [positive()],
        /// Payload of each packet.
        size: Size [range("the packet size in bytes", 1..=MAX_DATAGRAM_BYTES)],
        /// Jitter of the intervals as a fraction of `flow.application.cbr.every`: with 0.5 each interval is uniform between 0.5 and 1.5 times that (ns-2's
        /// `random_ 1`).
        jitter: f64 [real(
            "a jitter of {}", 0.0..1.0, "jitter is a fraction of the interval, from 0 to below 1"
        )] => "`0`",
    }
}

keys! {
    /// Poisson process of packets, `{ every = "0.25 s", size = "512 B" }`; the first leaves at
    /// `flow.start`.
    #[derive(Copy)]
    pub struct Poisson expecting "a table with the keys `every` and `size`" {
        /// Mean interval between two packets.
        every: Time [positive(), at_most(MAX_PROTOCOL_TIME)],
        /// Payload of each packet.
        size: Size [range("the packet size in bytes", 1..=MAX_DATAGRAM_BYTES)],
    }
}

keys! {
    /// Bursts of packets, `{ on = "1 s", off = "1.35 s", every = "20 ms", size = "160 B" }`; the first
    /// burst begins at `flow.start`.
    #[derive(Copy)]
    pub struct OnOff expecting "a table with the keys `on`, `off`, `every`, `size`, `times` and `shape`" {
        /// Mean duration of a burst, which has at least one packet.
        on: Time [positive(), at_most(MAX_PROTOCOL_TIME)],
        /// Mean time from the end of a burst to the next.
        off: Time [at_most(MAX_PROTOCOL_TIME)],
        /// Interval between two packets of a burst.
        every: Time [positive(), at_most(MAX_PROTOCOL_TIME)],
        /// Payload of each packet.
        size: Size [range("the packet size in bytes", 1..=MAX_DATAGRAM_BYTES)],
        /// Distribution of the durations of bursts and of the times between them:
        /// `"exponential"`, `"constant"` or `"pareto"` (ns-2's `Traffic/Exponential` and
        /// `Traffic/Pareto`).
        times: Times = default,
        /// Shape of the Pareto distribution.
        shape: Option<f64> [pareto_shape()] => "`1.5` with `\"pareto\"`",
    }
}

keys! {
    /// Requests and responses, `{ request = "300 B", response = "10 kB", think = "1 s" }`. The first
    /// request leaves at `flow.start`, each later one when the response has arrived and `think` has
    /// passed. The results of the responses have the prefix `back_`. TCP only, without `flow.back`.
    #[derive(Copy)]
    pub struct RequestResponse expecting
        "a table with the keys `request`, `response`, `think` and `shape`"
    {
        /// Size of each request.
        request: Size [real("a size of {}", 1.0.., "")],
        /// Size of each response; with `shape` their mean.
        response: Size [real("a size of {}", 1.0.., "")],
        /// Time from a response to the next request; with `shape` its mean.
        think: Time [at_most(MAX_PROTOCOL_TIME)],
        /// Shape of the Pareto distribution of the sizes of responses; the times are
        /// exponentially distributed then. Sizes of pages and files of the web are often described by
        /// 1.1 to 1.3.
        shape: Option<f64> [pareto_shape()] => "none: sizes and times are constant",
    }
}

/// Distribution of times.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case", expecting = "a word")]
pub enum Times {
    /// `"exponential"`: exponential.
    #[default]
    Exponential,
    /// `"constant"`: always the mean.
    Constant,
    /// `"pareto"`: Pareto.
    Pareto,
}

/// Shape of a Pareto distribution without a `shape` (ns-2's `shape_`).
const DEFAULT_SHAPE: f64 = 1.5;

/// The longest time and the largest response that are drawn: a Pareto distribution has no maximum.
const MAX_DRAWN: f64 = 1e15;

impl Application {
    /// Payload of each packet, of an application that sends packets and no stream.
    pub const fn packet_size(&self) -> Option<Size> {
        match self {
            Self::Cbr(Cbr { size, .. })
            | Self::Poisson(Poisson { size, .. })
            | Self::OnOff(OnOff { size, .. }) => Some(*size),
            Self::Transfer(_) | Self::Ftp | Self::RequestResponse(_) => None,
        }
    }
}

impl Cbr {
    /// Minimum and maximum interval between two packets.
    pub fn bounds(&self) -> (Duration, Duration) {
        let Time(every) = self.every;
        let reach = Duration::from_nanos((every.as_nanos() as f64 * self.jitter) as u64);
        (every.saturating_sub(reach), every + reach)
    }
}

impl OnOff {
    /// Draws the duration of a burst.
    pub fn draw_on(&self, random: &mut RandomStream) -> Duration {
        self.draw(self.on, random)
    }

    /// Draws the time to the next burst.
    pub fn draw_off(&self, random: &mut RandomStream) -> Duration {
        self.draw(self.off, random)
    }

    fn draw(&self, Time(mean): Time, random: &mut RandomStream) -> Duration {
        match self.times {
            Times::Constant => mean,
            Times::Exponential => random.exponential_duration(mean),
            Times::Pareto => {
                let shape = self.shape.unwrap_or(DEFAULT_SHAPE);
                Duration::from_nanos(pareto(mean.as_nanos() as f64, shape, random) as u64)
            }
        }
    }
}

impl RequestResponse {
    /// Draws the size of a response (bytes), at least 1.
    pub fn draw_response(&self, random: &mut RandomStream) -> u64 {
        let Size(mean) = self.response;
        let drawn = self.shape.map(|shape| pareto(mean as f64, shape, random) as u64);
        drawn.unwrap_or(mean).max(1)
    }

    /// Draws the time from a response to the next request.
    pub fn draw_think(&self, random: &mut RandomStream) -> Duration {
        let Time(mean) = self.think;
        if self.shape.is_some() { random.exponential_duration(mean) } else { mean }
    }
}

/// Draws from a Pareto distribution with this mean and shape: its minimum is mean × (1 − 1/shape).
fn pareto(mean: f64, shape: f64, random: &mut RandomStream) -> f64 {
    let least = mean * (1.0 - 1.0 / shape);
    (least * libm::pow(1.0 - random.uniform_f64(), -1.0 / shape)).min(MAX_DRAWN)
}

#[cfg(test)]
mod test {
    use super::*;

    fn mean(mut draw: impl FnMut(&mut RandomStream) -> f64) -> f64 {
        let mut random = RandomStream::new(1, "test", 0);
        (0..100_000).map(|_| draw(&mut random)).sum::<f64>() / 100_000.0
    }

    fn bursts(times: Times, shape: Option<f64>) -> OnOff {
        let time = Time::from_millis;
        OnOff { on: time(400), off: time(600), every: time(10), size: Size(100), times, shape }
    }

    #[test]
    fn times_have_their_means() {
        for (times, shape) in
            [(Times::Constant, None), (Times::Exponential, None), (Times::Pareto, Some(3.0))]
        {
            let bursts = bursts(times, shape);
            let on = mean(|random| bursts.draw_on(random).as_secs_f64());
            let off = mean(|random| bursts.draw_off(random).as_secs_f64());
            assert!((on - 0.4).abs() < 0.004 && (off - 0.6).abs() < 0.006, "{times:?}: {on} {off}");
        }
    }

    /// With shape 2 the minimum is half of the mean, and a quarter is above twice the minimum.
    #[test]
    fn a_pareto_distribution_has_its_tail() {
        let mut random = RandomStream::new(1, "test", 0);
        let drawn: Vec<f64> = (0..100_000).map(|_| pareto(10.0, 2.0, &mut random)).collect();
        assert!(drawn.iter().all(|value| *value >= 5.0));
        let above = drawn.iter().filter(|value| **value > 10.0).count();
        assert!(above.abs_diff(25_000) < 550, "{above}: four standard deviations");
    }

    #[test]
    fn responses_are_constant_or_drawn() {
        let web = RequestResponse {
            request: Size(300),
            response: Size(10_000),
            think: Time::from_millis(500),
            shape: Some(3.0),
        };
        let size = mean(|random| web.draw_response(random) as f64);
        let think = mean(|random| web.draw_think(random).as_secs_f64());
        assert!((size - 10_000.0).abs() < 150.0 && (think - 0.5).abs() < 0.006, "{size} {think}");
        let constant = RequestResponse { shape: None, ..web };
        let mut random = RandomStream::new(1, "test", 0);
        assert_eq!(constant.draw_response(&mut random), 10_000);
        assert_eq!(constant.draw_think(&mut random), Duration::from_millis(500));
    }
}
