//! A gateway that splits connections, in the outputs of commands.

use predicates::prelude::*;
use predicates::str::contains;

use crate::*;

const SPLIT: &str = r#"
name = "a split"
duration = "60 s"

[network]
kind = "mixed"
nodes = ["h", "g", "n[1-2]"]

[[network.wire]]
between = ["h", "g"]
rate = "1 Mbit/s"
delay = "5 ms"

[network.gateway]
node = "g"
split = true

[network.air]
radios = ["g", "n[1-2]"]
mobility = { chain = "200 m" }
routing = { protocol = "static" }

[[flow]]
from = "h"
to = "n2"
application = { transfer = "40 kB" }

[[flow]]
from = "n1"
to = "n2"
application = { transfer = "40 kB" }
"#;

#[test]
fn check_says_which_flows_are_split() {
    let bench = TestDir::new();
    bench.file("split.toml", SPLIT);
    let says = contains("a gateway (g) that splits 1 connection")
        .and(contains(
            "h → n2 from 0 s: transfer of 40 kB, TCP sack, reno growth, no aid, split at the",
        ))
        .and(contains("split at the gateway").count(1));
    bench.driftway(&["check", "split.toml"]).assert().success().stdout(says);
    let plain = ["check", "split.toml", "--set", "network.gateway.split=false"];
    bench.driftway(&plain).assert().success().stdout(contains("split at").not());
}

#[test]
fn results_say_which_flows_are_split() {
    let bench = TestDir::new();
    bench.file("split.toml", SPLIT);
    let run = |split: &str| {
        let split = format!("network.gateway.split={split}");
        let arguments = ["run", "split.toml", "--json", "--set", &split];
        let output = bench.driftway(&arguments).assert().success().get_output().stdout.clone();
        serde_json::from_slice::<Value>(&output).unwrap()
    };
    let result = run("true");
    let (run_of, summary) = (&result["runs"][0], &result["summary"]["flows"]);
    assert_eq!(run_of["flows"][0]["split"], true);
    assert_eq!(run_of["flows"][1].get("split"), None);
    assert_eq!(run_of["gateway"]["connections"], 1);
    assert!(run_of["flows"][0]["split_buffer_bytes"].as_u64() > Some(0));
    assert!(summary[0]["metrics"]["split_buffer_bytes"]["mean"].as_f64() > Some(0.0));
    let result = run("false");
    assert_eq!(result["runs"][0].get("gateway"), None);
    assert_eq!(result["summary"]["flows"][0]["metrics"].get("split_buffer_bytes"), None);
}

/// The gateway does not keep the bytes of programs.
#[test]
fn an_emulated_network_does_not_split() {
    let bench = TestDir::new();
    bench.file("split.toml", SPLIT);
    let says = contains("error: network.gateway.split: g would split connections")
        .and(contains("--set network.gateway.split=false"))
        .and(contains("error:").count(1));
    bench.driftway(&["emulate", "split.toml", "--", "true"]).assert().code(2).stderr(says);
}
