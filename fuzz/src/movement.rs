//! Movement files: rejected with a message and a position, or parsed, in which case each station stays within
//! the movement's bounds at all times.

use driftway_base::{Duration, Instant, StationId};
use driftway_radio::movement::{
    Format, Movement, MovementError, ReadOptions, bonnmotion, decode, ns2, parse, read,
};
use driftway_radio::{Mobility, Positions};

/// Files of any format.
pub fn run(input: &[u8]) {
    let text = match decode("fuzz.mov", input) {
        Ok(text) => text,
        Err(error) => return refused(&error, input),
    };
    for read in [ns2::parse("fuzz.mov", text), bonnmotion::parse("fuzz.mov", text)] {
        match read {
            Ok(movement) => move_along(movement),
            Err(error) => refused(&error, input),
        }
    }
    let formats = [Format::Ns2, Format::BonnMotion, Format::SumoFcd, Format::Gpx, Format::Csv];
    let seen = parse("fuzz.mov", text);
    let any = formats.map(|format| read_as(format, text, &ReadOptions::default()));
    assert!(any.contains(&seen));
}

/// SUMO's floating car data.
pub fn sumo_fcd(input: &[u8]) {
    track(Format::SumoFcd, input);
}

/// GPX tracks.
pub fn gpx(input: &[u8]) {
    track(Format::Gpx, input);
}

/// Comma-separated values.
pub fn csv(input: &[u8]) {
    track(Format::Csv, input);
}

fn read_as(format: Format, text: &str, with: &ReadOptions) -> Result<Movement, MovementError> {
    read(&[("fuzz.mov", text)], &ReadOptions { format: Some(format), ..*with })
}

/// A file with tracks, also from a later start and elsewhere.
fn track(format: Format, input: &[u8]) {
    let Ok(text) = decode("fuzz.mov", input) else { return };
    let plain = ReadOptions::default();
    let movement = match read_as(format, text, &plain) {
        Ok(movement) => movement,
        Err(error) => return refused(&error, input),
    };
    assert_eq!(movement.tracks().len(), movement.nodes());
    assert!(movement.tracks().iter().all(|track| track.first <= track.last));
    let start = Duration::from_nanos(movement.end().as_nanos() / 3);
    let later = read_as(format, text, &ReadOptions { start, offset: (5.0, -7.0), ..plain });
    let Ok(later) = later else {
        // Only where the offset leads beyond the largest coordinate.
        let (low, high) = (movement.bounds().low, movement.bounds().high);
        assert!(high.0 > 1e9 - 5.0 || low.1 < 7.0 - 1e9, "{low:?} {high:?}");
        return;
    };
    let mut then = Positions::new(Mobility::scripted(later.clone()), 100.0);
    let mut now = Positions::new(Mobility::scripted(movement.clone()), 100.0);
    for part in [0, 2, 3, 7] {
        let at = Duration::from_nanos(movement.end().as_nanos() / 8 * part);
        for station in (0..movement.nodes()).map(StationId::from) {
            let (x, y) = now.position(station, Instant::ZERO + start + at);
            let (u, v) = then.position(station, Instant::ZERO + at);
            // Coordinates of up to 10⁹ m have 10⁻⁷ m; a leg ends to a nanosecond.
            assert!((x + 5.0 - u).abs() < 2e-3 && (y - 7.0 - v).abs() < 2e-3, "{x} {y} {u} {v}");
        }
    }
    move_along(later);
    move_along(movement);
}

/// The position lies in a line of the file or directly after it.
fn refused(error: &MovementError, input: &[u8]) {
    assert!(!error.message.is_empty() && !error.help.is_empty());
    let line = input.split(|byte| *byte == b'\n').nth(error.line - 1).expect("a line of the file");
    assert!(error.column >= 1 && error.column <= line.len() + 1, "{error}");
}

fn move_along(movement: Movement) {
    let (stations, end, bounds) = (movement.nodes(), movement.end(), movement.bounds());
    assert!(stations > 0);
    // Tolerance for the end of a leg, which is rounded to a nanosecond.
    let slack = 1e-3;
    let within = |low: f64, at: f64, high: f64| low - slack <= at && at <= high + slack;
    let mut field = Positions::new(Mobility::scripted(movement), 100.0);
    let mut hearers = Vec::new();
    for part in [0, 1, 3, 7, 8, 9] {
        let now = Instant::from_nanos((end.as_nanos() / 8).saturating_mul(part));
        for station in (0..stations).map(StationId::from) {
            let (x, y) = field.position(station, now);
            assert!(within(bounds.low.0, x, bounds.high.0), "{x} {bounds:?}");
            assert!(within(bounds.low.1, y, bounds.high.1), "{y} {bounds:?}");
        }
        field.stations_in_range(now, StationId::new(0), &mut hearers);
        assert!(hearers.iter().all(|hearer| (1..stations).contains(&hearer.station.index())));
        hearers.clear();
    }
}
