//! Movement files: rejected with a message and a position, or parsed, in which case each station stays within
//! the movement's bounds at all times.

use driftway_base::{Instant, StationId};
use driftway_radio::movement::{Movement, MovementError, bonnmotion, decode, ns2, parse};
use driftway_radio::{Mobility, Positions};

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
    let seen = parse("fuzz.mov", text);
    let either = [ns2::parse("fuzz.mov", text), bonnmotion::parse("fuzz.mov", text)];
    assert!(either.contains(&seen));
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
