//! Neighbour lists (Verlet lists), for networks too large to scan every node.
//!
//! All positions are recorded in a snapshot from time to time. As long as no node has moved by more
//! than half a margin since the snapshot, each node within range of another was within range plus
//! margin in the snapshot (verlet-1967 §2). A node's list is built on its first use after a
//! snapshot, from the cells of a grid around the node.

use driftway_base::Instant;

use super::legs::Legs;
use crate::leg::Leg;

/// Margin as a fraction of the range. A wide margin makes lists longer, a narrow one makes
/// snapshots more frequent.
const MARGIN: f64 = 0.1;
/// Average number of entries per node in all lists together; beyond it all lists are discarded.
/// With all nodes within range, lists would grow with the square of the number of nodes.
const MAX_ENTRIES_PER_NODE: usize = 128;
/// Bound of the floating-point rounding error (m).
const ROUNDING_SLACK: f64 = 1e-3;

#[derive(Clone, Debug)]
pub(super) struct NeighbourLists {
    /// Range plus margin (m), also the minimum size of a cell.
    list_radius: f64,
    /// Displacement that a node may have since the snapshot (m).
    max_displacement: f64,
    /// Upper bound of any node's displacement between the snapshot and `bound_at` (m).
    displacement_bound: f64,
    bound_at: Instant,
    /// Upper bound of any node's speed since `bound_at` (metres per nanosecond).
    max_speed: f64,
    /// Generation of the valid lists.
    generation: u32,
    x: Box<[f64]>,
    y: Box<[f64]>,
    cell_of: Box<[u32]>,
    /// Lower left corner of the grid, and its cells.
    origin: (f64, f64),
    cell_size: f64,
    columns: u32,
    rows: u32,
    /// Start of each cell's nodes in `cell_members`, and the end of the last.
    cell_starts: Vec<u32>,
    cell_members: Box<[u32]>,
    /// Each node's list in `entries`.
    list_spans: Box<[ListSpan]>,
    entries: Vec<u32>,
    /// Copies of the nodes' legs.
    packed_legs: Box<[PackedLeg]>,
}

/// A leg in a separate cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct PackedLeg {
    since: f64,
    x: f64,
    y: f64,
    vx: f64,
    vy: f64,
}

