//! Positions of stations, and the stations within range of a transmitter.
//!
//! This code runs for every frame. Each transmitter keeps a list of the stations that can come within range for a
//! while, with their legs.

mod candidates;
mod legs;
mod neighbour_lists;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use driftway_base::{Instant, StationId};

use crate::leg::Leg;
use crate::mobility::Mobility;
use candidates::Candidates;
pub(crate) use candidates::CandidatesPart;
use legs::Legs;
use neighbour_lists::NeighbourLists;

/// A station within range of a transmitter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StationInRange {
    /// The station.
    pub station: StationId,
    /// Squared distance between the two (m²).
    pub distance_squared: f64,
}

/// Positions of the stations of an air.
///
/// Time never goes back. A position depends only on the station and the time, not on earlier
/// queries.
#[derive(Clone, Debug)]
pub struct Positions {
    mobility: Mobility,
    legs: Legs,
    /// End of each moving station's leg, earliest first.
    leg_ends: BinaryHeap<Reverse<(Instant, StationId)>>,
    /// Earliest of these.
    next_leg_end: Instant,
    now: Instant,
    reach_squared: f64,
    neighbour_lists: NeighbourLists,
    /// Buffer of the squared distances of candidates.
    distances_squared: Vec<f64>,
}

impl Positions {
    /// Creates the positions for a range of `reach` metres ([`Propagation::reach`]).
    ///
    /// [`Propagation::reach`]: crate::Propagation::reach
    pub fn new(mut mobility: Mobility, reach: f64) -> Self {
        let stations = mobility.stations();
        let mut legs = Legs::new(stations);
        let mut leg_ends = BinaryHeap::with_capacity(stations);
        for station in (0..stations).map(StationId::from) {
            let Some(leg) = mobility.next_leg(station) else { continue };
            legs.current.set(station.index(), &leg);
            if leg.until < Instant::FAR_FUTURE {
                leg_ends.push(Reverse((leg.until, station)));
            }
        }
        let next_leg_end =
            leg_ends.peek().map_or(Instant::FAR_FUTURE, |&Reverse((until, _))| until);
        let mut positions = Self {
            neighbour_lists: NeighbourLists::new(stations, reach),
            mobility,
            legs,
            leg_ends,
            next_leg_end,
            now: Instant::ZERO,
            reach_squared: reach * reach,
            distances_squared: vec![0.0; stations],
        };
        positions.advance_to(Instant::ZERO);
        positions
    }

    /// Returns the number of stations.
    pub fn stations(&self) -> usize {
        self.distances_squared.len()
    }

    /// Advances the time to `now`.
    #[inline]
    pub fn advance_to(&mut self, now: Instant) {
        debug_assert!(now >= self.now, "time went back from {:?} to {now:?}", self.now);
        self.now = now;
        if now >= self.next_leg_end {
            self.start_due_legs(now);
        }
    }

    #[cold]
    fn start_due_legs(&mut self, now: Instant) {
        while let Some(mut top) = self.leg_ends.peek_mut() {
            let Reverse((until, station)) = *top;
            if until > now {
                self.next_leg_end = until;
                return;
            }
            let Some(leg) = self.mobility.next_leg(station) else {
                PeekMut::pop(top);
                continue;
            };
            let since = leg.since.as_nanos() as f64;
            let (x, y) = self.legs.current.at(station.index(), since);
            let (dx, dy) = (leg.x - x, leg.y - y);
            let gap = (dx * dx + dy * dy).sqrt();
            self.neighbour_lists.on_new_leg(station, &leg, gap, &self.legs);
            self.legs.distance_before[station] = self.legs.distance_moved(station, since) + gap;
            self.legs.current.set(station.index(), &leg);
            if leg.until < Instant::FAR_FUTURE {
                *top = Reverse((leg.until, station));
            } else {
                PeekMut::pop(top);
            }
        }
        self.next_leg_end = Instant::FAR_FUTURE;
    }

    /// Returns the position of a station (metres).
    ///
    /// # Panics
    /// If the station does not exist.
    pub fn position(&mut self, station: StationId, now: Instant) -> (f64, f64) {
        self.advance_to(now);
        self.legs.current.at(station.index(), now.as_nanos() as f64)
    }

    /// Moves a station to a place (metres), where it stays for the rest of the run, whatever its trajectory.
    /// That is no distance moved.
    ///
    /// # Panics
    /// If the station does not exist.
    pub fn place(&mut self, station: StationId, now: Instant, place: (f64, f64)) {
        let (x, y) = self.position(station, now);
        let nanos = now.as_nanos() as f64;
        let leg = Leg::at_rest(now, Instant::FAR_FUTURE, place);
        let (dx, dy) = (place.0 - x, place.1 - y);
        let gap = (dx * dx + dy * dy).sqrt();
        self.neighbour_lists.on_new_leg(station, &leg, gap, &self.legs);
        self.legs.distance_before[station] = self.legs.distance_moved(station, nanos);
        self.legs.current.set(station.index(), &leg);
        self.leg_ends.retain(|&Reverse((_, moving))| moving != station);
        self.next_leg_end =
            self.leg_ends.peek().map_or(Instant::FAR_FUTURE, |&Reverse((until, _))| until);
    }

    /// Returns the length of a station's trajectory since the start (m).
    ///
    /// # Panics
    /// If the station does not exist.
    pub fn distance_moved(&mut self, station: StationId, now: Instant) -> f64 {
        self.advance_to(now);
        self.legs.distance_moved(station, now.as_nanos() as f64)
    }

    /// Sets the range (m) within which frames can be decoded, by which candidates are divided.
    pub(crate) fn set_receive_range(&mut self, range: f64) {
        self.neighbour_lists.set_receive_range(range);
    }

    /// Returns the stations that may be within range of `from`.
    ///
    /// # Panics
    /// If the station does not exist.
    #[inline]
    pub(crate) fn candidates(&mut self, now: Instant, from: StationId) -> Candidates<'_> {
        self.advance_to(now);
        let nanos = now.as_nanos() as f64;
        let place = self.legs.current.at(from.index(), nanos);
        let list = self.neighbour_lists.candidates_of(from, now, &self.legs);
        let squares = &mut self.distances_squared[..list.stations.len()];
        list.legs.distances_squared(list.place, nanos, place, squares);
        Candidates {
            stations: list.stations,
            distances_squared: squares,
            near_end: list.near,
            inner_end: list.inner,
            reach_squared: self.reach_squared,
        }
    }

    /// Appends every other station within range of `from` to `out`, in order of number.
    ///
    /// # Panics
    /// If the station does not exist.
    pub fn stations_in_range(
        &mut self,
        now: Instant,
        from: StationId,
        out: &mut Vec<StationInRange>,
    ) {
        let start = out.len();
        let candidates = self.candidates(now, from);
        let in_range = candidates.all().filter(|(_, square)| *square <= candidates.reach_squared);
        out.extend(
            in_range
                .map(|(station, distance_squared)| StationInRange { station, distance_squared }),
        );
        if candidates.near_end < candidates.stations.len() {
            out[start..].sort_unstable_by_key(|in_range| in_range.station);
        }
    }
}

#[cfg(test)]
mod test;
