//! The tables `[[network.fault]]`: faults of a network and their schedule.

mod kind;
mod schedule;

use std::fmt;

use driftway_base::{Duration, Rate};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::tagged::{self, Tagged};
use crate::{BitRate, Delay, Size, Time};

pub use kind::FaultKind;
pub use schedule::Schedule;

/// A fault of a network, `[[network.fault]]`; the key `kind` selects the variant. In a mixed network
/// the hops are its wires, and hop 1 is the first `[[network.wire]]` of the file.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Fault {
    /// `"partition"`: an outage of a hop in both directions.
    Partition(Partition),
    /// `"congestion"`: bursts of cross traffic through a hop.
    Congestion(Congestion),
    /// `"reordering"`: packets overtake others.
    Reordering(Reordering),
    /// `"interference"`: continuous cross traffic through a hop.
    Interference(Interference),
    /// `"change"`: a hop changes its rate or delay.
    Change(HopChange),
    /// `"radio-down"`: an outage of the radio of a node, in networks of kind `"adhoc"` and
    /// `"mixed"`. All other kinds but `"fading"` are of paths and of the wires of mixed networks.
    RadioDown(RadioDown),
    /// `"fading"`: a false warning of an outage that does not occur.
    Fading(FalseWarning),
}

impl Fault {
    /// Value of the key `kind`.
    pub const fn kind(&self) -> FaultKind {
        match self {
            Self::Partition(_) => FaultKind::Partition,
            Self::Congestion(_) => FaultKind::Congestion,
            Self::Reordering(_) => FaultKind::Reordering,
            Self::Interference(_) => FaultKind::Interference,
            Self::Change(_) => FaultKind::Change,
            Self::RadioDown(_) => FaultKind::RadioDown,
            Self::Fading(_) => FaultKind::Fading,
        }
    }
}

/// Partitions of a hop, `kind = "partition"`: packets on the hop or sent into it during a partition
/// are lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a partition")]
pub struct Partition {
    /// Number of the hop, or `"random"`: another hop for each partition.
    pub hop: PartitionHop,
    /// Time from the start of one partition to the start of the next. Default: none, a single
    /// partition at `network.fault.first`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Time>,
    /// Start of the first partition. Default: the value of `network.fault.every`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Time>,
    /// Maximum delay of the start of a partition: each one starts later than scheduled by a time
    /// drawn uniformly from 0 to this, which does not shift those after it. `network.fault.lasts`
    /// and this together are shorter than `network.fault.every`. Default 0 s.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub jitter: Time,
    /// Duration of a partition: `"5 s"`, or `{ uniform = ["50 ms", "4 s"] }` or
    /// `{ mean = "2 s", spread = 0.5 }`, which is drawn for each one; shorter than
    /// `network.fault.every`.
    pub lasts: Delay,
    /// Number of partitions. Without `network.fault.every` and `network.fault.first`, and with
    /// `network.fault.hop = "random"`, their starts are distributed at random over the duration of
    /// the scenario. Default: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Treatment of the packets queued for the hop when a partition starts: `"wait"` or `"drop"`.
    /// Default `"wait"`.
    #[serde(default)]
    pub queue: PartitionQueue,
    /// Notification that the router in front of the partition sends for each packet it cannot
    /// forward: `"icmp-unreachable"`, `"rfn"`, `"link"` or `"none"`. Default `"icmp-unreachable"`.
    #[serde(default)]
    pub signal: PartitionSignal,
    /// Probability that a notification is lost at its origin; with `network.fault.signal = "rfn"`,
    /// of each RFN and RRN; with `network.fault.signal = "link"`, that a partition occurs without
    /// its warning (`network.fault.lead`): that the link is down or up is always signalled. 0 to 1.
    /// Default 0.
    #[serde(default)]
    pub signal_loss: f64,
    /// Time before a partition at which the hosts at both ends of the hop are warned of it. Needs
    /// `network.fault.signal = "link"`. Default: no warning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead: Option<Time>,
}

