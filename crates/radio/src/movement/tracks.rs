//! Tracks: positions of nodes at instants, as SUMO, GPX and CSV files have them. Between two positions a
//! node moves in a straight line at constant speed. Before its first position it stands there, and after
//! its last one as well.

use std::collections::BTreeMap;

use driftway_base::Instant;

use super::contents::{Movement, NodeTrack};
use super::error::{Line, MovementError, quoted};
use super::globe::{MAX_DISTANCE, TangentPlane};
use super::number::{MAX_SPEED, MAX_TIME};
use crate::leg::Leg;

/// Coordinates of positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coordinates {
    /// x and y in metres.
    Metres,
    /// Latitude and longitude in degrees.
    Degrees,
}

/// Instant 0 of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    /// Instant 0 of the file.
    File,
    /// The first instant of all files.
    First,
}

/// The tracks of a file.
#[derive(Debug)]
pub(super) struct Tracks<'a> {
    file: &'a str,
    coordinates: Coordinates,
    clock: Clock,
    tracks: Vec<Track>,
    /// Indices by name.
    indices: BTreeMap<String, usize>,
}

#[derive(Debug)]
struct Track {
    name: String,
    fixes: Vec<Fix>,
}

/// A position at an instant.
#[derive(Clone, Copy, Debug)]
struct Fix {
    /// The time on the clock of the file (ns).
    nanos: i64,
    place: (f64, f64),
    /// Line of the file.
    line: usize,
}

pub(super) const IN_METRES: &str =
    "these positions are in metres, which have no origin on the globe";
pub(super) const NO_ORIGIN: &str = "leave `origin` out; `offset` moves all nodes";

impl<'a> Tracks<'a> {
    pub(super) fn new(file: &'a str, coordinates: Coordinates, clock: Clock) -> Self {
        Self { file, coordinates, clock, tracks: Vec::new(), indices: BTreeMap::new() }
    }

    /// Adds a track without positions; returns its index.
    pub(super) fn add(&mut self, name: String) -> usize {
        self.tracks.push(Track { name, fixes: Vec::new() });
        self.tracks.len() - 1
    }

    /// Returns the index of the track with this name, which is added if it is new.
    pub(super) fn named(&mut self, name: &str) -> usize {
        match self.indices.get(name) {
            Some(index) => *index,
            None => {
                self.indices.insert(name.to_owned(), self.tracks.len());
                self.add(name.to_owned())
            }
        }
    }

    pub(super) const fn coordinates(&self) -> Coordinates {
        self.coordinates
    }

    /// Sets the name of a track.
    pub(super) fn rename(&mut self, track: usize, name: String) {
        self.tracks[track].name = name;
    }

    /// Returns whether a track has positions.
    pub(super) fn has_fixes(&self, track: usize) -> bool {
        !self.tracks[track].fixes.is_empty()
    }

    /// Appends a position to a track; `byte` is its place in the line.
    ///
    /// # Errors
    /// A position before the previous one, or another at the same time.
    pub(super) fn push(
        &mut self,
        track: usize,
        (nanos, place): (i64, (f64, f64)),
        line: &Line<'_>,
        byte: usize,
    ) -> Result<(), MovementError> {
        let Track { name, fixes } = &mut self.tracks[track];
        if let Some(last) = fixes.last() {
            let of = || format!("{} of line {}", quoted(name), last.line);
            if nanos < last.nanos {
                let message = format!("a position before that of {}", of());
                return Err(line.error_at(
                    byte,
                    message,
                    "the positions of a node in order of time",
                ));
            }
            if nanos == last.nanos && place != last.place {
                let message = format!("another position at the same time as that of {}", of());
                return Err(line.error_at(byte, message, "one position of a node at a time"));
            }
        }
        fixes.push(Fix { nanos, place, line: line.number });
        Ok(())
    }

    /// Orders the nodes: by number if all names are whole numbers, else as they appear in the file.
    fn in_order(&self) -> Vec<&Track> {
        let mut tracks: Vec<&Track> = self.tracks.iter().collect();
        let number = |track: &&Track| track.name.parse::<u64>().ok();
        if tracks.iter().all(|track| number(track).is_some()) {
            tracks.sort_by_key(number);
        }
        tracks
    }

    fn error_in(&self, number: usize, message: String, help: String) -> MovementError {
        Line { file: self.file, number, text: "" }.error_at(0, message, help)
    }
}

