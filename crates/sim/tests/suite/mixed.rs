//! Networks of kind `mixed`: wires, radios, gateways and base stations.

use crate::common;
use driftway_base::{Instant, NodeId};
use driftway_sim::Simulation;
use driftway_sim::log::{Event, Layer};
use driftway_sim::results::{Direction, FlowOutcome, FlowResult, RunResult};

/// A host `h` behind a gateway `g`, and a chain of three nodes on the air, 200 m apart; `more` has
/// further keys of the network.
fn gateway(protocol: &str, more: &str, flows: &str) -> String {
    format!(
        r#"
        name = "a gateway"
        duration = "100 s"
        [network]
        kind = "mixed"
        nodes = ["h", "r", "g", "n[1-2]"]
        [[network.wire]]
        between = ["h", "r"]
        rate = "10 Mbit/s"
        delay = "5 ms"
        [[network.wire]]
        between = ["r", "g"]
        rate = "10 Mbit/s"
        delay = "5 ms"
        [network.air]
        radios = ["g", "n[1-2]"]
        mobility = {{ positions = [["0 m", "0 m"], ["200 m", "0 m"], ["400 m", "0 m"]] }}
        routing = {{ protocol = "{protocol}" }}
        {more}
        {flows}
        "#
    )
}

fn transfer(from: &str, to: &str) -> String {
    format!(
        "[[flow]]\nfrom = \"{from}\"\nto = \"{to}\"\napplication = {{ transfer = \"200 kB\" }}\n"
    )
}

fn run(text: &str) -> RunResult {
    common::run(&common::parse(text), 1)
}

fn is_complete(flow: &FlowResult) -> bool {
    flow.outcome == FlowOutcome::Complete && flow.delivered_bytes == 200_000
}

const PROTOCOLS: [&str; 3] = ["aodv", "dsr", "static"];

#[test]
fn hosts_and_nodes_reach_each_other_through_a_gateway() {
    let pairs = [("n2", "h"), ("h", "n2"), ("g", "h"), ("n2", "g"), ("n1", "n2"), ("r", "n1")];
    for protocol in PROTOCOLS {
        for (from, to) in pairs {
            let result = run(&gateway(protocol, "", &transfer(from, to)));
            assert!(is_complete(&result.flows[0]), "{protocol}: {from} to {to}: {result:?}");
        }
        let all: String = pairs.iter().map(|(from, to)| transfer(from, to)).collect();
        let result = run(&gateway(protocol, "", &all));
        assert!(result.flows.iter().all(is_complete), "{protocol}: {:?}", result.flows);
        assert!(result.links.iter().any(|link| link.frames > 0) && result.mac.is_some());
    }
}

/// Each router decrements the time to live once, over wires, over the air and between them.
#[test]
fn routes_lead_over_wires_and_air() {
    for protocol in PROTOCOLS {
        let scenario = common::parse(&gateway(protocol, "", &transfer("n2", "h")));
        let mut run = Simulation::new(&scenario, 1, None).unwrap();
        run.run_until(Instant::from_secs(1)).unwrap();
        let [there, back] = [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]].map(|nodes| nodes.map(NodeId::new));
        assert_eq!(run.route(back[0], there[0]), Some(back.to_vec()), "{protocol}");
        assert_eq!(run.route(there[0], back[0]), Some(there.to_vec()), "{protocol}");
        assert_eq!(run.position(NodeId::new(0)), None, "it has no radio");
        assert_eq!(run.position(NodeId::new(4)), Some((400.0, 0.0)));
    }
}

/// A node of the air that nobody answers for.
#[test]
fn packets_to_a_node_out_of_reach_are_reported_to_their_source() {
    let flow = format!("{}aid = \"atcp\"\n", transfer("h", "n2"));
    // It moves away at 7 s.
    let positions = "positions = [[\"0 m\", \"0 m\"], [\"200 m\", \"0 m\"], [\"400 m\", \"0 m\"]]";
    let moving = format!(
        "model = \"constant-velocity\", {positions}, velocities = [[\"0 m/s\", \"0 m/s\"], \
         [\"0 m/s\", \"0 m/s\"], [\"7 m/s\", \"0 m/s\"]]"
    );
    for protocol in PROTOCOLS {
        let text = gateway(protocol, "area = [\"1500 m\", \"10 m\"]", &flow);
        let text = text.replace(positions, &moving).replace("200 kB", "5 MB");
        let flow = &run(&text).flows[0];
        assert!(flow.delivered_bytes > 100_000, "{protocol}: {flow:?}");
        // ATCP is disconnected by a report that has come from the air over the wires.
        assert!(flow.disconnected_s.unwrap() > 1.0, "{protocol}: {flow:?}");
        let silent = text.replace("[network.air]", "[network.air]\nfeedback = \"none\"");
        let flow = &run(&silent).flows[0];
        assert_eq!(flow.disconnected_s, Some(0.0), "{protocol}: {flow:?}");
    }
}

