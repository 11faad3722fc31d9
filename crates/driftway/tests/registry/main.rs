//! An aid, a routing protocol, a mobility model and congestion controls of this crate alone, in scenarios by their names.

mod around;
mod distance_vector;
mod halving;
mod restless;
mod steady;
mod wait;

use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use driftway::aid::registry::{AidEntry, AidPlace};
use driftway::base::options::{NumberUnit, OptionError, OptionValue, Options};
use driftway::base::{Entry, FlowId, NodeId};
use driftway::experiment::runner::{Job, RunCache, Runner, Task};
use driftway::radio::mobility::{MobilityEntry, Plane};
use driftway::radio::{Mobility, ParameterError};
use driftway::route::RoutingEntry;
use driftway::scenario::AidEnd;
use driftway::sim::Observers;
use driftway::sim::log::EventLog;
use driftway::tcp::congestion::ControlEntry;
use driftway::{Duration, Instant, Registry, Scenario, Simulation, run};

use around::AroundOptions;
use distance_vector::DistanceVectorOptions;
use halving::HalvingOptions;
use restless::RestlessOptions;
use steady::SteadyOptions;
use wait::WaitOptions;

fn registry() -> Registry {
    Registry::new()
        .aid(AidEntry::new::<WaitOptions>())
        .routing(RoutingEntry::new::<DistanceVectorOptions>())
        .mobility(MobilityEntry::new::<AroundOptions>())
        .control(ControlEntry::new::<HalvingOptions>())
        .control(ControlEntry::new::<SteadyOptions>())
}

/// A path that is cut from 20 s to 55 s, which its routers report.
const PATH: &str = r#"
name = "cut"
duration = "200 s"
[network]
kind = "path"
hops = 2
link = { rate = "1 Mbit/s", delay = "20 ms" }
[[network.fault]]
kind = "partition"
hop = 2
first = "20 s"
every = "1000 s"
lasts = "35 s"
signal = "icmp-unreachable"
[[flow]]
from = 0
to = 2
application = { transfer = "5 MB" }
aid = { name = "wait", probe = "500 ms" }
"#;

/// Nodes in a row, 200 m apart, of which each hears its neighbours only.
const CHAIN: &str = r#"
name = "chain"
duration = "60 s"
[network]
kind = "adhoc"
nodes = 4
mobility = { chain = "200 m" }
routing = { protocol = "distance-vector", update = "2 s" }
[[flow]]
from = 0
to = 3
start = "20 s"
application = { transfer = "100 kB" }
"#;

const MOVING: &str = r#"
name = "moving"
duration = "60 s"
[network]
kind = "adhoc"
nodes = 12
area = ["500 m", "300 m"]
mobility = { model = "around", speed = "36 km/h", spacing = 0.1 }
routing = { protocol = "aodv" }
[[flow]]
from = 0
to = 11
application = "ftp"
"#;

fn parse(text: &str, set: &[(&str, &str)], registry: &Registry) -> Result<Scenario, String> {
    let set: Vec<_> = set.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Scenario::parse_with("test.toml", text, &set, registry).map_err(|error| error.to_string())
}

fn scenario(text: &str, set: &[(&str, &str)]) -> Arc<Scenario> {
    Arc::new(parse(text, set, &registry()).unwrap())
}

#[test]
fn an_aid_runs_by_its_name() {
    let flow = |set: &[(&str, &str)]| run(scenario(PATH, set), 1, None).unwrap().flows.remove(0);
    let (with, without) = (flow(&[]), flow(&[("flow.0.aid", "none")]));
    assert_eq!((with.aid.as_deref(), without.aid.as_deref()), (Some("wait"), None));
    assert!(with.end_s + 5.0 < without.end_s, "{} s and {} s", with.end_s, without.end_s);
    // It probes while the path is cut, for 35 s.
    assert!((60..=72).contains(&with.probes.unwrap()), "{:?}", with.probes);
    let seldom = flow(&[("flow.0.aid.probe", "10 s")]);
    assert!((2..=4).contains(&seldom.probes.unwrap()), "{:?}", seldom.probes);
}

#[test]
fn an_aid_that_does_not_let_time_go_on_ends_the_run_with_an_error() {
    let known = registry().aid(AidEntry::new::<RestlessOptions>());
    for (timeouts, expected) in [
        ("true", "the timeout of the aid at the sender of flow 0 is due again and again at 0.0"),
        ("false", "poll_act of the aid at the sender of flow 0 always returned another act"),
    ] {
        let set = [("flow.0.aid", "{ name = \"restless\" }"), ("flow.0.aid.timeouts", timeouts)];
        let scenario = Arc::new(parse(PATH, &set, &known).unwrap());
        let error = run(scenario, 1, None).unwrap_err().to_string();
        assert!(error.starts_with("the run does not end: "), "{error}");
        assert!(error.contains(expected), "{error}");
    }
}

