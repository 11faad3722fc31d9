//! Error messages for mixed networks.

use driftway_scenario::Scenario;

use super::{RIGHT, network, parse};

const AIR: &str = r#"[network.air]
radios = ["base", "m[1-3]"]
mobility = { chain = "100 m" }
mac = { kind = "dcf" }
routing = { protocol = "aodv" }

"#;

/// Description; text to find in [`RIGHT`]; its replacement; the expected message.
const WRONG: &[(&str, &str, &str, &str)] = &[
    (
        "no nodes",
        "nodes = [\"server\", \"router\", \"base\", \"m[1-3]\"]\n",
        "",
        "test.toml:4:1: the key `nodes` is missing\nhelp: add `nodes = …` to this table",
    ),
    (
        "a number of nodes",
        "nodes = [\"server\", \"router\", \"base\", \"m[1-3]\"]",
        "nodes = 6",
        "test.toml:6:9: expected an array, found the bare number 6",
    ),
    (
        "a number as a name",
        "\"base\", \"m[1-3]\"]\n\n",
        "7]\n\n",
        "test.toml:6:30: expected a string, found the bare number 7",
    ),
    (
        "a name that begins with a digit",
        "\"base\", \"m[1-3]\"]\n\n",
        "\"base\", \"3m\"]\n\n",
        "test.toml:6:38: `3m` is not the name of a node\nhelp: names begin with a letter and continue with letters, digits, - and _; n[1-20] stands for n1 to n20",
    ),
    (
        "an incomplete range",
        "\"base\", \"m[1-3]\"]\n\n",
        "\"base\", \"m[1-]\"]\n\n",
        "test.toml:6:38: `m[1-]` is not a range of names\nhelp: a valid one is, for example, n[1-20], which stands for n1 to n20",
    ),
    (
        "a reversed range",
        "\"base\", \"m[1-3]\"]\n\n",
        "\"base\", \"m[3-1]\"]\n\n",
        "test.toml:6:38: `m[3-1]` is not a range of names\nhelp: a valid one is, for example, n[1-20], which stands for n1 to n20",
    ),
    (
        "a range with leading zeros",
        "\"base\", \"m[1-3]\"]\n\n",
        "\"base\", \"m[01-03]\"]\n\n",
        "test.toml:6:38: `m[01-03]` is not a range of names\nhelp: a valid one is, for example, n[1-20], which stands for n1 to n20",
    ),
    (
        "two nodes with one name",
        "\"base\", \"m[1-3]\"]\n\n",
        "\"base\", \"m[1-3]\", \"m2\"]\n\n",
        "test.toml:6:48: two nodes are called `m2`\nhelp: names are unique",
    ),
    (
        "too many nodes",
        "\"base\", \"m[1-3]\"]\n\n",
        "\"base\", \"m[1-4000000000]\"]\n\n",
        "test.toml:6:38: more than 1000 nodes\nhelp: a mixed network has 2 to 1000",
    ),
    (
        "a name that is not close to any other",
        "nodes = [\"server\", \"router\", \"base\", \"m[1-3]\"]",
        "nodes = [\"server\"]",
        "test.toml:9:22: there is no node `router`\nhelp: the nodes are server",
    ),
    (
        "a node without wire and radio",
        "\"base\", \"m[1-3]\"]\n\n",
        "\"base\", \"m[1-3]\", \"spare\"]\n\n",
        "test.toml:6:48: node spare has neither a wire nor a radio\nhelp: add a [[network.wire]] to it, or add it to network.air.radios",
    ),
    (
        "a key of a path",
        "kind = \"mixed\"",
        "kind = \"mixed\"\nhops = 3",
        "test.toml:6:1: unknown key `hops`\nhelp: the keys of this table are nodes, wire, route, air, gateway, fault",
    ),
    (
        "a wire to an unknown node",
        "between = [\"router\", \"base\"]",
        "between = [\"router\", \"bas\"]",
        "test.toml:14:22: there is no node `bas`\nhelp: did you mean `base`? the nodes are server, router, base, m1, m2, m3",
    ),
    (
        "a wire to an unknown number",
        "between = [\"router\", \"base\"]",
        "between = [\"router\", 6]",
        "test.toml:14:22: node 6 out of range 0–5\nhelp: the 6 nodes are numbered from 0",
    ),
    (
        "a wire with one end",
        "between = [\"router\", \"base\"]",
        "between = [\"router\"]",
        "test.toml:14:11: expected an array of length 2, found 1 values",
    ),
    (
        "a wire with three ends",
        "between = [\"router\", \"base\"]",
        "between = [\"router\", \"base\", \"m1\"]",
        "test.toml:14:30: too many values: expected 2",
    ),
    (
        "a wire without ends",
        "between = [\"router\", \"base\"]\n",
        "",
        "test.toml:13:1: the key `between` is missing\nhelp: add `between = …` to this table",
    ),
    (
        "a wire that is a loop",
        "between = [\"router\", \"base\"]",
        "between = [\"router\", \"router\"]",
        "test.toml:14:22: this wire joins node router to itself\nhelp: the nodes of `between` must differ",
    ),
    (
        "a wire without a rate",
        "rate = \"2 Mbit/s\"\n",
        "",
        "test.toml:13:1: the key `rate` is missing\nhelp: add `rate = …` to this table",
    ),
    (
        "an unknown key of a wire",
        "rate = \"2 Mbit/s\"",
        "rte = \"2 Mbit/s\"",
        "test.toml:15:1: unknown key `rte`\nhelp: did you mean `rate`? the keys of this table are between, rate, delay, bit_error_rate, packet_error_rate, burst, loss, trace, queue, reverse, duplex, order, mark_loss",
    ),
    (
        "an improbable error rate of a wire",
        "rate = \"2 Mbit/s\"",
        "rate = \"2 Mbit/s\"\npacket_error_rate = 2",
        "test.toml:16:21: 2 is not a probability\nhelp: probabilities are from 0 to 1",
    ),
    (
        "a queue of a wire with priorities",
        "rate = \"2 Mbit/s\"",
        "rate = \"2 Mbit/s\"\nqueue = { priority = \"classes\" }",
        "test.toml:16:22: the queue of a link has no key `priority`\nhelp: it exists in networks of kind \"adhoc\"",
    ),
    (
        "a radio of an unknown node",
        "radios = [\"base\", \"m[1-3]\"]",
        "radios = [\"base\", \"m[1-4]\"]",
        "test.toml:19:19: there is no node `m4`\nhelp: did you mean `m3`? the nodes are server, router, base, m1, m2, m3",
    ),
    (
        "two radios of a node",
        "radios = [\"base\", \"m[1-3]\"]",
        "radios = [\"base\", \"m[1-3]\", \"m2\"]",
        "test.toml:19:29: `m2` has two radios on one air\nhelp: a node has one at most on each",
    ),
    (
        "two radios of a node by name and number",
        "radios = [\"base\", \"m[1-3]\"]",
        "radios = [\"base\", \"m[1-3]\", 4]",
        "test.toml:19:29: `m2` has two radios on one air\nhelp: a node has one at most on each",
    ),
    (
        "a radio of an unknown number",
        "radios = [\"base\", \"m[1-3]\"]",
        "radios = [\"base\", \"m[1-3]\", 6]",
        "test.toml:19:29: node 6 out of range 0–5\nhelp: the 6 nodes are numbered from 0",
    ),
    (
        "one radio",
        "radios = [\"base\", \"m[1-3]\"]",
        "radios = [\"base\"]",
        "test.toml:19:10: the number of radios 1 out of range 2–1000",
    ),
    (
        "radios that are a word",
        "radios = [\"base\", \"m[1-3]\"]",
        "radios = \"base\"",
        "test.toml:18:1: `radios` is a list of nodes",
    ),
    (
        "no radios",
        "radios = [\"base\", \"m[1-3]\"]\n",
        "",
        "test.toml:18:1: the key `radios` is missing\nhelp: add `radios = …` to this table",
    ),
    (
        "more positions than radios",
        "mobility = { chain = \"100 m\" }",
        "mobility = { positions = [[\"0 m\", \"0 m\"]] }",
        "test.toml:19:10: 4 radios, but `mobility` has 1 nodes\nhelp: `radios` lists the nodes in the order of `mobility`",
    ),
    (
        "nodes of the air",
        "mac = { kind",
        "nodes = 4\nmac = { kind",
        "test.toml:21:1: unknown key `nodes`\nhelp: the keys of this table are name, radios, area, mobility, radio, mac, queue, arp, routing, feedback, icmp_rate, route_probe, link_signals, link_retry, compat",
    ),
    (
        "a movement file that is missing",
        "mobility = { chain = \"100 m\" }",
        "mobility = { file = \"/nowhere/x.mov\" }",
        "test.toml:20:21: /nowhere/x.mov: No such file or directory (os error 2)\nhelp: the name of a movement file is relative to the scenario's directory",
    ),
    (
        "a mobility model without an area",
        "mobility = { chain = \"100 m\" }",
        "mobility = { model = \"random-waypoint\", speed = \"1 m/s\" }",
        "test.toml:18:1: this model of mobility needs an area\nhelp: add `area = [\"1000 m\", \"1000 m\"]`",
    ),
    (
        "an unknown contention window",
        "mac = { kind = \"dcf\" }",
        "mac = { kind = \"dcf\", cw_min = 30 }",
        "test.toml:21:32: a contention window of 30\nhelp: it is a power of two minus one: 15, 31, … 32767",
    ),
    (
        "a fault of an unknown wire",
        "hop = 1",
        "hop = 3",
        "test.toml:26:7: hop 3 out of range 1–2\nhelp: hop 1 is the first [[network.wire]]",
    ),
    (
        "route failure notifications of a wire",
        "hop = 1",
        "hop = 1\nsignal = \"rfn\"",
        "test.toml:27:10: signal = \"rfn\" in a mixed network\nhelp: use \"icmp-unreachable\", \"link\" or \"none\", or a network of kind \"path\"",
    ),
    (
        "interference at intermediate hops",
        "kind = \"partition\"\nhop = 1\nevery = \"30 s\"\nlasts = \"6 s\"",
        "kind = \"interference\"\nhop = \"intermediate\"\nevery = \"30 s\"",
        "test.toml:26:7: hop = \"intermediate\" in a mixed network\nhelp: use the number of a wire: hop = 1 is the first in the file",
    ),
    (
        "congestion of a wire without a queue",
        "kind = \"partition\"\nhop = 1",
        "kind = \"congestion\"\nhop = 9",
        "test.toml:26:7: hop 9 out of range 1–2\nhelp: hop 1 is the first [[network.wire]]",
    ),
    (
        "a change after no partition",
        "kind = \"partition\"\nhop = 1\nevery = \"30 s\"\nlasts = \"6 s\"",
        "kind = \"change\"\nhop = 1\nafter = \"partition\"\nrate = [\"1 Mbit/s\"]",
        "test.toml:27:9: there is no partition of hop 1\nhelp: add one, or use `at`",
    ),
    (
        "an outage of an unknown radio",
        "node = \"m2\"",
        "node = \"mm2\"",
        "test.toml:32:8: there is no node `mm2`\nhelp: did you mean `m2`? the nodes are server, router, base, m1, m2, m3",
    ),
    (
        "an outage of a node without a radio",
        "node = \"m2\"",
        "node = \"router\"",
        "test.toml:32:8: node router has no radio\nhelp: the nodes with a radio are those of network.air.radios",
    ),
    (
        "an outage of several radios",
        "node = \"m2\"",
        "node = \"m[1-2]\"",
        "test.toml:32:8: there is no node `m[1-2]`\nhelp: the nodes are server, router, base, m1, m2, m3",
    ),
    (
        "a flow from an unknown node",
        "from = \"server\"",
        "from = \"sever\"",
        "test.toml:37:8: there is no node `sever`\nhelp: did you mean `server`? the nodes are server, router, base, m1, m2, m3",
    ),
    (
        "a flow to an unknown number",
        "to = \"m1\"",
        "to = 6",
        "test.toml:38:6: node 6 out of range 0–5\nhelp: the 6 nodes are numbered from 0",
    ),
    (
        "a flow to itself",
        "to = \"m1\"",
        "to = \"server\"",
        "test.toml:38:6: this flow goes from node server to itself\nhelp: `from` and `to` must differ",
    ),
    (
        "a flow without a way",
        "between = [\"router\", \"base\"]",
        "between = [\"m1\", \"base\"]",
        "test.toml:38:6: no wire and no radio connects node server with node m1\nhelp: add a [[network.wire]], or both to network.air.radios",
    ),
    (
        "segments larger than a frame",
        "application = \"ftp\"",
        "application = \"ftp\"\ntcp = { mss = \"2400 B\" }",
        "test.toml:40:15: packets of 2440 B with 8 B of LLC are 2448 B\nhelp: 802.11 carries 2304 B in a frame",
    ),
    (
        "reports of link failures to a node without a radio",
        "application = \"ftp\"",
        "application = \"ftp\"\nunreachable_until = \"5 s\"",
        "test.toml:40:21: `unreachable_until` with a sender, server, that has no radio\nhelp: only radios report link failures; here use `unreachable_at`",
    ),
];

