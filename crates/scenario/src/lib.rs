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
mod measure;
mod network;
mod preset;
mod quantity;
mod queue;
mod reader;
mod reference;
mod scenario;
mod schema;
mod set;
mod setting;
mod show;
mod tagged;
mod tcp;
mod tree;

pub use self::aid::Aid;
pub use self::tcp::{Growth, Phase, Recovery, Tcp, Tick, Window};
pub use adhoc::aodv::{Hello, Near, Repair, Search};
pub use adhoc::arp::{Again, Resolution};
pub use adhoc::compat::{Deviation, Part, deviations};
pub use adhoc::dsr::{FlowState, Highest, Memory, Numbers};
pub use adhoc::dsr_cache::{Cache, Limits, Update};
pub use adhoc::mac::Timeout;
pub use adhoc::routing::Static;
pub use adhoc::{
    Adhoc, Aodv, Arp, Capture, Compat, Dcf, Dsr, Feedback, LinkRetry, LinkSignals, Mac, Mobility,
    Model, Movement, MovementFormat, Point, Propagation, Radio, Routing, Seek, Tdma,
};
pub use error::Error;
pub use fault::{
    After, Change, Congestion, CutHop, CutSignal, Direction, Fault, Interference, InterferenceHop,
    Partition, ReorderBy, Reordering, Schedule, Spacing, Waiting,
};
pub use file::{File, nearest};
pub use flow::{Application, Cbr, Flow, Transport};
pub use link::{Delay, Duplex, Errors, Link, LinkChange, Order};
pub use measure::{Decibel, Distance, Power, Speed};
pub use network::{Flush, Network, Override, Parallel, Path, RouterBuffer, Routers, Spread};
pub use quantity::{BitRate, Frequency, Size, Time, Unit, quantity};
pub use queue::{Discipline, Priority, Queue, Red};
pub use reference::{Coordinate, Reference};
pub use scenario::Scenario;
pub use setting::{Lifetime, OrNone, Setting, Word, Words};
pub use show::flatten;
