use driftway_base::{Instant, StationId};

use super::parse;
use crate::{Mobility, Positions};

/// Position of node 0 at a time (s).
fn at(text: &str, seconds: f64) -> (f64, f64) {
    let movement = parse("test", text).expect("a valid file");
    let mut positions = Positions::new(Mobility::scripted(movement), 100.0);
    positions.position(StationId::new(0), Instant::from_nanos((seconds * 1e9) as u64))
}

fn error(text: &str) -> String {
    parse("walk.mov", text).expect_err("an invalid file").to_string()
}

const PLACE: &str = "$node_(0) set X_ 10.0\n$node_(0) set Y_ 20.0\n$node_(0) set Z_ 0.0\n";

fn file(more: &str) -> String {
    format!("{PLACE}{more}\n")
}

#[test]
fn a_node_waits_goes_straight_and_stops() {
    let text = file(r#"$ns_ at 2.0 "$node_(0) setdest 40.0 60.0 5.0""#);
    assert_eq!(at(&text, 0.0), (10.0, 20.0));
    assert_eq!(at(&text, 2.0), (10.0, 20.0));
    // 50 m at 5 m/s.
    assert_eq!(at(&text, 7.0), (25.0, 40.0));
    assert_eq!(at(&text, 12.0), (40.0, 60.0));
    assert_eq!(at(&text, 900.0), (40.0, 60.0));
    let movement = parse("test", &text).unwrap();
    assert_eq!((movement.nodes(), movement.end()), (1, Instant::from_secs(12)));
    let bounds = movement.bounds();
    assert_eq!((bounds.low, bounds.high), ((10.0, 20.0), (40.0, 60.0)));
}

#[test]
fn a_later_setdest_interrupts() {
    let text = file(
        "$ns_ at 2.0 \"$node_(0) setdest 40.0 60.0 5.0\"\n\
         $ns_ at 7.0 \"$node_(0) setdest 25.0 0.0 4.0\"",
    );
    assert_eq!(at(&text, 7.0), (25.0, 40.0));
    assert_eq!(at(&text, 12.0), (25.0, 20.0));
    assert_eq!(at(&text, 17.0), (25.0, 0.0));
    assert_eq!(at(&text, 30.0), (25.0, 0.0));
}

#[test]
fn the_order_of_lines_matters_only_at_equal_times() {
    // BonnMotion writes one node after the other.
    let text = file(
        "$ns_ at 7.0 \"$node_(0) setdest 25.0 0.0 4.0\"\n\
         $ns_ at 2.0 \"$node_(0) setdest 40.0 60.0 5.0\"",
    );
    assert_eq!(at(&text, 12.0), (25.0, 20.0));
    let text = file(
        "$ns_ at 2.0 \"$node_(0) setdest 0.0 0.0 5.0\"\n\
         $ns_ at 2.0 \"$node_(0) setdest 40.0 60.0 5.0\"",
    );
    assert_eq!(at(&text, 12.0), (40.0, 60.0));
}

#[test]
fn a_speed_of_zero_stops_a_node() {
    let text = file(
        "$ns_ at 2.0 \"$node_(0) setdest 40.0 60.0 5.0\"\n\
         $ns_ at 7.0 \"$node_(0) setdest 0.0 0.0 0.0\"",
    );
    assert_eq!(at(&text, 100.0), (25.0, 40.0));
}

#[test]
fn a_move_of_no_distance_takes_no_time() {
    let text = file(
        "$ns_ at 2.0 \"$node_(0) setdest 10.0 20.0 5.0\"\n\
         $ns_ at 4.0 \"$node_(0) setdest 10.0 30.0 5.0\"",
    );
    assert_eq!(at(&text, 3.0), (10.0, 20.0));
    assert_eq!(at(&text, 6.0), (10.0, 30.0));
    assert_eq!(at(&text, 9.0), (10.0, 30.0));
}

#[test]
fn statements_of_the_generators_are_accepted() {
    // As written by ns-2's setdest and BonnMotion's NSFile, and other forms that Tcl allows.
    let text = "#\n# nodes: 2, pause: 1.00, max speed: 1.00, max x: 100.00, max y: 100.00\n#\n\
        set val(x) 100.0\nset val(y) 120.0\nset val(nn) 2\nset val(duration) 60.0\r\n\
        $node_(0) set X_ 1.0; $node_(0) set Y_ 2.0 ;# the first\n\
        $node_(1) set X_ 3.0E0\n  $node_(1)\tset Y_ 4.0\n\
        $god_ set-dist 0 1 16777215\n\
        \n\
        $ns_ at 10.000000000000 \"$node_(0) setdest 4.0 6.0 1.0\"\n\
        # $ns_ at 15.0 \"$node_(0) setdest 4.0 6.0 0.0\"\n\
        $ns_ at 10.5 {$node_(1) setdest 4.0 4.0 0.5}\n\
        $ns_ at 10.586571001 \"$god_ set-dist 0 1 1\"\n\
        #\n# Destination Unreachables: 0\n";
    let movement = parse("test", text).expect("a valid file");
    assert_eq!((movement.nodes(), movement.end()), (2, Instant::from_secs(15)));
    assert_eq!(movement.area(), Some((100.0, 120.0)));
    assert_eq!(movement.duration(), Some(driftway_base::Duration::from_secs(60)));
    let mut positions = Positions::new(Mobility::scripted(movement), 100.0);
    assert_eq!(positions.position(StationId::new(1), Instant::from_millis(11_500)), (3.5, 4.0));
    assert_eq!(positions.position(StationId::new(0), Instant::from_secs(15)), (4.0, 6.0));
}

#[test]
fn errors_have_a_location_a_message_and_help() {
    let setdest = |rest: &str| error(&file(&format!("$ns_ at 2.0 \"$node_(0) setdest {rest}\"")));
    assert_eq!(
        setdest("10.0 2o.0 5.0"),
        "walk.mov:4:37: expected a coordinate in metres, found “2o.0”\n\
         help: a decimal number such as 12.5"
    );
    assert!(
        setdest("10.0 20.0 -5.0").starts_with("walk.mov:4:42: -5.0 is not a valid speed in m/s\n")
    );
    assert!(
        setdest("10.0 20.0 NaN").starts_with("walk.mov:4:42: NaN is not a valid speed in m/s\n")
    );
    assert_eq!(
        setdest("10.0 20.0"),
        "walk.mov:4:14: “$node_(0) setdest 10.0 20.0” has 4 words\n\
         help: $node_(0) setdest 10.0 20.0 5.0: x, y and a speed in m/s"
    );
    let starts = |text: &str, expected: &str| {
        let found = error(text);
        assert!(found.starts_with(expected), "expected {expected}, found {found}");
    };
    starts(
        &file("$ns_ at 2.0 \"$node_(0) color red\""),
        "walk.mov:4:24: unknown statement “$node_(0) color red”",
    );
    starts(&file("$node_(0) random-motion 0"), "walk.mov:4:11: unknown statement");
    starts(&file("puts hello"), "walk.mov:4:1: unknown statement “puts hello”");
    starts(&file("set val(prop) x"), "walk.mov:4:5: unknown statement “set val(prop) x”");
    starts(
        &file("$ns_ at 3.0 \"$node_(0) set X_ 4.0\""),
        "walk.mov:4:14: a node cannot jump: “$node_(0) set X_ 4.0”",
    );
    starts(&file("$ns_ at 3.0 \"$node_(0)"), "walk.mov:4:13: the \" that opens here");
    starts(&file("$node_(0) set Y_ 3.0"), "walk.mov:4:1: node 0 has a second Y_");
    starts(&file("$node_(-1) set Y_ 3.0"), "walk.mov:4:1: expected a node, found “-1”");
    starts(&file("$node_(2) set Y_ 3.0"), "walk.mov:4:1: node 2 has no initial X_");
    starts(&file("  $node_(1) set Y_ 3.0"), "walk.mov:4:3: node 1 has no initial X_");
    starts(&file("$node_(1) set Z_ 3.0"), "walk.mov:4:1: node 1 has a height of 3 m");
    starts(&file("set val(nn) 3"), "walk.mov:4:1: the file declares 3 nodes but has 1");
    starts("# nothing\n", "walk.mov:1:1: the file has no nodes");
    starts(&file("Ž $node_(0) set X_ 1"), "walk.mov:4:1: unknown statement");
}

/// Scripts of CORE number nodes from 1.
#[test]
fn node_numbers_begin_anywhere() {
    let text = "$node_(7) set X_ 1.0\n$node_(7) set Y_ 2.0\n$node_(8) set X_ 3.0\n\
                $node_(8) set Y_ 4.0\n$ns_ at 1.0 \"$node_(8) setdest 13.0 4.0 10.0\"\n";
    let movement = parse("core", text).expect("a valid file");
    assert_eq!((movement.nodes(), movement.end()), (2, Instant::from_secs(2)));
    assert_eq!((movement.bounds().low, movement.bounds().high), ((1.0, 2.0), (13.0, 4.0)));
    assert_eq!(movement.names(), ["7", "8"]);
    // Nodes that were deleted leave gaps.
    let gap = parse("core", &text.replace("(8)", "(10)")).expect("a valid file");
    assert_eq!((gap.names(), gap.bounds()), (&["7".into(), "10".into()][..], movement.bounds()));
}

/// Nodes at a common height move in a plane, too, as long as no `Z_` differs.
#[test]
fn nodes_have_a_common_height() {
    let text = "$node_(1) set X_ 1.0\n$node_(1) set Y_ 2.0\n$node_(1) set Z_ 1.5\n\
                $node_(2) set X_ 3.0\n$node_(2) set Y_ 4.0\n$node_(2) set Z_ 1.5\n";
    let movement = parse("core", text).expect("a valid file");
    // Neither node has a destination.
    assert_eq!((movement.nodes(), movement.end()), (2, Instant::ZERO));
    let other = text.replace("$node_(2) set Z_ 1.5", "$node_(2) set Z_ 2");
    let error = parse("core", &other).expect_err("two heights").to_string();
    assert!(error.starts_with("core:6:1: node 2 has a height of 2 m\nhelp: "), "{error}");
}

#[test]
fn an_offset_moves_all_nodes_and_a_later_start_drops_what_was_before() {
    let text = file(r#"$ns_ at 2.0 "$node_(0) setdest 40.0 -20.0 5.0""#);
    let options = crate::movement::ReadOptions {
        start: driftway_base::Duration::from_secs(7),
        offset: (5.0, 20.0),
        ..crate::movement::ReadOptions::default()
    };
    let movement = crate::movement::read(&[("test", &text)], &options).expect("a valid file");
    // 50 m at 5 m/s, of which half at the start.
    assert_eq!(movement.bounds().low, (30.0, 0.0));
    assert_eq!(movement.bounds().high, (45.0, 20.0));
    assert_eq!(movement.end(), Instant::from_secs(5));
    let far = crate::movement::ReadOptions { offset: (1e9, 0.0), ..options };
    let error = crate::movement::read(&[("test", &text)], &far).expect_err("too far").to_string();
    assert!(error.starts_with("mobility.offset:1:1: an offset of 1000000000 m and 0 m"), "{error}");
}
