//! `tcp = { … }`: the TCP at both ends of a flow.

use std::fmt;

use driftway_base::Duration;
use driftway_tcp::{
    Clock, Config, DelayedAck, GrowthKind, RecoveryKind, option_default_doc, options,
};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::file_value::{FileValue, Keyword, Keywords};
use crate::{Size, Time};

/// Coarser clocks than this are BSD's kind: its delayed acknowledgments have a tick of their own.
const COARSE_TICK: Duration = Duration::from_millis(200);

/// A key of the file for an option that is a `T` to a connection.
trait OptionKey<T>: Sized {
    /// How the file writes the default.
    fn from_default(default: T) -> Self;
    /// Sets the option.
    fn set_option(&self, to: &mut T);
}

impl<T, K: FileValue<T>> OptionKey<T> for K {
    fn from_default(default: T) -> Self {
        FileValue::from_config(default)
    }
    fn set_option(&self, to: &mut T) {
        *to = self.to_config();
    }
}

/// What has no default.
impl<T, K: FileValue<T>> OptionKey<Option<T>> for Option<K> {
    fn from_default(default: Option<T>) -> Self {
        default.map(FileValue::from_config)
    }
    fn set_option(&self, to: &mut Option<T>) {
        *to = self.as_ref().map(FileValue::to_config);
    }
}

/// A flag of which the default is made from other keys.
impl OptionKey<bool> for Option<bool> {
    fn from_default(_: bool) -> Self {
        None
    }
    fn set_option(&self, to: &mut bool) {
        *to = self.unwrap_or(*to);
    }
}

/// What may say nothing, and is not to be written then.
trait Omittable {
    fn is_left_out(&self) -> bool {
        false
    }
}
impl Omittable for bool {}
impl Omittable for u32 {}
impl Omittable for Time {}
impl<K> Omittable for Option<K> {
    fn is_left_out(&self) -> bool {
        self.is_none()
    }
}

/// The type of an option's key.
macro_rules! key {
    (flag) => { bool };
    (dependent_flag) => { Option<bool> };
    (count) => { u32 };
    (time) => { Time };
    (optional_count) => { Option<u32> };
    (optional_time) => { Option<Time> };
}

/// Makes [`Tcp`] of the table of options.
macro_rules! tcp {
    ($($(#[$doc:meta])* $name:ident: $kind:ident($($default:tt)+),)*) => {
        /// `tcp = { … }`, the same at both ends; `tcp = "linux"` is short for
        /// `tcp = { preset = "linux" }`.
        ///
        /// A preset gives other defaults than those below, and what is written beside it wins.
        /// Presets say everything but `mss`, `window`, `ecn`, `nagle`, `keep_alive` and `msl`. On
        /// the command line, `--set flow.0.tcp.preset=linux` lays the preset over what the file has,
        /// which keeps the file's `mss` and `window`; `--set flow.0.tcp=linux` replaces all of the
        /// file's TCP.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default, expecting = "a table with the keys of a TCP")]
        pub struct Tcp {
            /// A TCP known by name: `"tahoe-1988"` and `"reno-bsd"` (BSD's coarse clock: 500 ms
            /// ticks, a first timeout of 6 s, delayed acknowledgments on 200 ms ticks, one segment
            /// to begin with), `"newreno"` and `"sack"` (the RFCs' TCP with that recovery),
            /// `"linux"` (Linux's defaults, without HyStart, and with acknowledgments delayed by
            /// 40 ms, the shortest that Linux does). Default: none.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Option<crate::schema::PresetName>")]
            pub preset: Option<String>,
            /// How losses are found and repaired. Default `"sack"`.
            pub recovery: Recovery,
            /// How the congestion window grows. Default `"reno"`. Not every growth goes with every
            /// recovery: see [`pairs`](driftway_tcp::pairs).
            pub growth: Growth,
            /// Largest payload of a segment before options (RFC 6691). Default 1460 B.
            pub mss: Size,
            /// The receiver's buffer, which is the largest window it offers: a size, or a bare
            /// number of segments. Default 64 kB.
            pub window: Window,
            /// The clock that round trips and timers are counted in. Default 1 ms.
            pub tick: Tick,
            /// Whether the receiver delays acknowledgments (RFC 5681 §4.2). Default true.
            pub delayed_ack: bool,
            /// How long it delays them at most. With a coarse clock (timer ticks of 200 ms or more)
            /// this timer fires on a tick of its own length, as BSD's fast timer does; otherwise
            /// exactly. Default 200 ms.
            pub delayed_ack_timeout: Time,
            $(
                $(#[$doc])*
                #[doc = option_default_doc!($kind $($default)+)]
                #[serde(skip_serializing_if = "Omittable::is_left_out")]
                pub $name: key!($kind),
            )*
        }

        impl Default for Tcp {
            fn default() -> Self {
                let config = Config::default();
                Self {
                    preset: None,
                    recovery: Keyword(config.recovery),
                    growth: Keyword(config.growth),
                    mss: Size(config.mss.into()),
                    window: Window::Bytes(Size(64_000)),
                    tick: Tick::default(),
                    delayed_ack: true,
                    delayed_ack_timeout: Time::from_millis(200),
                    $($name: OptionKey::from_default(config.$name),)*
                }
            }
        }

        impl Tcp {
            /// Sets the options of the table.
            fn set_options(&self, config: &mut Config) {
                $(self.$name.set_option(&mut config.$name);)*
            }
        }
    };
}
options!(tcp);

impl Tcp {
    /// What a connection at a host with this clock is made from.
    pub fn config(&self, clock: Clock) -> Config {
        let Time(timeout) = self.delayed_ack_timeout;
        let on_tick = clock.timer_tick >= COARSE_TICK;
        let mut config = Config {
            recovery: self.recovery.0,
            growth: self.growth.0,
            mss: u16::try_from(self.mss.0).unwrap_or(u16::MAX),
            receive_buffer: u32::try_from(self.window_bytes()).unwrap_or(u32::MAX),
            clock,
            delayed_ack: self.delayed_ack.then_some(DelayedAck { timeout, on_tick }),
            sack: self.recovery.0.uses_sack(),
            ..Config::default()
        };
        self.set_options(&mut config);
        config.window_scale = self.scales_window();
        config.limited_transmit = self.uses_limited_transmit();
        config.window_validation = self.validates_window();
        config
    }

    /// The receiver's buffer in bytes.
    pub fn window_bytes(&self) -> u64 {
        match self.window {
            Window::Bytes(Size(bytes)) => bytes,
            Window::Segments(count) => u64::from(count).saturating_mul(self.mss.0),
        }
    }

    /// Whether windows are scaled.
    pub fn scales_window(&self) -> bool {
        self.window_scale.unwrap_or(self.window_bytes() > 65_535)
    }

    /// Whether the first two duplicate ACKs send new segments.
    pub fn uses_limited_transmit(&self) -> bool {
        self.limited_transmit.unwrap_or(self.recovery.0.uses_limited_transmit())
    }

    /// Whether the congestion window grows only while it is used.
    pub fn validates_window(&self) -> bool {
        self.window_validation.unwrap_or(self.recovery.0.validates_window())
    }

    /// Writes the defaults that depend on other keys.
    pub(crate) fn resolve(&mut self) {
        self.window_scale = Some(self.scales_window());
        self.limited_transmit = Some(self.uses_limited_transmit());
        self.window_validation = Some(self.validates_window());
    }
}

/// How losses are found and repaired, by its name.
pub type Recovery = Keyword<RecoveryKind>;

impl Keywords for RecoveryKind {
    const ALL: &'static [(&'static str, Self)] = Self::ALL;
}

/// How the congestion window grows, by its name.
pub type Growth = Keyword<GrowthKind>;

impl Keywords for GrowthKind {
    const ALL: &'static [(&'static str, Self)] = Self::ALL;
}