impl PackedLeg {
    #[inline]
    pub const fn at(&self, now: f64) -> (f64, f64) {
        let passed = now - self.since;
        (self.x + self.vx * passed, self.y + self.vy * passed)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct ListSpan {
    generation: u32,
    start: u32,
    end: u32,
}

impl NeighbourLists {
    pub fn new(legs: &Legs, reach: f64) -> Self {
        let nodes = legs.x.len();
        let packed_leg = |node| PackedLeg {
            since: legs.since[node],
            x: legs.x[node],
            y: legs.y[node],
            vx: legs.vx[node],
            vy: legs.vy[node],
        };
        Self {
            packed_legs: (0..nodes).map(packed_leg).collect(),
            list_radius: reach * (1.0 + MARGIN),
            max_displacement: reach * MARGIN * 0.5 - ROUNDING_SLACK,
            // There is no snapshot yet.
            displacement_bound: f64::INFINITY,
            bound_at: Instant::ZERO,
            max_speed: 0.0,
            generation: 0,
            x: vec![0.0; nodes].into(),
            y: vec![0.0; nodes].into(),
            cell_of: vec![0; nodes].into(),
            origin: (0.0, 0.0),
            cell_size: 0.0,
            columns: 0,
            rows: 0,
            cell_starts: Vec::new(),
            cell_members: vec![0; nodes].into(),
            list_spans: vec![ListSpan::default(); nodes].into(),
            entries: Vec::new(),
        }
    }

    /// Records the start of a leg, `gap` metres from the end of the previous one: the error from
    /// rounding its end to nanoseconds.
    pub fn on_new_leg(&mut self, node: u32, leg: &Leg, gap: f64) {
        let &Leg { since, x, y, vx, vy, .. } = leg;
        self.packed_legs[node as usize] =
            PackedLeg { since: since.as_nanos() as f64, x, y, vx, vy };
        self.displacement_bound += gap;
        let speed = leg.speed();
        if speed > self.max_speed {
            self.displacement_bound +=
                self.max_speed * since.since(self.bound_at).as_nanos() as f64;
            self.bound_at = self.bound_at.max(since);
            self.max_speed = speed;
        }
    }

    /// Returns the nodes that may be within range of `node`, without itself, in order of node
    /// number; and all nodes' legs.
    pub fn candidates_of(
        &mut self,
        node: u32,
        now: Instant,
        legs: &Legs,
    ) -> (&[u32], &[PackedLeg]) {
        let moved =
            self.displacement_bound + self.max_speed * now.since(self.bound_at).as_nanos() as f64;
        if moved > self.max_displacement {
            self.take_snapshot(now, legs);
            self.invalidate_lists();
        }
        let span = self.list_spans[node as usize];
        let span = if span.generation == self.generation { span } else { self.build_list(node) };
        (&self.entries[span.start as usize..span.end as usize], &self.packed_legs)
    }

    /// Invalidates all lists.
    fn invalidate_lists(&mut self) {
        self.entries.clear();
        self.generation = self.generation.checked_add(1).unwrap_or_else(|| {
            self.list_spans.fill(ListSpan::default());
            1
        });
    }

    /// Takes a snapshot and sorts the nodes into the cells of the grid.
    fn take_snapshot(&mut self, now: Instant, legs: &Legs) {
        (self.displacement_bound, self.bound_at, self.max_speed) = (0.0, now, 0.0);
        let nanos = now.as_nanos() as f64;
        let (mut low, mut high) = ((f64::MAX, f64::MAX), (f64::MIN, f64::MIN));
        for node in 0..self.x.len() {
            let (x, y) = legs.at(node, nanos);
            (self.x[node], self.y[node]) = (x, y);
            low = (low.0.min(x), low.1.min(y));
            high = (high.0.max(x), high.1.max(y));
            let (vx, vy) = (legs.vx[node], legs.vy[node]);
            self.max_speed = self.max_speed.max(vx * vx + vy * vy);
        }
        self.max_speed = self.max_speed.sqrt();
        // At most as many cells as nodes, however sparse they are.
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
        for node in 0..self.x.len() {
            let (column, row) = self.cell_at(node);
            let cell = row * self.columns + column;
            self.cell_of[node] = cell;
            self.cell_starts[cell as usize] += 1;
        }
        let mut sum = 0;
        for start in &mut self.cell_starts {
            sum += *start;
            *start = sum;
        }
        // From the last node to the first, so that each cell's nodes are in order.
        for node in (0..self.x.len()).rev() {
            let start = &mut self.cell_starts[self.cell_of[node] as usize];
            *start -= 1;
            self.cell_members[*start as usize] = node as u32;
        }
    }

    fn cell_at(&self, node: usize) -> (u32, u32) {
        let column = ((self.x[node] - self.origin.0) / self.cell_size) as u32;
        let row = ((self.y[node] - self.origin.1) / self.cell_size) as u32;
        (column.min(self.columns - 1), row.min(self.rows - 1))
    }

    fn build_list(&mut self, node: u32) -> ListSpan {
        if self.entries.len() > self.x.len() * MAX_ENTRIES_PER_NODE {
            self.invalidate_lists();
        }
        let start = self.entries.len() as u32;
        let (x, y) = (self.x[node as usize], self.y[node as usize]);
        let (column, row) = self.cell_at(node as usize);
        let square = self.list_radius * self.list_radius;
        let columns = column.saturating_sub(1)..=(column + 1).min(self.columns - 1);
        for row in row.saturating_sub(1)..=(row + 1).min(self.rows - 1) {
            // The cells of a row are adjacent, and so are their nodes.
            let first = self.cell_starts[(row * self.columns + columns.start()) as usize];
            let last = self.cell_starts[(row * self.columns + columns.end()) as usize + 1];
            for &other in &self.cell_members[first as usize..last as usize] {
                let (dx, dy) = (self.x[other as usize] - x, self.y[other as usize] - y);
                if dx * dx + dy * dy <= square && other != node {
                    self.entries.push(other);
                }
            }
        }
        self.entries[start as usize..].sort_unstable();
        let span = ListSpan { generation: self.generation, start, end: self.entries.len() as u32 };
        self.list_spans[node as usize] = span;
        span
    }
}
