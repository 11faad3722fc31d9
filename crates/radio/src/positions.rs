//! Positions of stations, and the stations within range of a transmitter.
//!
//! This code runs for every frame. In a small network all stations are scanned: their legs are
//! stored as one array per coordinate, so that the compiler vectorizes the loop. In a larger
//! network each transmitter keeps a list of the stations that can come within range for a while.

mod legs;
mod neighbour_lists;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use driftway_base::{Instant, StationId};
use typed_index_collections::{TiVec, ti_vec};

use crate::leg::Leg;
use crate::mobility::Mobility;
use legs::Legs;
use neighbour_lists::NeighbourLists;

/// Maximum number of stations for which a scan is as fast as lists, at the density usual in the
/// literature (`make bench`: hearers).
const MAX_SCANNED_STATIONS: usize = 64;

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
    neighbour_lists: Option<NeighbourLists>,
    distances_squared: TiVec<StationId, f64>,
    candidates: Box<[StationInRange]>,
}

impl Positions {
    /// Creates the positions for a range of `reach` metres ([`Propagation::reach`]).
    ///
    /// [`Propagation::reach`]: crate::Propagation::reach
    pub fn new(mobility: Mobility, reach: f64) -> Self {
        let scanned = mobility.stations() <= MAX_SCANNED_STATIONS;
        Self::with_neighbour_lists(mobility, reach, !scanned)
    }

    fn with_neighbour_lists(mut mobility: Mobility, reach: f64, lists: bool) -> Self {
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
            neighbour_lists: lists.then(|| NeighbourLists::new(&legs, reach)),
            mobility,
            legs,
            leg_ends,
            next_leg_end,
            now: Instant::ZERO,
            reach_squared: reach * reach,
            distances_squared: ti_vec![0.0; stations],
            candidates: vec![none; stations].into_boxed_slice(),
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
            let (x, y) = self.legs.at(station, since);
            let (dx, dy) = (leg.x - x, leg.y - y);
            let gap = (dx * dx + dy * dy).sqrt();
            if let Some(lists) = &mut self.neighbour_lists {
                lists.on_new_leg(station, &leg, gap);
            }
            self.legs.distance_before[station] = self.legs.distance_moved(station, since) + gap;
            self.legs.set(station, &leg);
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

    /// Moves a station to a place (metres), where it stays for the rest of the run, whatever its trajectory.
    /// That is no distance moved.
    ///
    /// # Panics
    /// If the station does not exist.
    pub fn place(&mut self, station: StationId, now: Instant, place: (f64, f64)) {
        let (x, y) = self.position(station, now);
        let nanos = now.as_nanos() as f64;
        let leg = Leg::at_rest(now, Instant::FAR_FUTURE, place);
        if let Some(lists) = &mut self.neighbour_lists {
            let (dx, dy) = (place.0 - x, place.1 - y);
            lists.on_new_leg(station, &leg, (dx * dx + dy * dy).sqrt());
        }
        self.legs.distance_before[station] = self.legs.distance_moved(station, nanos);
        self.legs.set(station, &leg);
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
        self.advance_to(now);
        let nanos = now.as_nanos() as f64;
        let place = self.legs.at(from, nanos);
        let (mut count, reach_squared) = (0, self.reach_squared);
        // Each candidate is written and then counted or not: no branch depends on the distance.
        let mut add = |station: StationId, distance_squared: f64| {
            self.candidates[count] = StationInRange { station, distance_squared };
            count += usize::from(distance_squared <= reach_squared);
        };
        if let Some(lists) = &mut self.neighbour_lists {
            let (list, packed_legs) = lists.candidates_of(from, now, &self.legs);
            for &station in list {
                let (x, y) = packed_legs[station].at(nanos);
                let (dx, dy) = (x - place.0, y - place.1);
                add(station, dx * dx + dy * dy);
            }
        } else {
            self.legs.distances_squared(nanos, place, &mut self.distances_squared);
            self.distances_squared[from] = f64::INFINITY;
            for (station, &square) in self.distances_squared.iter_enumerated() {
                add(station, square);
            }
        }
        out.extend_from_slice(&self.candidates[..count]);
    }
}

#[cfg(test)]
mod test;