#[test]
fn errors_have_their_messages() {
    let mut failed = String::new();
    for (what, find, put, says) in WRONG {
        assert!(RIGHT.contains(find), "{what}: `{find}` is not there");
        let found = match parse(&RIGHT.replacen(find, put, 1), &[]) {
            Ok(_) => "nothing".to_owned(),
            Err(error) => error,
        };
        if found != *says {
            failed += &format!("## {what}\n{found}\n");
        }
    }
    assert!(failed.is_empty(), "\n{failed}");
}

#[test]
fn messages_list_a_few_nodes_only() {
    let text = RIGHT.replace("\"m[1-3]\"", "\"m[1-300]\"").replace("to = \"m1\"", "to = \"x\"");
    assert_eq!(
        parse(&text, &[]).unwrap_err(),
        "test.toml:38:6: there is no node `x`\n\
         help: the nodes are server, router, base, m1, m2, m3, m4, m5, m6, m7, m8, m9 and 291 more"
    );
}

#[test]
fn a_network_has_two_nodes_or_more() {
    let (head, _) = RIGHT.split_once("[[network.wire]]").unwrap();
    let flow = "[[flow]]\nfrom = 0\nto = 1\napplication = \"ftp\"\n";
    for (nodes, count) in [("[\"a\"]", 1), ("[]", 0)] {
        let says = parse(&format!("{head}{flow}"), &[("network.nodes", nodes)]).unwrap_err();
        let right = format!("--set network.nodes: the number of nodes {count} out of range 2–1000");
        assert_eq!(says, right);
    }
}

