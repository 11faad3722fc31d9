use driftway_base::{Instant, StationId};

use crate::movement::{self, Format, Movement, ReadOptions};
use crate::{Mobility, Positions};

/// As a receiver writes it: the second segment follows after a break.
const WALK: &str = r#"<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<gpx xmlns="http://www.topografix.com/GPX/1/1" creator="receiver" version="1.1">
  <metadata><time>2026-05-04T07:00:00Z</time><name>not a track</name></metadata>
  <wpt lat="1" lon="2"><name>home</name></wpt>
  <trk>
    <name>walk &amp; <![CDATA[ride]]></name>
    <trkseg>
      <trkpt lat="60.1699" lon="24.9384"><ele>12.5</ele><time>2026-05-04T07:30:10Z</time></trkpt>
      <trkpt lat="60.1699" lon="24.9484"><ele>13.0</ele><time>2026-05-04T10:30:12.500+03:00</time>
        <extensions><speed>3</speed><time>1999</time></extensions></trkpt>
    </trkseg>
    <trkseg>
      <trkpt lat="60.1789" lon="24.9564"><time>2026-05-04T07:30:20</time></trkpt>
    </trkseg>
  </trk>
</gpx>
"#;

const BOAT: &str = r#"<gpx version="1.0"><trk><trkseg>
<trkpt lat="60.1699" lon="24.9484"><time>2026-05-04T07:30:00Z</time></trkpt>
</trkseg></trk></gpx>"#;

fn read(files: &[(&str, &str)], origin: Option<(f64, f64)>) -> Movement {
    movement::read(files, &ReadOptions { origin, ..ReadOptions::default() }).expect("valid files")
}

/// East and north by pymap3d 3.2.0: 555.1364 m and 0.0420 m, then 998.9723 m and 1002.8733 m.
#[test]
fn tracks_are_nodes_in_metres_from_the_first_position() {
    assert_eq!(Format::detect(WALK), Format::Gpx);
    let movement = read(&[("walk.gpx", WALK)], None);
    assert_eq!((movement.nodes(), movement.end()), (1, Instant::from_secs(10)));
    assert_eq!(
        (movement.names()[0].as_str(), movement.tracks()[0].first),
        ("walk & ride", Instant::ZERO)
    );
    assert_eq!(movement.origin(), Some((60.1699, 24.9384)));
    let mut positions = Positions::new(Mobility::scripted(movement), 100.0);
    for (millis, place) in [
        (0, (0.0, 0.0)),
        (1_250, (277.5682, 0.0210)),
        (2_500, (555.1364, 0.0420)),
        (10_000, (998.9723, 1002.8733)),
        (99_000, (998.9723, 1002.8733)),
    ] {
        let (x, y) = positions.position(StationId::new(0), Instant::from_millis(millis));
        assert!((x - place.0).abs() < 1e-3 && (y - place.1).abs() < 1e-3, "{millis}: {x} {y}");
    }
}

#[test]
fn several_files_share_the_first_instant_and_the_origin() {
    let movement = read(&[("walk.gpx", WALK), ("boat.gpx", BOAT)], None);
    let tracks = movement.tracks();
    assert_eq!((tracks[0].first, tracks[0].last), (Instant::from_secs(10), Instant::from_secs(20)));
    assert_eq!((tracks[1].first, movement.names()[1].as_str()), (Instant::ZERO, ""));
    let mut positions = Positions::new(Mobility::scripted(movement), 100.0);
    let (x, y) = positions.position(StationId::new(1), Instant::ZERO);
    assert!((x - 555.1364).abs() < 1e-3 && (y - 0.0420).abs() < 1e-3, "{x} {y}");
    // The origin as given: east and north of pymap3d with the opposite origin.
    let movement = read(&[("boat.gpx", BOAT)], Some((60.1699, 24.9384)));
    let low = movement.bounds().low;
    assert!((low.0 - 555.1364).abs() < 1e-3 && (low.1 - 0.0420).abs() < 1e-3, "{low:?}");
}

#[test]
fn errors_have_a_location_a_message_and_help() {
    let starts = |text: &str, expected: &str| {
        let found = movement::parse("walk.gpx", text).expect_err("an invalid file").to_string();
        assert!(found.starts_with(expected), "expected {expected}, found {found}");
        assert!(found.contains("\nhelp: "), "{found}");
    };
    let (head, rest) = WALK.split_once("<ele>12.5").unwrap();
    starts(head, "walk.gpx:8:42: the file ends within <trkpt>");
    starts(
        &WALK.replacen(&format!("<ele>12.5{}", rest.split_once("</time>").unwrap().0), "<time>", 1),
        "walk.gpx:8:48: expected a time, found “”",
    );
    starts("<gpx></gpx>", "walk.gpx:1:1: the file has no nodes");
    starts("<gpx><trk/></gpx>", "walk.gpx:1:12: a track without points");
    starts("<GPX></GPX>", "walk.gpx:1:1: the root element is <GPX>");
    starts(
        &WALK.replacen("lat=\"60.1699\"", "lat=\"90.1\"", 1),
        "walk.gpx:8:7: 90.1 is not a valid latitude in degrees",
    );
    starts(
        &WALK.replacen("lon=\"24.9384\"", "lon=\"181\"", 1),
        "walk.gpx:8:7: 181 is not a valid longitude in degrees",
    );
    starts(
        &WALK.replacen("lon=\"24.9384\"", "", 1),
        "walk.gpx:8:7: <trkpt> has no attribute `lon`",
    );
    starts(
        &WALK.replacen("07:30:10Z", "7.30", 1),
        "walk.gpx:8:78: expected a time, found “2026-05-04T7.30”",
    );
    starts(
        &WALK.replacen("<time>2026-05-04T07:30:10Z</time>", "", 1),
        "walk.gpx:8:57: a point without <time>",
    );
    starts(
        &WALK.replacen("07:30:20", "07:30:11", 1),
        "walk.gpx:13:74: a position before that of “walk & ride” of line 10",
    );
    starts(
        &WALK.replacen("lat=\"60.1789\"", "lat=\"50\"", 1),
        "walk.gpx:13:1: a position more than 500 km from the origin",
    );
    starts(
        &WALK.replacen("2026-05-04T07:30:20", "2126-05-04T07:30:20", 1),
        "walk.gpx:13:1: a position 1e9 s or more after the first",
    );
    starts(
        &WALK.replacen("walk &amp;", "walk &maybe;", 1),
        "walk.gpx:6:16: the entity “maybe” is unknown",
    );
    let both = [("walk.gpx", WALK), ("a.csv", "node,time_s,x_m,y_m\n1,0,0,0\n")];
    let found =
        movement::read(&both, &ReadOptions::default()).expect_err("two formats").to_string();
    assert_eq!(
        found,
        "a.csv:1:1: this is CSV, the first file is GPX\nhelp: several files have one format"
    );
}
