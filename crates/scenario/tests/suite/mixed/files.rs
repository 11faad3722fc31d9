//! Values of the keys of mixed networks.

use driftway_base::{Duration, Instant, Rate};
use driftway_scenario::{
    BitRate, Fault, FaultKind, Network, PartitionQueue, Routing, Scenario, flatten,
};
use serde_json::Value;

use super::{RIGHT, network, parse, read};

#[test]
fn names_are_expanded_and_resolved() {
    let scenario = read(&[]);
    let mixed = network(&scenario);
    assert_eq!(mixed.nodes, ["server", "router", "base", "m1", "m2", "m3"]);
    assert_eq!(mixed.wires.iter().map(|wire| wire.between).collect::<Vec<_>>(), [[0, 1], [1, 2]]);
    let air = &mixed.airs[0];
    assert_eq!(air.radios, [2, 3, 4, 5]);
    assert_eq!(air.adhoc.nodes(), 4);
    assert!(matches!(&mixed.faults[1], Fault::RadioDown(outage) if outage.node == 4));
    assert_eq!((scenario.flows[0].from, scenario.flows[0].to), (0, 3));
    assert_eq!(scenario.network.nodes(), 6);
    assert_eq!([0, 3, 9].map(|node| scenario.node_name(node)), ["server", "m1", "9"]);
    assert_eq!([0, 2, 4].map(|node| mixed.has_radio(node)), [false, true, true]);
    assert_eq!(scenario.network.radio_networks().collect::<Vec<_>>(), [&air.adhoc]);
}

/// A number is an index in `nodes`, and a range may have one name.
#[test]
fn numbers_stand_for_nodes() {
    let by_name = read(&[]);
    let by_number = read(&[
        ("network.wire.0.between", "[0, 1]"),
        ("network.wire.1.between.1", "2"),
        ("network.air.radios", "[2, 3, \"m2\", \"m[3-3]\"]"),
        ("network.fault.1.node", "4"),
        ("flow.0.from", "0"),
        ("flow.0.to", "3"),
    ]);
    assert_eq!(by_number, by_name);
}

#[test]
fn overrides_have_names_too() {
    let scenario = read(&[
        ("flow.0.to", "m3"),
        ("network.wire.1.rate", "1 Mbit/s"),
        ("network.wire.*.queue.packets", "7"),
        ("network.air.routing", "{ protocol = \"static\" }"),
        ("network.air.radio.packet_error_rate", "0.5"),
        ("network.fault.1.node", "m1"),
    ]);
    assert_eq!(scenario.flows[0].to, 5);
    let mixed = network(&scenario);
    assert_eq!(mixed.wires[1].link.mean_rate(), Rate::from_bps(1_000_000));
    assert_eq!(mixed.hop_link(2).map(|link| link.queue.packets), Some(7));
    assert_eq!(mixed.hop_link(1).map(|link| link.queue.packets), Some(7));
    assert_eq!((mixed.hop_link(0), mixed.hop_link(3)), (None, None));
    let air = &mixed.airs[0];
    assert!(matches!(air.adhoc.routing, Routing::Static(_)));
    assert_eq!(air.adhoc.radio.packet_error_rate, 0.5);
    let says = |key: &str, value: &str| parse(RIGHT, &[(key, value)]).unwrap_err();
    assert_eq!(
        says("flow.0.to", "n3"),
        "--set flow.0.to: there is no node `n3`\n\
         help: did you mean `m3`? the nodes are server, router, base, m1, m2, m3"
    );
    let protocol = read(&[("network.air.routing.protocol", "dsr")]);
    assert!(matches!(&network(&protocol).airs[0].adhoc.routing, Routing::Dsr(_)));
}

