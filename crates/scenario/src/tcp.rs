//! The table `tcp`: TCP at both ends of a flow.

use std::str::FromStr;

use driftway_base::Duration;
use driftway_tcp::{
    Clock, Config, DelayedAck, HystartKind, RecoveryKind, option_default_text, options,
};
use serde::{Deserialize, Serialize};

use crate::file_value::{FileValue, Keyword, Keywords};
use crate::growth::Growth;
use crate::keys::keys;
use crate::rules;
use crate::value_or::{self, TextOrTable, value_or};
use crate::{Size, Time};

/// Coarser clocks are those of BSD, whose delayed acknowledgments have their own tick.
const COARSE_TICK: Duration = Duration::from_millis(200);

/// A key of the file for an option of type `T` of a connection.
trait OptionKey<T>: Sized {
    /// Converts the default to the file's value.
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

/// Options without a default.
impl<T, K: FileValue<T>> OptionKey<Option<T>> for Option<K> {
    fn from_default(default: Option<T>) -> Self {
        default.map(FileValue::from_config)
    }
    fn set_option(&self, to: &mut Option<T>) {
        *to = self.as_ref().map(FileValue::to_config);
    }
}

/// A flag whose default depends on other keys.
impl OptionKey<bool> for Option<bool> {
    fn from_default(_: bool) -> Self {
        None
    }
    fn set_option(&self, to: &mut bool) {
        *to = self.unwrap_or(*to);
    }
}

/// A value that may be absent and is then not serialized.
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

/// Generates [`Tcp`] from the table of options.
macro_rules! tcp {
    ($(
        $(#[$doc:meta])* $name:ident: $kind:ident($($default:tt)+)
            $([$($rule:ident($($argument:tt)*)),+])?,
    )*) => {
        /// TCP configuration of both ends of a flow: `tcp = { … }`; `tcp = "linux"` is short for
        /// `tcp = { preset = "linux" }`.
        ///
        /// A preset provides other defaults than those given below; written keys take precedence.
        /// Presets set all keys but `mss`, `window`, `ecn`, `nagle`, `keep_alive` and `msl`. On the
        /// command line, `--set flow.0.tcp.preset=linux` overrides the keys that the preset sets
        /// and keeps the file's `mss` and `window`; `--set flow.0.tcp=linux` replaces the whole TCP
        /// configuration of the file.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default, expecting = "a table with the keys of a TCP")]
        #[schemars(transform = rules::describe::<Tcp>)]
        pub struct Tcp {
            /// A named TCP configuration: `"tahoe-1988"` and `"reno-bsd"` (4.4BSD with its coarse
            /// clock: 500 ms ticks, an initial timeout of 6 s, delayed acknowledgments on 200 ms
            /// ticks, an initial window of one segment), `"newreno"` and `"sack"` (the current RFCs
            /// with that loss recovery), `"linux"` (the defaults of Linux 6), `"linux-bbr"` and
            /// `"bbr3"` (the same with BBR version 1 or 3), or `"ns-2"` (ns-2.35).
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Option<crate::schema::PresetName>", extend("x-default" = "none"))]
            pub preset: Option<String>,
            /// Loss recovery: `"tahoe"`, `"reno"`, `"newreno"`, `"sack"`, `"rack-tlp"` or
            /// `"segment-timers"`.
            pub recovery: Recovery,
            /// Congestion control: `"reno"` (RFC 5681), `"cubic"` (RFC 9438), `"bbr"` (BBR version 1,
            /// as in Linux) or `"bbr3"` (BBR version 3, draft-ietf-ccwg-bbr-04). Not every one is
            /// available with every `flow.tcp.recovery`: tahoe and reno need `"reno"`; `"bbr"` and
            /// `"bbr3"`, which measure the delivery rate and pace by it, need rack-tlp.
            pub growth: Growth,
            /// The end of slow start before losses: `"none"`, `"linux"` (HyStart of Linux' CUBIC, by trains of ACKs
            /// and by delay) or `"rfc9406"` (HyStart++).
            pub hystart: Hystart,
            /// Maximum segment size: the largest payload of a segment, before TCP options are
            /// subtracted (RFC 6691).
            pub mss: Size,
            /// Receive buffer, which is the largest window that the receiver advertises: a size, or
            /// a bare number of segments.
            pub window: Window,
            /// Granularity of the clock for round-trip times and timers: a time for both, or a
            /// table `{ rtt = "500 ms", timer = "500 ms", phase = "random" }`.
            #[serde(deserialize_with = "value_or::text_or_table")]
            #[schemars(with = "value_or::OrTable<Time, Tick>")]
            pub tick: Tick,
            /// Delayed acknowledgments of the receiver (RFC 5681 §4.2).
            pub delayed_ack: bool,
            /// Maximum delay of a delayed acknowledgment. With a coarse clock (timer ticks of
            /// 200 ms or more) this timer expires on ticks of its own length, as BSD's fast timer
            /// does; otherwise exactly.
            pub delayed_ack_timeout: Time,
            $(
                $(#[$doc])*
                #[serde(skip_serializing_if = "Omittable::is_left_out")]
                #[schemars(extend("x-default" = option_default_text!($kind $($default)+)))]
                pub $name: key!($kind),
            )*
        }

        impl Default for Tcp {
            fn default() -> Self {
                let config = Config::default();
                Self {
                    preset: None,
                    recovery: Keyword(config.recovery),
                    growth: Growth::BuiltIn(config.growth),
                    hystart: Keyword(config.hystart),
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

        rules::ruled! {
            Tcp {
                // From TCP_MIN_SND_MSS of Linux, 40 bytes of options and 8 of payload, to the largest IP
                // datagram without its headers.
                mss [range("an mss of", 48..=65_495),],
                tick [inside(),],
                delayed_ack_timeout [positive(),],
                $($name [$($($rule($($argument)*),)+)?],)*
            }
        }
    };
}
options!(tcp);

impl Tcp {
    /// Configuration of a connection at a host with this clock.
    pub fn config(&self, clock: Clock) -> Config {
        let Time(timeout) = self.delayed_ack_timeout;
        let on_tick = clock.timer_tick >= COARSE_TICK;
        let mut config = Config {
            recovery: self.recovery.0,
            growth: self.growth.kind(),
            hystart: self.hystart.0,
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

    /// Receive buffer in bytes.
    pub fn window_bytes(&self) -> u64 {
        match self.window {
            Window::Bytes(Size(bytes)) => bytes,
            Window::Segments(count) => u64::from(count).saturating_mul(self.mss.0),
        }
    }

    /// Returns whether window scaling is used.
    pub fn scales_window(&self) -> bool {
        self.window_scale.unwrap_or(self.window_bytes() > 65_535)
    }

    /// Returns whether limited transmit (RFC 3042) is used.
    pub fn uses_limited_transmit(&self) -> bool {
        self.limited_transmit.unwrap_or(self.recovery.0.uses_limited_transmit())
    }

    /// Returns whether the congestion window is validated: it grows only while it is used.
    pub fn validates_window(&self) -> bool {
        self.window_validation.unwrap_or(self.recovery.0.validates_window())
    }

    /// Fills in the defaults that depend on other keys.
    pub(crate) fn resolve(&mut self) {
        self.window_scale = Some(self.scales_window());
        self.limited_transmit = Some(self.uses_limited_transmit());
        self.window_validation = Some(self.validates_window());
    }
}

/// Loss recovery, by its name.
pub type Recovery = Keyword<RecoveryKind>;

impl Keywords for RecoveryKind {
    const ALL: &'static [(&'static str, Self)] = Self::ALL;
}

/// The end of slow start, by its name.
pub type Hystart = Keyword<HystartKind>;

value_or! {
    /// A window: `"16 kB"`, or a bare number of segments.
    #[derive(Eq)]
    pub enum Window
    expecting "a size with its unit, such as \"16 kB\", or a number of segments" {
        /// A number of bytes.
        Bytes(size: Size) from text,
        /// A number of segments of the MSS.
        Segments(count: u32) from number "number of segments",
    }
}

keys! {
    /// Clock granularity, `{ rtt = "500 ms", timer = "500 ms", wheel = false, phase = "random" }`. A time alone is the
    /// granularity of both.
    #[derive(Copy, Eq)]
    pub struct Tick with defaults expecting "a table with the keys `rtt`, `timer`, `wheel`, `phase`" {
        /// Granularity of round-trip time measurements.
        rtt: Time [positive()] = Time::from_millis(1),
        /// Timers expire at multiples of this.
        timer: Time [positive()] = Time::from_millis(1),
        /// Timers expire as in the timer wheel of Linux, later than they are due: up to a tick for a timer of less
        /// than 63 ticks, up to 8 ticks for one of less than 504, up to 64 for one of less than 4032, and so on. A tick is
        /// `flow.tcp.tick.timer`: `"4 ms"` for a kernel with 250 ticks a second (`CONFIG_HZ`), `"1 ms"` for one with
        /// 1000. RACK's timer and the tail loss probe wait 2 ms longer (TCP_TIMEOUT_MIN).
        wheel: bool = false,
        /// Phase of the clock: time of its first tick, shorter than `flow.tcp.tick.timer`; random:
        /// drawn by seed and host.
        phase: Phase = Phase::Random,
    }
}

value_or! {
    /// Phase of a clock.
    #[derive(Eq)]
    pub enum Phase expecting "a time with its unit, such as \"20 ms\", or \"random\"" {
        /// `"random"`: drawn within one tick, with a wheel within its longest bucket, by seed and host.
        Random = "random",
        /// This time after the start of the run.
        At(time: Time) from text,
    }
}

impl Tick {
    /// The same granularity for round-trip times and timers, with a random phase.
    pub const fn uniform(tick: Time) -> Self {
        Self { rtt: tick, timer: tick, wheel: false, phase: Phase::Random }
    }
}

impl TextOrTable for Tick {
    const EXPECTING: &'static str = "a time with its unit, such as \"500 ms\", or a table with the \
        keys `rtt`, `timer`, `wheel`, `phase`";
}

impl FromStr for Tick {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Self::uniform)
    }
}
