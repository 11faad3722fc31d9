//! The table `[network]` with `kind = "path"`: a chain of links.

use serde::{Deserialize, Deserializer, Serialize};

use crate::keys::keys;
use crate::rules;
use crate::{
    BitRate, Fault, Link, LinkOverride, OutagePlace, PartitionSignal, Time, fault, tagged,
};

keys! {
    /// A path, `[network]` with `kind = "path"`: nodes 0 … `hops` in a chain, where hop *k* connects
    /// node *k* − 1 and node *k*.
    pub struct Path expecting "a table with the keys of a network" {
        /// Number of hops.
        hops: u32 [range("the number of hops", 1..=64)],
        /// Distribution of packets over several routes to the same destination: `"round-robin"` or
        /// `"random"`.
        multipath: MultipathPolicy = default,
        /// Link of every hop.
        link: Link [inside()],
        /// Route failure handling of the routers: `[network.routers]`.
        routers: Option<Routers> [inside()] =>
            "none; with a partition that has `signal = \"rfn\"`, the defaults of all its keys",
        /// Deviations of single hops from `network.link`: `[[network.override]]`.
        #[serde(rename = "override")]
        overrides: Vec<HopOverride> => "none",
        /// Additional routes parallel to the chain: `[[network.parallel]]`.
        parallel: Vec<ParallelPath> => "none",
        /// Faults and their schedule: `[[network.fault]]`.
        #[serde(rename = "fault")]
        faults: Vec<Fault> => "none",
    }
}

impl Path {
    /// Number of nodes, including those of the parallel routes.
    pub(crate) fn nodes(&self) -> u32 {
        let inner = self.parallel.iter().map(|route| route.hops.saturating_sub(1));
        inner.fold(self.hops.saturating_add(1), u32::saturating_add)
    }

    /// Link of hop `hop` (1 … `hops`), with the overrides applied in the order of the file.
    pub fn hop_link(&self, hop: u32) -> Link {
        let changes = self.overrides.iter().filter(|o| o.hop == hop);
        changes.fold(self.link.clone(), |link, o| o.link.apply_to(link))
    }

    /// Fills in the defaults that depend on other keys.
    pub(crate) fn resolve(&mut self) {
        self.link.resolve();
        let overrides = self.overrides.iter_mut().map(|o| &mut o.link);
        overrides
            .chain(self.parallel.iter_mut().map(|p| &mut p.link))
            .for_each(LinkOverride::resolve);
        let notifies = |fault: &Fault| matches!(fault, Fault::Partition(cut) if cut.signal == PartitionSignal::Rfn);
        if self.faults.iter().any(notifies) {
            self.routers.get_or_insert_default();
        }
        let mut faults = std::mem::take(&mut self.faults);
        let rate_of = |hop| Some(BitRate(self.hop_link(hop).mean_rate()));
        let hops = |node: u32| {
            let ends = [node, node.saturating_add(1)].into_iter();
            ends.filter(|hop| (1..=self.hops).contains(hop)).map(OutagePlace::Hop).collect()
        };
        fault::resolve(&mut faults, rate_of, hops);
        self.faults = faults;
    }

    /// Link of every hop of a parallel route.
    pub fn parallel_link(&self, route: &ParallelPath) -> Link {
        route.link.apply_to(self.link.clone())
    }
}

/// Deviation of one hop, `[[network.override]]`: any key of `[network.link]`, which replaces the
/// value of that table (a `queue` is replaced as a whole).
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct HopOverride {
    /// Number of the hop, 1 to `network.hops`.
    pub hop: u32,
    /// Keys of the link that differ.
    #[serde(flatten)]
    pub link: LinkOverride,
}

/// Additional route between two nodes of the chain, `[[network.parallel]]`, with its own nodes and
/// links; any key of `[network.link]` changes its links.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields, transform = rules::describe::<ParallelPath>)]
pub struct ParallelPath {
    /// Node of the chain at which it begins.
    pub from: u32,
    /// Node of the chain at which it ends, after `network.parallel.from`.
    pub to: u32,
    /// Number of hops.
    pub hops: u32,
    /// The route is used only by its ends, `network.parallel.from` and `network.parallel.to`, while
    /// they know from an RFN that all other routes have failed; false: it carries its share of the
    /// packets.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default, extend("default" = false))]
    pub standby: bool,
    /// Keys that differ from `[network.link]`.
    #[serde(flatten)]
    pub link: LinkOverride,
}

rules::ruled! { ParallelPath { hops [range("the number of hops", 1..=64),], } }

keys! {
    /// Route failure handling of the routers, `[network.routers]`, with partitions that have
    /// `signal = "rfn"`.
    #[derive(Copy, Eq)]
    pub struct Routers with defaults expecting "a table with the keys of routers" {
        /// Time for which a router considers a route failed after an RFN of another router, because
        /// an RRN may be lost; the default is TCP-F's route failure timeout.
        rfn_lifetime: Time [positive()] = Time::from_millis(20_000),
        /// Buffer for packets that have no route, such as `{ packets = 20, flush = "route" }`
        /// (chandran-1998 §6.1).
        buffer: Option<RouterBuffer> [inside()] => "none, they are dropped",
    }
}

keys! {
    /// Buffer of a router for packets without a route, `{ packets = 20, flush = "route" }`
    /// (chandran-1998 §6.1).
    #[derive(Copy, Eq)]
    pub struct RouterBuffer expecting "a table with the keys `packets` and `flush`" {
        /// Maximum number of buffered packets per destination.
        packets: u32 [range("the number of packets", 1..=1_000_000)],
        /// Trigger that releases the buffered packets: `"route"` or `"rrn"`.
        flush: BufferFlush = default,
    }
}

/// Trigger that releases the buffered packets of a router.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum BufferFlush {
    /// `"route"`: any route to the destination.
    #[default]
    Route,
    /// `"rrn"`: an RRN that is forwarded, or the return of the router's own link; only the old
    /// route counts.
    Rrn,
}

/// Distribution of packets over several routes to the same destination.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum MultipathPolicy {
    /// `"round-robin"`: in turn.
    #[default]
    RoundRobin,
    /// `"random"`: each packet independently, all routes with the same probability.
    Random,
}

impl<'de> Deserialize<'de> for HopOverride {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ([hop], [], link) = tagged::deserialize_with_own_keys(deserializer, ["hop"], [], &[])?;
        Ok(Self { hop, link })
    }
}

impl<'de> Deserialize<'de> for ParallelPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ([from, to, hops], [standby], link) = tagged::deserialize_with_own_keys(
            deserializer,
            ["from", "to", "hops"],
            ["standby"],
            &[],
        )?;
        Ok(Self { from, to, hops, standby, link })
    }
}
