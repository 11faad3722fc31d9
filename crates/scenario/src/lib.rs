//! The scenario file: one TOML file that defines everything about a run but its seed.
//!
//! The types of this crate are the file, key by key: their documentation is the reference of the
//! file format. Quantities carry their unit in the value; bare numbers are counts and ratios;
//! unknown keys are errors.
//!
//! # What a scenario cannot express
//!
//! | item | here |
//! |---|---|
//! | the seed | an argument of the run |
//! | several radios of a node on one channel | a node has one radio on each [`Air`]; airs do not disturb each other |
//! | transports other than TCP and UDP | [`Transport`] |
//! | applications other than transfers, unlimited data, streams of packets, and requests with responses | [`Application`] |

#![forbid(unsafe_code)]

mod adhoc;
mod aid;
mod application;
mod at_seed;
mod check;
mod deviation;
mod error;
mod fault;
mod file;
mod file_value;
mod flow;
mod forms;
mod gateway;
mod growth;
mod keys;
mod link;
mod load;
mod measurements;
mod measures;
mod mixed;
mod network;
mod node_names;
mod node_reference;
mod options;
mod overrides;
mod path;
mod preset;
mod problem;
mod quantity;
mod queue;
mod reader;
mod real_quantity;
mod reference;
mod registered;
mod registry;
mod regular_file;
mod renamed;
mod rules;
mod scenario;
mod schema;
mod show;
mod table;
mod tagged;
mod tcp;
pub mod trace;
mod traffic;
mod tree;
pub mod value_or;
mod wire_routes;

pub use self::aid::{Aid, aid_states};
pub use self::growth::{Growth, RegisteredControl};
pub use self::tcp::{Phase, Recovery, Tcp, Tick, Window};
pub use adhoc::aodv::{Hello, LocalRepairMode, NearRepair, RequestRetry};
pub use adhoc::arp::{ArpOptions, ArpRetryRule};
pub use adhoc::compat::ns2_deviations;
pub use adhoc::dsr::{FlowState, RequestTableHighest, RequestTableIds, RequestTableKind};
pub use adhoc::dsr_cache::{DsrCache, DsrUpdate, PathCacheLimits};
pub use adhoc::energy::Energy;
pub use adhoc::mac::{MacKind, MacTimeout};
pub use adhoc::routing::{NoRouting, RoutingKind, StaticRouting};
pub use adhoc::{
    Adhoc, Aodv, Arp, CaptureRatio, Chain, Compat, ConstantVelocityKeys, Dcf, Dsr, Fading,
    Feedback, FileNames, LinkRetry, LinkSignals, Mac, Mobility, MovementFile, Point, Radio,
    RandomWaypointKeys, RouteProbeConfig, Routing, StaticPositions, Tdma,
};
pub use application::{Application, Cbr, OnOff, Poisson, RequestResponse, Times};
pub use deviation::{Deviation, DeviationScope};
pub use driftway_aid::registry::{AidEnd, AidPlace};
pub use error::Error;
pub use fault::{
    ChangeTrigger, Congestion, Direction, FalseWarning, Fault, FaultKind, HopChange, Interference,
    InterferenceHop, Outage, OutagePlace, Partition, PartitionHop, PartitionQueue, PartitionSignal,
    RadioDown, RadioSignal, ReorderMode, Reordering, Schedule, Spacing,
};
pub use file::{TomlFile, nearest};
pub use file_value::{FileValue, Keyword, Keywords, Lifetime, OrNone};
pub use flow::{Flow, Transport};
pub use gateway::{Gateway, GatewayLeg};
pub use link::{
    BurstLosses, Delay, DelayAround, DelaySteps, Link, LinkDelay, LinkDelayAround, LinkOverride,
    LinkRate, PeriodicLosses, Reverse, UniformDelay, UniformLinkDelay,
};
pub use measures::Measures;
pub use mixed::{Air, Mixed, Route, Wire};
pub use network::{Network, NetworkKind};
pub use path::{
    BufferFlush, HopOverride, MultipathPolicy, ParallelPath, Path, RouterBuffer, Routers,
};
pub use preset::preset_names;
pub use quantity::{BitRate, Frequency, Size, Time, Unit, quantity};
pub use queue::{Discipline, Queue};
pub use real_quantity::{Angle, Decibel, Distance, Power, Speed};
pub use reference::{Coordinate, Reference};
pub use registered::Registered;
pub use registry::Registry;
pub use scenario::Scenario;
pub use schema::{toml_reference, toml_schema};
pub use show::flatten;
pub use traffic::{Traffic, TrafficNodes, TrafficStart, UniformStart};
#[doc(inline)]
pub use value_or::OneOrRange;
pub use wire_routes::WireRoutes;
