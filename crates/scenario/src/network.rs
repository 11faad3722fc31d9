//! `[network]`: what lies between the ends.

use serde::de::MapAccess;
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize};

use crate::tagged::{self, Tagged};
use driftway_base::Rate;

use crate::{Adhoc, BitRate, Fault, Link, LinkOverride, PartitionSignal, ReorderMode, Time};

/// `[network]`. `kind` says which of these it is.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[allow(clippy::large_enum_variant, reason = "a scenario has one")]
pub enum Network {
    /// A chain of store-and-forward links.
    Path(Path),
    /// Nodes with radios that move.
    Adhoc(Adhoc),
}

/// `kind = "path"`: nodes 0 … `hops` in a chain; hop *k* joins node *k* − 1 and node *k*.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a network")]
pub struct Path {
    /// Number of hops, 1 to 64.
    pub hops: u32,
    /// How packets are spread over several routes to one destination. Default `"round-robin"`.
    #[serde(default)]
    pub spread: MultipathPolicy,
    /// Every link of the chain.
    pub link: Link,
    /// What routers do with routes that fail: `[network.routers]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routers: Option<Routers>,
    /// What is different at one hop: `[[network.override]]`.
    #[serde(default, rename = "override", skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<HopOverride>,
    /// Further routes beside the chain: `[[network.parallel]]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parallel: Vec<ParallelPath>,
    /// What goes wrong, and when: `[[network.fault]]`.
    #[serde(default, rename = "fault", skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
}

impl Path {
    /// The link of hop `hop` (1 … `hops`), overrides applied in the order of the file.
    pub fn hop_link(&self, hop: u32) -> Link {
        let changes = self.overrides.iter().filter(|o| o.hop == hop);
        changes.fold(self.link.clone(), |link, o| o.link.apply_to(link))
    }

    /// Writes out the defaults that depend on other keys.
    pub(crate) fn resolve(&mut self) {
        self.link.queue.resolve();
        let overrides = self.overrides.iter_mut().map(|o| &mut o.link);
        for change in overrides.chain(self.parallel.iter_mut().map(|p| &mut p.link)) {
            if let Some(queue) = &mut change.queue {
                queue.resolve();
            }
        }
        let notifies = |fault: &Fault| matches!(fault, Fault::Partition(cut) if cut.signal == PartitionSignal::Rfn);
        if self.faults.iter().any(notifies) {
            self.routers.get_or_insert_default();
        }
        let mut faults = std::mem::take(&mut self.faults);
        for fault in &mut faults {
            if let Fault::Congestion(flood) = fault {
                let BitRate(hop) = self.hop_link(flood.hop).rate;
                let twice = BitRate(Rate::from_bps(hop.as_bps().saturating_mul(2)));
                flood.rate.get_or_insert(twice);
            }
            if let Fault::Reordering(fault) = fault
                && fault.how == ReorderMode::Reverse
            {
                fault.at_most = Some(Time(fault.at_most()));
            }
        }
        self.faults = faults;
    }

    /// The link of every hop of a parallel route.
    pub fn parallel_link(&self, route: &ParallelPath) -> Link {
        route.link.apply_to(self.link.clone())
    }
}

/// `[[network.override]]`: a hop, and any key of `[network.link]`, which replaces that of every
/// link (a `queue` is replaced as a whole).
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct HopOverride {
    /// Which hop, 1 to `hops`.
    pub hop: u32,
    /// What is different there.
    #[serde(flatten)]
    pub link: LinkOverride,
}

/// `[[network.parallel]]`: another route between two nodes of the chain, with nodes and links of
/// its own; any key of `[network.link]` changes its links.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ParallelPath {
    /// The node on the chain where it begins.
    pub from: u32,
    /// The node on the chain where it ends, after `from`.
    pub to: u32,
    /// Its number of hops, 1 to 64.
    pub hops: u32,
    /// Is it used only by the nodes `from` and `to`, while they know by an RFN that the others have
    /// failed? Default: no, it takes its share.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    pub standby: bool,
    /// What is different from `[network.link]`.
    #[serde(flatten)]
    pub link: LinkOverride,
}

/// `[network.routers]`: what routers do with routes that fail, where a partition says so by
/// `signal = "rfn"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table with the keys of routers")]
pub struct Routers {
    /// For how long a router believes the RFN of another one: an RRN may be lost. Default 20 s, as
    /// long as TCP-F waits by default.
    pub rfn_lifetime: Time,
    /// Packets that are kept while they have no route. Default: none, they are lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<RouterBuffer>,
}

impl Default for Routers {
    fn default() -> Self {
        Self { rfn_lifetime: Time::from_millis(20_000), buffer: None }
    }
}

/// `buffer = { packets = 20, flush = "route" }` (chandran-1998 §6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys `packets` and `flush`")]
pub struct RouterBuffer {
    /// The most packets that a router keeps for one destination.
    pub packets: u32,
    /// What sets them free. Default `"route"`.
    #[serde(default)]
    pub flush: BufferFlush,
}

/// What sets free what a router keeps.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum BufferFlush {
    /// Any route that the router learns of.
    #[default]
    Route,
    /// An RRN that passes, or the return of the router's own link: only the old route.
    Rrn,
}

/// How packets are spread over several routes to one destination.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum MultipathPolicy {
    /// In turn.
    #[default]
    RoundRobin,
    /// Each packet at random, all routes alike.
    Random,
}

macro_rules! keys {
    ($name:ident: $($own:literal),+) => {
        const $name: &[&str] = &[
            $($own,)+ "rate", "delay", "bit_error_rate", "packet_error_rate", "queue", "duplex",
            "order", "mark_loss",
        ];
    };
}
keys!(OVERRIDE_KEYS: "hop");
keys!(PARALLEL_KEYS: "from", "to", "hops", "standby");

/// The values of `kind`.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    Path,
    Adhoc,
}

impl<'de> Tagged<'de> for Network {
    const KEY: &'static str = "kind";
    type Kind = Kind;
    fn read<A: MapAccess<'de>>(
        kind: Kind,
        rest: MapAccessDeserializer<A>,
    ) -> Result<Self, A::Error> {
        match kind {
            Kind::Path => Path::deserialize(rest).map(Self::Path),
            Kind::Adhoc => Adhoc::deserialize(rest).map(Self::Adhoc),
        }
    }
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}

impl<'de> Deserialize<'de> for HopOverride {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ([hop], [], link) =
            tagged::deserialize_with_own_keys(deserializer, ["hop"], [], OVERRIDE_KEYS)?;
        Ok(Self { hop, link })
    }
}

impl<'de> Deserialize<'de> for ParallelPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ([from, to, hops], [standby], link) = tagged::deserialize_with_own_keys(
            deserializer,
            ["from", "to", "hops"],
            ["standby"],
            PARALLEL_KEYS,
        )?;
        Ok(Self { from, to, hops, standby, link })
    }
}
