//! `kind = "adhoc"`: nodes with radios that move.

pub(crate) mod aodv;
pub(crate) mod arp;
pub(crate) mod compat;
pub(crate) mod dsr;
pub(crate) mod dsr_cache;
pub(crate) mod mac;
pub(crate) mod mobility;
pub(crate) mod movement;
pub(crate) mod radio;
pub(crate) mod routing;

use std::sync::Arc;

use driftway_base::Probability;
use driftway_radio::mobility::{ConstantVelocity, InitialDistribution, RandomWaypoint};
use driftway_radio::{DcfConfig, ParameterError, TdmaConfig};
use serde::{Deserialize, Serialize};

pub use aodv::Aodv;
pub use arp::Arp;
pub use compat::Compat;
pub use dsr::Dsr;
pub use mac::{Dcf, Mac, Tdma};
pub use mobility::{Mobility, MobilityModel, MovementFile, MovementFormat, Point};
pub use radio::{CaptureRatio, Propagation, Radio};
pub use routing::Routing;

use crate::{Distance, Queue, Speed, Time};

/// `kind = "adhoc"`: nodes 0 … `nodes` − 1 on a plane, which hear each other or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a network")]
pub struct Adhoc {
    /// Number of nodes. Left out where `mobility` says it (a movement file, a list of positions),
    /// it is written here once the scenario is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
    /// Width and height of the plane, on which coordinates begin at 0. Random models need it; where
    /// positions are given, they must be within, if it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area: Option<(Distance, Distance)>,
    /// Where nodes are, and when.
    pub mobility: Mobility,
    /// What the movement file says, once the scenario is read.
    #[serde(skip)]
    pub movement: Option<Arc<driftway_radio::movement::Movement>>,
    /// What carries how far.
    #[serde(default)]
    pub radio: Radio,
    /// How nodes share the air. Default `{ kind = "dcf" }`.
    #[serde(default)]
    pub mac: Mac,
    /// The queue between routing and the air, one a node. Default: 50 packets, drop-tail.
    #[serde(default)]
    pub queue: Queue,
    /// How a node learns its neighbours' hardware addresses: `true`, `false` or a table. Default
    /// `false`: every node knows all of them, as most studies of routing have it, and as meshes do
    /// that learn addresses from routing's own packets. Asking takes time on the air, and what
    /// waits for an answer can be lost.
    #[serde(default)]
    pub arp: Arp,
    /// How packets find their way.
    pub routing: Routing,
    /// What the node that gives a packet up tells the packet's source. Default
    /// `"icmp-unreachable"`.
    #[serde(default)]
    pub feedback: Feedback,
    /// The most ICMP errors that a node sends in any second, of all kinds together (RFC 1812
    /// §4.3.2.8); 0: any number. Default 10.
    #[serde(default = "default_icmp_rate")]
    pub icmp_rate: u8,
    /// With `feedback = "rfn"`: how a source's node looks for a route while the source is silent, such
    /// as `{ every = "2 s", most = 10 }`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route_probe: Option<RouteProbeConfig>,
    /// What a node's connections learn of the link to the neighbour over which their packets leave, such
    /// as `{ lead = "2 s" }`. Default: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_signals: Option<LinkSignals>,
    /// When a node takes a neighbour that its link layer could not reach for a busy one and sends the
    /// packet again, such as `{ most = 1 }`. Default: never; routing hears of every failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_retry: Option<LinkRetry>,
    /// Whose defaults hold, those of the standards or those of ns-2.35: see `docs/ns-2.md` for the
    /// keys that this changes. Each of them can be written by itself. Default `"standard"`.
    #[serde(default)]
    pub compat: Compat,
}

const fn default_icmp_rate() -> u8 {
    10
}

impl Adhoc {
    /// How many nodes there are; 0 only in a scenario that was not checked.
    pub fn nodes(&self) -> u32 {
        self.nodes.unwrap_or(0)
    }

    /// How many nodes `mobility` is about; `None`: as many as there are.
    pub(crate) fn mobility_nodes(&self) -> Option<u32> {
        let count = match &self.mobility {
            Mobility::File(_) => self.movement.as_ref()?.nodes(),
            Mobility::Chain { .. } | Mobility::Model(MobilityModel::RandomWaypoint { .. }) => {
                return None;
            }
            Mobility::Positions { positions }
            | Mobility::Model(MobilityModel::ConstantVelocity { positions, .. }) => positions.len(),
        };
        u32::try_from(count).ok()
    }

