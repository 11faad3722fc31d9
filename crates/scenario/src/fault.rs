//! `[[network.fault]]`: what goes wrong on a path, and when.

use std::fmt;

use driftway_base::{Duration, Instant};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::tagged::{self, Tagged};
use crate::{BitRate, Delay, Size, Time};

/// `[[network.fault]]`. `kind` says which of these it is.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Fault {
    /// A hop is cut in both directions for a while.
    Partition(Partition),
    /// Foreign packets flood a hop for a while.
    Congestion(Congestion),
    /// Packets overtake others.
    Reordering(Reordering),
    /// Foreign packets share a hop all the time.
    Interference(Interference),
    /// A hop changes its rate or delay.
    Change(HopChange),
}

/// `kind = "partition"`: what is on the hop or sent into it is lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a partition")]
pub struct Partition {
    /// Which hop, or `"random"`: another one each time.
    pub hop: PartitionHop,
    /// From the beginning of one cut to the beginning of the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Time>,
    /// When the first cut begins. Default: at `every`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Time>,
    /// How long a cut lasts.
    pub lasts: Time,
    /// How many cuts there are. Without `every` and `first`, and with `hop = "random"`, their
    /// beginnings are placed at random over the scenario's duration. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// What becomes of packets that wait before the hop. Default `"wait"`.
    #[serde(default)]
    pub queue: PartitionQueue,
    /// What the router before the cut says for each packet it refuses. Default
    /// `"icmp-unreachable"`.
    #[serde(default)]
    pub signal: PartitionSignal,
    /// The probability that a signal is dropped at its source; with `"rfn"`, that an RFN is, or an
    /// RRN. Default 0.
    #[serde(default)]
    pub signal_loss: f64,
    /// With `signal = "link"`: how long before a cut the ends of the hop see it coming. Default: they do
    /// not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead: Option<Time>,
}

/// `kind = "congestion"`: a flood of foreign packets into a hop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a congestion")]
pub struct Congestion {
    /// Which hop.
    pub hop: u32,
    /// From the beginning of one flood to the beginning of the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Time>,
    /// When the first flood begins. Default: at `every`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Time>,
    /// How long a flood lasts.
    pub lasts: Time,
    /// Size of its IP packets. Default 100 B.
    #[serde(default = "default_packet_bytes")]
    pub size: Size,
    /// Rate of the flood. Default: twice the rate of the hop, which is written here once the
    /// scenario is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// Which way it goes. Default `"forward"`.
    #[serde(default)]
    pub direction: Direction,
    /// While a flood is on, does the hop's queue mark every packet in the flood's direction that is
    /// ECN-capable, whatever its `ecn_threshold` says and without one, too (`liu-singh-2001` §V-B: a
    /// flood results in an explicit congestion notification)? A link's `mark_loss` holds for these
    /// marks as well. Default false.
    #[serde(default, skip_serializing_if = "is_false")]
    pub marks: bool,
}

/// `kind = "reordering"`: at each time, the next packets that arrive at the hop's queue overtake
/// others, as `how` says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a reordering")]
pub struct Reordering {
    /// Which hop.
    pub hop: u32,
    /// From one time to the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Time>,
    /// The first time. Default: at `every`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Time>,
    /// How many packets each time. Default 4.
    #[serde(default = "default_reordered_packets")]
    pub packets: u32,
    /// Packets of which direction. Default `"forward"`.
    #[serde(default)]
    pub direction: Direction,
    /// What they overtake. Default `"front"`.
    #[serde(default, skip_serializing_if = "is_front")]
    pub how: ReorderMode,
    /// With `how = "reverse"`: how long the first packet waits for the others at most; then those
    /// that have come go on, and it is over. Default 5 s, which is written here once the scenario is
    /// read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<Time>,
}

/// `kind = "interference"`: foreign packets that use the hop's queue and rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of an interference")]
pub struct Interference {
    /// Which hop, or `"intermediate"`: every hop whose sending node is not an end.
    pub hop: InterferenceHop,
    /// The gap between two packets; the mean one for `"poisson"`.
    pub every: Time,
    /// Size of its IP packets. Default 100 B.
    #[serde(default = "default_packet_bytes")]
    pub size: Size,
    /// How the gaps are distributed. Default `"constant"`.
    #[serde(default)]
    pub spacing: Spacing,
    /// Which way they go. Default `"forward"`.
    #[serde(default)]
    pub direction: Direction,
}

/// `kind = "change"`: a hop changes its rate, its delay or both, to a value picked at random among
/// those listed that differ from the present one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a change")]
pub struct HopChange {
    /// Which hop.
    pub hop: u32,
    /// `"partition"`: each time a partition of this hop ends. Either this or `at`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<ChangeTrigger>,
    /// Once, at this time. Either this or `after`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
    /// The rates to pick from. Empty: the rate stays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rate: Vec<BitRate>,
    /// The delays to pick from. Empty: the delay stays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delay: Vec<Delay>,
}

/// The hop that a partition cuts: `2` or `"random"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionHop {
    /// This one.
    Number(u32),
    /// Another one each time.
    Random,
}

/// The hop with interference: `2` or `"intermediate"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterferenceHop {
    /// This one.
    Number(u32),
    /// Every hop whose sending node is not an end of the path.
    Intermediate,
}

/// What becomes of packets that wait before a hop when it is cut.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum PartitionQueue {
    /// They wait until the cut is over.
    #[default]
    Wait,
    /// They are lost.
    Drop,
}

