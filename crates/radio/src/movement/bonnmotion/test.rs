use driftway_base::{Instant, StationId};

use super::parse;
use crate::movement;
use crate::{Mobility, Positions};

#[test]
fn a_line_is_a_node_that_reaches_each_waypoint_in_time() {
    let text = "# made by hand\n0.0 10.0 20.0 5.0 10.0 20.0 15.0 40.0 60.0\n\n\
                \t2.5 1E1 -3.0   4.5 12.0 -3.0 \r\n7.0 7.0 7.0";
    let movement = parse("test", text).expect("a valid file");
    assert_eq!((movement.nodes(), movement.end()), (3, Instant::from_secs(15)));
    let mut positions = Positions::new(Mobility::scripted(movement), 100.0);
    for (millis, node, place) in [
        (0, 0, (10.0, 20.0)),
        (0, 1, (10.0, -3.0)),
        (0, 2, (7.0, 7.0)),
        (2500, 1, (10.0, -3.0)),
        (3500, 1, (11.0, -3.0)),
        (5000, 1, (12.0, -3.0)),
        (5000, 0, (10.0, 20.0)),
        (10_000, 0, (25.0, 40.0)),
        (15_000, 0, (40.0, 60.0)),
        (99_000, 0, (40.0, 60.0)),
        (99_000, 2, (7.0, 7.0)),
    ] {
        assert_eq!(
            positions.position(StationId::new(node), Instant::from_millis(millis)),
            place,
            "{node} at {millis}"
        );
    }
}

#[test]
fn errors_have_a_location_a_message_and_help() {
    let starts = |text: &str, expected: &str| {
        let found = parse("a.movements", text).expect_err("an invalid file").to_string();
        assert!(found.starts_with(expected), "expected {expected}, found {found}");
    };
    starts("", "a.movements:1:1: the file has no nodes\nhelp: one line per node");
    starts("0 1 2\n0 1", "a.movements:2:4: the last waypoint has no y\nhelp: three numbers");
    starts("0 1 2 4 ", "a.movements:1:8: the last waypoint has no x");
    starts("0 1 x", "a.movements:1:5: expected a coordinate in metres, found “x”");
    starts("-1 1 2", "a.movements:1:1: -1 is not a valid time in seconds");
    starts("0 NaN 2", "a.movements:1:3: NaN is not a valid coordinate in metres");
    starts("0 1 1e300", "a.movements:1:5: 1e300 is not a valid coordinate in metres");
    // Four numbers per waypoint: a file in three dimensions.
    starts("0 1 2 3 5 4 5 6", "a.movements:1:16: the last waypoint has no y");
    starts("0 1 2 9 5 4 8 6 7", "a.movements:1:13: a waypoint at 8.000000000s after one at 9.0");
    starts("1 1 2 1 5 4", "a.movements:1:7: the node would move faster than 1e6 m/s");
}

/// BonnMotion 3 writes `#3D` and a height with each waypoint. The second file, of twelve numbers, is valid
/// as four waypoints of three numbers.
#[test]
fn files_with_heights_are_refused_by_name() {
    let error = parse("a.movements", "#3D\n0 100 100 20 9 50 60 20").unwrap_err().to_string();
    assert!(error.starts_with("a.movements:1:1: this is a file of BonnMotion in three dimensions"));
    let flat = "0 100 100 1.5 2 110 100 1.5 200 300 100 1.5\n";
    assert!(parse("a", &flat[..flat.len() - 1].replace(" 1.5", "")).is_ok());
    let error = parse("a", flat).unwrap_err().to_string();
    assert!(error.starts_with("a:1:1: each waypoint has four numbers"), "{error}");
    // Twelve numbers in a plane: the fourth, eighth and twelfth differ.
    assert!(parse("a", "0 1 2 3 4 5 6 7 8 9 10 11").is_ok());
    // One waypoint of three numbers, and none of four.
    assert!(parse("a", "0 100 100").is_ok());
}

#[test]
fn a_repeated_waypoint_is_valid() {
    let movement = parse("test", "1 1 2 1 1 2 2 3 4").expect("a valid file");
    assert_eq!(movement.end(), Instant::from_secs(2));
}

#[test]
fn the_format_is_detected() {
    let ns2 = "\n# setdest\n$node_(0) set X_ 1\n$node_(0) set Y_ 2\n";
    assert_eq!(movement::parse("test", ns2).expect("ns-2's").bounds().high, (1.0, 2.0));
    let bonnmotion = "# BonnMotion\n 0.0 3.0 4.0\n";
    assert_eq!(
        movement::parse("test", bonnmotion).expect("BonnMotion's").bounds().high,
        (3.0, 4.0)
    );
    let error = movement::parse("test", "# nothing\n").expect_err("an empty file");
    assert_eq!((error.line, error.column), (1, 1));
}

#[test]
fn binary_files_are_rejected() {
    assert_eq!(movement::decode("test", b"0 1 2"), Ok("0 1 2"));
    let error = movement::decode("a.movements.gz", b"\x1f\x8b\x08\x00").expect_err("compressed");
    assert_eq!(
        error.to_string(),
        "a.movements.gz:1:1: this file is compressed by gzip\n\
         help: unpack it: gunzip a.movements.gz"
    );
    let error = movement::decode("test", b"0 1 2\n3 \xc3\xa4 \xff 5").expect_err("not UTF-8");
    assert_eq!((error.line, error.column), (2, 5));
}
