//! Flows between drawn pairs, applications, and keys of TCP in all flows.

use std::collections::BTreeSet;
use std::sync::Arc;

use driftway_scenario::{Application, Scenario, Time, Times, Transport};

const TRAFFIC: &str = r#"
name = "drawn pairs"
duration = "100 s"
[network]
kind = "adhoc"
nodes = 20
area = ["500 m", "500 m"]
mobility = { model = "random-waypoint", speed = ["1 m/s", "5 m/s"] }
routing = { protocol = "aodv" }
[[traffic]]
name = "voice"
pairs = 10
start = { uniform = ["1 s", "11 s"] }
transport = "udp"
application = { cbr = { every = "0.25 s", size = "512 B" } }
[[traffic]]
name = "files"
pairs = 3
from = [0, 1]
to = [1, 2, 3]
start = "5 s"
application = "ftp"
tcp = "linux"
aid = "atcp"
[[flow]]
from = 4
to = 5
application = "ftp"
"#;

fn parse(text: &str, set: &[(&str, &str)]) -> Result<Scenario, String> {
    let set: Vec<_> = set.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    Scenario::parse("t.toml", text, &set).map_err(|error| error.to_string())
}

fn ends(scenario: &Scenario) -> Vec<(u32, u32, Time)> {
    scenario.flows.iter().map(|flow| (flow.from, flow.to, flow.start)).collect()
}

#[test]
fn each_seed_has_its_own_pairs() {
    let scenario = Arc::new(parse(TRAFFIC, &[]).unwrap());
    let at = |seed| Arc::clone(&scenario).at_seed(seed).unwrap();
    assert_eq!(scenario.flows.len(), 14);
    assert_eq!(ends(&at(1)), ends(&scenario));
    assert_ne!(ends(&at(2)), ends(&scenario));
    for seed in 1..50 {
        let drawn = ends(&at(seed));
        assert_eq!(drawn[0], (4, 5, Time::default()), "listed flows come first, and stay");
        let voice: BTreeSet<_> = drawn[1..11].iter().map(|(from, to, _)| (*from, *to)).collect();
        assert_eq!(voice.len(), 10, "different pairs");
        for (from, to, start) in &drawn[1..11] {
            assert!(from != to && *from < 20 && *to < 20);
            assert!((Time::from_secs(1)..=Time::from_secs(11)).contains(start), "{start}");
        }
        for (from, to, start) in &drawn[11..] {
            assert!([0, 1].contains(from) && [1, 2, 3].contains(to) && from != to);
            assert_eq!(*start, Time::from_secs(5));
        }
    }
}

/// The keys of the flows are those of the table, with presets and defaults.
#[test]
fn flows_have_the_keys_of_their_traffic() {
    let scenario = parse(TRAFFIC, &[]).unwrap();
    let (voice, files) = (&scenario.flows[1], &scenario.flows[11]);
    assert_eq!((voice.name.as_deref(), voice.transport), (Some("voice"), Transport::Udp));
    assert_eq!(voice.tcp, None);
    assert_eq!((files.name.as_deref(), files.aid.name()), (Some("files"), Some("atcp")));
    assert_eq!(files.tcp.as_ref().unwrap().recovery.name(), "rack-tlp");
    assert_eq!(files.tcp, scenario.traffic[1].tcp);
}

/// The pairs do not depend on other keys, and the file that is shown has the same ones.
#[test]
fn pairs_depend_on_the_seed_alone() {
    let scenario = parse(TRAFFIC, &[]).unwrap();
    let pairs = |scenario: &Scenario| -> Vec<(u32, u32)> {
        ends(scenario).into_iter().map(|(from, to, _)| (from, to)).collect()
    };
    let other = parse(TRAFFIC, &[("traffic.0.start", "3 s"), ("network.routing.protocol", "dsr")]);
    assert_eq!(pairs(&other.unwrap()), pairs(&scenario));
    let shown = parse(&scenario.show(), &[]).unwrap();
    assert_eq!(shown, scenario);
    let mut read: Scenario =
        serde_json::from_str(&serde_json::to_string(&scenario).unwrap()).unwrap();
    assert_eq!(read.flows.len(), 1, "only listed flows are written");
    read.restore_traffic();
    assert_eq!(ends(&read), ends(&scenario));
}

