//! driftway-node
