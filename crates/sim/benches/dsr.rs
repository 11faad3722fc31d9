//! Speed of the simulator on DSR with a hundred nodes and ten flows: a hundred simulated seconds of
//! ten TCP connections, and of ten flows of datagrams. The time is that of three runs, because
//! networks differ.

use std::fmt::Write;
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use driftway_scenario::Scenario;

const TRAFFIC: [(&str, &str); 2] = [
    ("tcp", "application = \"ftp\""),
    (
        "datagrams",
        "transport = \"udp\"\napplication = { cbr = { every = \"0.25 s\", size = \"512 B\" } }",
    ),
];

/// The area of yu-2004 (2200 m × 600 m), with nodes that move all the time.
fn network(traffic: &str) -> String {
    let mut text = r#"
        name = "a hundred nodes"
        duration = "100 s"
        [network]
        kind = "adhoc"
        nodes = 100
        area = ["2200 m", "600 m"]
        routing = { protocol = "dsr" }
        mobility = { model = "random-waypoint", speed = ["1 m/s", "19 m/s"], pause = "0 s" }
        "#
    .to_owned();
    for flow in 0..10 {
        let to = 50 + flow;
        let _ = write!(
            text,
            "[[flow]]\nfrom = {flow}\nto = {to}\nstart = \"{flow}00 ms\"\n{traffic}\n"
        );
    }
    text
}

fn dsr(c: &mut Criterion) {
    let mut group = c.benchmark_group("dsr, a hundred nodes");
    group.sample_size(10);
    for (name, traffic) in TRAFFIC {
        let scenario = Scenario::parse("dsr.toml", &network(traffic), &[]).expect("it is valid");
        let run = |seed| driftway_sim::run(&scenario, seed, None).expect("packets are conserved");
        group.bench_function(name, |b| b.iter(|| black_box([1, 2, 3].map(run))));
    }
}

criterion_group!(benches, dsr);
criterion_main!(benches);