/// Bursts of cross traffic, `kind = "congestion"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a congestion")]
pub struct Congestion {
    /// Number of the hop.
    pub hop: u32,
    /// Time from the start of one burst to the start of the next. Default: none, a single burst at
    /// `network.fault.first`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Time>,
    /// Start of the first burst. Default: the value of `network.fault.every`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Time>,
    /// Duration of a burst; shorter than `network.fault.every`.
    pub lasts: Time,
    /// Size of the IP packets of the cross traffic. 28 B to 65535 B. Default 100 B.
    #[serde(default = "default_packet_bytes")]
    pub size: Size,
    /// Rate of the cross traffic. Default: twice the rate of the hop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// Direction of the cross traffic: `"forward"`, `"backward"` or `"both"`. Default `"forward"`.
    #[serde(default)]
    pub direction: Direction,
    /// During a burst the queue of the hop marks every ECN-capable packet in the direction of the
    /// burst, regardless of its `ecn_threshold` (liu-singh-2001 §V-B: congestion results in an
    /// explicit congestion notification). The link's `mark_loss` applies to these marks too.
    /// Default false.
    #[serde(default, skip_serializing_if = "is_false")]
    pub marks: bool,
}

/// Reordering, `kind = "reordering"`: at each scheduled time, the next packets that arrive at the
/// hop's queue are reordered as `how` specifies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a reordering")]
pub struct Reordering {
    /// Number of the hop.
    pub hop: u32,
    /// Time from one reordering to the next. Default: none, a single reordering at
    /// `network.fault.first`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Time>,
    /// Time of the first reordering. Default: the value of `network.fault.every`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Time>,
    /// Number of packets in each reordering. Default 4.
    #[serde(default = "default_reordered_packets")]
    pub packets: u32,
    /// Direction of the packets: `"forward"`, `"backward"` or `"both"`. Default `"forward"`.
    #[serde(default)]
    pub direction: Direction,
    /// Reordering method: `"front"` (each packet is moved to the front of the queue) or `"reverse"`
    /// (the packets are held back and sent in reverse order). Default `"front"`.
    #[serde(default, skip_serializing_if = "is_front")]
    pub how: ReorderMode,
    /// Maximum time for which the first packet is held back with `network.fault.how = "reverse"`;
    /// then the packets that have arrived are released. Default 5 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<Time>,
}

/// Continuous cross traffic, `kind = "interference"`, which uses the queue and rate of a hop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of an interference")]
pub struct Interference {
    /// Number of the hop, or `"intermediate"`: every hop whose sending node is not an end of the
    /// path (paths only).
    pub hop: InterferenceHop,
    /// Interval between two packets; the mean interval with `network.fault.spacing = "poisson"`.
    pub every: Time,
    /// Size of the IP packets of the cross traffic. 28 B to 65535 B. Default 100 B.
    #[serde(default = "default_packet_bytes")]
    pub size: Size,
    /// Distribution of the intervals: `"constant"` or `"poisson"`. Default `"constant"`.
    #[serde(default)]
    pub spacing: Spacing,
    /// Direction of the cross traffic: `"forward"`, `"backward"` or `"both"`. Default `"forward"`.
    #[serde(default)]
    pub direction: Direction,
}

/// Change of a hop, `kind = "change"`: its rate, its delay or both are set to a value drawn at
/// random from those listed that differ from the current one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a change")]
pub struct HopChange {
    /// Number of the hop.
    pub hop: u32,
    /// Trigger of the change: `"partition"`, the end of each partition of this hop. Alternative to
    /// `network.fault.at`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<ChangeTrigger>,
    /// Time of a single change. Alternative to `network.fault.after`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
    /// Candidate rates. Default: none, the rate is unchanged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rate: Vec<BitRate>,
    /// Candidate delays. Default: none, the delay is unchanged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delay: Vec<Delay>,
}

