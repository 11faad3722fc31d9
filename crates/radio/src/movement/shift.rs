//! Another start and another origin of a movement.

use driftway_base::{Duration, Instant};

use super::contents::Movement;
use super::error::{Line, MovementError};
use super::number::MAX_COORDINATE;
use super::options::ReadOptions;
use crate::leg::Leg;

/// Lets the run begin at a time of the file, and adds an offset to all coordinates, as the options say.
pub(super) fn shifted(
    mut movement: Movement,
    options: &ReadOptions,
) -> Result<Movement, MovementError> {
    let ReadOptions { start, offset, .. } = *options;
    if start > Duration::ZERO {
        movement.legs.iter_mut().for_each(|legs| begin_at(legs, Instant::ZERO + start));
        for track in &mut movement.tracks {
            track.first = earlier(track.first, start);
            track.last = earlier(track.last, start);
        }
        movement.duration = movement.duration.map(|duration| duration.saturating_sub(start));
    }
    if offset != (0.0, 0.0) {
        for leg in movement.legs.iter_mut().flatten() {
            (leg.x, leg.y) = (leg.x + offset.0, leg.y + offset.1);
        }
        let bounds = movement.bounds();
        let ends = [bounds.low.0, bounds.low.1, bounds.high.0, bounds.high.1];
        if !ends.iter().all(|end| end.abs() <= MAX_COORDINATE) {
            let line = Line { file: "mobility.offset", number: 1, text: "" };
            let message = format!("an offset of {} m and {} m", offset.0, offset.1);
            let help =
                format!("coordinates are from {:e} m to {MAX_COORDINATE:e} m", -MAX_COORDINATE);
            return Err(line.error_at(0, message, help));
        }
    }
    Ok(movement)
}

fn earlier(at: Instant, by: Duration) -> Instant {
    Instant::from_nanos(at.as_nanos().saturating_sub(by.as_nanos()))
}

/// Drops the legs before `start`, and begins the one at that time there.
fn begin_at(legs: &mut Vec<Leg>, start: Instant) {
    legs.retain(|leg| leg.until > start);
    for leg in legs {
        if leg.since < start {
            (leg.x, leg.y) = leg.at(start);
        }
        let by = start.since(Instant::ZERO);
        leg.since = earlier(leg.since, by);
        if leg.until < Instant::FAR_FUTURE {
            leg.until = earlier(leg.until, by);
        }
    }
}
