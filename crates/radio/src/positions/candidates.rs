//! The stations that may be within range of a transmitter.

use core::iter::{Copied, Zip};
use core::slice::Iter;

use driftway_base::StationId;

/// Some of the candidates, with their squared distances (m²).
pub(crate) type CandidatesPart<'a> = Zip<Copied<Iter<'a, StationId>>, Copied<Iter<'a, f64>>>;

/// Stations that may be within range of a transmitter, with their squared distances. They are in three parts, each
/// in order of number: those near enough to decode its frames, perhaps; those that only sense them; and those that
/// may be out of range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidates<'a> {
    pub stations: &'a [StationId],
    /// (m²)
    pub distances_squared: &'a [f64],
    /// Ends of the first part and of the second.
    pub near_end: usize,
    pub inner_end: usize,
    /// Squared range (m²).
    pub reach_squared: f64,
}

impl<'a> Candidates<'a> {
    /// Returns all, with their squared distances.
    pub fn all(&self) -> CandidatesPart<'a> {
        self.part(0, self.stations.len())
    }

    /// Returns those that may decode frames; without a receive range these are all.
    pub fn near(&self) -> CandidatesPart<'a> {
        self.part(0, self.near_end)
    }

    /// Returns the squared distance (m²) up to which the near ones are in range.
    pub fn near_limit(&self) -> f64 {
        if self.near_end < self.inner_end { f64::INFINITY } else { self.reach_squared }
    }

    /// Returns those that only sense frames.
    pub fn inner(&self) -> CandidatesPart<'a> {
        self.part(self.near_end, self.inner_end)
    }

    /// Returns those that at most sense frames, or are out of range.
    pub fn border(&self) -> CandidatesPart<'a> {
        self.part(self.inner_end, self.stations.len())
    }

    fn part(&self, from: usize, to: usize) -> CandidatesPart<'a> {
        let stations = self.stations[from..to].iter().copied();
        stations.zip(self.distances_squared[from..to].iter().copied())
    }
}