/// Outages of the radio of a node, `kind = "radio-down"`: during an outage the radio neither sends
/// nor receives, and frames on the air from it or to it when the outage starts are lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of an outage of a radio")]
pub struct RadioDown {
    /// Node: its number, or its name in a mixed network.
    #[schemars(with = "crate::schema::NodeReference")]
    pub node: u32,
    /// Time from the start of one outage to the start of the next. Default: none, a single outage
    /// at `network.fault.first`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Time>,
    /// Start of the first outage. Default: the value of `network.fault.every`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Time>,
    /// Maximum delay of the start of an outage: each one starts later than scheduled by a time drawn
    /// uniformly from 0 to this, which does not shift those after it. `network.fault.lasts` and
    /// this together are shorter than `network.fault.every`. Default 0 s.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub jitter: Time,
    /// Duration of an outage: `"5 s"`, or `{ uniform = ["50 ms", "4 s"] }` or
    /// `{ mean = "2 s", spread = 0.5 }`, which is drawn for each one; shorter than
    /// `network.fault.every`.
    pub lasts: Delay,
    /// Number of outages. Default: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Treatment of the packets in the node's interface queue when an outage starts: `"wait"` or
    /// `"drop"`. Default `"wait"`.
    #[serde(default)]
    pub queue: PartitionQueue,
    /// Notification of the host at the node: `"link"` or `"none"`. It concerns all connections of
    /// the host, those over wires too. Default `"none"`.
    #[serde(default, skip_serializing_if = "is_without_signal")]
    pub signal: RadioSignal,
    /// Probability that an outage occurs without its warning (`network.fault.lead`). 0 to 1.
    /// Default 0.
    #[serde(default, skip_serializing_if = "is_zero_f64")]
    pub signal_loss: f64,
    /// Time before an outage at which the host at the node is warned of it. Needs
    /// `network.fault.signal = "link"`. Default: no warning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead: Option<Time>,
}

/// False warnings, `kind = "fading"`: at each scheduled time the hosts at both ends of a hop, or the
/// host at a node with a radio, are warned that their link is about to go down, and it stays up. The
/// warning is not withdrawn. There is none while the link is down for another reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a false warning")]
pub struct FalseWarning {
    /// Number of the hop. Alternative to `network.fault.node`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hop: Option<u32>,
    /// Node with a radio: its number, or its name in a mixed network. Alternative to
    /// `network.fault.hop`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::schema::NodeReference>")]
    pub node: Option<u32>,
    /// Time from one warning to the next. Default: none, a single warning at
    /// `network.fault.first`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Time>,
    /// Time of the first warning. Default: the value of `network.fault.every`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Time>,
    /// Maximum delay of a warning: each one is later than scheduled by a time drawn uniformly from 0
    /// to this; shorter than `network.fault.every`. Default 0 s.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub jitter: Time,
    /// Number of warnings. Default: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Time after a warning at which the outage would occur that the hosts are warned of.
    pub lead: Time,
}

/// Hop of a partition: a number or `"random"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionHop {
    /// This hop.
    Number(u32),
    /// `"random"`: another hop each time.
    Random,
}

/// Hop with continuous cross traffic: a number or `"intermediate"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterferenceHop {
    /// This hop.
    Number(u32),
    /// `"intermediate"`: every hop whose sending node is not an end of the path.
    Intermediate,
}

/// Treatment of the packets queued for a hop when a partition starts, or for a radio when its outage
/// starts.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum PartitionQueue {
    /// `"wait"`: they stay queued until the partition or outage ends.
    #[default]
    Wait,
    /// `"drop"`: they are dropped.
    Drop,
}

/// Notification by the router in front of a partition.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum PartitionSignal {
    /// `"icmp-unreachable"`: an ICMP destination unreachable for each packet that cannot be
    /// forwarded (RFC 792).
    #[default]
    IcmpUnreachable,
    /// `"rfn"`: a route failure notification for each packet that cannot be forwarded and, when the
    /// partition ends, a route re-establishment notification to each source that was sent one.
    /// Intermediate routers record the failure and use another route if they have one
    /// (chandran-1998 §4; see `network.routers`). Paths only.
    Rfn,
    /// `"link"`: routers send nothing, but the hosts at both ends of the hop are informed that
    /// their link goes down and comes up again, and with `lead` that it is about to go down. In
    /// emulation the device of a kernel at an end of the hop loses its carrier and regains it, if
    /// the node has no other link; what the kernel sends meanwhile is lost, also with `queue =
    /// "wait"`. A kernel has no equivalent of `lead`.
    Link,
    /// `"none"`: no notification.
    None,
}

/// Notification of the host at a node whose radio has an outage.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum RadioSignal {
    /// `"link"`: the host is informed that its link goes down and comes up again, and with `lead`
    /// that it is about to go down. Hosts at other nodes learn of it only by
    /// `network.link_signals`.
    Link,
    /// `"none"`: no notification.
    #[default]
    None,
}