/// A network without wires has no hops.
#[test]
fn faults_of_wires_need_wires() {
    assert!(RIGHT.contains(AIR));
    let (head, _) = RIGHT.split_once("[[network.wire]]").unwrap();
    let (_, tail) = RIGHT.split_once(AIR).unwrap();
    let head = head.replace("\"server\", \"router\", ", "");
    let text = format!("{head}{AIR}{tail}").replace("from = \"server\"", "from = \"base\"");
    for hop in ["1", "random"] {
        let says = "--set network.fault.0.hop: this network has no wires\n\
                    help: add a [[network.wire]], or remove the fault";
        assert_eq!(parse(&text, &[("network.fault.0.hop", hop)]).unwrap_err(), says);
    }
    let outage = "[{ kind = \"radio-down\", node = \"m1\", first = \"1 s\", lasts = \"1 s\" }]";
    assert!(parse(&text, &[("network.fault", outage)]).is_ok());
}

/// Packets that stay on wires may be larger than a frame of the air.
#[test]
fn frames_limit_packets_near_radios_only() {
    let (head, tail) = RIGHT.split_once("[network.air]").unwrap();
    let head = head.replacen("nodes = [", "nodes = [\"a\", \"b\", ", 1);
    let wire =
        "[[network.wire]]\nbetween = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\n";
    let text = format!("{head}{wire}[network.air]{tail}");
    let large = ("flow.0.tcp.mss", "8960 B");
    assert!(parse(&text, &[large, ("flow.0.from", "a"), ("flow.0.to", "b")]).is_ok());
    let refused = parse(&text, &[large, ("flow.0.from", "server"), ("flow.0.to", "router")]);
    assert!(refused.unwrap_err().starts_with("--set flow.0.tcp.mss: packets of 9000 B"));
}