#[test]
fn wrong_traffic_is_refused() {
    for (key, value, message) in [
        ("traffic.0.pairs", "0", "the number of pairs 0 out of range 1–60000"),
        ("traffic.0.pairs", "381", "there are no 381 different pairs"),
        ("traffic.1.pairs", "6", "there are no 6 different pairs"),
        ("traffic.0.from", "some", "\"any\", or an array of nodes"),
        ("traffic.0.from", "[3, 20]", "node 20 out of range 0–19"),
        ("traffic.0.start", "{ uniform = ['9 s', '3 s'] }", "is not above the second"),
        ("traffic.0.start", "{ uniform = ['9 s', '100 s'] }", "the run ends at 100 s"),
        ("traffic.1.start", "100 s", "the run ends at 100 s"),
        ("traffic.0.start", "{ unifrom = ['1 s', '2 s'] }", "unifrom"),
        ("traffic.0.aid", "atcp", "traffic.0.aid"),
        ("traffic.0.tcp.window", "4", "traffic.0.tcp"),
        ("traffic.0.application", "ftp", "this application needs TCP"),
        ("traffic.0.copies", "3", "unknown key `copies`"),
        ("traffic.1.aid", "atpc", "did you mean `atcp`?"),
    ] {
        let error = parse(TRAFFIC, &[(key, value)]).unwrap_err();
        assert!(error.contains(message), "{key} = {value}: {error}");
    }
    let mixed = "name = 'm'\nduration = '9 s'\n[network]\nkind = 'mixed'\nnodes = ['a', 'b']\n\
                 [[network.wire]]\nbetween = ['a', 'b']\nrate = '1 Mbit/s'\ndelay = '1 ms'\n\
                 [[traffic]]\npairs = 1\napplication = 'ftp'\n";
    assert!(parse(mixed, &[]).unwrap_err().contains("`[[traffic]]` in a mixed network"));
}

/// `flow.*.tcp` and `flow.*.aid` are of TCP flows; other keys are of all.
#[test]
fn keys_of_tcp_leave_udp_alone() {
    let udp = "[[flow]]\nfrom = 6\nto = 7\ntransport = 'udp'\n\
               application = { cbr = { every = '1 s', size = '9 B' } }\n";
    let text = format!("{TRAFFIC}{udp}");
    let set = [
        ("flow.*.tcp.window", "7"),
        ("flow.*.aid", "atcp"),
        ("flow.*.start", "2 s"),
        ("traffic.*.tcp", "reno-bsd"),
    ];
    let scenario = parse(&text, &set).unwrap();
    let (tcp, udp) = (&scenario.flows[0], &scenario.flows[1]);
    assert_eq!((tcp.aid.name(), udp.aid.name()), (Some("atcp"), None));
    assert!(tcp.tcp.is_some() && udp.tcp.is_none());
    assert_eq!((tcp.start, udp.start), (Time::from_secs(2), Time::from_secs(2)));
    assert_eq!(scenario.traffic[1].tcp.as_ref().unwrap().recovery.name(), "reno");
    // A key of one flow is refused as before.
    assert!(parse(&text, &[("flow.1.tcp.window", "7")]).unwrap_err().contains("leave out"));
}