/// Reordering method (`liu-singh-2001` §V-D allows both interpretations).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ReorderMode {
    /// `"front"`: each packet is moved to the front of the queue on arrival.
    #[default]
    Front,
    /// `"reverse"`: the packets are held back until all of them have arrived, and then appended to
    /// the queue in reverse order. They occupy the queue meanwhile. They are released earlier when
    /// `at_most` expires, when the queue is full, when a partition starts, and at the next
    /// scheduled reordering: none is held indefinitely, and none is lost.
    Reverse,
}

/// Distribution of the intervals between packets of cross traffic.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    /// `"constant"`: equal intervals.
    #[default]
    Constant,
    /// `"poisson"`: exponentially distributed intervals.
    Poisson,
}

/// Direction along the path, or over the wire of a mixed network.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// `"forward"`: from node 0 to the last node; in a mixed network from the first node in the
    /// wire's `between` to the second.
    #[default]
    Forward,
    /// `"backward"`: the opposite direction.
    Backward,
    /// `"both"`: both directions.
    Both,
}

/// Trigger of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeTrigger {
    /// `"partition"`: the end of each partition of the same hop.
    Partition,
}

impl Partition {
    /// Schedule of the partitions; `None`: `count` of them at random times.
    pub fn schedule(&self) -> Option<Schedule> {
        Schedule::new(self.first, self.every, self.count)
    }
}

impl RadioDown {
    /// Schedule of the outages; `None` only in a scenario that was not checked.
    pub fn schedule(&self) -> Option<Schedule> {
        Schedule::new(self.first, self.every, self.count)
    }
}

impl FalseWarning {
    /// Schedule of the warnings; `None` only in a scenario that was not checked.
    pub fn schedule(&self) -> Option<Schedule> {
        Schedule::new(self.first, self.every, self.count)
    }
}

impl Congestion {
    /// Schedule of the bursts; `None` only in a scenario that was not checked.
    pub fn schedule(&self) -> Option<Schedule> {
        Schedule::new(self.first, self.every, None)
    }
}

impl Reordering {
    /// Maximum time for which a packet is held back.
    pub fn at_most(&self) -> Duration {
        self.at_most.map_or(Duration::from_secs(5), |Time(span)| span)
    }

    /// Schedule of the reorderings; `None` only in a scenario that was not checked.
    pub fn schedule(&self) -> Option<Schedule> {
        Schedule::new(self.first, self.every, None)
    }
}

/// Fills in the defaults that depend on other keys; `rate_of` returns the rate of a hop, if it exists.
pub(crate) fn resolve(faults: &mut [Fault], rate_of: impl Fn(u32) -> Option<BitRate>) {
    for fault in faults {
        match fault {
            Fault::Congestion(flood) => {
                let twice = |BitRate(hop)| BitRate(Rate::from_bps(hop.as_bps().saturating_mul(2)));
                flood.rate = flood.rate.or_else(|| rate_of(flood.hop).map(twice));
            }
            Fault::Reordering(fault) if fault.how == ReorderMode::Reverse => {
                fault.at_most = Some(Time(fault.at_most()));
            }
            _ => {}
        }
    }
}

fn default_packet_bytes() -> Size {
    Size(100)
}

fn is_false(on: &bool) -> bool {
    !*on
}

fn is_zero(Time(span): &Time) -> bool {
    *span == Duration::ZERO
}

fn is_zero_f64(value: &f64) -> bool {
    *value == 0.0
}

fn is_without_signal(signal: &RadioSignal) -> bool {
    *signal == RadioSignal::None
}

fn is_front(how: &ReorderMode) -> bool {
    *how == ReorderMode::Front
}

fn default_reordered_packets() -> u32 {
    4
}

/// Values of `kind`.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    Partition,
    Congestion,
    Reordering,
    Interference,
    Change,
    RadioDown,
    Fading,
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
            Kind::RadioDown => RadioDown::deserialize(rest).map(Self::RadioDown),
            Kind::Fading => FalseWarning::deserialize(rest).map(Self::Fading),
        }
    }
}

impl<'de> Deserialize<'de> for Fault {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}

/// Serialization of a hop number or one word in its place.
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
