//! Comma-separated values: a row for each position of a node, in metres or on the globe.
//!
//! ```text
//! node,time_s,x_m,y_m                      node,time_s,latitude,longitude
//! bus,0,10.5,20                            bus,0,60.1699,24.9384
//! bus,1.5,12,20                            bus,1.5,60.1701,24.9390
//! ```
//!
//! The columns may stand in any order, and rows of different nodes as well; the rows of one node are in
//! order of time. Nodes are numbered in order of their first row, or by their names if all of these are
//! whole numbers.

use csv::{ReaderBuilder, StringRecord, Trim};

use super::error::{Line, MovementError, quoted};
use super::number::Word;
use super::tracks::{Clock, Coordinates, Tracks};

const COLUMNS: [&str; 6] = ["node", "time_s", "x_m", "y_m", "latitude", "longitude"];

const FORM: &str = "a first line `node,time_s,x_m,y_m` or `node,time_s,latitude,longitude`";

/// Places of node, time and the two coordinates in a row.
type Columns = ([usize; 4], Coordinates);

/// Reads the tracks of a file with comma-separated values.
///
/// # Errors
/// The first problem and its location.
pub(super) fn parse<'a>(name: &'a str, text: &'a str) -> Result<Tracks<'a>, MovementError> {
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = ReaderBuilder::new()
        .trim(Trim::All)
        .has_headers(false)
        .flexible(true)
        .comment(Some(b'#'))
        .from_reader(text.as_bytes());
    let mut row = StringRecord::new();
    let mut tracks: Option<(Tracks<'a>, [usize; 4])> = None;
    loop {
        let before = line_of(&row, text);
        let line = |number| Line { file: name, number, text: "" };
        let is_there = reader
            .read_record(&mut row)
            .map_err(|error| line(before).error_at(0, format!("this is not CSV: {error}"), FORM))?;
        if !is_there {
            break;
        }
        // A comment at the end of the file may be a row of nothing.
        if lines_from(&row, text).all(is_no_row) {
            break;
        }
        let line = line(line_of(&row, text));
        let Some((tracks, columns)) = &mut tracks else {
            let (columns, coordinates) = header(&row, &line)?;
            tracks = Some((Tracks::new(name, coordinates, Clock::File), columns));
            continue;
        };
        let [node, time, one, other] = *columns;
        let value = |place: usize| match row.get(place).filter(|value| !value.is_empty()) {
            Some(text) => Ok(Word { text, byte: 0 }),
            None => {
                let message = format!("the row has no value in column {}", place + 1);
                Err(line.error_at(0, message, "as many values as the first line has columns"))
            }
        };
        let (one, other) = (value(one)?, value(other)?);
        let place = match tracks.coordinates() {
            Coordinates::Metres => (one.coordinate(&line)?, other.coordinate(&line)?),
            Coordinates::Degrees => (one.latitude(&line)?, other.longitude(&line)?),
        };
        let time = value(time)?.nanos(&line)?;
        let track = tracks.named(value(node)?.text);
        tracks.push(track, (time, place), &line, 0)?;
    }
    match tracks {
        Some((tracks, _)) => Ok(tracks),
        None => {
            Err(Line { file: name, number: 1, text: "" }.error_at(0, "the file is empty", FORM))
        }
    }
}

/// Number of the line in which a row begins: its place is that of the comments before it.
fn line_of(row: &StringRecord, text: &str) -> usize {
    let before = row.position().map_or(1, |place| usize::try_from(place.line()).unwrap_or(1));
    before.saturating_add(lines_from(row, text).take_while(|line| is_no_row(line)).count())
}

/// The lines of the file from a row on, or from the comments before it.
fn lines_from<'a>(row: &StringRecord, text: &'a str) -> impl Iterator<Item = &'a str> {
    let start = row.position().map_or(0, |place| usize::try_from(place.byte()).unwrap_or(0));
    text.get(start..).unwrap_or_default().split('\n')
}

/// Returns whether a line is empty or a comment.
fn is_no_row(line: &str) -> bool {
    line.starts_with('#') || line.trim_end_matches('\r').is_empty()
}

/// Finds the columns by the first line.
fn header(row: &StringRecord, line: &Line<'_>) -> Result<Columns, MovementError> {
    let mut places = [None; COLUMNS.len()];
    for (place, title) in row.iter().enumerate() {
        let Some(column) = COLUMNS.iter().position(|column| *column == title) else {
            return Err(line.error_at(0, format!("unknown column {}", quoted(title)), FORM));
        };
        if places[column].replace(place).is_some() {
            return Err(line.error_at(0, format!("the column `{title}` is there twice"), FORM));
        }
    }
    let missing = |column: usize| {
        line.error_at(0, format!("the column `{}` is missing", COLUMNS[column]), FORM)
    };
    let found = |column: usize| places[column].ok_or_else(|| missing(column));
    let in_metres = places[2].is_some() || places[3].is_some();
    let in_degrees = places[4].is_some() || places[5].is_some();
    if in_metres && in_degrees {
        return Err(line.error_at(0, "positions in metres and in degrees", FORM));
    }
    let (first, coordinates) =
        if in_degrees { (4, Coordinates::Degrees) } else { (2, Coordinates::Metres) };
    Ok(([found(0)?, found(1)?, found(first)?, found(first + 1)?], coordinates))
}

#[cfg(test)]
mod test;
