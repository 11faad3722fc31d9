//! What the tests of a shim share: a time line, and a network with driftway's own TCP at its ends.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod cut;
pub mod timeline;
pub mod net;
pub mod paths;
