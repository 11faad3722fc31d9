//! Speed of the simulator on figure 8 of liu-singh-2001: 1 MB over four lossy hops, about a thousand
//! simulated seconds. `events/…` gives events per second, `simulated/…` simulated seconds per second;
//! the time is that of one run.

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use driftway_scenario::Scenario;

fn figure8(c: &mut Criterion) {
    for name in ["figure-8-tcp", "figure-8-atcp"] {
        let file = format!("{}/../../scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let scenario = Scenario::load(Path::new(&file), &[]).expect("the scenario is valid");
        let run = |seed| driftway_sim::run(&scenario, seed, None).expect("packets are conserved");
        let (events, simulated) = {
            let result = run(1);
            (result.events, result.duration_s as u64)
        };
        for (what, amount) in [("events", events), ("simulated", simulated)] {
            let mut group = c.benchmark_group(what);
            group.sample_size(20).throughput(Throughput::Elements(amount));
            group.bench_function(name, |b| b.iter(|| black_box(run(1))));
        }
    }
}

criterion_group!(benches, figure8);
criterion_main!(benches);
