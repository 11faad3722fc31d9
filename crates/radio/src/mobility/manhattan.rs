//! Manhattan mobility: along the streets of a grid.

use driftway_base::{Declared, Duration, Instant, RandomStream, options};

use super::{Mobility, Plane, Trajectory};
use crate::ParameterError;
use crate::leg::{Leg, seconds_after};

options! {
    /// Options of Manhattan mobility.
    pub struct Manhattan {
        /// Number of blocks along x; there is one street more.
        blocks_x: count(10, 1..=1000),
        /// Number of blocks along y; there is one street more.
        blocks_y: count(10, 1..=1000),
        /// Minimum speed; the speed on each block is drawn uniformly between this and `max_speed`.
        min_speed: speed(5.0, 0.001..=1000.0),
        /// Maximum speed.
        max_speed: speed(15.0, 0.001..=1000.0),
        /// Probability of a turn at an intersection, to the left as likely as to the right; otherwise a node goes straight
        /// on.
        turn: number(0.5, 0.0..=1.0),
        /// Probability of a pause at an intersection.
        pause: number(0.0, 0.0..=1.0),
        /// Maximum duration of such a pause, which is drawn uniformly from 0 to this.
        max_pause: time(120 s, 0 s..=86400 s),
    }
}

impl Declared<Plane, Result<Mobility, ParameterError>> for Manhattan {
    const NAME: &'static str = "manhattan";
    const SUMMARY: &'static str = "Manhattan grid (Bai, Sadagopan & Helmy 2003): streets at equal distances, the \
                                   outermost at the borders of `area`. At an intersection a node goes straight on \
                                   with probability 1/2 and turns to each side with 1/4, or as `turn` says. Where a street \
                                   ends, it takes each of those that remain with the same probability, never back, so that \
                                   nodes are uniform along the streets. Runs begin in that steady state.";

    fn build(self, plane: &Plane) -> Result<Mobility, ParameterError> {
        if self.min_speed > self.max_speed {
            let message =
                format!("{} m/s is more than max_speed, {} m/s", self.min_speed, self.max_speed);
            return Err(ParameterError::new("min_speed", message, "at most `max_speed`"));
        }
        let grid = Grid::new(&self, plane.area);
        // This bounds the number of intersections in a run, too.
        let least = self.max_speed * 1e-3;
        if let Some(block) = grid.block.iter().find(|block| !(least..1e9).contains(*block)) {
            let message = format!("a block of {block} m for a speed of {} m/s", self.max_speed);
            let help = "fewer blocks, or sides so long that a block takes a millisecond or more";
            return Err(ParameterError::new("area", message, help));
        }
        Ok(Mobility::new(
            (0..plane.stations).map(|station| Walk::new(self, grid, plane.seed, station)),
        ))
    }
}

/// The streets.
#[derive(Clone, Copy, Debug)]
struct Grid {
    /// Number of blocks along x and y.
    blocks: [u32; 2],
    /// Length of a block along x and y (m).
    block: [f64; 2],
}

/// A direction along a street.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Heading {
    /// The direction: along x (0) or y (1).
    axis: usize,
    /// True towards larger coordinates.
    forward: bool,
}

impl Heading {
    /// Straight on, to the one side, to the other.
    fn choices(self) -> [Self; 3] {
        let side = |forward| Self { axis: 1 - self.axis, forward };
        [self, side(false), side(true)]
    }
}

impl Grid {
    fn new(model: &Manhattan, area: (f64, f64)) -> Self {
        let blocks = [model.blocks_x, model.blocks_y];
        Self { blocks, block: [area.0 / f64::from(blocks[0]), area.1 / f64::from(blocks[1])] }
    }

    /// Number of blocks along the streets of an axis: those in the street, times the streets.
    fn sections(&self, axis: usize) -> f64 {
        f64::from(self.blocks[axis]) * (f64::from(self.blocks[1 - axis]) + 1.0)
    }

    /// Mean length of a block, over the blocks of all streets.
    fn mean_block(&self) -> f64 {
        let [x, y] = [self.sections(0), self.sections(1)];
        (x * self.block[0] + y * self.block[1]) / (x + y)
    }

    fn place(&self, at: [u32; 2]) -> [f64; 2] {
        [0, 1].map(|axis| f64::from(at[axis]) * self.block[axis])
    }

    /// The next intersection; `None`: the street ends here.
    fn next(&self, mut at: [u32; 2], heading: Heading) -> Option<[u32; 2]> {
        let Heading { axis, forward } = heading;
        if forward {
            at[axis] = (at[axis] < self.blocks[axis]).then(|| at[axis] + 1)?;
        } else {
            at[axis] = at[axis].checked_sub(1)?;
        }
        Some(at)
    }
}