    /// How the nodes move; random ways are those of this `seed`.
    ///
    /// # Errors
    /// What a scenario that was checked does not have.
    pub fn mobility(&self, seed: u64) -> Result<driftway_radio::Mobility, ParameterError> {
        let metres = |(x, y): Point| (x.0, y.0);
        let area = self.area.map_or((0.0, 0.0), metres);
        match &self.mobility {
            Mobility::File(_) => Ok(match &self.movement {
                Some(movement) => driftway_radio::Mobility::scripted((**movement).clone()),
                None => driftway_radio::Mobility::fixed(&[]),
            }),
            Mobility::Model(MobilityModel::RandomWaypoint { speed, pause, steady_state }) => {
                let start = if *steady_state {
                    InitialDistribution::SteadyState
                } else {
                    InitialDistribution::Uniform
                };
                let (speed, pause) = ((speed.0.0, speed.1.0), (pause.0.0, pause.1.0));
                let model = RandomWaypoint { area, speed, pause, start };
                driftway_radio::Mobility::random_waypoint(&model, self.nodes(), seed)
            }
            Mobility::Model(MobilityModel::ConstantVelocity { positions, velocities }) => {
                let node = |(position, velocity): (&Point, &(Speed, Speed))| ConstantVelocity {
                    position: metres(*position),
                    velocity: (velocity.0.0, velocity.1.0),
                };
                let nodes: Vec<_> = positions.iter().zip(velocities).map(node).collect();
                driftway_radio::Mobility::constant_velocity(&nodes, area)
            }
            Mobility::Positions { positions } => {
                let positions: Vec<_> = positions.iter().copied().map(metres).collect();
                Ok(driftway_radio::Mobility::fixed(&positions))
            }
            Mobility::Chain { chain: Distance(spacing) } => {
                let places = (0..self.nodes()).map(|node| (f64::from(node) * spacing, 0.0));
                Ok(driftway_radio::Mobility::fixed(&places.collect::<Vec<_>>()))
            }
        }
    }

    /// What 802.11 is told; `None` if that is not how nodes share the air.
    pub fn dcf(&self) -> Option<DcfConfig> {
        let Mac::Dcf(dcf) = &self.mac else { return None };
        let frame_error = Probability::from_f64(self.radio.packet_error_rate);
        Some(DcfConfig { frame_error, ..dcf.config() })
    }

    /// What TDMA is told; `None` if that is not how nodes share the air.
    pub fn tdma(&self) -> Option<TdmaConfig> {
        let Mac::Tdma(tdma) = &self.mac else { return None };
        let frame_error = Probability::from_f64(self.radio.packet_error_rate);
        Some(TdmaConfig { frame_error, ..tdma.config() })
    }

    /// Writes out the defaults that depend on other keys.
    pub(crate) fn resolve(&mut self) {
        self.nodes = self.nodes.or(self.mobility_nodes());
        self.radio.resolve();
        self.queue.resolve();
        if self.feedback == Feedback::Rfn {
            self.route_probe.get_or_insert_default();
        }
    }
}

/// What the node that gives a packet up tells the packet's source.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case", expecting = "a word")]
pub enum Feedback {
    /// An ICMP host unreachable, which travels back as any packet does (RFC 1812 §4.3.3.1).
    #[default]
    IcmpUnreachable,
    /// A route failure notification, and a route re-establishment notification once the node that
    /// sent it has a route again (chandran-1998 §4). Where a time to live ran out, ICMP's message as
    /// with `"icmp-unreachable"`.
    Rfn,
    /// Nothing but what the routing protocol itself says.
    None,
}

/// `link_signals = { … }`: that the link layer has given up on the neighbour, that it is heard again, and,
/// from the received power of what is heard of it and the trend of that, that it will not be for long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the key `lead`")]
pub struct LinkSignals {
    /// How long before its end a link is said to fade.
    pub lead: Time,
}

/// `link_retry = { … }`: a packet that the link layer gave up is handed to it again, before all that
/// waits, as long as every condition written here holds; after that, the link has failed. Nodes with
/// `heard_within` or `strength` listen to what is for others, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table with the keys of `link_retry`")]
pub struct LinkRetry {
    /// How often one packet is handed down again. Default 1.
    pub most: u32,
    /// The neighbour was heard so shortly before: a packet of its, or its acknowledgment of one.
    /// Default: that does not matter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heard_within: Option<Time>,
    /// The power with which the neighbour was heard in the last 5 s, continued with its trend, still
    /// suffices to receive a frame. Default false: that does not matter.
    pub strength: bool,
}

impl Default for LinkRetry {
    fn default() -> Self {
        Self { most: 1, heard_within: None, strength: false }
    }
}

/// `seek = { … }`: a source that was told to be silent sends nothing for which routing would look for
/// a route, so its node asks the destination for echoes, until there is a route or an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table with the keys `every` and `most`")]
pub struct RouteProbeConfig {
    /// From one echo request to the next. Default 2 s, the interval of ELFN's probes (yu-2004 §3.1).
    pub every: Time,
    /// How many of them go out, as long as the source is silent. Default 10: with TCP-F's own
    /// timeout of 20 s it sends by itself after that.
    pub most: u32,
}

impl Default for RouteProbeConfig {
    fn default() -> Self {
        Self { every: Time::from_secs(2), most: 10 }
    }
}