/// Link failures are reported to a sender with a radio.
#[test]
fn senders_with_a_radio_are_notified_of_link_failures() {
    let keys = [("flow.0.from", "m2"), ("flow.0.unreachable_until", "5 s")];
    assert!(parse(RIGHT, &keys).is_ok());
}

/// A chain of wires, 65 of them too many for the time to live of a host's packets.
#[test]
fn a_route_over_more_wires_than_packets_can_cross_is_refused() {
    let chain = |wires: u32| {
        let mut text = format!(
            "name = \"far\"\nduration = \"1 s\"\n[network]\nkind = \"mixed\"\nnodes = [\"n[0-{wires}]\"]\n"
        );
        for wire in 0..wires {
            text += &format!(
                "[[network.wire]]\nbetween = [\"n{wire}\", \"n{}\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n",
                wire + 1
            );
        }
        text += &format!("[[flow]]\nfrom = \"n0\"\nto = \"n{wires}\"\napplication = \"ftp\"\n");
        parse(&text, &[]).map(|_| ())
    };
    assert_eq!(chain(64), Ok(()));
    let error = chain(65).unwrap_err();
    assert!(error.contains("a packet from node n0 to node n65 has to cross 65 wires"), "{error}");
}

/// Two wires between the server and the router, and one from each to the base.
const TWO_WIRES: &str = r#"name = "two wires"
duration = "1 s"
[network]
kind = "mixed"
nodes = ["server", "router", "base"]
[[network.wire]]
between = ["server", "router"]
rate = "1 Mbit/s"
delay = "1 ms"
[[network.wire]]
between = ["router", "server"]
rate = "2 Mbit/s"
delay = "1 ms"
[[network.wire]]
between = ["router", "base"]
rate = "2 Mbit/s"
delay = "1 ms"
[[network.wire]]
between = ["server", "base"]
rate = "2 Mbit/s"
delay = "1 ms"
[[flow]]
from = "server"
to = "base"
application = "ftp"
"#;

