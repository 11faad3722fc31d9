//! The scenario file: one TOML file that defines everything about a run but its seed.
//!
//! The types of this crate are the file, key by key: their documentation is the reference of the
//! file format. Quantities carry their unit in the value; bare numbers are counts and ratios;
//! unknown keys are errors.

#![forbid(unsafe_code)]

mod adhoc;
mod aid;
mod check;
mod error;
mod fault;
mod file;
mod flow;
mod link;
mod load;
mod real_quantity;
mod network;
mod preset;
mod quantity;
mod queue;
mod reader;
mod reference;
mod scenario;
mod schema;
mod overrides;
mod file_value;
mod show;
mod tagged;
mod tcp;
mod tree;

pub use self::aid::Aid;
pub use self::tcp::{Growth, Phase, Recovery, Tcp, Tick, Window};
pub use adhoc::aodv::{Hello, NearRepair, LocalRepairMode, RequestRetry};
pub use adhoc::arp::{ArpRetryRule, ArpOptions};
pub use adhoc::compat::{Deviation, DeviationScope, deviations};
pub use adhoc::dsr::{FlowState, RequestTableHighest, RequestTableKind, RequestTableIds};
pub use adhoc::dsr_cache::{DsrCache, PathCacheLimits, DsrUpdate};
pub use adhoc::mac::MacTimeout;
pub use adhoc::routing::StaticRouting;
pub use adhoc::{
    Adhoc, Aodv, Arp, CaptureRatio, Compat, Dcf, Dsr, Feedback, LinkRetry, LinkSignals, Mac, Mobility,
    MobilityModel, MovementFile, MovementFormat, Point, Propagation, Radio, Routing, RouteProbeConfig, Tdma,
};
pub use error::Error;
pub use fault::{
    ChangeTrigger, HopChange, Congestion, PartitionHop, PartitionSignal, Direction, Fault, Interference, InterferenceHop,
    Partition, ReorderMode, Reordering, Schedule, Spacing, PartitionQueue,
};
pub use file::{TomlFile, nearest};
pub use flow::{Application, Cbr, Flow, Transport};
pub use link::{Delay, Duplex, LinkErrors, Link, LinkOverride, DeliveryOrder};
pub use real_quantity::{Decibel, Distance, Power, Speed};
pub use network::{BufferFlush, Network, HopOverride, ParallelPath, Path, RouterBuffer, Routers, MultipathPolicy};
pub use quantity::{BitRate, Frequency, Size, Time, Unit, quantity};
pub use queue::{Discipline, Priority, Queue, Red};
pub use reference::{Coordinate, Reference};
pub use scenario::Scenario;
pub use file_value::{Lifetime, OrNone, FileValue, Keyword, Keywords};
pub use show::flatten;
