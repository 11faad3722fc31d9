//! The table `[network]` with `kind = "adhoc"`: mobile nodes with radios.

pub(crate) mod aodv;
pub(crate) mod arp;
pub(crate) mod compat;
mod defaults;
pub(crate) mod dsr;
pub(crate) mod dsr_cache;
pub(crate) mod energy;
pub(crate) mod file_names;
pub(crate) mod mac;
pub(crate) mod mobility;
pub(crate) mod movement;
pub(crate) mod movement_file;
pub(crate) mod movement_names;
mod movement_notes;
mod phy;
pub(crate) mod radio;
pub(crate) mod routing;
pub(crate) mod seeded_movement;

use std::sync::Arc;

use driftway_base::Probability;
use driftway_radio::mobility::Plane;
use driftway_radio::{DcfConfig, ParameterError, TdmaConfig};
use serde::{Deserialize, Serialize};

pub use aodv::Aodv;
pub use arp::Arp;
pub use compat::Compat;
pub use dsr::Dsr;
pub use file_names::FileNames;
pub use mac::{Dcf, Mac, Tdma};
pub use mobility::{
    Chain, ConstantVelocityKeys, Mobility, MovementFile, Point, RandomWaypointKeys, StaticPositions,
};
pub use radio::{CaptureRatio, Fading, Radio};
pub use routing::Routing;

use crate::keys::keys;
use crate::problem::MAX_PROTOCOL_TIME;
use crate::{Distance, Fault, OutagePlace, Queue, Time, fault};

keys! {
    /// An ad hoc network, the table `[network]` with `kind = "adhoc"`: nodes 0 … `nodes` − 1 on a
    /// plane.
    pub struct Adhoc expecting "a table with the keys of a network" {
        /// Number of nodes.
        nodes: Option<u32> [range("the number of nodes", 2..=MAX_NODES)] =>
            "the number that `network.mobility` determines, by a movement file or a list of \
             positions",
        /// Width and height of the plane, whose coordinates begin at 0. Required by mobility
        /// models; where positions are given, they must lie within it.
        area: Option<(Distance, Distance)> => "unbounded",
        /// Positions and movement of the nodes.
        mobility: Mobility [inside()],
        /// Content of the movement file, once the scenario is loaded.
        #[serde(skip)]
        movement: Option<Arc<driftway_radio::movement::Movement>>,
        /// Seed of the file, if each seed has one.
        #[serde(skip)]
        movement_seed: Option<u64>,
        /// File of the scenario, whose directory has the movement files.
        #[serde(skip)]
        movement_base: String,
        /// Radio and propagation, the same for all nodes.
        #[schemars(extend("x-default" = "the defaults of its keys, the 914 MHz WaveLAN radio of ns-2"))]
        radio: Radio [inside()] = default,
        /// Medium access control.
        #[schemars(extend("x-default" = "`{ kind = \"dcf\" }` with the defaults of its keys, IEEE 802.11"))]
        mac: Mac [inside()] = default,
        /// Interface queue of each node, between the routing protocol and the MAC.
        #[schemars(extend("x-default" = "the defaults of its keys, a drop-tail queue of 50 packets"))]
        queue: Queue [inside()] = default,
        /// Address resolution (ARP, RFC 826): `true`, `false`, or a table of options. `false`:
        /// every node knows all hardware addresses, as in most routing studies and in meshes that
        /// learn them from routing messages. With ARP, requests take time on the medium, and
        /// packets that wait for a reply can be lost.
        arp: Arp [inside()] = default,
        /// Routing protocol and its parameters.
        routing: Routing [inside()],
        /// Notification that the node which drops an undeliverable packet sends to the packet's
        /// source: `"icmp-unreachable"`, `"rfn"` or `"none"`.
        feedback: Feedback = default,
        /// Maximum number of ICMP errors of all types that a node sends per second (RFC 1812
        /// §4.3.2.8); 0: unlimited.
        #[serde(default = "default_icmp_rate")]
        icmp_rate: u8,
        /// Route probes of a source's node while the source is held by a route failure
        /// notification, such as `{ every = "2 s", most = 10 }`. Needs `network.feedback = "rfn"`.
        route_probe: Option<RouteProbeConfig> [inside()] =>
            "`{ every = \"2 s\", most = 10 }` with `network.feedback = \"rfn\"`, else none",
        /// Signals to a node's TCP connections about the link to their next hop, such as
        /// `{ lead = "2 s" }`: link down, link up, and link fading.
        link_signals: Option<LinkSignals> [inside()] => "none",
        /// Retries of a packet that the MAC dropped, on the assumption that the neighbour was busy
        /// rather than out of range, such as `{ most = 1 }`.
        link_retry: Option<LinkRetry> [inside()] =>
            "none, every MAC failure is reported to the routing protocol",
        /// Source of the defaults: `"standard"`, `"ns-2"` (ns-2.35), or `"ns-2.1b"` (the same with the
        /// frame times of its versions before 2003: `mac.basic_rate = "2 Mbit/s"` and `mac.preamble = "96
        /// us"`). `docs/ns-2.md` lists the keys that depend on it; each of them can also be set
        /// individually.
        compat: Compat = default,
        /// Outages of radios and false warnings, and their schedule: `[[network.fault]]` with
        /// `kind = "radio-down"` or `"fading"`.
        #[serde(rename = "fault")]
        faults: Vec<Fault> => "none",
    }
}