/// The number of hops in the event log does not depend on the time to live that routing sets.
#[test]
fn hops_are_counted_over_wires_and_air() {
    for compat in ["standard", "ns-2"] {
        for (from, to) in [("h", "n2"), ("n2", "h")] {
            let network = format!("compat = \"{compat}\"");
            let scenario = common::parse(&gateway("aodv", &network, &transfer(from, to)));
            let (_, log) = common::logged(&scenario, 1);
            let hops: Vec<Option<u32>> = log
                .iter()
                .filter(|entry| (entry.layer, entry.event) == (Layer::Routing, Event::Delivered))
                .filter(|entry| entry.kind == "tcp-data")
                .map(|entry| entry.hops)
                .collect();
            assert!(hops.len() > 100 && hops.iter().all(|hops| *hops == Some(4)), "{hops:?}");
        }
    }
}

/// A second gateway takes over for what comes from the air when the radio of the first is down.
#[test]
fn another_gateway_takes_over() {
    for protocol in ["aodv", "dsr"] {
        let text = format!(
            r#"
            name = "two gateways to one host"
            duration = "60 s"
            [network]
            kind = "mixed"
            nodes = ["h", "g1", "g2", "n"]
            wire = [
                {{ between = ["h", "g1"], rate = "10 Mbit/s", delay = "5 ms" }},
                {{ between = ["h", "g2"], rate = "10 Mbit/s", delay = "5 ms" }},
            ]
            [network.air]
            radios = ["g1", "g2", "n"]
            mobility = {{ positions = [["0 m", "0 m"], ["50 m", "50 m"], ["100 m", "0 m"]] }}
            routing = {{ protocol = "{protocol}" }}
            [[network.fault]]
            kind = "radio-down"
            node = "g1"
            first = "5 s"
            lasts = "30 s"
            [[flow]]
            from = "n"
            to = "h"
            transport = "udp"
            application = {{ cbr = {{ every = "100 ms", size = "500 B" }} }}
            "#
        );
        let result = run(&text);
        let delivered = result.flows[0].delivered_bytes;
        assert!(delivered > 280_000, "{protocol}: {delivered} of 300000: {:?}", result.drops);
    }
}

#[test]
fn tdma_carries_a_mixed_network() {
    let text = gateway("static", "mac = { kind = \"tdma\" }", &transfer("h", "n2"));
    let result = run(&text);
    assert!(is_complete(&result.flows[0]), "{:?}", result.flows);
}

#[test]
fn a_radio_that_is_down_stops_the_flow_until_it_is_up() {
    let fault = "[[network.fault]]\nkind = \"radio-down\"\nnode = \"n1\"\nfirst = \"1 s\"\nlasts = \"20 s\"\n";
    for protocol in PROTOCOLS {
        for queue in ["wait", "drop"] {
            let fault = format!("{fault}queue = \"{queue}\"\n");
            let text = gateway(protocol, &fault, &transfer("h", "n2"));
            let text = text.replace("200 kB", "400 kB");
            let result = run(&text);
            let flow = &result.flows[0];
            assert_eq!(flow.delivered_bytes, 400_000, "{protocol}: {result:?}");
            assert!(flow.completion_s.unwrap() > 20.0, "{protocol}: {flow:?}");
            assert!(flow.resume_s.is_some(), "{flow:?}");
        }
    }
}

