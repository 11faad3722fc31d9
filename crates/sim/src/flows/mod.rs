//! Flows: the data that an application sends, the data that its peer receives, and the checks on both.

mod active_flow;
mod delay_histogram;
mod delivery_resume;
mod disconnected_time;
mod first_transmissions;
mod hop_counts;
mod kept_window;
mod packet_delays;
mod resume_delays;
mod rto_stats;
mod write_times;

pub use active_flow::ActiveFlow;