/// A window: `"16 kB"`, or a bare number of segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Window {
    /// So many bytes.
    Bytes(Size),
    /// So many segments of `mss`.
    Segments(u32),
}

/// TCP's clock: one value for all, or `{ rtt, timer, phase }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Tick {
    /// Round trips are measured in this. Default 1 ms.
    pub rtt: Time,
    /// Timers go off at multiples of this. Default 1 ms.
    pub timer: Time,
    /// Where the multiples begin. Default `"random"`.
    pub phase: Phase,
}

/// Where a clock's multiples begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Anywhere within a tick, by seed and host.
    Random,
    /// So long after the start of the run.
    At(Time),
}

impl Default for Tick {
    fn default() -> Self {
        Self::uniform(Time::from_millis(1))
    }
}

impl Tick {
    /// The same for round trips and timers, with a random phase.
    pub const fn uniform(tick: Time) -> Self {
        Self { rtt: tick, timer: tick, phase: Phase::Random }
    }
}

impl Serialize for Phase {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Random => serializer.serialize_str("random"),
            Self::At(time) => time.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Phase {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PhaseVisitor;
        impl Visitor<'_> for PhaseVisitor {
            type Value = Phase;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time with its unit, such as \"20 ms\", or \"random\"")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Phase, E> {
                match text {
                    "random" => Ok(Phase::Random),
                    _ => text.parse().map(Phase::At).map_err(E::custom),
                }
            }
        }
        deserializer.deserialize_any(PhaseVisitor)
    }
}

impl<'de> Deserialize<'de> for Window {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Window;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size with its unit, such as \"16 kB\", or a number of segments")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Window, E> {
                text.parse().map(Window::Bytes).map_err(E::custom)
            }
            fn visit_i64<E: serde::de::Error>(self, count: i64) -> Result<Window, E> {
                let wrong = |_| E::invalid_value(Unexpected::Signed(count), &self);
                u32::try_from(count).map(Window::Segments).map_err(wrong)
            }
            fn visit_u64<E: serde::de::Error>(self, count: u64) -> Result<Window, E> {
                let wrong = |_| E::invalid_value(Unexpected::Unsigned(count), &self);
                u32::try_from(count).map(Window::Segments).map_err(wrong)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for Tick {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Keys {
            rtt: Option<Time>,
            timer: Option<Time>,
            phase: Option<Phase>,
        }
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Tick;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a time with its unit, such as \"500 ms\", or a table with the keys `rtt`, \
                     `timer`, `phase`",
                )
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Tick, E> {
                text.parse().map(Tick::uniform).map_err(E::custom)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Tick, A::Error> {
                let keys = Keys::deserialize(MapAccessDeserializer::new(map))?;
                let default = Tick::default();
                Ok(Tick {
                    rtt: keys.rtt.unwrap_or(default.rtt),
                    timer: keys.timer.unwrap_or(default.timer),
                    phase: keys.phase.unwrap_or(default.phase),
                })
            }
        }
        deserializer.deserialize_any(Either)
    }
}