/// The same fault in an ad hoc network.
#[test]
fn a_node_of_an_ad_hoc_network_can_lose_its_radio() {
    let text = r#"
        name = "an outage"
        duration = "100 s"
        [network]
        kind = "adhoc"
        nodes = 3
        mobility = { chain = "200 m" }
        routing = { protocol = "dsr" }
        [[network.fault]]
        kind = "radio-down"
        node = 1
        every = "10 s"
        lasts = "2 s"
        [[flow]]
        from = 0
        to = 2
        application = { transfer = "2 MB" }
    "#;
    let result = run(text);
    let flow = &result.flows[0];
    assert_eq!(flow.delivered_bytes, 2_000_000, "{flow:?}");
    let routing = result.routing.unwrap();
    assert!(routing.link_failures > 0, "{routing:?}");
}

#[test]
fn a_partition_of_a_wire_is_reported_across_the_air() {
    let cut =
        "[[network.fault]]\nkind = \"partition\"\nhop = 2\nfirst = \"1 s\"\nlasts = \"10 s\"\n";
    for protocol in PROTOCOLS {
        let flow = format!("{}aid = \"atcp\"\n", transfer("n2", "h").replace("200 kB", "400 kB"));
        let result = run(&gateway(protocol, cut, &flow));
        let flow = &result.flows[0];
        assert_eq!(flow.delivered_bytes, 400_000, "{protocol}: {flow:?}");
        assert!(flow.disconnected_s.unwrap() > 1.0, "ICMP has reached the sender: {flow:?}");
    }
}

/// Two wired networks that only the air joins, and a host behind each.
#[test]
fn the_air_joins_two_wired_networks() {
    for protocol in PROTOCOLS {
        let text = format!(
            r#"
            name = "two gateways"
            duration = "100 s"
            [network]
            kind = "mixed"
            nodes = ["a", "ga", "n", "gb", "b"]
            wire = [
                {{ between = ["a", "ga"], rate = "10 Mbit/s", delay = "5 ms" }},
                {{ between = ["gb", "b"], rate = "10 Mbit/s", delay = "5 ms" }},
            ]
            [network.air]
            radios = ["ga", "n", "gb"]
            mobility = {{ chain = "200 m" }}
            routing = {{ protocol = "{protocol}" }}
            {}{}
            "#,
            transfer("a", "b"),
            transfer("b", "a")
        );
        let result = run(&text);
        assert!(result.flows.iter().all(is_complete), "{protocol}: {:?}", result.flows);
    }
}

#[test]
fn wires_alone_are_a_network() {
    let text = r#"
        name = "a ring"
        duration = "100 s"
        [network]
        kind = "mixed"
        nodes = ["a", "b", "c"]
        wire = [
            { between = ["a", "b"], rate = "1 Mbit/s", delay = "5 ms" },
            { between = ["b", "c"], rate = "1 Mbit/s", delay = "5 ms" },
            { between = ["c", "a"], rate = "1 Mbit/s", delay = "5 ms" },
        ]
        [[flow]]
        from = "a"
        to = "c"
        application = { transfer = "200 kB" }
    "#;
    let result = run(text);
    assert!(is_complete(&result.flows[0]));
    assert_eq!((result.links[0].frames, result.mac), (0, None));
    let busy: Vec<u32> =
        result.links.iter().filter(|link| link.frames > 0).map(|link| link.hop).collect();
    assert_eq!(busy, [3, 3], "the direct wire");
}

/// A second wire, which is used in one direction only, as a route says.
#[test]
fn a_route_chooses_between_two_wires() {
    let text = r#"
        name = "two wires"
        duration = "100 s"
        [network]
        kind = "mixed"
        nodes = ["h", "r"]
        [[network.wire]]
        between = ["h", "r"]
        rate = "10 Mbit/s"
        delay = "5 ms"
        [[network.wire]]
        between = ["h", "r"]
        rate = "10 Mbit/s"
        delay = "300 ms"
        [[network.route]]
        at = "r"
        to = "h"
        via = 2
    "#;
    let result = run(&format!("{text}{}", transfer("h", "r")));
    assert!(is_complete(&result.flows[0]), "{result:?}");
    let packets = |hop, direction| common::link(&result, hop, direction).frames;
    assert!(packets(1, Direction::Forward) > 100 && packets(2, Direction::Backward) > 50);
    assert_eq!((packets(2, Direction::Forward), packets(1, Direction::Backward)), (0, 0));
}