/// An output whose content can be read later.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_routing_protocol_runs_by_its_name() {
    let out = Shared::default();
    let mut log = EventLog::new(Box::new(out.clone()));
    let watch = Observers { log: Some(&mut log), ..Observers::default() };
    let mut simulation = Simulation::new(scenario(CHAIN, &[]), 1, watch).unwrap();
    assert!(simulation.run_until(Instant::from_secs(19)).unwrap());
    let route = simulation.route(NodeId::new(0), NodeId::new(3));
    assert_eq!(route, Some((0..4).map(NodeId::new).collect()));
    let result = simulation.run_to_end().unwrap();
    assert_eq!(result.flows[0].delivered_bytes, 100_000);
    // Each of the four nodes sends an update every two seconds.
    let (sent, due) = (result.routing.unwrap().packets_sent, result.duration_s / 2.0 * 4.0);
    assert!((sent as f64 - due).abs() <= 4.0, "{sent} of {due}");
    log.finish().unwrap();
    let log = String::from_utf8(out.0.lock().unwrap().clone()).unwrap();
    let updates = log.lines().filter(|line| line.contains("air,sent,,distance-vector-update"));
    assert!(updates.count() as u64 >= sent, "each is in the log");
}

#[test]
fn a_mobility_model_runs_by_its_name() {
    let scenario = scenario(MOVING, &[]);
    let mut simulation = Simulation::new(Arc::clone(&scenario), 1, None).unwrap();
    let (mut last, mut distance) = (simulation.position(NodeId::new(3)).unwrap(), 0.0);
    for second in 1..60 {
        assert!(simulation.run_until(Instant::from_secs(second)).unwrap());
        let (x, y) = simulation.position(NodeId::new(3)).unwrap();
        assert!((0.0..=500.0).contains(&x) && (0.0..=300.0).contains(&y), "{x} m, {y} m");
        let (dx, dy) = (x - last.0, y - last.1);
        distance += (dx * dx + dy * dy).sqrt();
        last = (x, y);
    }
    assert!((5.0..15.0).contains(&(distance / 59.0)), "{distance} m");
    let result = simulation.run_to_end().unwrap();
    assert_eq!(result, run(Arc::clone(&scenario), 1, None).unwrap());
    assert_ne!(result.fingerprint, run(scenario, 2, None).unwrap().fingerprint);
}

/// A hop that loses packets, and a round trip of 40 ms.
const LOSSY: &str = r#"
name = "lossy"
duration = "100 s"
[network]
kind = "path"
hops = 1
link = { rate = "10 Mbit/s", delay = "20 ms", packet_error_rate = 0.005 }
[[flow]]
from = 0
to = 1
application = "ftp"
tcp = { recovery = "rack-tlp", mss = "1000 B", window = "200 kB", timestamps = true }
"#;

#[test]
fn a_congestion_control_runs_by_its_name() {
    let flow = |growth: &str| {
        let set = [("flow.0.tcp.growth", growth)];
        run(scenario(LOSSY, &set), 1, None).unwrap().flows.remove(0)
    };
    let (halving, reno) = (flow("halving"), flow("reno"));
    assert_eq!(halving.tcp.as_deref(), Some("rack-tlp+halving"));
    assert!(halving.fast_retransmits > Some(20), "{halving:?}");
    // It is written anew from RFC 5681, as the built-in one is.
    assert_eq!(driftway::sim::results::FlowResult { tcp: reno.tcp.clone(), ..halving }, reno);
    let gentle = flow("{ name = \"halving\", kept = 0.8 }");
    let ratio = gentle.throughput_bps.unwrap() / reno.throughput_bps.unwrap();
    assert!(ratio > 1.2, "{ratio}");
}

#[test]
fn a_congestion_control_with_a_model_sets_the_window() {
    let flow = |segments: u32, paced: bool| {
        let growth = format!("{{ name = \"steady\", segments = {segments}, paced = {paced} }}");
        let set = [("flow.0.tcp.growth", &*growth), ("network.link.packet_error_rate", "0.02")];
        run(scenario(LOSSY, &set), 1, None).unwrap().flows.remove(0)
    };
    for paced in [false, true] {
        for segments in [10, 30] {
            let result = flow(segments, paced);
            // A window per round trip: 40 ms, and a millisecond for the frame and its acknowledgment. Losses cost
            // what they keep from being delivered, and no reduction.
            let window_per_rtt = f64::from(segments) * 8000.0 / 0.041;
            let ratio = result.throughput_bps.unwrap() / window_per_rtt;
            assert!((0.85..1.0).contains(&ratio), "{segments}, {paced}: {ratio}");
        }
    }
}

