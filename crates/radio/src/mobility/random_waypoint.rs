//! Random waypoint: pause, draw a target in the area and a speed, go there, and so on.

use driftway_base::{Duration, Instant, RandomStream};

use super::{Leg, seconds_after};
use crate::ParameterError;

/// The random waypoint model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomWaypoint {
    /// Width and height in metres; positions are from the origin to here.
    pub area: (f64, f64),
    /// Lowest and highest speed of a leg in m/s, drawn uniformly between them.
    pub speed: (f64, f64),
    /// Shortest and longest pause before a leg, drawn uniformly between them.
    pub pause: (Duration, Duration),
    /// Where nodes are at the start of the run.
    pub start: InitialDistribution,
}

/// How a random way begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum InitialDistribution {
    /// Anywhere in the area with the same density, with a whole pause, as the model's first users
    /// did (CMU's `setdest`). Who pauses for as long as the run lasts does not move. The mean speed
    /// then falls for a long time, and nodes gather in the middle.
    Uniform,
    /// As the model is after any long time: the run needs no warm-up (navidi-camp-2004,
    /// Le Boudec & Vojnović 2005). A node pauses with the pauses' share of the time, anywhere in the
    /// area, for what is left of a pause that one comes upon; or it is on a way drawn by its length,
    /// at any point of it, at a speed with a density of 1/v. A pause that is never longer than the
    /// run is over before its end, even if it is as long.
    #[default]
    SteadyState,
}

impl RandomWaypoint {
    /// Do the parameters make sense?
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        let (width, height) = self.area;
        if !(width >= 0.0 && height >= 0.0 && width + height > 0.0 && width + height < 1e9) {
            let message = format!("no node can move in {width} m × {height} m");
            return Err(ParameterError::new("area", message, "a width and a height in metres"));
        }
        let (low, high) = self.speed;
        if !(low >= 0.0 && high >= low && high > 0.0 && high < 1e9) {
            let message = format!("no speed lies between {low} m/s and {high} m/s");
            return Err(ParameterError::new("speed", message, "the lower first, the higher over 0"));
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

    /// The chance to find a node pausing after a long time: the pauses' share of it.
    fn pause_probability(&self) -> f64 {
        let pause = 0.5 * (self.pause.0.as_secs_f64() + self.pause.1.as_secs_f64());
        let (low, high) = self.speed;
        // The mean of 1/v over a uniform v.
        let per_metre = if high > low { libm::log(high / low) / (high - low) } else { 1.0 / low };
        pause / (pause + mean_distance(self.area) * per_metre)
    }
}

/// The mean distance of two points drawn uniformly in a rectangle.
fn mean_distance((a, b): (f64, f64)) -> f64 {
    let (short, long) = (a.min(b), a.max(b));
    // The closed form loses digits as the square of this ratio; a line's third is as near.
    if short <= long * 1e-4 {
        return long / 3.0;
    }
    let (a2, b2) = (a * a, b * b);
    let d = (a2 + b2).sqrt();
    let corners = a2 * a / b2 + b2 * b / a2 + d * (3.0 - a2 / b2 - b2 / a2);
    let sides = b2 / a * libm::log((a + d) / b) + a2 / b * libm::log((b + d) / a);
    corners / 15.0 + sides / 6.0
}

/// One node's way.
#[derive(Clone, Debug)]
pub(super) struct WaypointTrajectory {
    model: RandomWaypoint,
    random: RandomStream,
    /// Where the node is at the end of the leg made last, and when that is.
    at: (f64, f64),
    time: Instant,
    next: NextMove,
}

/// What a node does next.
#[derive(Clone, Copy, Debug)]
enum NextMove {
    /// It pauses as long as it drew.
    Pause(Duration),
    /// It goes to a place at a speed in m/s.
    Move((f64, f64), f64),
}

impl WaypointTrajectory {
    pub fn new(model: RandomWaypoint, seed: u64, node: u32) -> Self {
        let mut random = RandomStream::new(seed, "mobility", u64::from(node));
        let (at, next) = match model.start {
            InitialDistribution::Uniform => {
                let at = uniform_point(&mut random, model.area);
                (at, NextMove::Pause(random.uniform_duration(model.pause.0, model.pause.1)))
            }
            InitialDistribution::SteadyState if random.uniform_f64() < model.pause_probability() => {
                let at = uniform_point(&mut random, model.area);
                (at, NextMove::Pause(residual_pause(&mut random, model.pause)))
            }
            InitialDistribution::SteadyState => steady_state_leg(&mut random, &model),
        };
        Self { model, random, at, time: Instant::ZERO, next }
    }

    pub fn next_leg(&mut self) -> Leg {
        let mut leg = match self.next {
            NextMove::Pause(span) => {
                let target = uniform_point(&mut self.random, self.model.area);
                let (low, high) = self.model.speed;
                // From the top down, so that a lowest speed of 0 is never drawn.
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
        // Time goes on even in an area of no size.
        if matches!(self.next, NextMove::Pause(_)) {
            leg.until = leg.until.max(leg.since + Duration::from_nanos(1));
        }
        self.time = leg.until;
        leg
    }
}

fn uniform_point(random: &mut RandomStream, area: (f64, f64)) -> (f64, f64) {
    (random.uniform_f64() * area.0, random.uniform_f64() * area.1)
}

/// What is left of a pause that somebody comes upon: the longer a pause, the likelier it is met,
/// and any moment of it is as likely (navidi-camp-2004 §4).
fn residual_pause(random: &mut RandomStream, pause: (Duration, Duration)) -> Duration {
    let (low, high) = (pause.0.as_secs_f64(), pause.1.as_secs_f64());
    let met = (low * low + random.uniform_f64() * (high * high - low * low)).sqrt();
    seconds_after(Instant::ZERO, met * random.uniform_f64()).since(Instant::ZERO)
}

/// A leg that somebody comes upon: legs count by their length, a speed by the time that it takes
/// (a density of 1/v), and any point of the leg is as likely (navidi-camp-2004 §3).
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
