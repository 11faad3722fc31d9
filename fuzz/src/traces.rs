//! Files of measured links: rejected with a message and a line, or parsed, in which case a link can use
//! them.

use std::sync::Arc;

use driftway_link::{LinkTrace, Opportunities};
use driftway_scenario::Error;
use driftway_scenario::trace::{Origin, parse_opportunities, parse_outages, parse_rows};

pub fn run(input: &[u8]) {
    match parse_opportunities("fuzz", input) {
        Ok(times) => {
            let lines = input.split(|byte| *byte == b'\n').count();
            assert!(times.len() <= lines);
            assert!(Opportunities::new(Arc::from(times), true).is_some());
        }
        Err(error) => refused(&error, input),
    }
    match parse_rows("fuzz", input) {
        Ok(rows) => assert!(LinkTrace::new(rows, false).is_some()),
        Err(error) => refused(&error, input),
    }
    for origin in [None, Origin::parse("2026-03-01T08:00:00Z").ok()] {
        match parse_outages("fuzz", input, origin) {
            Ok(outages) => {
                assert!(outages.iter().all(|(start, end)| start < end));
                assert!(outages.windows(2).all(|pair| pair[0].1 < pair[1].0), "{outages:?}");
            }
            Err(error) => refused(&error, input),
        }
    }
}

/// The error names a line of the file.
fn refused(error: &Error, input: &[u8]) {
    assert!(!error.message().is_empty());
    let line = error.location().strip_prefix("fuzz:").and_then(|line| line.parse::<usize>().ok());
    // A line ends with a line feed, a carriage return or both.
    let lines = input.split(|byte| matches!(byte, b'\n' | b'\r')).count();
    assert!(line.is_some_and(|line| (1..=lines + 1).contains(&line)), "{error}");
}
