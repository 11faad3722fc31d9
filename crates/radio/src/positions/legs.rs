//! The current legs of all stations, and those that have been replaced lately.

use std::collections::VecDeque;

use driftway_base::{Instant, StationId};
use typed_index_collections::{TiVec, ti_vec};

use crate::leg::Leg;

/// A station's leg, in a cache line of its own.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct StationLeg {
    /// Start of the leg in nanoseconds: integers, which a float represents exactly for the first
    /// 104 days.
    since: f64,
    x: f64,
    y: f64,
    /// Metres per nanosecond.
    pub vx: f64,
    pub vy: f64,
    /// Distance moved before the leg (m).
    distance_before: f64,
    /// Instant from which the leg applies (ns).
    applies_from: u64,
}

impl StationLeg {
    const NONE: Self = Self {
        since: 0.0,
        x: 0.0,
        y: 0.0,
        vx: 0.0,
        vy: 0.0,
        distance_before: 0.0,
        applies_from: 0,
    };

    /// Same as [`Leg::at`].
    #[inline]
    const fn at(&self, now: f64) -> (f64, f64) {
        let passed = now - self.since;
        (self.x + self.vx * passed, self.y + self.vy * passed)
    }
}

/// A leg that another has replaced.
#[derive(Clone, Copy, Debug)]
struct ReplacedLeg {
    until: u64,
    station: StationId,
    leg: StationLeg,
}

/// Legs of the stations.
#[derive(Clone, Debug)]
pub(super) struct Legs {
    current: TiVec<StationId, StationLeg>,
    /// In order of their ends.
    replaced: VecDeque<ReplacedLeg>,
    /// Replaced legs are kept if they end after this instant (ns).
    kept_from: u64,
}

impl Legs {
    /// Creates stations without legs, of which only the current ones will be known.
    pub fn new(stations: usize) -> Self {
        Self {
            current: ti_vec![StationLeg::NONE; stations],
            replaced: VecDeque::new(),
            kept_from: u64::MAX,
        }
    }

    pub fn stations(&self) -> usize {
        self.current.len()
    }

    pub fn of(&self, station: StationId) -> &StationLeg {
        &self.current[station]
    }

    /// Returns the distance that a station has moved (m).
    pub fn distance_moved(&self, station: StationId, now: f64) -> f64 {
        let leg = &self.current[station];
        leg.distance_before + (leg.vx * leg.vx + leg.vy * leg.vy).sqrt() * (now - leg.since)
    }

    /// Sets a station's first leg.
    pub fn set(&mut self, station: StationId, leg: &Leg) {
        let &Leg { since, x, y, vx, vy, .. } = leg;
        let since = since.as_nanos() as f64;
        self.current[station] = StationLeg { since, x, y, vx, vy, ..StationLeg::NONE };
    }

    /// Replaces a station's leg, which has ended at `until`.
    pub fn replace(&mut self, station: StationId, until: Instant, leg: &Leg, moved: f64) {
        let until = until.as_nanos();
        if until > self.kept_from {
            self.replaced.push_back(ReplacedLeg { until, station, leg: self.current[station] });
        }
        self.set(station, leg);
        self.current[station].distance_before = moved;
        self.current[station].applies_from = until;
    }

    /// Keeps replaced legs that end after `from`, and forgets earlier ones.
    pub fn keep_from(&mut self, from: u64) {
        self.kept_from = from;
        while self.replaced.front().is_some_and(|leg| leg.until <= from) {
            self.replaced.pop_front();
        }
    }

    /// Returns a station's position on its current leg.
    #[inline]
    pub fn at(&self, station: StationId, now: f64) -> (f64, f64) {
        self.current[station].at(now)
    }

    /// Returns a station's position at an instant (ns) that may lie before its current leg.
    #[inline]
    pub fn at_past(&self, station: StationId, at: u64) -> (f64, f64) {
        let leg = &self.current[station];
        let leg = if at >= leg.applies_from { leg } else { self.replaced_leg(station, at) };
        leg.at(at as f64)
    }

    #[cold]
    fn replaced_leg(&self, station: StationId, at: u64) -> &StationLeg {
        let first = self.replaced.partition_point(|leg| leg.until <= at);
        let mut later = self.replaced.range(first..);
        later.find(|leg| leg.station == station).map_or(&self.current[station], |leg| &leg.leg)
    }
}
