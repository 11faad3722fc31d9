//! BonnMotion's native format: one line per node with the node's waypoints in order, each a time
//! and a position: `0.0 10.0 20.0 5.5 30.0 20.0`. A node moves from one waypoint to the next at the
//! speed that takes it there in time; it is at rest before the first and after the last.

use driftway_base::Instant;

use super::contents::Movement;
use super::error::{Line, MovementError};
use super::number::{MAX_SPEED, Word};
use crate::leg::Leg;

/// Parses a file in BonnMotion's format. Empty lines and lines that start with `#` are skipped.
///
/// # Errors
/// The first problem and its location.
pub fn parse(name: &str, text: &str) -> Result<Movement, MovementError> {
    check_dimensions(name, text)?;
    let mut nodes = Vec::new();
    for (index, text) in text.lines().enumerate() {
        let line = Line { file: name, number: index + 1, text };
        let mut words = words(text).peekable();
        if words.peek().is_some_and(|word| !word.text.starts_with('#')) {
            nodes.push(node(&line, words)?);
        }
    }
    if nodes.is_empty() {
        let line = Line { file: name, number: 1, text: "" };
        let help = "one line per node: time x y time x y …, in seconds and metres";
        return Err(line.error_at(0, "the file has no nodes", help));
    }
    Ok(Movement::new(nodes))
}

const IN_A_PLANE: &str = "nodes move in a plane: three numbers per waypoint, time x y";

/// Checks that waypoints have three numbers. A file with a height says so in its first line, `#3D`;
/// without that line, read as three numbers it can be valid by chance. It is taken for one with heights
/// if each node has fours of numbers with ascending times and all with the same fourth number.
fn check_dimensions(name: &str, text: &str) -> Result<(), MovementError> {
    let mut height = None;
    let (mut nodes, mut is_flat) = (0, true);
    for (index, text) in text.lines().enumerate() {
        let line = Line { file: name, number: index + 1, text };
        if text.trim().eq_ignore_ascii_case("#3d") {
            let message = "this is a file of BonnMotion in three dimensions (#3D)";
            return Err(line.error_at(0, message, IN_A_PLANE));
        }
        if text.trim().is_empty() || text.trim_start().starts_with('#') {
            continue;
        }
        nodes += 1;
        let numbers: Vec<f64> =
            words(text).map(|word| word.text.parse().unwrap_or(f64::NAN)).collect();
        let is_four = numbers.len() > 4 && numbers.len().is_multiple_of(4);
        let times = numbers.iter().step_by(4);
        let ascends = times.clone().zip(times.skip(1)).all(|(one, next)| one <= next);
        let mut heights = numbers.iter().skip(3).step_by(4);
        let same = heights.all(|own| height.replace(*own).is_none_or(|other| other == *own));
        is_flat &= is_four && ascends && same;
    }
    if nodes > 0 && is_flat {
        let line = Line { file: name, number: 1, text: "" };
        let message = "each waypoint has four numbers, the last of them always the same";
        return Err(line.error_at(0, message, IN_A_PLANE));
    }
    Ok(())
}

fn words(text: &str) -> impl Iterator<Item = Word<'_>> {
    text.split_whitespace().map(|word| Word {
        text: word,
        // Both are slices of the same line.
        byte: word.as_ptr() as usize - text.as_ptr() as usize,
    })
}

fn node<'a>(
    line: &Line<'_>,
    mut words: impl Iterator<Item = Word<'a>>,
) -> Result<Vec<Leg>, MovementError> {
    let mut legs: Vec<Leg> = Vec::new();
    while let Some(word) = words.next() {
        let time = word.time(line)?;
        let mut coordinate = |axis| {
            let Some(word) = words.next() else {
                let message = format!("the last waypoint has no {axis}");
                let help = "three numbers per waypoint: time x y; nodes move in a plane";
                return Err(line.error_at(line.text.trim_end().len(), message, help));
            };
            word.coordinate(line)
        };
        let place = (coordinate("x")?, coordinate("y")?);
        match legs.last_mut() {
            None if time > Instant::ZERO => legs.push(Leg::at_rest(Instant::ZERO, time, place)),
            None => {}
            Some(last) => {
                let (from, since) = ((last.x, last.y), last.since);
                legs.pop();
                if time < since {
                    let message = format!("a waypoint at {time:?} after one at {since:?}");
                    let help = "waypoints in order of time, each of three numbers: time x y";
                    return Err(line.error_at(word.byte, message, help));
                }
                if time > since {
                    legs.push(Leg::between(since, time, from, place));
                }
                let nanos = time.since(since).as_nanos() as f64;
                let (dx, dy) = (place.0 - from.0, place.1 - from.1);
                if (dx * dx + dy * dy).sqrt() > nanos * 1e-9 * MAX_SPEED {
                    let message = format!("the node would move faster than {MAX_SPEED:e} m/s");
                    return Err(line.error_at(
                        word.byte,
                        message,
                        "a later waypoint or a nearer position",
                    ));
                }
            }
        }
        legs.push(Leg::at_rest(time, Instant::FAR_FUTURE, place));
    }
    Ok(legs)
}

#[cfg(test)]
mod test;
