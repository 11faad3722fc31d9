//! Floating car data of SUMO (`--fcd-output`): for each time step the vehicles that are on their way.
//!
//! ```text
//! <fcd-export>
//!     <timestep time="3.00">
//!         <vehicle id="taxi" x="1.60" y="454.32" angle="0.00" speed="13.80" … />
//!     </timestep>
//! </fcd-export>
//! ```
//!
//! A `vehicle`, a `person` and a `container` are a node each; of their attributes `id`, `x` and `y` are
//! read. Nodes are numbered in order of their first appearance, or by their names if all of these are whole
//! numbers. Between two time steps a node moves in a straight line; before it departs and after it has
//! arrived it stands. With SUMO's option `--fcd-output.geo`, which the head of the file then has, x and y are longitude
//! and latitude.

use super::error::{MovementError, shown};
use super::tracks::{Clock, Coordinates, Tracks};
use super::xml::{Item, XmlFile};

/// The elements that are nodes.
const NODES: [&str; 3] = ["vehicle", "person", "container"];

const FORM: &str = "<fcd-export> with <timestep time=\"0.00\">, and in it \
                    <vehicle id=\"a\" x=\"1.0\" y=\"2.0\"/>";

/// The option of SUMO, as the configuration in the head of the file shows it.
const IN_DEGREES: &str = "<fcd-output.geo value=\"true\"/>";

/// Reads the tracks of a file with SUMO's floating car data.
///
/// # Errors
/// The first problem and its location.
pub(super) fn parse<'a>(name: &'a str, text: &'a str) -> Result<Tracks<'a>, MovementError> {
    let mut file = XmlFile::new(name, text);
    let mut coordinates = Coordinates::Metres;
    let mut tracks = None;
    let mut time = None;
    loop {
        match file.next_item()? {
            Item::Comment(text) if text.contains(IN_DEGREES) => coordinates = Coordinates::Degrees,
            Item::Start(tag) if file.open().len() == 1 => {
                let root = tag.local_name();
                if root.as_ref() != "fcd-export" {
                    let message = format!("the root element is <{}>", shown(root.as_ref()));
                    return Err(
                        file.error(message, "<fcd-export> of SUMO's --fcd-output, or <gpx>")
                    );
                }
                tracks = Some(Tracks::new(name, coordinates, Clock::File));
            }
            Item::Start(tag) if tag.local_name().as_ref() == "timestep" => {
                time = Some(file.number(&tag, "time", |word, line| word.nanos(line))?);
            }
            Item::Start(tag) if NODES.contains(&tag.local_name().as_ref()) => {
                let (Some(time), Some(tracks)) = (time, &mut tracks) else {
                    return Err(file.error("a position outside of a <timestep>", FORM));
                };
                let id = file.required(&tag, "id")?;
                let place = match coordinates {
                    Coordinates::Metres => (
                        file.number(&tag, "x", |word, line| word.coordinate(line))?,
                        file.number(&tag, "y", |word, line| word.coordinate(line))?,
                    ),
                    Coordinates::Degrees => (
                        file.number(&tag, "y", |word, line| word.latitude(line))?,
                        file.number(&tag, "x", |word, line| word.longitude(line))?,
                    ),
                };
                let track = tracks.named(&id);
                tracks.push(track, (time, place), &file.line(), file.byte())?;
            }
            Item::End(name) if name == "timestep" => time = None,
            Item::EndOfFile => break,
            _ => {}
        }
    }
    tracks.ok_or_else(|| file.error("the file has no elements", FORM))
}

#[cfg(test)]
mod test;
