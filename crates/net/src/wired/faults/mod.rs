//! Faults of links and radios.

mod action;
mod active;
mod change;
mod congestion;
mod fading;
mod interference;
mod outages;
mod partition;
mod plan;
mod radio_down;
mod schedule;
#[cfg(test)]
mod test;

pub use action::FaultAction;
pub use active::active_faults;
pub use partition::PartitionNotification;
pub use plan::FaultPlan;
pub use schedule::Faults;
