//! ns-2's movement files: pieces of Tcl that place nodes and send them somewhere.
//!
//! ```text
//! $node_(0) set X_ 83.4                                  where node 0 is at the start; Y_ and Z_ too
//! $ns_ at 2.0 "$node_(0) setdest 90.0 40.5 1.5"          at 2 s it leaves for there at 1.5 m/s
//! $god_ set-dist 0 1 2                                   (setdest) hops between two nodes: only for
//! $ns_ at 9.8 "$god_ set-dist 0 1 1"                     ns-2's traces, read and not used
//! set val(nn) 50                                         (BonnMotion) number of nodes, x, y, duration
//! ```
//!
//! Only these statements are known, not Tcl: any other is an error that names it. Comments, several
//! statements on a line (`;`) and braces instead of quotes are as in Tcl.
//!
//! A node leaves from wherever it is at that time, goes straight, and stops at its destination. The
//! next `setdest` interrupts it, and of two at the same time the one further down counts, as in ns-2
//! (mobile/mobilenode.cc, `set_destination`); a speed of 0 stops a node.

mod statement;

use std::collections::BTreeMap;

use driftway_base::{Duration, Instant};

use super::Movement;
use super::error::{Line, MovementError};
use crate::mobility::Leg;
use statement::{Statement, read_line};

/// Reads an ns-2 movement file.
///
/// # Errors
/// The first thing that is wrong, and where.
pub fn parse(name: &str, text: &str) -> Result<Movement, MovementError> {
    let mut file = Ns2File::default();
    for (index, text) in text.lines().enumerate() {
        let line = Line { file: name, number: index + 1, text };
        read_line(&line, &mut |byte, statement| file.apply(&line, byte, &statement))?;
    }
    file.finish(name)
}

/// Where something was said: line and byte.
type SourceLocation = (usize, usize);

#[derive(Default)]
struct Ns2File {
    /// By number; sorted, since a file may name any number.
    nodes: BTreeMap<u32, Node>,
    /// Number of nodes, where the file says it.
    count: Option<(u32, SourceLocation)>,
    /// Size of the area, likewise.
    size: [Option<f64>; 2],
    duration: Option<Duration>,
}

struct Node {
    first: SourceLocation,
    start: [Option<f64>; 3],
    moves: Vec<Move>,
}

struct Move {
    at: Instant,
    to: (f64, f64),
    /// m/s.
    speed: f64,
}

impl Ns2File {
    fn apply(
        &mut self,
        line: &Line<'_>,
        byte: usize,
        statement: &Statement,
    ) -> Result<(), MovementError> {
        let place = (line.number, byte);
        let new = || Node { first: place, start: [None; 3], moves: Vec::new() };
        match *statement {
            Statement::SetPosition { node: number, axis, value } => {
                if axis == 2 && value != 0.0 {
                    let message = format!("node {number} is {value} m above the plane");
                    return Err(line.error_at(byte, message, "nodes move in a plane: Z_ is 0.0"));
                }
                if self.nodes.entry(number).or_insert_with(new).start[axis].replace(value).is_some()
                {
                    let name = ["X_", "Y_", "Z_"][axis];
                    let message = format!("node {number} has a second {name}");
                    return Err(line.error_at(byte, message, "one place for each node to start from"));
                }
            }
            Statement::SetDestination { node: number, at, to, speed } => {
                self.nodes.entry(number).or_insert_with(new).moves.push(Move { at, to, speed });
            }
            Statement::NodeCount(count) => self.count = Some((count, place)),
            Statement::AreaSize { axis, size } => self.size[axis] = Some(size),
            Statement::Duration(end) => self.duration = Some(end.since(Instant::ZERO)),
            Statement::HopDistance => {}
        }
        Ok(())
    }

    fn finish(self, name: &str) -> Result<Movement, MovementError> {
        let wrong = |(number, byte): SourceLocation, message: String, help: &str| {
            // Columns of a line that is gone by now: these are ASCII up to the byte, or the
            // statement would not have been understood.
            let line = Line { file: name, number, text: "" };
            MovementError { column: byte + 1, ..line.error_at(0, message, help) }
        };
        let mut legs = Vec::with_capacity(self.nodes.len());
        for (expected, (number, node)) in (0..).zip(self.nodes) {
            if number != expected {
                let message = format!("there is a node {number}, but no node {expected}");
                return Err(wrong(node.first, message, "nodes numbered from 0 without a gap"));
            }
            let [Some(x), Some(y), _] = node.start else {
                let axis = if node.start[0].is_none() { "X_" } else { "Y_" };
                let message = format!("node {number} has no {axis} to start from");
                let help = format!("$node_({number}) set {axis} 0.0");
                return Err(wrong(node.first, message, &help));
            };
            legs.push(legs_of((x, y), node.moves));
        }
        let nodes = legs.len();
        if nodes == 0 {
            let help = "$node_(0) set X_ 1.5, and so on for each node";
            return Err(wrong((1, 0), "there is no node in this file".to_owned(), help));
        }
        if let Some((count, place)) = self.count
            && count as usize != nodes
        {
            let message = format!("the file says {count} nodes, and has {nodes}");
            return Err(wrong(place, message, "the number of nodes that have a place"));
        }
        let mut movement = Movement::new(legs);
        movement.duration = self.duration;
        if let [Some(width), Some(height)] = self.size {
            movement.area = Some((width, height));
        }
        Ok(movement)
    }
}

/// What a node's moves come to.
fn legs_of(start: (f64, f64), mut moves: Vec<Move>) -> Vec<Leg> {
    // Stable: of two at the same time the one further down counts.
    moves.sort_by_key(|m| m.at);
    let mut legs = vec![Leg::at_rest(Instant::ZERO, Instant::FAR_FUTURE, start)];
    for Move { at, to, speed } in moves {
        // The rest that would have followed a move that this one interrupts.
        legs.pop_if(|leg| leg.since > at);
        let Some(last) = legs.last_mut() else { continue };
        let from = last.at(at);
        last.until = at;
        if last.since == at {
            legs.pop();
        }
        let leg = Leg::towards(at, from, to, speed);
        let stop = if speed > 0.0 { to } else { from };
        if leg.until > at {
            legs.push(leg);
        }
        legs.push(Leg::at_rest(leg.until, Instant::FAR_FUTURE, stop));
    }
    legs
}

#[cfg(test)]
mod test;
