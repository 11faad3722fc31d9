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