/// The trajectory of one station.
#[derive(Clone, Debug)]
struct Walk {
    model: Manhattan,
    grid: Grid,
    random: RandomStream,
    time: Instant,
    /// Position (m).
    place: [f64; 2],
    /// Intersection ahead, or that of the pause, and the direction of arrival there.
    ahead: [u32; 2],
    heading: Heading,
    next: Step,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Moves to the intersection ahead at this speed (m/s).
    Move(f64),
    /// Pauses for this time (s).
    Pause(f64),
}

impl Walk {
    /// Begins in the steady state: uniform along the streets at a speed with a density proportional to
    /// 1/speed, or in the rest of a pause.
    fn new(model: Manhattan, grid: Grid, seed: u64, station: u32) -> Self {
        let mut random = RandomStream::new(seed, "mobility", station.into());
        let pauses = random.uniform_f64() < model.pause_share(&grid);
        // A pause is at the end of any block, but a moving station more often on a long one.
        let weight =
            |axis: usize| grid.sections(axis) * if pauses { 1.0 } else { grid.block[axis] };
        let along_x = random.uniform_f64() * (weight(0) + weight(1)) < weight(0);
        let axis = usize::from(!along_x);
        let mut from = [0; 2];
        from[axis] = random.uniform_below(grid.blocks[axis].into()) as u32;
        from[1 - axis] = random.uniform_below(u64::from(grid.blocks[1 - axis]) + 1) as u32;
        let forward = random.uniform_below(2) == 1;
        let heading = Heading { axis, forward };
        let mut ahead = from;
        ahead[axis] += u32::from(forward);
        let mut place = grid.place(ahead);
        let next = if pauses {
            // Of a pause that was drawn in proportion to its length.
            let pause = model.max_pause.as_secs_f64() * random.uniform_f64().sqrt();
            Step::Pause(pause * random.uniform_f64())
        } else {
            let left = grid.block[axis] * random.uniform_f64();
            place[axis] += if forward { -left } else { left };
            let (low, high) = (model.min_speed, model.max_speed);
            let speed = low * libm::exp(random.uniform_f64() * libm::log(high / low));
            Step::Move(speed.clamp(low, high))
        };
        Self { model, grid, random, time: Instant::ZERO, place, ahead, heading, next }
    }

    /// Chooses the direction at the intersection.
    fn turn(&mut self) -> Heading {
        let [straight, left, right] = self.heading.choices();
        let exists = |heading: &Heading| self.grid.next(self.ahead, *heading).is_some();
        let draw = self.random.uniform_f64();
        let all = [straight, left, right];
        if all.iter().all(exists) {
            return match draw {
                _ if draw < 0.5 * self.model.turn => left,
                _ if draw < self.model.turn => right,
                _ => straight,
            };
        }
        // One at least: a grid has a block or more along each axis, so that each corner has two streets.
        let count = all.iter().filter(|heading| exists(heading)).count();
        let chosen = ((draw * count as f64) as usize).min(count.saturating_sub(1));
        all.into_iter().filter(exists).nth(chosen).unwrap_or(straight)
    }
}

impl Manhattan {
    /// Draws the pause at an intersection (s).
    fn draw_pause(&self, random: &mut RandomStream) -> Option<f64> {
        let pauses = random.uniform_f64() < self.pause;
        pauses.then(|| self.max_pause.as_secs_f64() * random.uniform_f64())
    }

    fn draw_speed(&self, random: &mut RandomStream) -> f64 {
        self.min_speed + (self.max_speed - self.min_speed) * random.uniform_f64()
    }

    /// Share of the time that a station pauses.
    fn pause_share(&self, grid: &Grid) -> f64 {
        let (low, high) = (self.min_speed, self.max_speed);
        let per_metre = if high > low { libm::log(high / low) / (high - low) } else { 1.0 / low };
        let pause = self.pause * self.max_pause.as_secs_f64() * 0.5;
        pause / (pause + grid.mean_block() * per_metre)
    }
}

impl Trajectory for Walk {
    fn next_leg(&mut self) -> Option<Leg> {
        let [x, y] = self.place;
        let leg = match self.next {
            Step::Pause(pause) => {
                self.next = Step::Move(self.model.draw_speed(&mut self.random));
                Leg::at_rest(self.time, seconds_after(self.time, pause), (x, y))
            }
            Step::Move(speed) => {
                let to = self.grid.place(self.ahead);
                let leg = Leg::towards(self.time, (x, y), (to[0], to[1]), speed);
                self.place = to;
                let pause = self.model.draw_pause(&mut self.random);
                let speed = self.model.draw_speed(&mut self.random);
                self.next = pause.map_or(Step::Move(speed), Step::Pause);
                leg
            }
        };
        if let Step::Move(_) = self.next {
            self.heading = self.turn();
            self.ahead = self.grid.next(self.ahead, self.heading).unwrap_or(self.ahead);
        }
        // Some time passes in each leg.
        self.time = leg.until.max(self.time + Duration::from_nanos(1));
        Some(Leg { until: self.time, ..leg })
    }

    fn clone_boxed(&self) -> Box<dyn Trajectory> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod test;
