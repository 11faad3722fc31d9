//! The table `[network.link]`: rate, delay, errors and queue of a link.

use std::borrow::Cow;

use driftway_base::{Duration, Rate};
use driftway_link::{
    BurstConfig, Capacity, DelayProcess, DeliveryOrder, DirectionConfig, Duplex, ErrorModel,
    LinkDirections,
};
use serde::Serialize;
use serde::de::MapAccess;

use crate::file_value::Keyword;
use crate::forms::forms;
use crate::keys::keys;
use crate::trace::{RateTrace, TraceFile};
use crate::value_or::{self, Forms, Found};
use crate::{BitRate, Queue, Time};

keys! {
    /// Link of a hop in both directions, `[network.link]`.
    pub struct Link expecting "a table with the keys of a link" {
        /// Bit rate, such as `"10 Mbit/s"`, or measured delivery opportunities,
        /// `{ trace = "x.down", repeat = true }`.
        rate: Option<LinkRate> => "required, unless `trace` has the column `rate_bps`",
        /// Propagation delay, drawn for each packet and direction: `"20 ms"`,
        /// `{ uniform = ["10 ms", "30 ms"] }` or `{ mean = "20 ms", spread = 0.5 }`, each with an
        /// optional `correlation` of successive packets; or `{ steps = ["20 ms", "35 ms"], every =
        /// "15 s" }`, one after the other and again from the first.
        delay: Option<LinkDelay> [inside()] => "required, unless `trace` has the column `delay_s`",
        /// Bit error rate p: an IP packet of *n* bits is lost with the probability 1 − (1 − p)ⁿ.
        /// Alternative to `network.link.packet_error_rate`.
        bit_error_rate: Option<f64> [probability()] => "no errors",
        /// Packet error rate: the probability that a packet is lost, regardless of its size.
        /// Alternative to `network.link.bit_error_rate`.
        packet_error_rate: Option<f64> [probability()] => "no errors",
        /// Losses in bursts, besides those of the error rates: `{ rate = 0.01, mean_length = 4 }`.
        burst: Option<BurstLosses> [inside()] => "none",
        /// Periodic losses, without chance: `{ every = 100 }` loses each hundredth packet.
        loss: Option<PeriodicLosses> => "none",
        /// Measured rate, delay and errors over time: `{ file = "x.csv", repeat = true }`.
        trace: Option<TraceFile> => "none",
        /// Queue in front of the link, one for each direction.
        #[schemars(extend("x-default" = "the defaults of its keys, a drop-tail queue of 50 packets"))]
        queue: Queue [inside()] = default,
        /// The other direction, from the higher node, or the second of a wire's `between`, back:
        /// keys that differ in it. Not with `duplex = "shared"`.
        reverse: Option<Reverse> [inside()] => "the same as this one",
        /// Sharing of the rate: `"full"`, `"shared"` or `"per-packet"`.
        duplex: Keyword<Duplex> = default,
        /// Delivery order: `"fifo"` or `"free"`, whereby packets with a shorter delay overtake
        /// others.
        order: Keyword<DeliveryOrder> = default,
        /// Probability that a congestion mark which the queue would set is not set.
        mark_loss: f64 [probability()] = default,
    }
}

keys! {
    /// Some keys of a link; keys that are left out keep the values of `[network.link]`.
    #[derive(Default)]
    pub struct LinkOverride expecting "a table with keys of a link" {
        /// Bit rate, or delivery opportunities.
        rate: Option<LinkRate> => "that of `[network.link]`",
        /// Propagation delay.
        delay: Option<LinkDelay> [inside()] => "that of `[network.link]`",
        /// Bit error rate. Replaces either error rate of `[network.link]`.
        bit_error_rate: Option<f64> [probability()] => "the error rate of `[network.link]`",
        /// Packet error rate. Replaces either error rate of `[network.link]`.
        packet_error_rate: Option<f64> [probability()] => "the error rate of `[network.link]`",
        /// Losses in bursts.
        burst: Option<BurstLosses> [inside()] => "that of `[network.link]`",
        /// Periodic losses; `{ every = 0 }` for none.
        loss: Option<PeriodicLosses> => "that of `[network.link]`",
        /// Measured rate, delay and errors over time.
        trace: Option<TraceFile> => "that of `[network.link]`, without what the keys above replace",
        /// Queue; replaced as a whole.
        queue: Option<Queue> [inside()] => "that of `[network.link]`",
        /// The other direction; replaced as a whole.
        reverse: Option<Reverse> [inside()] => "that of `[network.link]`",
        /// Sharing of the rate: `"full"`, `"shared"` or `"per-packet"`.
        duplex: Option<Keyword<Duplex>> => "that of `[network.link]`",
        /// Delivery order: `"fifo"` or `"free"`.
        order: Option<Keyword<DeliveryOrder>> => "that of `[network.link]`",
        /// Probability that a congestion mark is not set.
        mark_loss: Option<f64> [probability()] => "that of `[network.link]`",
    }
}

