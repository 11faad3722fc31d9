//! Random waypoint mobility: pause, draw a destination in the area and a speed, move there, repeat.

use driftway_base::{Duration, Instant, RandomStream, StationId};

use super::trajectory::Trajectory;
use crate::ParameterError;
use crate::leg::{Leg, seconds_after};

/// Parameters of the random waypoint model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomWaypoint {
    /// Width and height of the area in metres, from the origin.
    pub area: (f64, f64),
    /// Minimum and maximum speed of a leg in m/s; drawn uniformly.
    pub speed: (f64, f64),
    /// Minimum and maximum pause before a leg; drawn uniformly.
    pub pause: (Duration, Duration),
    /// Initial distribution of the stations.
    pub start: InitialDistribution,
}

/// Initial distribution of random waypoint stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum InitialDistribution {
    /// Uniform over the area, starting with a full pause, as in the model's first uses (CMU's
    /// `setdest`). A station whose pause lasts for the whole run does not move. The mean speed
    /// decays for a long time, and stations concentrate in the middle.
    Uniform,
    /// The steady state, so that the run needs no warm-up (navidi-camp-2004, Le Boudec & Vojnović
    /// 2005). With the steady-state pause probability a station is uniform over the area with a
    /// residual pause; otherwise it is at a uniform point of a leg drawn in proportion to its
    /// length, at a speed with a density proportional to 1/v. A pause no longer than the run ends
    /// within the run.
    #[default]
    SteadyState,
}

impl RandomWaypoint {
    /// Checks the parameters.
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        let (width, height) = self.area;
        if !(width >= 0.0 && height >= 0.0 && width + height > 0.0 && width + height < 1e9) {
            let message = format!("no node can move in {width} m × {height} m");
            return Err(ParameterError::new("area", message, "a width and a height in metres"));
        }
        let (low, high) = self.speed;
        if !(low >= 0.0 && high >= low && high > 0.0 && high < 1e9) {
            let message = format!("no speed lies between {low} m/s and {high} m/s");
            return Err(ParameterError::new(
                "speed",
                message,
                "the lower first, the higher over 0",
            ));
        }
        if self.start == InitialDistribution::SteadyState && low <= 0.0 {
            let message = "speeds down to 0 have no steady state: the mean speed falls for ever";
            return Err(ParameterError::new("speed", message, "a lowest speed above 0 m/s"));
        }
        if self.pause.0 > self.pause.1 {
            let message = "the shortest pause is longer than the longest";
            return Err(ParameterError::new("pause", message, "the shorter first"));
        }
        Ok(())
    }

    /// Returns the steady-state probability that a station pauses.
    fn pause_probability(&self) -> f64 {
        let pause = 0.5 * (self.pause.0.as_secs_f64() + self.pause.1.as_secs_f64());
        let (low, high) = self.speed;
        // Mean of 1/v for a uniform v.
        let per_metre = if high > low { libm::log(high / low) / (high - low) } else { 1.0 / low };
        pause / (pause + mean_distance(self.area) * per_metre)
    }
}

/// Returns the mean distance of two points drawn uniformly in a rectangle.
fn mean_distance((a, b): (f64, f64)) -> f64 {
    let (short, long) = (a.min(b), a.max(b));
    // The closed form loses precision with the square of this ratio; a third of the length is as
    // accurate.
    if short <= long * 1e-4 {
        return long / 3.0;
    }
    let (a2, b2) = (a * a, b * b);
    let d = (a2 + b2).sqrt();
    let corners = a2 * a / b2 + b2 * b / a2 + d * (3.0 - a2 / b2 - b2 / a2);
    let sides = b2 / a * libm::log((a + d) / b) + a2 / b * libm::log((b + d) / a);
    corners / 15.0 + sides / 6.0
}

/// The trajectory of one station.
#[derive(Clone, Debug)]
pub(super) struct WaypointTrajectory {
    model: RandomWaypoint,
    random: RandomStream,
    /// Position and time at the end of the latest leg.
    at: (f64, f64),
    time: Instant,
    next: NextMove,
}

