//! A deterministic discrete-event simulator.
//!
//! [`run()`] turns a scenario and a seed into a [`results::RunResult`]; the same scenario and seed
//! give the same bytes on every machine. A [`Simulation`] does the same step by step. The simulator
//! calls protocol code as a real host does. It adds time, links, faults, and two kinds of checks:
//! packet accounting and the integrity of each byte stream.
//!
//! # What is not modelled
//!
//! The crates `link`, `tcp`, `endpoint`, `radio` and `route` list the limits of their models.
//!
//! | item | here |
//! |---|---|
//! | processing time of hosts | none: a packet is processed, and data are read, at the instant of arrival |
//! | the bytes of packets | packets are values; the integrity check follows each byte by its stream and offset |

#![forbid(unsafe_code)]

pub mod capture;
pub mod columns;
mod error;
mod fault_injection;
mod fingerprint;
mod flow_context;
mod flows;
mod host_timer;
mod hosts;
pub mod log;
mod metrics;
mod network_log;
mod network_recorder;
mod network_results;
mod observers;
mod position_log;
mod ratio;
mod result;
pub mod results;
pub mod samples;
mod simulation;
mod sockets;
#[cfg(test)]
mod test;
pub mod trace;
mod world;

pub use driftway_base::DropReason;

pub use error::RunError;
#[cfg(feature = "fault-injection")]
pub use fault_injection::{InjectedFault, inject_fault};
pub use metrics::{fairness, is_count, network_metric, network_metric_columns, network_metrics};
pub use network_recorder::NetworkRecorder;
pub use network_results::link_results;
pub use observers::Observers;
pub use simulation::{FlowSnapshot, SenderSnapshot, Simulation, run};
pub use sockets::tcp_config;
