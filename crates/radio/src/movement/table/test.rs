use driftway_base::{Instant, StationId};

use crate::movement::{self, Format, Movement, ReadOptions};
use crate::{Mobility, Positions};

const METRES: &str = "node,time_s,x_m,y_m\n# the bus\nbus,0,10.5,20\nbike,2,-3,4\n\nbus,1.5,12,20\nbike,3,-3,4\nbike,4,1,4\n";

fn read(text: &str) -> Movement {
    movement::parse("a.csv", text).expect("a valid file")
}

#[test]
fn rows_are_positions_in_metres() {
    assert_eq!(Format::detect(METRES), Format::Csv);
    let movement = read(METRES);
    let names: Vec<_> = movement.names().iter().map(String::as_str).collect();
    assert_eq!(names, ["bus", "bike"]);
    assert_eq!((movement.end(), movement.origin()), (Instant::from_secs(4), None));
    // Any order of columns, quotes, blanks, a mark of the encoding.
    let other = "\u{feff}\"y_m\", x_m ,node,time_s\r\n20,10.5,bus,0\r\n4,-3,\"bike\",2\r\n20,12,bus,1.5\r\n4,-3,bike,3\r\n4,1,bike,4\r\n";
    assert_eq!(read(other), movement);
    let mut positions = Positions::new(Mobility::scripted(movement), 100.0);
    for (millis, node, place) in [
        (0, 0, (10.5, 20.0)),
        (0, 1, (-3.0, 4.0)),
        (750, 0, (11.25, 20.0)),
        (3_000, 1, (-3.0, 4.0)),
        (3_250, 1, (-2.0, 4.0)),
        (9_000, 1, (1.0, 4.0)),
    ] {
        let found = positions.position(StationId::new(node), Instant::from_millis(millis));
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(near(found.0, place.0) && near(found.1, place.1), "{node} at {millis}: {found:?}");
    }
}

/// 998.9723 m and 1002.8733 m by pymap3d 3.2.0.
#[test]
fn rows_are_positions_on_the_globe() {
    let text = "node,time_s,latitude,longitude\n1,5,60.1789,24.9564\n0,0,60.1699,24.9384\n";
    let movement = read(text);
    assert_eq!(movement.origin(), Some((60.1699, 24.9384)));
    let high = movement.bounds().high;
    assert!((high.0 - 998.9723).abs() < 1e-3 && (high.1 - 1002.8733).abs() < 1e-3, "{high:?}");
}

#[test]
fn a_node_that_stands_has_one_leg() {
    let rows: String = (0..1000).map(|second| format!("a,{second},1,2\n")).collect();
    let movement = read(&format!("node,time_s,x_m,y_m\n{rows}"));
    assert_eq!(movement.end(), Instant::ZERO);
    assert_eq!(movement.tracks()[0].last, Instant::from_secs(999));
    assert_eq!(movement.into_legs().next().map(|legs| legs.len()), Some(1));
}

#[test]
fn errors_have_a_location_a_message_and_help() {
    let starts = |text: &str, expected: &str| {
        let format = Some(Format::Csv);
        let options = ReadOptions { format, ..ReadOptions::default() };
        let found = movement::read(&[("a.csv", text)], &options).expect_err("invalid").to_string();
        assert!(found.starts_with(expected), "expected {expected}, found {found}");
        assert!(found.contains("\nhelp: "), "{found}");
    };
    starts("", "a.csv:1:1: the file is empty");
    starts("node,time_s,x_m,y_m\n", "a.csv:1:1: the file has no nodes");
    starts("node,time_s,x_m,y_m\n# the\n\n# end", "a.csv:1:1: the file has no nodes");
    starts("node,time,x_m,y_m\n", "a.csv:1:1: unknown column “time”");
    starts("node,time_s,x_m\n", "a.csv:1:1: the column `y_m` is missing");
    starts("node,time_s\n", "a.csv:1:1: the column `x_m` is missing");
    starts("node,time_s,latitude\n", "a.csv:1:1: the column `longitude` is missing");
    starts("node,x_m,y_m\n", "a.csv:1:1: the column `time_s` is missing");
    starts("node,time_s,x_m,y_m,node\n", "a.csv:1:1: the column `node` is there twice");
    starts("node,time_s,x_m,y_m,latitude\n", "a.csv:1:1: positions in metres and in degrees");
    starts(&METRES.replace("10.5,20", "10.5"), "a.csv:3:1: the row has no value in column 4");
    starts(&METRES.replace("bus,1.5", ",1.5"), "a.csv:6:1: the row has no value in column 1");
    starts(
        &METRES.replace("bus,1.5", "bus,-1.5"),
        "a.csv:6:1: -1.5 is not a valid time in seconds",
    );
    starts(
        &METRES.replace("bike,3", "bike,1"),
        "a.csv:7:1: a position before that of “bike” of line 4",
    );
    starts(
        &METRES.replace("12,20", "1_2,20"),
        "a.csv:6:1: expected a coordinate in metres, found “1_2”",
    );
    starts(
        &METRES.replace("bus,1.5,12", "bus,1e-9,1200000"),
        "a.csv:6:1: the node would move faster than 1e6 m/s",
    );
    starts(
        "node,time_s,latitude,longitude\na,0,90.1,0\n",
        "a.csv:2:1: 90.1 is not a valid latitude",
    );
    starts(
        "node,time_s,latitude,longitude\na,0,9,0\nb,0,-9,0\n",
        "a.csv:3:1: a position more than 500 km from the origin",
    );
}