fn with_routes(routes: &[(&str, &str, u32)]) -> Result<Scenario, String> {
    let mut text = TWO_WIRES.to_owned();
    for (at, to, via) in routes {
        text += &format!("[[network.route]]\nat = \"{at}\"\nto = \"{to}\"\nvia = {via}\n");
    }
    parse(&text, &[])
}

#[test]
fn a_second_wire_between_two_nodes_needs_a_route() {
    let error = with_routes(&[]).unwrap_err();
    assert!(error.starts_with("test.toml:11:11: wire 2 joins the same nodes as wire 1"), "{error}");
    assert!(error.contains("add a [[network.route]] with via = 2"), "{error}");
    let used = with_routes(&[("router", "server", 2)]).unwrap();
    let routes = network(&used).wire_routes();
    assert_eq!((routes.next_wire(0, 1), routes.next_wire(1, 0)), (Some(0), Some(1)));
    assert_eq!(Scenario::parse("shown.toml", &used.show(), &[]).unwrap(), used);
}

#[test]
fn wrong_routes_have_their_messages() {
    for (at, to, via, says) in [
        ("base", "server", 1, "wire 1 does not end at node base\nhelp: wires that do: 3, 4"),
        ("base", "server", 5, "the number of a wire"),
        ("base", "base", 3, "a node needs no route to itself"),
        ("server", "nowhere", 1, "there is no node `nowhere`"),
    ] {
        let error = with_routes(&[("router", "server", 2), (at, to, via)]).unwrap_err();
        assert!(error.contains(says), "{at} to {to} via {via}: {error}");
    }
    let twice = with_routes(&[("router", "server", 2), ("router", "server", 1)]).unwrap_err();
    assert!(twice.contains("node router has two routes to node server"), "{twice}");
    let circle = [("router", "server", 3), ("base", "server", 3), ("server", "router", 2)];
    let error = with_routes(&circle).unwrap_err();
    assert!(error.contains("go in a circle: router → base → router"), "{error}");
}

