//! driftway-host
