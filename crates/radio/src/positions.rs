//! Positions of stations, and the stations within range of a transmitter.
//!
//! This code runs for every frame. Each transmitter keeps a list of the stations that can come
//! within range for a while.

mod legs;
mod neighbour_lists;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use driftway_base::{Instant, StationId};

use crate::mobility::Mobility;
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
    candidates: Box<[StationInRange]>,
}

/// The surroundings of a transmitter at an instant.
pub(crate) struct Surroundings<'a> {
    /// Every station within range, and some beyond, in order of number.
    pub audible: &'a [StationId],
    /// Every station within the inner range, and some beyond, in order of number.
    pub near: &'a [StationId],
    /// The transmitter's position (m).
    pub place: (f64, f64),
    nanos: f64,
    legs: &'a Legs,
}

impl Surroundings<'_> {
    /// Returns the squared distance of a station from the transmitter (m²).
    #[inline]
    pub fn distance_squared(&self, station: StationId) -> f64 {
        squared_distance(self.legs.at(station, self.nanos), self.place)
    }
}

#[inline]
fn squared_distance(one: (f64, f64), other: (f64, f64)) -> f64 {
    let (dx, dy) = (one.0 - other.0, one.1 - other.1);
    dx * dx + dy * dy
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
            legs.set(station, &leg);
            if leg.until < Instant::FAR_FUTURE {
                leg_ends.push(Reverse((leg.until, station)));
            }
        }
        let next_leg_end =
            leg_ends.peek().map_or(Instant::FAR_FUTURE, |&Reverse((until, _))| until);
        let none = StationInRange { station: StationId::new(0), distance_squared: 0.0 };
        let mut positions = Self {
            neighbour_lists: NeighbourLists::new(stations, reach),
            mobility,
            legs,
            leg_ends,
            next_leg_end,
            now: Instant::ZERO,
            reach_squared: reach * reach,
            candidates: vec![none; stations].into_boxed_slice(),
        };
        positions.advance_to(Instant::ZERO);
        positions
    }

    /// Also lists the stations that can come within an inner range (m).
    pub(crate) fn set_inner_range(&mut self, range: f64) {
        self.neighbour_lists.set_inner_range(range);
    }

    /// Returns the number of stations.
    pub fn stations(&self) -> usize {
        self.legs.stations()
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
            let (x, y) = self.legs.at(station, since);
            let (dx, dy) = (leg.x - x, leg.y - y);
            let gap = (dx * dx + dy * dy).sqrt();
            self.neighbour_lists.on_new_leg(&leg, gap);
            let moved = self.legs.distance_moved(station, since) + gap;
            self.legs.replace(station, until, &leg, moved);
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
        self.legs.at(station, now.as_nanos() as f64)
    }

    /// Returns the length of a station's trajectory since the start (m).
    ///
    /// # Panics
    /// If the station does not exist.
    pub fn distance_moved(&mut self, station: StationId, now: Instant) -> f64 {
        self.advance_to(now);
        self.legs.distance_moved(station, now.as_nanos() as f64)
    }

    /// Returns the surroundings of `from`.
    #[inline]
    pub(crate) fn surroundings(&mut self, now: Instant, from: StationId) -> Surroundings<'_> {
        self.advance_to(now);
        let nanos = now.as_nanos() as f64;
        let place = self.legs.at(from, nanos);
        let (audible, near) = self.neighbour_lists.candidates_of(from, now, &self.legs);
        Surroundings { audible, near, place, nanos, legs: &self.legs }
    }

    /// Keeps what [`distance_squared_at`](Self::distance_squared_at) needs for instants from `from`
    /// on (ns), and forgets what only earlier ones need.
    pub(crate) fn keep_from(&mut self, from: u64) {
        self.legs.keep_from(from);
    }

    /// Returns the squared distance (m²) of a station at an instant (ns) from a place.
    #[inline]
    pub(crate) fn distance_squared_at(
        &self,
        station: StationId,
        at: u64,
        place: (f64, f64),
    ) -> f64 {
        squared_distance(self.legs.at_past(station, at), place)
    }

    /// Returns the squared range (m²).
    pub(crate) const fn reach_squared(&self) -> f64 {
        self.reach_squared
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
        let mut candidates = std::mem::take(&mut self.candidates);
        let (mut count, reach_squared) = (0, self.reach_squared);
        let surroundings = self.surroundings(now, from);
        // Each candidate is written and then counted or not: no branch depends on the distance.
        for &station in surroundings.audible {
            let distance_squared = surroundings.distance_squared(station);
            candidates[count] = StationInRange { station, distance_squared };
            count += usize::from(distance_squared <= reach_squared);
        }
        out.extend_from_slice(&candidates[..count]);
        self.candidates = candidates;
    }
}

#[cfg(test)]
mod test;