/// Two airs that node `base` joins.
const TWO_AIRS: &str = r#"name = "two airs"
duration = "1 s"
[network]
kind = "mixed"
nodes = ["a", "base", "b"]
[[network.air]]
name = "one"
radios = ["a", "base"]
mobility = { positions = [["0 m", "0 m"], ["100 m", "0 m"]] }
routing = { protocol = "aodv" }
[[network.air]]
name = "two"
radios = ["base", "b"]
mobility = { positions = [["100 m", "0 m"], ["200 m", "0 m"]] }
routing = { protocol = "aodv" }
[[flow]]
from = "a"
to = "b"
application = "ftp"
"#;

#[test]
fn several_airs_have_names_and_are_shown() {
    let scenario = parse(TWO_AIRS, &[]).unwrap();
    let mixed = network(&scenario);
    assert_eq!(mixed.radio_nodes(), [0, 1, 2]);
    assert_eq!(mixed.airs[1].name, "two");
    assert_eq!(Scenario::parse("shown.toml", &scenario.show(), &[]).unwrap(), scenario);
    // An array of one is a table.
    let single = RIGHT.replace("[network.air]", "[[network.air]]");
    assert_eq!(parse(&single, &[]), parse(RIGHT, &[]));
    assert!(!parse(RIGHT, &[]).unwrap().show().contains("name = \"air\""));
}

#[test]
fn airs_that_do_not_fit_together_are_refused() {
    for (find, put, says) in [
        ("name = \"two\"\n", "", "missing"),
        ("name = \"two\"", "name = \"one\"", "two airs are called `one`"),
        ("[\"base\", \"b\"]", "[\"b\", \"b\"]", "`b` has two radios on one air"),
        (
            "[[\"100 m\"",
            "[[\"150 m\"",
            "node base is at (150 m, 0 m) here after 0 s, but at (100 m, 0 m)",
        ),
        (
            "name = \"two\"",
            "name = \"two\"\nicmp_rate = 3",
            "`icmp_rate` differs from that of air `one`",
        ),
        (
            "name = \"two\"",
            "name = \"two\"\nlink_retry = { most = 1 }",
            "`link_retry` in a network with several airs",
        ),
        (
            "mobility = { positions = [[\"100 m\", \"0 m\"], [\"200 m\", \"0 m\"]] }",
            "area = [\"900 m\", \"900 m\"]\nmobility = { model = \"constant-velocity\", \
             positions = [[\"100 m\", \"0 m\"], [\"200 m\", \"0 m\"]], \
             velocities = [[\"1 m/s\", \"0 m/s\"], [\"0 m/s\", \"0 m/s\"]] }",
            "node base is at (101 m, 0 m) here after 1 s, but at (100 m, 0 m)",
        ),
    ] {
        assert!(TWO_AIRS.contains(find), "{find}");
        let error = parse(&TWO_AIRS.replace(find, put), &[]).unwrap_err();
        assert!(error.contains(says), "{says}: {error}");
    }
    let avoiding = TWO_AIRS
        .replace("{ protocol = \"aodv\" }", "{ protocol = \"aodv\", avoid_fading = \"1 s\" }");
    let error = parse(&avoiding, &[]).unwrap_err();
    assert!(error.contains("`routing.avoid_fading` in a network with several airs"), "{error}");
    let apart = TWO_AIRS
        .replace("[\"base\", \"b\"]", "[\"b\", \"c\"]")
        .replace("\"base\", \"b\"]", "\"base\", \"b\", \"c\"]");
    let error = parse(&apart, &[]).unwrap_err();
    assert!(error.contains("no node has a radio on this air and on another one"), "{error}");
}