#[test]
fn a_congestion_control_of_a_closure_is_made_with_the_options_of_tcp() {
    let hystart = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&hystart);
    let entry = ControlEntry::from_fn("own", "", move |options| {
        seen.lock().unwrap().push(options.hystart.name());
        ControlEntry::new::<HalvingOptions>().build(&[], options).unwrap()
    });
    let growth =
        [("flow.0.tcp", "{ recovery = \"sack\", growth = \"own\", hystart = \"rfc9406\" }")];
    let scenario = parse(LOSSY, &growth, &Registry::new().control(entry)).unwrap();
    hystart.lock().unwrap().clear();
    run(&scenario, 1, None).unwrap();
    assert_eq!(*hystart.lock().unwrap(), ["rfc9406", "rfc9406"], "both ends");
}

#[test]
fn a_closure_that_makes_a_congestion_control_gets_the_options_that_it_has_declared() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let gains = Arc::clone(&seen);
    let build = move |settings: &[(&str, OptionValue)], options: &_| {
        gains.lock().unwrap().extend(settings.iter().map(|of| format!("{of:?}")));
        ControlEntry::new::<HalvingOptions>().build(settings, options).unwrap()
    };
    let entry =
        ControlEntry::from_fn_with_options("own", "A control.", HalvingOptions::OPTIONS, build);
    let known = Registry::new().control(entry.clone());
    let own =
        |growth: &str| parse(LOSSY, &[("flow.0.tcp.growth", growth), ("duration", "1 s")], &known);
    for (growth, kept) in [("own", 0.5), ("{ name = \"own\", kept = 0.7 }", 0.7)] {
        seen.lock().unwrap().clear();
        run(own(growth).unwrap(), 1, None).unwrap();
        let expected = format!("{:?}", ("kept", OptionValue::Number(NumberUnit::One, kept)));
        let seen = seen.lock().unwrap();
        assert!(!seen.is_empty() && seen.iter().all(|of| *of == expected), "{seen:?}");
    }
    let set = [("flow.0.tcp.growth", "own"), ("flow.0.tcp.growth.kept", "0.8")];
    assert!(parse(LOSSY, &set, &known).unwrap().show().contains("kept = 0.8"));
    let refused = own("{ name = \"own\", keep = 0.7 }").unwrap_err();
    assert!(refused.contains("did you mean `kept`"), "{refused}");
    let build = |settings: &[(&str, OptionValue)]| entry.build(settings, &Default::default()).err();
    let unknown = build(&[("x", OptionValue::Count(1))]);
    assert_eq!(unknown, Some(OptionError::UnknownOption { index: 0 }));
    let invalid = build(&[("kept", OptionValue::Number(NumberUnit::One, 2.0))]);
    assert!(matches!(invalid, Some(OptionError::InvalidValue { index: 0, .. })), "{invalid:?}");
}

#[test]
fn the_legs_of_a_gateway_have_registered_congestion_controls() {
    let text = include_str!("../../../../scenarios/split-gateway.toml");
    let leg = ("network.gateway.wireless.tcp", "{ growth = \"halving\" }");
    let with = scenario(text, &[leg]);
    assert!(with.has_registered_items() && with.show().contains("halving"), "{}", with.show());
    let reno = scenario(text, &[("network.gateway.wireless.tcp", "{ growth = \"reno\" }")]);
    assert_eq!(run(with, 1, None).unwrap().fingerprint, run(reno, 1, None).unwrap().fingerprint);
}

#[test]
fn an_aid_is_made_for_each_connection_and_end() {
    let places = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&places);
    let entry = AidEntry::from_fn("own", "An aid made by a closure.", move |place| {
        seen.lock().unwrap().push(place);
        AidEntry::new::<WaitOptions>().build(&[]).unwrap()
    });
    let second = "[[flow]]\nfrom = 2\nto = 0\napplication = 'ftp'\nreceiver_aid = 'own'\n";
    let text = PATH.replace("{ name = \"wait\", probe = \"500 ms\" }", "\"own\"") + second;
    let scenario = parse(&text, &[("duration", "1 s")], &Registry::new().aid(entry)).unwrap();
    let result = run(&scenario, 1, None).unwrap();
    let mut places = places.lock().unwrap().clone();
    places.sort_by_key(|place| place.flow);
    let place = |flow, end| AidPlace { flow: FlowId::new(flow), end };
    assert_eq!(places, [place(0, AidEnd::Sender), place(1, AidEnd::Receiver)]);
    assert_eq!(result.flows[1].receiver_aid.as_deref(), Some("own"));
}

