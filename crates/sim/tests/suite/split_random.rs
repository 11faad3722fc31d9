//! Random runs with a splitting gateway: each passes the simulator's checks, and what can end ends.

use std::cell::Cell;

use crate::common;
use driftway_sim::results::FlowOutcome;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};

/// A flow across the gateway, in either direction.
fn flow() -> impl Strategy<Value = String> {
    (1..4_u32, any::<bool>(), aid(), any::<bool>(), 1..400_u32, prop::option::of(1..200_u32), 1..9_u32)
        .prop_map(|(node, uploads, aid, ecn, kilobytes, back, window)| {
            let (from, to) =
                if uploads { (format!("n{node}"), "h".into()) } else { ("h".into(), format!("n{node}")) };
            let (from, to): (String, String) = (from, to);
            let back = back.map_or(String::new(), |size| format!("back = {{ transfer = \"{size} kB\" }}\n"));
            format!(
                "[[flow]]\nfrom = \"{from}\"\nto = \"{to}\"\napplication = {{ transfer = \"{kilobytes} kB\" }}\n\
                 aid = \"{aid}\"\ntcp = {{ ecn = {ecn}, window = {window} }}\n{back}"
            )
        })
}

fn aid() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["none", "none", "atcp", "tcp-f", "carry"][..])
}

fn fault() -> impl Strategy<Value = String> {
    (0..4_u32, 1..30_u32, 1..20_u32).prop_map(|(what, first, lasts)| {
        let (kind, place) = match what {
            0 => ("partition", "hop = 1".to_owned()),
            1 => ("partition", "hop = 2".to_owned()),
            2 => ("radio-down", "node = \"g\"".to_owned()),
            _ => ("radio-down", "node = \"n1\"".to_owned()),
        };
        let times = format!("first = \"{first} s\"\nlasts = \"{lasts} s\"\n");
        format!("[[network.fault]]\nkind = \"{kind}\"\n{place}\n{times}")
    })
}

fn scenario() -> impl Strategy<Value = (String, u64)> {
    let protocol = prop::sample::select(&["aodv", "dsr", "static"][..]);
    let feedback = prop::sample::select(&["icmp-unreachable", "rfn", "none"][..]);
    let leg = || (aid(), any::<bool>());
    let wires = (100..2000_u32, 3..40_u32, any::<bool>(), 0..3_u32);
    (
        (protocol, feedback, 2..64_u32, leg(), leg()),
        wires,
        prop::collection::vec(fault(), 0..3),
        prop::collection::vec(flow(), 1..4),
        any::<u64>(),
    )
        .prop_map(
            |((protocol, feedback, buffer, wireless, wired), wires, faults, flows, seed)| {
                let (rate, packets, marks, loss) = wires;
                let threshold = if marks { ", ecn_threshold = 2" } else { "" };
                let leg = |(aid, ecn)| format!("{{ aid = \"{aid}\", tcp = {{ ecn = {ecn} }} }}");
                let text = format!(
                    r#"
                name = "a random split"
                duration = "120 s"
                [network]
                kind = "mixed"
                nodes = ["h", "r", "g", "n[1-3]"]
                [[network.wire]]
                between = ["h", "r"]
                rate = "{rate} kbit/s"
                delay = "20 ms"
                packet_error_rate = 0.0{loss}
                queue = {{ packets = {packets}{threshold} }}
                [[network.wire]]
                between = ["r", "g"]
                rate = "10 Mbit/s"
                delay = "5 ms"
                [network.gateway]
                node = "g"
                split = true
                buffer = "{buffer} kB"
                wireless = {}
                wired = {}
                [network.air]
                radios = ["g", "n[1-3]"]
                area = ["500 m", "300 m"]
                mobility = {{ model = "random-waypoint", speed = ["1 m/s", "10 m/s"] }}
                routing = {{ protocol = "{protocol}" }}
                feedback = "{feedback}"
                {}
                {}
                "#,
                    leg(wireless),
                    leg(wired),
                    faults.concat(),
                    flows.concat()
                );
                (text, seed)
            },
        )
}

#[test]
fn every_random_run_passes_the_checks() {
    let (flows, complete) = (Cell::new(0_u32), Cell::new(0_u32));
    let config = Config { cases: 100, failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&scenario(), |(text, seed)| {
        let result = driftway_sim::run(common::parse(&text), seed, None)
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        let gateway = result.gateway.unwrap();
        prop_assert!(gateway.established <= gateway.connections, "{gateway:?}");
        for flow in &result.flows {
            prop_assert!(flow.split, "{flow:?}");
            flows.set(flows.get() + 1);
            complete.set(complete.get() + u32::from(flow.outcome == FlowOutcome::Complete));
        }
        Ok(())
    });
    if let Err(TestError::Fail(why, (text, seed))) = &outcome {
        panic!("{why}, with seed {seed}:\n{text}");
    }
    outcome.unwrap();
    // Far below the usual values, so that chance does not fail the test.
    assert!(complete.get() * 3 > flows.get(), "{} of {} complete", complete.get(), flows.get());
}