/// Node n has the address 10.0.0.1 + n; all nodes share one /16 subnet.
const MAX_NODES: u64 = 65_000;

const fn default_icmp_rate() -> u8 {
    10
}

impl Adhoc {
    /// Number of nodes; 0 only in a scenario that was not checked.
    pub fn nodes(&self) -> u32 {
        self.nodes.unwrap_or(0)
    }

    /// Number of nodes that `mobility` determines; `None` if it works for any number.
    pub(crate) fn mobility_nodes(&self) -> Option<u32> {
        let count = match &self.mobility {
            Mobility::File(_) => self.movement.as_ref()?.nodes(),
            Mobility::Chain(_) | Mobility::RandomWaypoint(_) | Mobility::Registered(_) => {
                return None;
            }
            Mobility::Positions(StaticPositions { positions })
            | Mobility::ConstantVelocity(ConstantVelocityKeys { positions, .. }) => positions.len(),
        };
        u32::try_from(count).ok()
    }

    /// Trajectories of the nodes; those of random models are determined by `seed`.
    ///
    /// # Errors
    ///
    /// An invalid parameter, which a checked scenario does not have.
    pub fn mobility(&self, seed: u64) -> Result<driftway_radio::Mobility, ParameterError> {
        let area = self.area.map_or((0.0, 0.0), mobility::metres);
        let plane = Plane { stations: self.nodes(), area, seed };
        self.mobility.build(&plane, self.movement.as_deref())
    }

    /// Configuration of the DCF; `None` with another MAC.
    pub fn dcf(&self) -> Option<DcfConfig> {
        let Mac::Dcf(dcf) = &self.mac else { return None };
        let frame_error = Probability::from_f64(self.radio.packet_error_rate);
        Some(DcfConfig { frame_error, ..dcf.config() })
    }

    /// Configuration of TDMA; `None` with another MAC.
    pub fn tdma(&self) -> Option<TdmaConfig> {
        let Mac::Tdma(tdma) = &self.mac else { return None };
        let frame_error = Probability::from_f64(self.radio.packet_error_rate);
        Some(TdmaConfig { frame_error, ..tdma.config() })
    }

    /// Fills in the defaults that depend on other keys.
    pub(crate) fn resolve(&mut self) {
        self.nodes = self.nodes.or(self.mobility_nodes());
        self.radio.resolve();
        self.queue.resolve();
        if self.feedback == Feedback::Rfn {
            self.route_probe.get_or_insert_default();
        }
        fault::resolve(&mut self.faults, |_| None, |node| vec![OutagePlace::Radio(node)]);
    }
}

/// Notification to the source of an undeliverable packet.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case", expecting = "a word")]
pub enum Feedback {
    /// `"icmp-unreachable"`: an ICMP host unreachable, routed back to the source as any packet (RFC
    /// 1812 §4.3.3.1).
    #[default]
    IcmpUnreachable,
    /// `"rfn"`: a route failure notification, and a route re-establishment notification once the
    /// node that sent it has a route again (chandran-1998 §4). An expired TTL is reported as with
    /// `"icmp-unreachable"`.
    Rfn,
    /// `"none"`: only the messages of the routing protocol itself.
    None,
}

keys! {
    /// Signals about the link to a connection's next hop: the MAC failed to reach the neighbour, the
    /// neighbour is heard or reached again, or another one in its place, and, estimated from the received
    /// power and its trend, the link is about to break.
    #[derive(Copy, Eq)]
    pub struct LinkSignals expecting "a table with the key `lead`" {
        /// Time before the estimated break of a link at which it is reported as fading.
        lead: Time [positive(), at_most(MAX_PROTOCOL_TIME)],
    }
}

keys! {
    /// Retries of a packet that the MAC dropped: it is handed to the MAC again, ahead of all queued
    /// packets, while all conditions given here hold; otherwise the link has failed. Nodes with
    /// `heard_within` or `strength` also process overheard frames. Needs `mac.kind = "dcf"`.
    #[derive(Copy, Eq)]
    pub struct LinkRetry with defaults expecting "a table with the keys of `link_retry`" {
        /// Maximum number of retries of one packet.
        most: u32 [range("the number of retries", 1..=1_000)] = 1,
        /// Condition: the neighbour was heard within this time, by a packet or an acknowledgment of
        /// its own.
        heard_within: Option<Time> [positive(), at_most(MAX_PROTOCOL_TIME)] => "no such condition",
        /// Condition: the received power of the neighbour in the last 5 s, extrapolated linearly,
        /// is still sufficient for reception.
        strength: bool = false,
    }
}

keys! {
    /// Route probes, with `feedback = "rfn"`: a source that is held sends no packets for which the
    /// routing protocol would discover a route, so its node sends ICMP echo requests to the destination
    /// until there is a route or a reply.
    #[derive(Copy, Eq)]
    pub struct RouteProbeConfig with defaults expecting "a table with the keys `every` and `most`" {
        /// Time between two echo requests; the default is the probe interval of ELFN (yu-2004
        /// §3.1).
        every: Time [positive(), at_most(MAX_PROTOCOL_TIME)] = Time::from_secs(2),
        /// Maximum number of echo requests while the source is held. With the defaults, TCP-F's own
        /// timeout of 20 s makes the source send again afterwards.
        most: u32 [range("the number of echo requests", 1..=1_000_000)] = 10,
    }
}