#[test]
fn a_closure_gets_the_options_that_it_has_declared() {
    let gains = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&gains);
    let build = move |_: AidPlace, settings: &[(&str, OptionValue)]| {
        seen.lock()
            .unwrap()
            .extend(settings.iter().map(|(name, value)| format!("{name} {value:?}")));
        AidEntry::new::<WaitOptions>().build(&[]).unwrap()
    };
    let entry = AidEntry::from_fn_with_options("own", "An aid.", WaitOptions::OPTIONS, build);
    let known = Registry::new().aid(entry.clone());
    let own = |text: &str| parse(PATH, &[("flow.0.aid", text), ("duration", "1 s")], &known);
    for text in ["own", "{ name = \"own\", probe = \"3 s\" }"] {
        run(own(text).unwrap(), 1, None).unwrap();
    }
    let spans = [Duration::from_secs(2), Duration::from_secs(3)];
    let expected = spans.map(|span| format!("probe {:?}", OptionValue::Duration(span)));
    assert_eq!(*gains.lock().unwrap(), expected);
    let refused = own("{ name = \"own\", probes = 2 }").unwrap_err();
    assert!(refused.contains("unknown key `probes`"), "{refused}");
    let refused = |settings: &[(&str, OptionValue)]| entry.build(settings).err().unwrap();
    let unknown =
        refused(&[("probe", OptionValue::Duration(spans[0])), ("x", OptionValue::Count(1))]);
    assert_eq!(unknown, OptionError::UnknownOption { index: 1 });
    let invalid = refused(&[("probe", OptionValue::Duration(Duration::from_micros(1)))]);
    assert!(matches!(invalid, OptionError::InvalidValue { index: 0, .. }), "{invalid:?}");
}

#[test]
fn messages_know_registered_names() {
    let known = registry();
    let says = |text: &str, set: &[(&str, &str)]| parse(text, set, &known).unwrap_err();
    assert_eq!(
        says(PATH, &[("flow.0.aid", "wiat")]),
        "--set flow.0.aid: unknown value `wiat`\nhelp: did you mean `wait`? available: none, atcp, \
         atcp-partial, tcp-f, elfn, epln, cwnd-limit, mobile-host, three-dupacks, freeze-tcp, carry, wait"
    );
    assert_eq!(
        says(&PATH.replace("probe =", "prob ="), &[]),
        "test.toml:19:24: unknown key `prob`\nhelp: did you mean `probe`? the keys of this table are probe"
    );
    assert_eq!(
        says(&PATH.replace("500 ms", "5 ms"), &[]),
        "test.toml:19:32: `probe` of 5 ms\nhelp: the minimum is 100 ms"
    );
    assert_eq!(
        says(&CHAIN.replace("distance-vector", "distance-vectors"), &[]),
        "test.toml:8:24: unknown value `distance-vectors`\nhelp: did you mean `distance-vector`? available: \
         aodv, dsr, static, none, distance-vector"
    );
    assert_eq!(
        says(&MOVING.replace("around", "arond"), &[]),
        "test.toml:8:22: unknown value `arond`\nhelp: did you mean `around`? available: \
         random-waypoint, constant-velocity, gauss-markov, manhattan, reference-point-group, around"
    );
    assert_eq!(
        says(LOSSY, &[("flow.0.tcp.growth", "halvin")]),
        "--set flow.0.tcp.growth: unknown value `halvin`\nhelp: did you mean `halving`? available: reno, cubic, \
         bbr, bbr3, halving, steady"
    );
    assert_eq!(
        says(LOSSY, &[("flow.0.tcp.growth", "{ name = \"halving\", kept = 2 }")]),
        "--set flow.0.tcp.growth: `kept` of 2 out of range 0.1–0.9"
    );
    let without_model =
        says(LOSSY, &[("flow.0.tcp.recovery", "sack"), ("flow.0.tcp.growth", "steady")]);
    assert!(
        without_model.contains("recovery \"sack\" cannot be combined with growth \"steady\""),
        "{without_model}"
    );
    assert_eq!(
        says(MOVING, &[("network.mobility.spacing", "2")]),
        "--set network.mobility.spacing: `spacing` of 2 out of range 0–0.5"
    );
    assert_eq!(
        says(MOVING, &[("network.mobility.speed", "2000 m/s")]),
        "--set network.mobility.speed: `speed` of 2000 m/s out of range 0 m/s–1000 m/s"
    );
    // An error of the model itself, which is built to check it.
    assert_eq!(
        says(MOVING, &[("network.mobility.speed", "0 m/s")]),
        "--set network.mobility.speed: nodes that do not move\nhelp: a speed above 0 m/s"
    );
    // Everything else is as without the registry.
    assert_eq!(
        says(CHAIN, &[("network.routing", "{ protocol = 7 }")]),
        parse(CHAIN, &[("network.routing", "{ protocol = 7 }")], &Registry::new()).unwrap_err()
    );
}