keys! {
    /// The keys of a link that differ in the direction back, `reverse = { rate = "1 Mbit/s" }`; keys
    /// that are left out are the same in both.
    #[derive(Default)]
    pub struct Reverse expecting "a table with the keys of a direction" {
        /// Bit rate, or delivery opportunities.
        rate: Option<LinkRate> => "the same in both directions",
        /// Propagation delay.
        delay: Option<LinkDelay> [inside()] => "the same in both directions",
        /// Packet error rate. Replaces either error rate.
        packet_error_rate: Option<f64> [probability()] => "the same error rate in both directions",
        /// Bit error rate. Replaces either error rate.
        bit_error_rate: Option<f64> [probability()] => "the same error rate in both directions",
        /// Losses in bursts.
        burst: Option<BurstLosses> [inside()] => "the same in both directions",
        /// Periodic losses; `{ every = 0 }` for none.
        loss: Option<PeriodicLosses> => "the same in both directions",
        /// Queue; replaced as a whole.
        queue: Option<Queue> [inside()] => "the same in both directions",
        /// Measured rate, delay and errors over time.
        trace: Option<TraceFile> => "the same in both directions, without what the keys above replace",
    }
}

keys! {
    /// Losses in bursts, `{ rate = 0.01, mean_length = 4 }` (Gilbert 1960, Elliott 1963): while a burst
    /// lasts, every packet is lost.
    #[derive(Copy)]
    pub struct BurstLosses expecting "a table with the keys `rate` and `mean_length`" {
        /// Share of all packets that are lost in bursts. 0 to below 1, and at most
        /// `mean_length` ÷ (1 + `mean_length`).
        rate: f64,
        /// Mean number of packets in a burst.
        mean_length: f64 [real(
            "a mean length of {} packets", 1.0..f64::INFINITY, "a burst has at least one packet"
        )],
    }
}

keys! {
    /// Periodic losses, `{ every = 100 }`: the loss process of models of TCP such as mathis-1997, in
    /// which one packet of *N* is lost and chance has no part. They come on top of the losses by the
    /// error rates and in bursts, whose packets are counted like the others.
    #[derive(Copy)]
    pub struct PeriodicLosses expecting "a table with the key `every`" {
        /// Period *N* in packets: of those that are transmitted in one direction, the packets *N*,
        /// 2*N*, 3*N*, … are lost. Each direction counts by itself, and a packet that is sent again
        /// counts again. 2 to 4294967295, or 0 for none.
        every: u32,
    }
}

/// Capacity of a direction.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum LinkRate {
    /// `"10 Mbit/s"`: constant.
    Fixed(BitRate),
    /// `{ trace = "x.down", repeat = true }`: delivery opportunities.
    Trace(RateTrace),
}

forms! {
    /// Propagation delay of a link.
    pub enum LinkDelay [] expecting
        "a time: \"20 ms\", { uniform = [\"10 ms\", \"30 ms\"] }, { mean = \"20 ms\", spread = 0.5 } \
         or { steps = [\"20 ms\", \"35 ms\"], every = \"15 s\" }", {
        text {
            /// `"20 ms"`: constant.
            Fixed(Time)
        }
        /// `{ uniform = ["10 ms", "30 ms"] }`: uniform between two values.
        Uniform(UniformLinkDelay) {
            /// Minimum and maximum.
            uniform: (Time, Time),
            /// Correlation of the delays of successive packets.
            correlation: f64 [real("a correlation of {}", 0.0..=1.0, "it is from 0 to 1")] => default,
        }
        /// `{ mean = "20 ms", spread = 0.5 }`: uniform in mean × (1 ± spread).
        MeanSpread(LinkDelayAround) {
            /// Mean.
            mean: Time,
            /// Maximum deviation as a fraction of `mean`.
            spread: f64 [real(
                "a spread of {}", 0.0..=1.0, "spreads are fractions of the mean, from 0 to 1"
            )] = 0.0,
            /// Correlation of the delays of successive packets.
            [again] correlation: f64
                [real("a correlation of {}", 0.0..=1.0, "it is from 0 to 1")] => default,
        }
        /// `{ steps = ["20 ms", "35 ms"], every = "15 s" }`: constant for a time, then the next.
        Steps(DelaySteps) {
            /// The delays, one after the other, and after the last the first again.
            steps: Vec<Time>,
            /// Time from one step to the next.
            every: Time [positive()],
        }
    }
}