#[test]
fn output_has_names_and_round_trips() {
    let scenario = read(&[]);
    for shown in [scenario.show(), scenario.show_documented()] {
        assert!(shown.contains("between = [\"router\", \"base\"]"), "{shown}");
        assert!(shown.contains("radios = [\"base\", \"m1\", \"m2\", \"m3\"]"), "{shown}");
        assert!(shown.contains("node = \"m2\""), "{shown}");
        assert!(shown.contains("from = \"server\"\n"), "{shown}");
        assert_eq!(parse(&shown, &[]).as_ref(), Ok(&scenario), "{shown}");
    }
    let pairs = flatten(&scenario);
    let value = |wanted: &str| pairs.iter().find(|(key, _)| key == wanted).map(|(_, v)| &v[..]);
    assert_eq!(value("flow.0.to"), Some("m1"));
    assert_eq!(value("network.wire.1.between.0"), Some("router"));
    assert_eq!(value("network.wire.1.rate"), Some("2 Mbit/s"));
    assert_eq!(value("network.air.nodes"), None);
}

#[test]
fn wires_alone_and_radios_alone_are_networks() {
    let wires = r#"
name = "a ring"
duration = "1 s"
[network]
kind = "mixed"
nodes = ["n[0-2]"]
wire = [
    { between = ["n0", "n1"], rate = "1 Mbit/s", delay = "1 ms" },
    { between = ["n1", "n2"], rate = "1 Mbit/s", delay = "1 ms" },
    { between = ["n2", "n0"], rate = "1 Mbit/s", delay = "1 ms" },
]
[[flow]]
from = "n0"
to = "n2"
application = "ftp"
"#;
    let scenario = parse(wires, &[]).unwrap();
    assert_eq!(network(&scenario).wires.len(), 3);
    assert_eq!(network(&scenario).airs, []);
    assert_eq!(scenario.network.radio_networks().next(), None);
    let radios = r#"
name = "radios"
duration = "1 s"
[network]
kind = "mixed"
nodes = ["a", "b"]
air = { radios = ["b", "a"], mobility = { chain = "100 m" }, routing = { protocol = "static" } }
[[flow]]
from = "a"
to = "b"
application = "ftp"
"#;
    let scenario = parse(radios, &[]).unwrap();
    assert_eq!(network(&scenario).airs[0].radios, [1, 0]);
}

#[test]
fn outages_of_radios_have_a_schedule() {
    let text = RIGHT.replace("node = \"m2\"\nevery = \"30 s\"", "node = \"m2\"\nfirst = \"10 s\"");
    let scenario =
        parse(&text, &[("network.fault.1.every", "30 s"), ("network.fault.1.count", "2")]).unwrap();
    let Fault::RadioDown(outage) = &scenario.network.faults()[1] else { panic!() };
    assert_eq!(outage.queue, PartitionQueue::Wait);
    let schedule = outage.schedule().unwrap();
    let at = |seconds| Some(Instant::ZERO + Duration::from_secs(seconds));
    assert_eq!([0, 1, 2].map(|n| schedule.nth(n)), [at(10), at(40), None]);
    assert_eq!(scenario.network.faults()[1].kind(), FaultKind::RadioDown);
    let adhoc = r#"
name = "radios"
duration = "100 s"
[network]
kind = "adhoc"
nodes = 3
mobility = { chain = "100 m" }
routing = { protocol = "aodv" }
[[network.fault]]
kind = "radio-down"
node = 1
first = "10 s"
lasts = "5 s"
queue = "drop"
[[flow]]
from = 0
to = 2
application = "ftp"
"#;
    let scenario = parse(adhoc, &[]).unwrap();
    let Network::Adhoc(network) = &scenario.network else { panic!() };
    assert_eq!(network.faults, scenario.network.faults());
    let [Fault::RadioDown(outage)] = &network.faults[..] else { panic!() };
    assert_eq!((outage.node, outage.queue), (1, PartitionQueue::Drop));
    assert_eq!(outage.schedule().unwrap().nth(1), None);
    assert_eq!(scenario.node_name(1), "1");
    assert_eq!(parse(&scenario.show(), &[]), Ok(scenario));
}

