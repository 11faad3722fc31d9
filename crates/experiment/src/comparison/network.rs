//! A network with a job for each arm.

use crate::runner::Job;

/// A network of a comparison.
#[derive(Debug)]
pub struct ComparedNetwork {
    /// Its name.
    pub name: String,
    /// The situation of which it is an example.
    pub situation: String,
    /// The figure of the study that has it; the name of a user's scenario.
    pub figure: String,
    /// A job for each of [`arms`](super::arms::arms).
    pub jobs: Vec<Job>,
    /// Index of the compared flow.
    pub flow: usize,
    /// The compared flow has an end.
    pub is_transfer: bool,
}
