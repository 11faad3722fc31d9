//! A deterministic discrete-event simulator.
//!
//! [`run()`] turns a scenario and a seed into a [`results::RunResult`]; the same scenario and seed
//! give the same bytes on every machine. A [`Simulation`] does the same step by step. The simulator
//! calls protocol code as a real host does. It adds time, links, faults, and two kinds of checks:
//! packet accounting and the integrity of each byte stream.

#![forbid(unsafe_code)]

pub mod capture;
mod events;
mod fingerprint;
mod flows;
pub mod log;
mod metrics;
pub mod results;
mod run;
mod sabotage;
mod simulation;
mod sockets;
pub mod trace;
mod watch;

use driftway_path::{books, nodes};

pub use metrics::{is_count, network_metric, network_metrics};
pub use run::RunError;
#[cfg(feature = "broken")]
pub use sabotage::{Breakage, break_by};
pub use simulation::{FlowNow, SenderNow, Simulation, run};
pub use sockets::tcp_config;
pub use watch::Watch;