#[test]
fn faults_of_wires_have_the_defaults_of_a_path() {
    let scenario = read(&[(
        "network.fault.0",
        "{ kind = \"congestion\", hop = 2, first = \"1 s\", lasts = \"1 s\" }",
    )]);
    let Fault::Congestion(flood) = &scenario.network.faults()[0] else { panic!() };
    assert_eq!(flood.rate, Some(BitRate(Rate::from_bps(4_000_000))));
    read(&[("network.fault.0.hop", "random"), ("network.fault.0.signal", "link")]);
}

/// `compat = "ns-2"` has the same effect in `[network.air]` as in an ad hoc network.
#[test]
fn compat_applies_to_the_air() {
    let scenario = read(&[("network.air.compat", "ns-2")]);
    let air = &network(&scenario).airs[0];
    let adhoc = format!(
        "name = \"x\"\nduration = \"9 s\"\n[network]\nkind = \"adhoc\"\nnodes = 4\n{}\
         compat = \"ns-2\"\n[[flow]]\nfrom = 0\nto = 1\napplication = \"ftp\"\n",
        "mobility = { chain = \"100 m\" }\nrouting = { protocol = \"aodv\" }\n"
    );
    let adhoc = parse(&adhoc, &[]).unwrap();
    assert_eq!(adhoc.network.radio_networks().next(), Some(&air.adhoc));
    assert_eq!(adhoc.flows[0].tcp, scenario.flows[0].tcp);
}

/// `[network.air]` has every key of an ad hoc network but two, and two of its own, in the schema and in the reader.
#[test]
fn the_air_has_the_keys_of_an_ad_hoc_network() {
    let schema = Scenario::schema();
    let forms = schema["$defs"]["Network"]["oneOf"].as_array().unwrap();
    let form =
        |kind: &str| forms.iter().find(|form| form["properties"]["kind"]["const"] == kind).unwrap();
    let keys = |schema: &Value| {
        let keys = schema["properties"].as_object().unwrap().keys().cloned();
        let mut keys: Vec<String> = keys.collect();
        keys.sort();
        keys
    };
    let air = keys(&schema["$defs"]["Air"]);
    let mut of_adhoc: Vec<String> = keys(form("adhoc"));
    of_adhoc.retain(|key| !["kind", "nodes", "fault"].contains(&&key[..]));
    of_adhoc.extend(["name", "radios"].map(str::to_owned));
    of_adhoc.sort();
    assert_eq!(air, of_adhoc);
    let message = parse(RIGHT, &[("network.air.nodes", "3")]).unwrap_err();
    let (_, listed) = message.split_once("the keys of this table are ").unwrap();
    let mut listed: Vec<_> = listed.split(", ").collect();
    listed.sort_unstable();
    assert_eq!(listed, air);
}

#[test]
fn the_schema_accepts_names_and_numbers() {
    let schema = Scenario::schema();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let valid = |text: &str| validator.is_valid(&toml::from_str::<Value>(text).unwrap());
    assert!(valid(RIGHT));
    assert!(valid(&RIGHT.replace("to = \"m1\"", "to = 3")));
    for (from, to) in [
        ("\"m[1-3]\"]\n\n", "\"m[1-]\"]\n\n"),
        ("between = [\"server\", \"router\"]", "between = [\"server\"]"),
        ("radios =", "nodes ="),
        ("node = \"m2\"", "hop = 2"),
    ] {
        assert!(RIGHT.contains(from), "{from}");
        assert!(!valid(&RIGHT.replacen(from, to, 1)), "{from} → {to}");
    }
}

#[test]
fn a_path_has_the_nodes_of_its_parallel_routes() {
    let text = r#"
name = "x"
duration = "1 s"
[network]
kind = "path"
hops = 4
link = { rate = "1 Mbit/s", delay = "1 ms" }
parallel = [{ from = 1, to = 3, hops = 3 }, { from = 0, to = 4, hops = 1 }]
[[flow]]
from = 0
to = 4
application = "ftp"
"#;
    let scenario = parse(text, &[]).unwrap();
    assert_eq!(scenario.network.nodes(), 7);
    assert_eq!(scenario.node_name(4), "4");
}
