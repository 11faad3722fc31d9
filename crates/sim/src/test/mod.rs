//! Tests that look into a run.

mod feedback;
mod handoff;
mod link_signals;
mod recording_aid;
