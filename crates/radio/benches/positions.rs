//! Cost of finding the nodes in range: random waypoint at the density of 50 nodes on 1500 m × 1000
//! m, each node in turn, a millisecond apart.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use driftway_base::{Duration, Instant};
use driftway_radio::mobility::{InitialDistribution, RandomWaypoint};
use driftway_radio::{Mobility, Positions, Propagation, RadioConfig};

fn hearers(c: &mut Criterion) {
    let radio = Propagation::new(&RadioConfig::STANDARD, 0, 1).expect("a valid radio");
    let mut group = c.benchmark_group("hearers");
    for nodes in [50_u32, 100, 200, 201, 500, 1000, 5000] {
        let scale = (f64::from(nodes) / 50.0).sqrt();
        let model = RandomWaypoint {
            area: (1500.0 * scale, 1000.0 * scale),
            speed: (9.0, 11.0),
            pause: (Duration::ZERO, Duration::ZERO),
            start: InitialDistribution::SteadyState,
        };
        let mobility = Mobility::random_waypoint(&model, nodes, 1).expect("a valid model");
        let mut positions = Positions::new(mobility, radio.reach());
        let (mut now, mut node, mut out) = (Instant::ZERO, 0, Vec::new());
        // The same rate of frames for each node, whatever their number.
        let gap = Duration::from_nanos(50_000_000 / u64::from(nodes));
        group.bench_function(nodes.to_string(), |b| {
            b.iter(|| {
                now += gap;
                // Successive nodes are not neighbours in space.
                node = (node + 17) % nodes;
                out.clear();
                positions.nodes_in_range(now, node, &mut out);
                black_box(out.len())
            });
        });
    }
}

criterion_group!(benches, hearers);
criterion_main!(benches);
