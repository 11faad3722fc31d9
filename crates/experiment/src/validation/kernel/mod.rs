//! Presets of TCP held to the kernel's TCP: the same paths in the simulator, and emulated in real time.
//!
//! This crate plans the paths ([`cases`]), judges ([`verdict`]) and has the form of the results
//! ([`document`]); the caller runs the kernel.

pub mod cases;
pub mod causes;
pub mod document;
pub mod extent;
pub mod verdict;
