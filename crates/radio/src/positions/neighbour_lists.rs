//! Neighbour lists (Verlet lists), which spare a scan of all stations for each frame.
//!
//! All positions are recorded in a snapshot from time to time. As long as no station has moved by
//! more than half a margin since the snapshot, each station within range of another was within
//! range plus margin in the snapshot (verlet-1967 §2). A station's list is built on its first use
//! after a snapshot, from the cells of a grid around the station. It contains copies of the legs, so that
//! distances are computed from adjacent memory, several at once.

use core::ops::Range;

use driftway_base::{Instant, StationId};
use typed_index_collections::{TiVec, ti_vec};

use super::legs::{LegArrays, Legs};
use crate::leg::Leg;

/// Margin as a fraction of the range. A wide margin makes lists longer, a narrow one makes
/// snapshots more frequent.
const MARGIN: f64 = 0.1;
/// Average number of entries per station in all lists together; beyond it all lists are discarded.
/// With all stations within range, lists would grow with the square of the number of stations.
const MAX_ENTRIES_PER_NODE: usize = 128;
/// Entries per station for which memory is reserved.
const RESERVED_ENTRIES: usize = 64;
/// Bound of the floating-point rounding error (m).
const ROUNDING_SLACK: f64 = 1e-3;

#[derive(Clone, Debug)]
pub(super) struct NeighbourLists {
    /// Range (m).
    reach: f64,
    /// Range plus margin (m), also the minimum size of a cell.
    list_radius: f64,
    /// Squared distances in the snapshot up to which a station may decode frames for now, and is in
    /// range for now (m²).
    near_squared: f64,
    inner_squared: f64,
    /// Displacement that a station may have since the snapshot (m).
    max_displacement: f64,
    /// Upper bound of any station's displacement between the snapshot and `bound_at` (m).
    displacement_bound: f64,
    bound_at: Instant,
    /// Upper bound of any station's speed since `bound_at` (metres per nanosecond).
    max_speed: f64,
    /// Generation of the valid lists.
    generation: u32,
    x: TiVec<StationId, f64>,
    y: TiVec<StationId, f64>,
    cell_of: TiVec<StationId, u32>,
    /// Lower left corner of the grid, and its cells.
    origin: (f64, f64),
    cell_size: f64,
    columns: u32,
    rows: u32,
    /// Start of each cell's stations in `cell_members`, and the end of the last.
    cell_starts: Vec<u32>,
    cell_members: Box<[StationId]>,
    /// Each station's list in `entries`, and the legs of the stations listed there.
    list_spans: TiVec<StationId, ListSpan>,
    entries: Vec<StationId>,
    legs: LegArrays,
    /// Buffer of the stations of a new list, each with its part.
    sorted: Vec<(u8, StationId)>,
}

/// A station's list.
pub(super) struct List<'a> {
    pub stations: &'a [StationId],
    /// Ends of the parts of those that may decode frames, and of those that are in range.
    pub near: usize,
    pub inner: usize,
    /// The legs of all lists, and the place of the first of this list.
    pub legs: &'a LegArrays,
    pub place: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct ListSpan {
    generation: u32,
    start: u32,
    near: u32,
    inner: u32,
    end: u32,
}

impl ListSpan {
    const fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl NeighbourLists {
    pub fn new(stations: usize, reach: f64) -> Self {
        let most = stations * stations.min(RESERVED_ENTRIES);
        Self {
            reach,
            list_radius: reach * (1.0 + MARGIN),
            near_squared: f64::INFINITY,
            inner_squared: f64::INFINITY,
            max_displacement: reach * MARGIN * 0.5 - ROUNDING_SLACK,
            // There is no snapshot yet.
            displacement_bound: f64::INFINITY,
            bound_at: Instant::ZERO,
            max_speed: 0.0,
            generation: 0,
            x: ti_vec![0.0; stations],
            y: ti_vec![0.0; stations],
            cell_of: ti_vec![0; stations],
            origin: (0.0, 0.0),
            cell_size: 0.0,
            columns: 0,
            rows: 0,
            cell_starts: Vec::new(),
            cell_members: vec![StationId::new(0); stations].into(),
            list_spans: ti_vec![ListSpan::default(); stations],
            entries: Vec::with_capacity(most),
            legs: LegArrays::with_capacity(most),
            sorted: Vec::with_capacity(stations),
        }
    }

    /// Divides lists by the range (m) within which frames can be decoded, unless it is too close to
    /// that within which they are sensed.
    pub fn set_receive_range(&mut self, range: f64) {
        let margin = self.reach * MARGIN;
        let (near, inner) = (range + margin, self.reach - margin);
        let divides = near < inner;
        (self.near_squared, self.inner_squared) =
            if divides { (near * near, inner * inner) } else { (f64::INFINITY, f64::INFINITY) };
        self.displacement_bound = f64::INFINITY;
    }

    /// Records the start of a leg, `gap` metres from the end of the previous one: the error from
    /// rounding its end to nanoseconds. `legs` are those of the other stations.
    pub fn on_new_leg(&mut self, station: StationId, leg: &Leg, gap: f64, legs: &Legs) {
        self.displacement_bound += gap;
        let speed = leg.speed();
        if speed > self.max_speed {
            let passed = leg.since.since(self.bound_at).as_nanos() as f64;
            self.displacement_bound += self.max_speed * passed;
            self.bound_at = self.bound_at.max(leg.since);
            self.max_speed = speed;
        }
        // A snapshot will be taken before lists are used.
        if self.displacement_bound > self.max_displacement {
            return;
        }
        // Who is in the list of this station has this station in its own.
        let span = self.list_of(station, legs);
        for index in span.range() {
            let other = self.list_spans[self.entries[index]];
            if other.generation != self.generation {
                continue;
            }
            let mut listed = self.entries[other.range()].iter();
            if let Some(place) = listed.position(|listed| *listed == station) {
                self.legs.set(other.start as usize + place, leg);
            }
        }
    }

    /// Returns the list of the stations that may be within range of `station`, without itself.
    pub fn candidates_of(&mut self, station: StationId, now: Instant, legs: &Legs) -> List<'_> {
        let moved =
            self.displacement_bound + self.max_speed * now.since(self.bound_at).as_nanos() as f64;
        if moved > self.max_displacement {
            self.take_snapshot(now, legs);
            self.invalidate_lists();
        }
        let span = self.list_of(station, legs);
        List {
            stations: &self.entries[span.range()],
            near: (span.near - span.start) as usize,
            inner: (span.inner - span.start) as usize,
            legs: &self.legs,
            place: span.start as usize,
        }
    }