forms! {
    /// Duration of an outage, or delay to which a link changes, in one of three forms.
    pub enum Delay [Copy] expecting
        "a time: \"20 ms\", { uniform = [\"10 ms\", \"30 ms\"] } or { mean = \"20 ms\", spread = 0.5 }", {
        text {
            /// `"20 ms"`: constant.
            Fixed(Time)
        }
        /// `{ uniform = ["10 ms", "30 ms"] }`: uniform between two values.
        Uniform(UniformDelay) {
            /// Minimum and maximum.
            uniform: (Time, Time),
        }
        /// `{ mean = "20 ms", spread = 0.5 }`: uniform in mean × (1 ± spread).
        MeanSpread(DelayAround) {
            /// Mean.
            mean: Time,
            /// Maximum deviation as a fraction of `mean`.
            spread: f64 [real(
                "a spread of {}", 0.0..=1.0, "spreads are fractions of the mean, from 0 to 1"
            )] = 0.0,
        }
    }
}

impl Delay {
    /// Minimum and maximum; the distribution between them is uniform.
    pub fn bounds(self) -> (Duration, Duration) {
        match self {
            Self::Fixed(Time(delay)) => (delay, delay),
            Self::Uniform(UniformDelay { uniform: (Time(low), Time(high)) }) => (low, high),
            Self::MeanSpread(DelayAround { mean: Time(mean), spread }) => {
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

impl Reverse {
    /// These keys as changes of a link.
    pub(crate) fn as_override(&self) -> LinkOverride {
        LinkOverride {
            rate: self.rate.clone(),
            delay: self.delay.clone(),
            bit_error_rate: self.bit_error_rate,
            packet_error_rate: self.packet_error_rate,
            burst: self.burst,
            loss: self.loss,
            queue: self.queue.clone(),
            trace: self.trace.clone(),
            ..LinkOverride::default()
        }
    }
}

impl LinkRate {
    /// Capacity of a direction. Nothing leaves in a scenario whose traces were not loaded.
    fn config(&self) -> Capacity {
        match self {
            Self::Fixed(BitRate(rate)) => Capacity::Rate(*rate),
            Self::Trace(RateTrace { content: Some(trace), .. }) => {
                Capacity::Opportunities(trace.clone())
            }
            Self::Trace(_) => Capacity::Rate(Rate::from_bps(0)),
        }
    }

    /// The rate in the mean.
    pub fn mean(&self) -> Rate {
        match self.config() {
            Capacity::Rate(rate) => rate,
            Capacity::Opportunities(trace) => trace.mean_rate(),
        }
    }
}

impl LinkDelay {
    /// The distribution, without correlation; of steps from the shortest to the longest.
    pub fn distribution(&self) -> Delay {
        match self {
            Self::Fixed(time) => Delay::Fixed(*time),
            Self::Uniform(UniformLinkDelay { uniform, .. }) => {
                Delay::Uniform(UniformDelay { uniform: *uniform })
            }
            Self::MeanSpread(LinkDelayAround { mean, spread, .. }) => {
                Delay::MeanSpread(DelayAround { mean: *mean, spread: *spread })
            }
            Self::Steps(DelaySteps { steps, .. }) => {
                let (low, high) = (steps.iter().min(), steps.iter().max());
                let bound = |time: Option<&Time>| time.copied().unwrap_or_default();
                Delay::Uniform(UniformDelay { uniform: (bound(low), bound(high)) })
            }
        }
    }

    /// Correlation of the delays of successive packets.
    pub fn correlation(&self) -> f64 {
        match self {
            Self::Uniform(UniformLinkDelay { correlation, .. })
            | Self::MeanSpread(LinkDelayAround { correlation, .. }) => *correlation,
            Self::Fixed(_) | Self::Steps(_) => 0.0,
        }
    }

    fn config(&self) -> DelayProcess {
        let delay = self.distribution().config();
        match (self, self.correlation()) {
            (Self::Steps(DelaySteps { steps, every: Time(every) }), _) => DelayProcess::Steps {
                delays: steps.iter().map(|Time(delay)| *delay).collect(),
                every: *every,
            },
            (_, correlation) if correlation > 0.0 => {
                DelayProcess::Correlated { delay, correlation }
            }
            _ => DelayProcess::Independent(delay),
        }
    }
}

impl Link {
    /// Configuration of both directions of the link.
    pub fn config(&self) -> LinkDirections {
        LinkDirections {
            forward: self.direction(),
            backward: self.reversed().direction(),
            duplex: self.duplex.0,
            order: self.order.0,
        }
    }

    /// Configuration of the direction from the lower node, or the first of a wire.
    fn direction(&self) -> DirectionConfig {
        let rate = self.mean_rate();
        DirectionConfig {
            capacity: self.rate.as_ref().map_or(Capacity::Rate(rate), LinkRate::config),
            delay: self.delay.as_ref().map_or(NO_DELAY, LinkDelay::config),
            errors: match (self.bit_error_rate, self.packet_error_rate) {
                (Some(rate), _) => ErrorModel::BitErrorRate(rate),
                (None, Some(rate)) => ErrorModel::FrameErrorRate(rate),
                (None, None) => ErrorModel::None,
            },
            burst: self
                .burst
                .map(|BurstLosses { rate, mean_length }| BurstConfig { rate, mean_length }),
            loss_period: self.loss.map_or(0, |PeriodicLosses { every }| every),
            trace: self.trace.as_ref().and_then(TraceFile::trace),
            queue: self.queue.link_config(rate, self.mark_loss),
        }
    }

    /// Rate of the direction from the lower node, or the first of a wire; of a trace its mean.
    pub fn mean_rate(&self) -> Rate {
        let measured = self.trace.as_ref().filter(|trace| trace.has_rates());
        let measured = measured.and_then(|trace| trace.content.as_ref()?.mean_rate());
        measured.or_else(|| Some(self.rate.as_ref()?.mean())).unwrap_or(Rate::from_bps(0))
    }

    /// Minimum and maximum of the propagation delay.
    pub fn delay_bounds(&self) -> (Duration, Duration) {
        let measured = self.trace.as_ref().filter(|trace| trace.has_delays());
        let measured = measured.and_then(|trace| trace.content.as_ref()?.delay_bounds());
        measured.or_else(|| Some(self.delay.as_ref()?.distribution().bounds())).unwrap_or_default()
    }

    /// The link as it is in the other direction.
    pub fn reversed(&self) -> Self {
        let Some(back) = &self.reverse else { return self.clone() };
        back.as_override().apply_to(Self { reverse: None, ..self.clone() })
    }

    /// Fills in the defaults that depend on other keys.
    pub(crate) fn resolve(&mut self) {
        self.queue.resolve();
        if let Some(queue) = self.reverse.as_mut().and_then(|back| back.queue.as_mut()) {
            queue.resolve();
        }
    }
}

const NO_DELAY: DelayProcess =
    DelayProcess::Independent(driftway_link::Delay::Fixed(Duration::ZERO));

impl LinkOverride {
    /// Returns `link` with these keys changed.
    pub fn apply_to(&self, mut link: Link) -> Link {
        let has_errors = self.bit_error_rate.is_some() || self.packet_error_rate.is_some();
        if has_errors {
            link.bit_error_rate = self.bit_error_rate;
            link.packet_error_rate = self.packet_error_rate;
        }
        if let Some(trace) = &mut link.trace {
            trace.replace(self.rate.is_some(), self.delay.is_some(), has_errors);
        }
        // Rows with rates take the place of opportunities.
        let has_rates = self.trace.as_ref().is_some_and(TraceFile::has_rates);
        Link {
            rate: self.rate.clone().or(link.rate.filter(|_| !has_rates)),
            delay: self.delay.clone().or(link.delay),
            bit_error_rate: link.bit_error_rate,
            packet_error_rate: link.packet_error_rate,
            burst: self.burst.or(link.burst),
            loss: self.loss.or(link.loss),
            trace: self.trace.clone().or(link.trace),
            queue: self.queue.clone().unwrap_or(link.queue),
            reverse: self.reverse.clone().or(link.reverse),
            duplex: self.duplex.unwrap_or(link.duplex),
            order: self.order.unwrap_or(link.order),
            mark_loss: self.mark_loss.unwrap_or(link.mark_loss),
        }
    }

    /// Fills in the defaults that depend on other keys.
    pub(crate) fn resolve(&mut self) {
        let back = self.reverse.as_mut().and_then(|back| back.queue.as_mut());
        self.queue.iter_mut().chain(back).for_each(Queue::resolve);
    }
}

impl Forms for LinkRate {
    fn expecting() -> Cow<'static, str> {
        "a bit rate with its unit, such as \"100 kbit/s\", or { trace = \"x.down\" }".into()
    }
    fn read(found: Found<'_>) -> Option<Result<Self, String>> {
        value_or::text(found).map(|rate| rate.map(Self::Fixed))
    }
    fn read_table<'de, A: MapAccess<'de>>(found: A) -> Option<Result<Self, A::Error>> {
        Some(value_or::table(found).map(Self::Trace))
    }
}

value_or::by_forms!(LinkRate);

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn delays_are_fixed_where_their_bounds_are_equal() {
        let ms = Duration::from_millis;
        let around =
            |spread| Delay::MeanSpread(DelayAround { mean: Time(ms(20)), spread }).config();
        assert_eq!(Delay::Fixed(Time(ms(20))).config(), driftway_link::Delay::Fixed(ms(20)));
        assert_eq!(around(0.0), driftway_link::Delay::Fixed(ms(20)));
        assert_eq!(around(0.5), driftway_link::Delay::Uniform { low: ms(10), high: ms(30) });
    }
}
