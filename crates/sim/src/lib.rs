//! driftway-sim

pub mod results;
pub mod trace;
