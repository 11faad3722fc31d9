//! Common parts of the shim's tests: a time line, and a network with driftway's own TCP at its
//! ends.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod cut;
pub mod net;
pub mod paths;
pub mod timeline;
