//! driftway-scenario