/// Next phase of a station.
#[derive(Clone, Copy, Debug)]
enum NextMove {
    /// Pause for this time.
    Pause(Duration),
    /// Move to a position at a speed in m/s.
    Move((f64, f64), f64),
}

impl WaypointTrajectory {
    pub fn new(model: RandomWaypoint, seed: u64, station: StationId) -> Self {
        let random = RandomStream::new(seed, "mobility", station.into());
        Self::from_stream(model, random)
    }

    /// Creates a trajectory that takes its draws from this stream.
    pub fn from_stream(model: RandomWaypoint, mut random: RandomStream) -> Self {
        let (at, next) = match model.start {
            InitialDistribution::Uniform => {
                let at = uniform_point(&mut random, model.area);
                (at, NextMove::Pause(random.uniform_duration(model.pause.0, model.pause.1)))
            }
            InitialDistribution::SteadyState
                if random.uniform_f64() < model.pause_probability() =>
            {
                let at = uniform_point(&mut random, model.area);
                (at, NextMove::Pause(residual_pause(&mut random, model.pause)))
            }
            InitialDistribution::SteadyState => steady_state_leg(&mut random, &model),
        };
        Self { model, random, at, time: Instant::ZERO, next }
    }
}

impl Trajectory for WaypointTrajectory {
    fn next_leg(&mut self) -> Option<Leg> {
        let mut leg = match self.next {
            NextMove::Pause(span) => {
                let target = uniform_point(&mut self.random, self.model.area);
                let (low, high) = self.model.speed;
                // From the maximum downwards, so that a minimum speed of 0 is never drawn.
                self.next = NextMove::Move(target, high - (high - low) * self.random.uniform_f64());
                Leg::at_rest(self.time, self.time + span, self.at)
            }
            NextMove::Move(target, speed) => {
                let leg = Leg::towards(self.time, self.at, target, speed);
                let (shortest, longest) = self.model.pause;
                self.next = NextMove::Pause(self.random.uniform_duration(shortest, longest));
                self.at = target;
                leg
            }
        };
        // Time advances even in an area of zero size.
        if matches!(self.next, NextMove::Pause(_)) {
            leg.until = leg.until.max(leg.since + Duration::from_nanos(1));
        }
        self.time = leg.until;
        Some(leg)
    }

    fn clone_boxed(&self) -> Box<dyn Trajectory> {
        Box::new(self.clone())
    }
}

fn uniform_point(random: &mut RandomStream, area: (f64, f64)) -> (f64, f64) {
    (random.uniform_f64() * area.0, random.uniform_f64() * area.1)
}

/// Draws a residual pause in the steady state: pauses are weighted by their length, and the elapsed
/// part is uniform (navidi-camp-2004 §4).
fn residual_pause(random: &mut RandomStream, pause: (Duration, Duration)) -> Duration {
    let (low, high) = (pause.0.as_secs_f64(), pause.1.as_secs_f64());
    let met = (low * low + random.uniform_f64() * (high * high - low * low)).sqrt();
    seconds_after(Instant::ZERO, met * random.uniform_f64()).since(Instant::ZERO)
}

/// Draws a leg in the steady state: legs are weighted by their length, speeds by their duration (a
/// density proportional to 1/v), and the position on the leg is uniform (navidi-camp-2004 §3).
fn steady_state_leg(random: &mut RandomStream, model: &RandomWaypoint) -> ((f64, f64), NextMove) {
    let (width, height) = model.area;
    let diagonal_squared = width * width + height * height;
    let (from, to) = loop {
        let (from, to) = (uniform_point(random, model.area), uniform_point(random, model.area));
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let draw = random.uniform_f64();
        if draw * draw * diagonal_squared < dx * dx + dy * dy {
            break (from, to);
        }
    };
    let gone = random.uniform_f64();
    let at = (from.0 + gone * (to.0 - from.0), from.1 + gone * (to.1 - from.1));
    let (low, high) = model.speed;
    let speed = low * libm::exp(random.uniform_f64() * libm::log(high / low));
    (at, NextMove::Move(to, speed.min(high)))
}

#[cfg(test)]
mod test;
