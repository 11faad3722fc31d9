//! driftway-sim
