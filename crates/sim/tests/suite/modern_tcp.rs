//! Features of present TCPs on a path, where only the ends can be observed.

use crate::common::{completion, example, parse, run};
use driftway_sim::results::{FlowResult, RunResult};

fn flow(result: &RunResult) -> &FlowResult {
    &result.flows[0]
}

/// A partition of the second of three hops, 40 s long from 8 s on.
fn cut(tcp: &str) -> RunResult {
    run(
        &parse(&format!(
            r#"
            name = "a path that is cut"
            duration = "400 s"
            [network]
            kind = "path"
            hops = 3
            link = {{ rate = "128 kbit/s", delay = "10 ms" }}
            [[network.fault]]
            kind = "partition"
            hop = 2
            first = "8 s"
            lasts = "40 s"
            [[flow]]
            from = 0
            to = 3
            application = {{ transfer = "300 kB" }}
            tcp = {tcp}
            "#
        )),
        1,
    )
}

#[test]
fn unreachable_messages_keep_the_timeout_short() {
    // RFC 6069: without it the last retransmission is long before the end of the partition.
    let (with, without) = (
        cut(r#"{ recovery = "newreno", window = 4, lcd = true }"#),
        cut(r#"{ recovery = "newreno", window = 4, lcd = false }"#),
    );
    assert!(completion(flow(&with)) + 5.0 < completion(flow(&without)));
    // A timeout every few seconds, instead of one after half a minute.
    assert!(flow(&with).timeouts > flow(&without).timeouts.map(|n| n + 10));
}

#[test]
fn every_preset_completes_what_the_paper_transfers() {
    for preset in ["tahoe-1988", "reno-bsd", "newreno", "sack", "linux"] {
        for aid in ["none", "atcp"] {
            let result = run(
                &example(
                    "figure-8-tcp",
                    &[
                        ("flow.0.application.transfer", "200 kB"),
                        ("flow.0.tcp.preset", preset),
                        ("flow.0.aid", aid),
                    ],
                ),
                1,
            );
            completion(flow(&result));
        }
    }
}
