//! Faults of links and radios.

mod action;
mod active;
mod change;
mod congestion;
mod due_actions;
mod fading;
mod interference;
mod outage_times;
mod partition;
mod plan;
mod radio_down;
#[cfg(test)]
mod test;

pub use action::FaultAction;
pub use active::active_faults;
pub use due_actions::Faults;
pub use partition::PartitionNotification;
pub use plan::FaultPlan;
