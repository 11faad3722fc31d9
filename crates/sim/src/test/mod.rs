//! Tests that look into a run.

mod feedback;
mod link_signals;
mod recording_aid;