/// What the router before a cut says.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum PartitionSignal {
    /// An ICMP destination unreachable for each packet it refuses (RFC 792).
    #[default]
    IcmpUnreachable,
    /// A route failure notification for each packet it refuses, and, when the cut is over, a route
    /// re-establishment notification to each source that had one. Routers on the way remember the
    /// failure, and use another route if they know one (chandran-1998 §4; see `routers`).
    Rfn,
    /// Routers say nothing, but the hosts at both ends of the hop see that their link goes down, and that
    /// it is up again; with `lead`, also that it will go down. (Emulated, the ends are kernels whose
    /// links stay up: there it is as `"none"`.)
    Link,
    /// Nothing.
    None,
}

/// How packets are reordered (`liu-singh-2001` §V-D can be read either way).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ReorderMode {
    /// Each goes to the front of the queue as it comes, before all that wait.
    #[default]
    Front,
    /// They are held back until all of them have come, and then go to the end of the queue together,
    /// the last one first. What is held back waits in the queue and takes room there. It goes on
    /// earlier when `at_most` is over, when the queue is full, when the hop is cut, and at the next time
    /// of the fault: nothing is held for ever, and nothing is lost by it.
    Reverse,
}

/// How the gaps between foreign packets are distributed.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    /// All alike.
    #[default]
    Constant,
    /// Exponentially.
    Poisson,
}

/// Which way along the path.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From node 0 towards the far end.
    #[default]
    Forward,
    /// Towards node 0.
    Backward,
    /// Each way.
    Both,
}

/// What a change follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeTrigger {
    /// The end of each partition of its hop.
    Partition,
}

/// When something that comes back begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The first beginning.
    pub first: Duration,
    /// From one beginning to the next; `None`: there is but one.
    pub every: Option<Duration>,
    /// How many there are; `None`: no limit.
    pub count: Option<u32>,
}

impl Schedule {
    fn new(first: Option<Time>, every: Option<Time>, count: Option<u32>) -> Option<Self> {
        let Time(start) = first.or(every)?;
        Some(Self { first: start, every: every.map(|Time(gap)| gap), count })
    }

    /// The beginning number `n`, counted from 0; `None`: there is none.
    pub fn nth(self, n: u32) -> Option<Instant> {
        if self.count.is_some_and(|count| n >= count) {
            return None;
        }
        match self.every {
            Some(gap) => Some(Instant::ZERO + self.first + gap.times(u64::from(n))),
            None => (n == 0).then(|| Instant::ZERO + self.first),
        }
    }
}

impl Partition {
    /// When cuts begin; `None`: `count` of them at random.
    pub fn schedule(&self) -> Option<Schedule> {
        Schedule::new(self.first, self.every, self.count)
    }
}

impl Congestion {
    /// When floods begin; `None` only in a scenario that was not checked.
    pub fn schedule(&self) -> Option<Schedule> {
        Schedule::new(self.first, self.every, None)
    }
}

impl Reordering {
    /// How long a packet is held back at most, where it is.
    pub fn at_most(&self) -> Duration {
        self.at_most.map_or(Duration::from_secs(5), |Time(span)| span)
    }

    /// When packets are reordered; `None` only in a scenario that was not checked.
    pub fn schedule(&self) -> Option<Schedule> {
        Schedule::new(self.first, self.every, None)
    }
}

fn default_packet_bytes() -> Size {
    Size(100)
}

fn is_false(on: &bool) -> bool {
    !*on
}

fn is_front(how: &ReorderMode) -> bool {
    *how == ReorderMode::Front
}

fn default_reordered_packets() -> u32 {
    4
}

/// The values of `kind`.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    Partition,
    Congestion,
    Reordering,
    Interference,
    Change,
}

impl<'de> Tagged<'de> for Fault {
    const KEY: &'static str = "kind";
    type Kind = Kind;
    fn read<A: MapAccess<'de>>(
        kind: Kind,
        rest: MapAccessDeserializer<A>,
    ) -> Result<Self, A::Error> {
        match kind {
            Kind::Partition => Partition::deserialize(rest).map(Self::Partition),
            Kind::Congestion => Congestion::deserialize(rest).map(Self::Congestion),
            Kind::Reordering => Reordering::deserialize(rest).map(Self::Reordering),
            Kind::Interference => Interference::deserialize(rest).map(Self::Interference),
            Kind::Change => HopChange::deserialize(rest).map(Self::Change),
        }
    }
}

impl<'de> Deserialize<'de> for Fault {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}

/// A hop's number, or one word in its place.
macro_rules! hop_or_word {
    ($type:ident, $variant:ident, $word:literal) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    Self::Number(hop) => serializer.serialize_u32(*hop),
                    Self::$variant => serializer.serialize_str($word),
                }
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Either;
                impl Visitor<'_> for Either {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!("the number of a hop, or \"", $word, "\""))
                    }
                    fn visit_i64<E: serde::de::Error>(self, hop: i64) -> Result<$type, E> {
                        let wrong = |_| E::invalid_value(Unexpected::Signed(hop), &self);
                        u32::try_from(hop).map($type::Number).map_err(wrong)
                    }
                    fn visit_u64<E: serde::de::Error>(self, hop: u64) -> Result<$type, E> {
                        let wrong = |_| E::invalid_value(Unexpected::Unsigned(hop), &self);
                        u32::try_from(hop).map($type::Number).map_err(wrong)
                    }
                    fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<$type, E> {
                        match word {
                            $word => Ok($type::$variant),
                            _ => Err(E::invalid_value(Unexpected::Str(word), &self)),
                        }
                    }
                }
                deserializer.deserialize_any(Either)
            }
        }
    };
}

hop_or_word!(PartitionHop, Random, "random");
hop_or_word!(InterferenceHop, Intermediate, "intermediate");