#[test]
fn applications_are_read() {
    let with = |application: &str| {
        let set = [("flow.0.application", application)];
        parse(TRAFFIC, &set).map(|scenario| scenario.flows[0].application)
    };
    let on_off = "{ on-off = { on = '1 s', off = '2 s', every = '20 ms', size = '160 B', times = 'pareto' } }";
    let Ok(Application::OnOff(bursts)) = with(on_off) else { panic!("{:?}", with(on_off)) };
    assert_eq!((bursts.times, bursts.shape), (Times::Pareto, None));
    assert!(with("{ poisson = { every = '1 s', size = '9 B' } }").is_ok());
    let web = "{ request-response = { request = '300 B', response = '10 kB', think = '1 s', shape = 1.2 } }";
    assert!(with(web).is_ok());
    for (application, message) in [
        ("{ poisson = { every = '0 s', size = '9 B' } }", "longer than 0 s"),
        ("{ poisson = { every = '1 s', size = '0 B' } }", "the packet size in bytes 0"),
        ("{ poisson = { every = '1 s' } }", "the key `size` is missing"),
        (
            "{ on-off = { on = '0 s', off = '2 s', every = '20 ms', size = '160 B' } }",
            "longer than 0 s",
        ),
        (
            "{ on-off = { on = '1 s', off = '2 s', every = '20 ms', size = '160 B', shape = 2 } }",
            "without times = \"pareto\"",
        ),
        (
            "{ request-response = { request = '0 B', response = '10 kB', think = '1 s' } }",
            "a size of 0 B",
        ),
        (
            "{ request-response = { request = '1 B', response = '1 B', think = '1 s', shape = 1 } }",
            "it is above 1",
        ),
        ("{ poison = { every = '1 s', size = '9 B' } }", "did you mean `poisson`?"),
    ] {
        let error = with(application).unwrap_err();
        assert!(error.contains(message), "{application}: {error}");
    }
    let error = parse(TRAFFIC, &[("flow.0.application", web), ("flow.0.back", "ftp")]).unwrap_err();
    assert!(error.contains("the responses are its reverse direction"), "{error}");
    let error =
        parse(TRAFFIC, &[("flow.0.application", web), ("flow.0.transport", "udp")]).unwrap_err();
    assert!(error.contains("this application needs TCP"), "{error}");
}

/// Each seed has the movement of its own file.
#[test]
fn movement_files_go_by_seed() {
    let dir = std::env::temp_dir().join(format!("driftway-{}-seeds", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let movement = |seed: u64, nodes: u32| {
        let place =
            |node| format!("$node_({node}) set X_ {seed}.0\n$node_({node}) set Y_ {node}.0\n");
        let text: String = (0..nodes).map(place).collect();
        std::fs::write(dir.join(format!("rwp-{seed}.mov")), text).unwrap();
    };
    let text = "name = 'm'\nduration = '9 s'\n[network]\nkind = 'adhoc'\narea = ['100 m', '100 m']\n\
                mobility = { file = 'rwp-{seed}.mov' }\nrouting = { protocol = 'aodv' }\n\
                [[flow]]\nfrom = 0\nto = 1\napplication = 'ftp'\n";
    let path = dir.join("m.toml");
    std::fs::write(&path, text).unwrap();
    let load = || Scenario::load(&path, &[]).map_err(|error| error.to_string());
    assert!(load().unwrap_err().contains("there is no file `rwp-{seed}.mov` for any seed"));
    for (seed, nodes) in [(7, 2), (8, 2), (10, 3), (11, 2)] {
        movement(seed, nodes);
    }
    std::fs::write(dir.join("rwp-+9.mov"), "").unwrap();
    movement(101, 2);
    let scenario = Arc::new(load().unwrap());
    let first_x = |scenario: &Scenario| {
        let adhoc = scenario.network.radio_networks().next().unwrap();
        adhoc.movement.as_ref().unwrap().bounds().low.0
    };
    assert_eq!(first_x(&scenario), 7.0, "that of the lowest seed");
    let at = |seed| Arc::clone(&scenario).at_seed(seed).map_err(|error| error.to_string());
    assert_eq!(first_x(&at(8).unwrap()), 8.0);
    assert_eq!(first_x(&at(8).unwrap().at_seed(7).unwrap()), 7.0);
    let missing = at(9).unwrap_err();
    assert!(missing.starts_with("seed 9: ") && missing.contains("rwp-9.mov"), "{missing}");
    let other = at(10).unwrap_err();
    assert!(other.contains("rwp-10.mov: 2 nodes, but `mobility` has 3"), "{other}");
    // Outside the area.
    assert!(at(101).unwrap_err().contains("rwp-101.mov: a node at (101 m, 0 m) is outside"));
    std::fs::remove_dir_all(&dir).unwrap();
}