#[test]
fn a_registry_has_each_name_once() {
    let fails = |registry: &Registry| parse(PATH, &[], registry).unwrap_err();
    let aid = |name| AidEntry::from_fn(name, "", |_| unreachable!("it is not run"));
    assert!(fails(&Registry::new().aid(aid("atcp"))).starts_with(
        "registry: the aid `atcp` is built in, or registered twice\nhelp: register it under another name"
    ));
    let twice = Registry::new().aid(aid("wait")).aid(aid("wait"));
    assert!(fails(&twice).starts_with("registry: the aid `wait` is built in, or registered twice"));
    assert_eq!(
        fails(&Registry::new().aid(aid("two words"))),
        "registry: the aid `two words` cannot be named in a scenario\nhelp: names consist of letters, digits, \
         `-` and `_`"
    );
    let reno = ControlEntry::from_fn("reno", "", |_| unreachable!("it is not run"));
    let says = "registry: the congestion control `reno` is built in";
    assert!(fails(&Registry::new().control(reno)).starts_with(says));
    for name in ["random-waypoint", "gauss-markov"] {
        let model = Entry::<Plane, Result<Mobility, ParameterError>>::from_fn(name, "", |plane| {
            Ok(Mobility::fixed(&vec![(0.0, 0.0); plane.stations as usize]))
        });
        let fails = fails(&Registry::new().mobility(model));
        let says = format!("registry: the mobility model `{name}` is built in");
        assert!(fails.starts_with(&says), "{fails}");
    }
}

#[test]
fn a_scenario_is_shown_with_its_registered_names() {
    let shown = scenario(CHAIN, &[("flow.0.aid", "wait")]).show();
    let read = parse(&shown, &[], &registry()).unwrap();
    assert_eq!(read.show(), shown);
    assert!(shown.contains("protocol = \"distance-vector\""), "{shown}");
    assert!(shown.contains("update = \"2 s\""), "{shown}");
    assert!(shown.contains("probe = \"2 s\""), "{shown}");
    let controlled = scenario(LOSSY, &[("flow.0.tcp.growth", "steady")]).show();
    assert!(controlled.contains("segments = 10"), "{controlled}");
    assert_eq!(parse(&controlled, &[], &registry()).unwrap().show(), controlled);
    let moving = scenario(MOVING, &[]);
    assert!(moving.show().contains("speed = \"10 m/s\""), "{}", moving.show());
    // Each key with its documentation, where it has one.
    assert_eq!(parse(&moving.show_documented(), &[], &registry()).as_ref(), Ok(&*moving));
}

#[test]
fn runs_with_registered_items_are_not_cached() {
    let dir = tempfile::tempdir().unwrap();
    let cache = RunCache::at(dir.path()).unwrap();
    let stop = AtomicBool::new(false);
    let runner = Runner {
        threads: 1,
        cache: Some(cache.clone()),
        ignore_cache: false,
        stop: &stop,
        on_finished: &|| (),
    };
    let stored = |set: &[(&str, &str)], text: &str| {
        let job = Job::new((*scenario(text, set)).clone(), "test.toml".into(), Vec::new());
        runner.run(&[Task { job: &job, seed: 1, step: None }]).unwrap();
        cache.get(&job, 1, None).is_some()
    };
    let short = ("duration", "1 s");
    assert!(!stored(&[short], PATH));
    assert!(!stored(&[short], MOVING));
    assert!(!stored(&[short, ("flow.0.start", "0 s")], CHAIN));
    assert!(stored(&[short, ("flow.0.aid", "none")], PATH));
    assert!(!stored(&[short, ("flow.0.tcp.growth", "halving")], LOSSY));
    assert!(stored(&[short], LOSSY));
    // A built-in model that declares its options as registered ones do.
    assert!(stored(&[short, ("network.mobility", "{ model = \"gauss-markov\" }")], MOVING));
}