    /// Returns the list of a station, which is built if it does not exist.
    fn list_of(&mut self, station: StationId, legs: &Legs) -> ListSpan {
        let span = self.list_spans[station];
        if span.generation == self.generation { span } else { self.build_list(station, legs) }
    }

    /// Invalidates all lists.
    fn invalidate_lists(&mut self) {
        self.entries.clear();
        self.legs.clear();
        self.generation = self.generation.checked_add(1).unwrap_or_else(|| {
            self.list_spans.fill(ListSpan::default());
            1
        });
    }

    /// Takes a snapshot and sorts the stations into the cells of the grid.
    fn take_snapshot(&mut self, now: Instant, legs: &Legs) {
        (self.displacement_bound, self.bound_at, self.max_speed) = (0.0, now, 0.0);
        let nanos = now.as_nanos() as f64;
        let (mut low, mut high) = ((f64::MAX, f64::MAX), (f64::MIN, f64::MIN));
        for station in self.x.keys() {
            let (x, y) = legs.current.at(station.index(), nanos);
            (self.x[station], self.y[station]) = (x, y);
            low = (low.0.min(x), low.1.min(y));
            high = (high.0.max(x), high.1.max(y));
            self.max_speed = self.max_speed.max(legs.current.speed_squared(station.index()));
        }
        self.max_speed = self.max_speed.sqrt();
        // At most as many cells as stations, however sparse they are.
        let (width, height) = (high.0 - low.0, high.1 - low.1);
        let most = self.x.len() as f64;
        self.cell_size = self.list_radius.max((width * height / most).sqrt());
        self.cell_size = self.cell_size.max(width / most).max(height / most);
        self.origin = low;
        self.columns = (width / self.cell_size) as u32 + 1;
        self.rows = (height / self.cell_size) as u32 + 1;
        let cells = self.columns as usize * self.rows as usize;
        self.cell_starts.clear();
        self.cell_starts.resize(cells + 1, 0);
        for station in self.x.keys() {
            let (column, row) = self.cell_at(station);
            let cell = row * self.columns + column;
            self.cell_of[station] = cell;
            self.cell_starts[cell as usize] += 1;
        }
        let mut sum = 0;
        for start in &mut self.cell_starts {
            sum += *start;
            *start = sum;
        }
        // From the last station to the first, so that each cell's stations are in order.
        for station in self.x.keys().rev() {
            let start = &mut self.cell_starts[self.cell_of[station] as usize];
            *start -= 1;
            self.cell_members[*start as usize] = station;
        }
    }

    fn cell_at(&self, station: StationId) -> (u32, u32) {
        let column = ((self.x[station] - self.origin.0) / self.cell_size) as u32;
        let row = ((self.y[station] - self.origin.1) / self.cell_size) as u32;
        (column.min(self.columns - 1), row.min(self.rows - 1))
    }

    fn build_list(&mut self, station: StationId, legs: &Legs) -> ListSpan {
        if self.entries.len() > self.x.len() * MAX_ENTRIES_PER_NODE {
            self.invalidate_lists();
        }
        let start = self.entries.len() as u32;
        let (x, y) = (self.x[station], self.y[station]);
        let (column, row) = self.cell_at(station);
        let square = self.list_radius * self.list_radius;
        let columns = column.saturating_sub(1)..=(column + 1).min(self.columns - 1);
        for row in row.saturating_sub(1)..=(row + 1).min(self.rows - 1) {
            // The cells of a row are adjacent, and so are their stations.
            let first = self.cell_starts[(row * self.columns + columns.start()) as usize];
            let last = self.cell_starts[(row * self.columns + columns.end()) as usize + 1];
            for &other in &self.cell_members[first as usize..last as usize] {
                let (dx, dy) = (self.x[other] - x, self.y[other] - y);
                let distance = dx * dx + dy * dy;
                if distance <= square && other != station {
                    let part = u8::from(distance > self.near_squared)
                        + u8::from(distance > self.inner_squared);
                    self.sorted.push((part, other));
                }
            }
        }
        self.sorted.sort_unstable();
        let end_of = |part| start + self.sorted.partition_point(|entry| entry.0 <= part) as u32;
        let (near, inner, end) = (end_of(0), end_of(1), end_of(2));
        for (_, other) in self.sorted.drain(..) {
            self.entries.push(other);
            self.legs.push(&legs.current, other.index());
        }
        let span = ListSpan { generation: self.generation, start, near, inner, end };
        self.list_spans[station] = span;
        span
    }
}
