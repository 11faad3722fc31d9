//! Gauss–Markov mobility (Liang & Haas 1999): the velocity remembers a part of what it was, and is drawn for the
//! rest. Nodes are reflected at the borders.

use driftway::Instant;
use driftway::base::{Declared, RandomStream, options};
use driftway::radio::mobility::{Plane, Trajectory};
use driftway::radio::{Leg, Mobility, ParameterError};

options! {
    /// Options of the model.
    pub struct GaussMarkovOptions {
        /// Root mean square of the speed.
        speed: speed(10.0, 0.0..=1000.0),
        /// The part of the velocity that remains after a step.
        memory: number(0.75, 0.0..=0.999),
        /// Time between two changes of the velocity.
        step: time(1 s, 1 ms..=3600 s),
    }
}

impl Declared<Plane, Result<Mobility, ParameterError>> for GaussMarkovOptions {
    const NAME: &'static str = "gauss-markov";
    const SUMMARY: &'static str = "Gauss–Markov mobility (Liang & Haas 1999).";

    fn build(self, plane: &Plane) -> Result<Mobility, ParameterError> {
        if self.speed <= 0.0 {
            let message = "nodes that do not move";
            return Err(ParameterError::new("speed", message, "a speed above 0 m/s"));
        }
        Ok(Mobility::new((0..plane.stations).map(|station| Walk::new(&self, plane, station))))
    }
}

/// The trajectory of a station.
#[derive(Clone, Debug)]
struct Walk {
    options: GaussMarkovOptions,
    area: [f64; 2],
    random: RandomStream,
    time: Instant,
    place: [f64; 2],
    velocity: [f64; 2],
}

impl Walk {
    fn new(options: &GaussMarkovOptions, plane: &Plane, station: u32) -> Self {
        let mut random = RandomStream::new(plane.seed, "gauss-markov", station.into());
        let area: [f64; 2] = plane.area.into();
        let place = area.map(|side| side * random.uniform_f64());
        let deviation = options.speed / f64::sqrt(2.0);
        let velocity = [0; 2].map(|_| deviation * normal(&mut random));
        Self { options: *options, area, random, time: Instant::ZERO, place, velocity }
    }
}

/// A draw with mean 0 and variance 1, nearly normal: the sum of twelve uniform ones.
fn normal(random: &mut RandomStream) -> f64 {
    (0..12).map(|_| random.uniform_f64()).sum::<f64>() - 6.0
}

impl Trajectory for Walk {
    fn next_leg(&mut self) -> Option<Leg> {
        let (since, from) = (self.time, self.place);
        self.time = since + self.options.step;
        let seconds = self.options.step.as_secs_f64();
        let deviation = self.options.speed / f64::sqrt(2.0);
        let memory = self.options.memory;
        for axis in 0..2 {
            let to = self.place[axis] + self.velocity[axis] * seconds;
            self.place[axis] = to.clamp(0.0, self.area[axis]);
            let bounce = if to == self.place[axis] { 1.0 } else { -1.0 };
            self.velocity[axis] = memory * bounce * self.velocity[axis]
                + f64::sqrt(1.0 - memory * memory) * deviation * normal(&mut self.random);
        }
        let [from, to] = [from, self.place].map(|[x, y]| (x, y));
        Some(Leg::between(since, self.time, from, to))
    }

    fn clone_boxed(&self) -> Box<dyn Trajectory> {
        Box::new(self.clone())
    }
}
