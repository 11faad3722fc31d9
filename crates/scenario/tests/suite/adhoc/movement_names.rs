//! Nodes that are given by their names in a movement file.

use driftway_scenario::{Scenario, Time, TrafficNodes};

use super::{RIGHT, files, network};

const TABLE: &str = "node,time_s,x_m,y_m\nbus,0,10,20\ncar.7,0,30,40\n12,0,50,60\n";

/// Loads [`RIGHT`] with a movement file and overrides.
fn load(
    test: &str,
    content: &str,
    file: &str,
    overrides: &[(&str, &str)],
) -> Result<Scenario, String> {
    let folder = files::folder(
        &format!("names-{test}"),
        content.as_bytes(),
        &format!("mobility = {{ file = \"{file}\" }}"),
    );
    let pairs = overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let scenario = Scenario::load(folder.join("scenario.toml"), &pairs.collect::<Vec<_>>());
    std::fs::remove_dir_all(&folder).unwrap();
    let prefix = format!("{}/", folder.display());
    scenario.map_err(|error| error.to_string().replace(&prefix, ""))
}

#[test]
fn names_stand_for_nodes_in_flows_traffic_and_faults() {
    let fault = "[{ kind = \"radio-down\", node = \"car.7\", first = \"9 s\", lasts = \"1 s\" }]";
    let traffic = "[{ pairs = 2, from = [\"12\", 1], to = [\"bus\"], application = \"ftp\" }]";
    let overrides = [
        ("flow.0.from", "\"12\""),
        ("flow.0.to", "bus"),
        ("network.fault", fault),
        ("traffic", traffic),
    ];
    let scenario = load("all", TABLE, "two.mov", &overrides).unwrap();
    assert_eq!((scenario.flows[0].from, scenario.flows[0].to), (2, 0));
    assert_eq!(scenario.traffic[0].from, TrafficNodes::Listed(vec![2, 1]));
    assert_eq!(scenario.traffic[0].to, TrafficNodes::Listed(vec![0]));
    assert!(scenario.show().contains("node = 1\n"), "{}", scenario.show());
    // A number is that of a node of the scenario, whatever the names are.
    let error = load("number", TABLE, "two.mov", &[("flow.0.from", "12")]).unwrap_err();
    assert!(error.contains("node 12 out of range 0–2"), "{error}");
}

/// Scripts of CORE number nodes from 1, with gaps where nodes were deleted.
#[test]
fn nodes_of_ns_2_are_named_by_their_numbers() {
    let place = |node: u32| format!("$node_({node}) set X_ {node}\n$node_({node}) set Y_ 2\n");
    let text = [3, 7, 12].map(place).concat();
    let ends = [("flow.0.from", "\"12\""), ("flow.0.to", "\"3\"")];
    let scenario = load("core", &text, "two.mov", &ends).unwrap();
    assert_eq!((scenario.flows[0].from, scenario.flows[0].to), (2, 0));
    let notes = |scenario: &Scenario| {
        network(scenario).movement_notes(Time::from_secs(9), |node| format!("n{node}"))
    };
    assert_eq!(notes(&scenario), ["nodes: n0 `3`, n1 `7`, n2 `12`"]);
    let usual = load("usual", &[0, 1].map(place).concat(), "two.mov", &[]).unwrap();
    assert_eq!(notes(&usual), [""; 0]);
}

#[test]
fn names_of_no_node_and_of_several_are_refused() {
    let refused = |test, content, file, name| {
        load(test, content, file, &[("flow.0.from", name)]).unwrap_err()
    };
    assert_eq!(
        refused("near", TABLE, "two.mov", "car7"),
        "--set flow.0.from: the movement file has no node `car7`\n\
         help: did you mean `car.7`? the nodes are bus, car.7, 12"
    );
    let track = "<trk><name>Monday</name><trkseg><trkpt lat='60' lon='24'>\
                 <time>2026-05-04T07:30:00Z</time></trkpt></trkseg></trk>";
    let gpx = format!("<gpx>{track}{track}</gpx>");
    let error = refused("twice", &gpx, "two.mov", "Monday");
    assert!(error.contains("nodes 0 and 1 of the movement file are called `Monday`"), "{error}");
    let error = refused("bonnmotion", "0 10 20\n0 1 2\n", "two.mov", "bus");
    assert!(error.contains("no node `bus`\nhelp: its nodes have no names: a number"), "{error}");
    let error = refused("seeded", TABLE, "two-{seed}.mov", "bus");
    assert!(error.contains("movement files of which each seed has its own"), "{error}");
    let error = refused("missing", TABLE, "too.mov", "bus");
    assert!(error.contains("too.mov: No such file"), "{error}");
    // Without a movement file there are no names.
    let text = RIGHT.replace("from = 0", "from = \"bus\"");
    let error = Scenario::parse("test.toml", &text, &[]).unwrap_err().to_string();
    assert!(error.contains("expected a whole number"), "{error}");
}
