//! BBR over paths that fail, alone and with each aid.

use crate::common::{CHANGED, completion, example, parse, run};
use driftway_aid::registry::AIDS;
use driftway_sim::results::RunResult;

/// The presets with a control that keeps a model.
const PRESETS: [&str; 2] = ["linux-bbr", "bbr3"];

/// Five megabytes over a lossy path that is cut twice for 5 s: without losses 20 s and the cuts.
fn cut(preset: &str, aid: &str, signal: &str, queue: &str) -> RunResult {
    let text = format!(
        r#"
        name = "a path that is cut twice"
        duration = "300 s"
        [network]
        kind = "path"
        hops = 2
        [network.link]
        rate = "2 Mbit/s"
        delay = "20 ms"
        queue = {{ packets = 30 }}
        packet_error_rate = 0.005
        [[network.fault]]
        kind = "partition"
        hop = 1
        first = "4 s"
        every = "12 s"
        count = 2
        lasts = "5 s"
        signal = "{signal}"
        queue = "{queue}"
        [[flow]]
        from = 0
        to = 2
        application = {{ transfer = "5 MB" }}
        tcp = {{ preset = "{preset}", window = "1 MB" }}
        aid = {aid}
        "#
    );
    run(&parse(&text), 1)
}

#[test]
fn no_aid_stalls_it_over_an_outage() {
    let aids = AIDS.iter().map(|listed| match listed.name {
        // Its window is that of a short chain of radios.
        "cwnd-limit" => r#"{ name = "cwnd-limit", segments = 20 }"#.to_owned(),
        name => format!("\"{name}\""),
    });
    let mut slow = Vec::new();
    for aid in aids.chain(["\"none\"".to_owned()]) {
        for preset in PRESETS {
            for signal in ["icmp-unreachable", "rfn", "link", "none"] {
                for queue in ["wait", "drop"] {
                    let took = completion(&cut(preset, &aid, signal, queue).flows[0]);
                    if took > 60.0 {
                        slow.push(format!("{aid} {preset} {signal} {queue}: {took} s"));
                    }
                }
            }
        }
    }
    assert!(slow.is_empty(), "{slow:#?}");
}

/// Bits per second of a flow with each preset over one bottleneck of 10 Mbit/s and 40 ms, whose queue
/// holds as much as the path twice.
fn beside(presets: [&str; 2]) -> [f64; 2] {
    let flow = |preset| {
        format!(
            r#"
            [[flow]]
            from = 0
            to = 1
            application = "ftp"
            tcp = {{ preset = "{preset}", window = "4 MB" }}
            "#
        )
    };
    let text = format!(
        r#"
        name = "two flows"
        duration = "60 s"
        [network]
        kind = "path"
        hops = 1
        link = {{ rate = "10 Mbit/s", delay = "20 ms", queue = {{ packets = 66 }} }}
        {}{}
        "#,
        flow(presets[0]),
        flow(presets[1])
    );
    let result = run(&parse(&text), 1);
    [0, 1].map(|n: usize| result.flows[n].throughput_bps.unwrap_or(0.0))
}

#[test]
fn two_flows_share_a_bottleneck() {
    for (presets, least) in [
        (["linux-bbr", "linux-bbr"], 2.5e6),
        (["bbr3", "bbr3"], 2.5e6),
        (["linux-bbr", "linux"], 1e6),
        (["bbr3", "linux"], 1e6),
    ] {
        let shares = beside(presets);
        println!("{presets:?} {shares:?}");
        assert!(shares[0].min(shares[1]) > least, "{presets:?} {shares:?}");
        assert!(shares[0] + shares[1] > 9e6, "{presets:?} {shares:?}");
    }
}

#[test]
fn faults_aids_and_radios_of_the_examples_leave_it_working() {
    let names = [
        "partition",
        "route-failure",
        "silent-cut",
        "handoff",
        "carry",
        "disconnections",
        "reordering",
        "two-way",
        "both-ways",
        "base-station",
        "adhoc-chain",
        "adhoc-elfn",
        "adhoc-epln",
        "multipath",
        "figure-8-atcp",
        "split-gateway",
    ];
    for name in names {
        for preset in PRESETS {
            let changes = CHANGED.iter().find(|(changed, _)| *changed == name);
            let mut changes = changes.map_or(&[][..], |(_, changes)| changes).to_vec();
            changes.push(("flow.0.tcp.preset", preset));
            let result = run(&example(name, &changes), 1);
            let flow = &result.flows[0];
            println!("{name} {preset} {:?} {:?}", flow.throughput_bps, flow.completion_s);
            assert!(
                flow.throughput_bps.is_some_and(|rate| rate > 0.0),
                "{name} {preset} {flow:#?}"
            );
        }
    }
}
