//! GPX, the tracks of satellite receivers (GPX 1.0 and 1.1): each `<trk>` is a node.
//!
//! ```text
//! <gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1">
//!     <trk><name>bicycle</name><trkseg>
//!         <trkpt lat="60.1699" lon="24.9384"><time>2026-05-04T07:30:00Z</time></trkpt>
//!     </trkseg></trk>
//! </gpx>
//! ```
//!
//! Each point has a time, UTC unless it has an offset. Time 0 of the run is the earliest of all points.
//! A node moves in a straight line from each point to the next, also from one segment of its track to
//! the next. Heights, waypoints and routes are not read.

use chrono::{DateTime, NaiveDateTime};

use super::error::{MovementError, quoted, shown};
use super::tracks::{Clock, Coordinates, Tracks};
use super::xml::{Item, XmlFile};

const FORM: &str = "<gpx> with <trk><trkseg><trkpt lat=\"60.17\" lon=\"24.94\">\
                    <time>2026-05-04T07:30:00Z</time></trkpt>";

/// A track point that is being read.
struct Point {
    place: (f64, f64),
    time: Option<i64>,
}

/// Reads the tracks of a GPX file.
///
/// # Errors
/// The first problem and its location.
pub(super) fn parse<'a>(name: &'a str, text: &'a str) -> Result<Tracks<'a>, MovementError> {
    let mut file = XmlFile::new(name, text);
    let mut tracks = Tracks::new(name, Coordinates::Degrees, Clock::First);
    let (mut track, mut point, mut text) = (None, None, String::new());
    loop {
        let item = file.next_item()?;
        let path: Vec<&str> = file.open().iter().map(String::as_str).collect();
        match (item, path.as_slice()) {
            (Item::Start(tag), [root]) if tag.local_name().as_ref() != "gpx" => {
                return Err(file.error(format!("the root element is <{}>", shown(root)), FORM));
            }
            (Item::Start(_), ["gpx", "trk"]) => track = Some(tracks.add(String::new())),
            (Item::Start(tag), ["gpx", "trk", "trkseg", "trkpt"]) => {
                let place = (
                    file.number(&tag, "lat", |word, line| word.latitude(line))?,
                    file.number(&tag, "lon", |word, line| word.longitude(line))?,
                );
                point = Some(Point { place, time: None });
            }
            (Item::Start(_), _) => text.clear(),
            (Item::Text(more), _) => text.push_str(&more),
            (Item::End(name), ["gpx", "trk"]) if name == "name" => {
                if let Some(track) = track {
                    tracks.rename(track, text.trim().to_owned());
                }
            }
            (Item::End(name), ["gpx", "trk", "trkseg", "trkpt"]) if name == "time" => {
                let time = nanos(text.trim()).ok_or_else(|| {
                    let message = format!("expected a time, found {}", quoted(text.trim()));
                    file.error(message, "2026-05-04T07:30:00Z")
                })?;
                if let Some(point) = &mut point {
                    point.time = Some(time);
                }
            }
            (Item::End(name), ["gpx", "trk", "trkseg"]) if name == "trkpt" => {
                let (Some(Point { place, time }), Some(track)) = (point.take(), track) else {
                    continue;
                };
                let time = time.ok_or_else(|| file.error("a point without <time>", FORM))?;
                tracks.push(track, (time, place), &file.line(), file.byte())?;
            }
            (Item::End(name), ["gpx"]) if name == "trk" => {
                let is_empty = track.take().is_some_and(|track| !tracks.has_fixes(track));
                if is_empty {
                    return Err(file.error("a track without points", FORM));
                }
            }
            (Item::EndOfFile, _) => return Ok(tracks),
            _ => {}
        }
    }
}

/// Nanoseconds since 1970 of a time of ISO 8601; `None`: it is none, or not from 1677 to 2262.
fn nanos(text: &str) -> Option<i64> {
    let time = DateTime::parse_from_rfc3339(text).map(|time| time.to_utc()).ok();
    let without_zone = || NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f").ok();
    time.or_else(|| Some(without_zone()?.and_utc()))?.timestamp_nanos_opt()
}

#[cfg(test)]
mod test;
