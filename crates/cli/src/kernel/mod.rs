//! Runs with this machine's own TCP, for the commands that compare it with the simulator's.

pub mod flow_run;
pub mod machine;
pub mod schedule;
pub mod scheduled_runs;
pub mod shim_thread;
pub mod transfer;
