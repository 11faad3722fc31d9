//! ns-2 movement files: a subset of Tcl that sets positions and destinations of nodes.
//!
//! ```text
//! $node_(0) set X_ 83.4                                  initial position of node 0; also Y_ and Z_
//! $ns_ at 2.0 "$node_(0) setdest 90.0 40.5 1.5"          at 2 s it moves there at 1.5 m/s
//! $god_ set-dist 0 1 2                                   (setdest) hops between two nodes: only for
//! $ns_ at 9.8 "$god_ set-dist 0 1 1"                     ns-2's traces, read and ignored
//! set val(nn) 50                                         (BonnMotion) number of nodes, x, y, duration
//! ```
//!
//! Only these statements are supported, not Tcl in general: any other is an error that quotes it.
//! Comments, several statements per line (`;`) and braces instead of quotes are as in Tcl.
//!
//! Node numbers begin anywhere and may have gaps, as in scripts of CORE: the node with the lowest one is node 0 of the
//! scenario, the next one node 1. They move in a plane, on the ground or at a common height `Z_`. A node without
//! `setdest` stays where it is.
//!
//! A node starts from its position at that time, moves in a straight line, and stops at its
//! destination. A later `setdest` interrupts it, and of two at the same time the later line takes
//! effect, as in ns-2 (mobile/mobilenode.cc, `set_destination`); a speed of 0 stops a node.

mod statement;

use std::collections::BTreeMap;

use driftway_base::{Duration, Instant};

use super::contents::Movement;
use super::error::{Line, MovementError};
use crate::leg::Leg;
use statement::{Statement, read_line};

/// Parses an ns-2 movement file.
///
/// # Errors
/// The first problem and its location.
pub fn parse(name: &str, text: &str) -> Result<Movement, MovementError> {
    let mut file = Ns2File::default();
    for (index, text) in text.lines().enumerate() {
        let line = Line { file: name, number: index + 1, text };
        read_line(&line, &mut |byte, statement| file.apply(&line, byte, &statement))?;
    }
    file.finish(name)
}

/// Line and byte of a statement.
type SourceLocation = (usize, usize);

#[derive(Default)]
struct Ns2File {
    /// The nodes by number; sorted, since a file may use any number.
    nodes: BTreeMap<u32, Node>,
    /// Declared number of nodes and its location, if any.
    count: Option<(u32, SourceLocation)>,
    /// Declared size of the area, if any.
    size: [Option<f64>; 2],
    duration: Option<Duration>,
    /// Height of all nodes, if any has one.
    height: Option<f64>,
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
                if axis == 2 && *self.height.get_or_insert(value) != value {
                    let message = format!("node {number} has a height of {value} m");
                    let help = "nodes move in a plane: Z_ is 0.0, or the same for all";
                    return Err(line.error_at(byte, message, help));
                }
                if self.nodes.entry(number).or_insert_with(new).start[axis].replace(value).is_some()
                {
                    let name = ["X_", "Y_", "Z_"][axis];
                    let message = format!("node {number} has a second {name}");
                    return Err(line.error_at(byte, message, "one initial position per node"));
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
            // The line's text is gone, but it is ASCII up to this byte: otherwise the statement
            // would not have been parsed.
            let line = Line { file: name, number, text: "" };
            MovementError { column: byte + 1, ..line.error_at(0, message, help) }
        };
        let mut legs = Vec::with_capacity(self.nodes.len());
        let mut names = Vec::with_capacity(self.nodes.len());
        for (number, node) in self.nodes {
            let [Some(x), Some(y), _] = node.start else {
                let axis = if node.start[0].is_none() { "X_" } else { "Y_" };
                let message = format!("node {number} has no initial {axis}");
                let help = format!("$node_({number}) set {axis} 0.0");
                return Err(wrong(node.first, message, &help));
            };
            legs.push(legs_of((x, y), node.moves));
            names.push(number.to_string());
        }
        let nodes = legs.len();
        if nodes == 0 {
            let help = "$node_(0) set X_ 1.5, and so on for each node";
            return Err(wrong((1, 0), "the file has no nodes".to_owned(), help));
        }
        if let Some((count, place)) = self.count
            && count as usize != nodes
        {
            let message = format!("the file declares {count} nodes but has {nodes}");
            return Err(wrong(place, message, "the number of nodes with an initial position"));
        }
        let mut movement = Movement::new(legs);
        movement.duration = self.duration;
        movement.names = names;
        if let [Some(width), Some(height)] = self.size {
            movement.area = Some((width, height));
        }
        Ok(movement)
    }
}

/// Converts a node's moves to legs.
fn legs_of(start: (f64, f64), mut moves: Vec<Move>) -> Vec<Leg> {
    // Stable: of two at the same time the later line takes effect.
    moves.sort_by_key(|m| m.at);
    let mut legs = vec![Leg::at_rest(Instant::ZERO, Instant::FAR_FUTURE, start)];
    for Move { at, to, speed } in moves {
        // The rest after a move that this one interrupts.
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
