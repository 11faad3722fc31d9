//! Runs with this machine's own TCP, for the commands that compare it with the simulator's.

pub mod machine;
pub mod transfer;
