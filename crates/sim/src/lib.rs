//! The lab: a deterministic discrete-event simulator.
//!
//! [`run()`] turns a scenario and a seed into a [`results::RunResult`]; the same scenario and seed
//! give the same bytes on every machine. A [`Simulation`] does it step by step. Protocol code is driven here as it is driven on a host;
//! what is the lab's own is time, links, faults, and checks: the books of packets and the streams.

#![forbid(unsafe_code)]

pub mod capture;
mod event_queue;
mod fingerprint;
mod flows;
pub mod log;
mod metrics;
pub mod results;
mod run;
mod fault_injection;
mod simulation;
mod sockets;
pub mod trace;
mod observers;

use driftway_path::{packet_accounting, addresses};

pub use metrics::{is_count, network_metric, network_metrics};
pub use run::RunError;
#[cfg(feature = "broken")]
pub use fault_injection::{InjectedFault, inject_fault};
pub use simulation::{FlowSnapshot, SenderSnapshot, Simulation, run};
pub use sockets::tcp_config;
pub use observers::Observers;