/// Converts the tracks of all files, at least one, to a movement.
pub(super) fn movement(
    files: &[Tracks<'_>],
    origin: Option<(f64, f64)>,
) -> Result<Movement, MovementError> {
    let fixes = || files.iter().flat_map(|file| &file.tracks).flat_map(|track| &track.fixes);
    if files.iter().any(|file| file.coordinates != files[0].coordinates) {
        let message = "positions in metres in one file, and on the globe in another".to_owned();
        return Err(files[0].error_in(1, message, "the same in all files".to_owned()));
    }
    if let Some(file) = files.iter().find(|file| file.tracks.is_empty()) {
        let message = "the file has no nodes".to_owned();
        return Err(file.error_in(1, message, "at least one node with a position".to_owned()));
    }
    let base = match files.first().map(|file| file.clock) {
        Some(Clock::First) => fixes().map(|fix| fix.nanos).min().unwrap_or(0),
        Some(Clock::File) | None => 0,
    };
    let first = files.first().and_then(|file| file.in_order().first()?.fixes.first().copied());
    let plane = match (files.first().map(|file| file.coordinates), origin, first) {
        (Some(Coordinates::Degrees), origin, Some(first)) => {
            let origin = origin.unwrap_or(first.place);
            Some((origin, TangentPlane::new(origin)))
        }
        (_, Some(_), _) => {
            let message = IN_METRES.to_owned();
            return Err(files[0].error_in(1, message, NO_ORIGIN.to_owned()));
        }
        _ => None,
    };
    let (mut legs, mut names, mut tracks) = (Vec::new(), Vec::new(), Vec::new());
    for file in files {
        for track in file.in_order() {
            let own = legs_of(file, track, base, plane.as_ref().map(|(_, plane)| plane))?;
            let instant = |fix: Option<&Fix>| {
                Instant::from_nanos(fix.map_or(0, |fix| fix.nanos.abs_diff(base)))
            };
            names.push(track.name.clone());
            tracks.push(NodeTrack {
                first: instant(track.fixes.first()),
                last: instant(track.fixes.last()),
            });
            legs.push(own);
        }
    }
    let mut movement = Movement::new(legs);
    (movement.names, movement.tracks) = (names, tracks);
    movement.origin = plane.map(|(origin, _)| origin);
    Ok(movement)
}

/// Converts the positions of a track, on a clock that begins at `base`, to legs.
fn legs_of(
    file: &Tracks<'_>,
    track: &Track,
    base: i64,
    plane: Option<&TangentPlane>,
) -> Result<Vec<Leg>, MovementError> {
    let mut legs: Vec<Leg> = Vec::with_capacity(track.fixes.len() + 1);
    let mut previous = None;
    for fix in &track.fixes {
        let at = Instant::from_nanos(fix.nanos.abs_diff(base));
        if at.as_nanos() as f64 > MAX_TIME * 1e9 {
            let message = format!("a position {MAX_TIME:e} s or more after the first");
            let help = "positions of one journey".to_owned();
            return Err(file.error_in(fix.line, message, help));
        }
        let place = plane.map_or(Some(fix.place), |plane| plane.project(fix.place));
        let Some(place) = place else {
            let far = MAX_DISTANCE / 1e3;
            let message = format!("a position more than {far} km from the origin");
            let help = "nodes near each other; the origin is the first position of the first node, \
                        or `origin`";
            return Err(file.error_in(fix.line, message, help.to_owned()));
        };
        if let Some((since, from)) = previous {
            if place != from {
                let (dx, dy) = (place.0 - from.0, place.1 - from.1);
                let seconds = at.since(since).as_secs_f64();
                if (dx * dx + dy * dy).sqrt() > seconds * MAX_SPEED {
                    let message = format!("the node would move faster than {MAX_SPEED:e} m/s");
                    let help = "a later time or a nearer position".to_owned();
                    return Err(file.error_in(fix.line, message, help));
                }
                if let Some(rest) = legs.last_mut() {
                    rest.until = since;
                }
                legs.pop_if(|rest| rest.until == rest.since);
                legs.push(Leg::between(since, at, from, place));
                legs.push(Leg::at_rest(at, Instant::FAR_FUTURE, place));
            }
        } else {
            legs.push(Leg::at_rest(Instant::ZERO, Instant::FAR_FUTURE, place));
        }
        previous = Some((at, place));
    }
    Ok(legs)
}
