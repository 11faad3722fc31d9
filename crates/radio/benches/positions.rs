//! Cost of finding the stations in range: random waypoint at the density of 50 stations on 1500 m ×
//! 1000 m, each station in turn, a millisecond apart.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use driftway_base::{Duration, Instant, StationId};
use driftway_radio::mobility::{InitialDistribution, RandomWaypoint};
use driftway_radio::{Mobility, Positions, Propagation, RadioConfig};

fn hearers(c: &mut Criterion) {
    let radio = Propagation::new(&RadioConfig::STANDARD, 0, 1).expect("a valid radio");
    let mut group = c.benchmark_group("hearers");
    for stations in [50_u32, 100, 200, 201, 500, 1000, 5000] {
        let scale = (f64::from(stations) / 50.0).sqrt();
        let model = RandomWaypoint {
            area: (1500.0 * scale, 1000.0 * scale),
            speed: (9.0, 11.0),
            pause: (Duration::ZERO, Duration::ZERO),
            start: InitialDistribution::SteadyState,
        };
        let mobility = Mobility::random_waypoint(&model, stations, 1).expect("a valid model");
        let mut positions = Positions::new(mobility, radio.reach());
        let (mut now, mut station, mut out) = (Instant::ZERO, 0, Vec::new());
        // The same rate of frames for each station, whatever their number.
        let gap = Duration::from_nanos(50_000_000 / u64::from(stations));
        group.bench_function(stations.to_string(), |b| {
            b.iter(|| {
                now += gap;
                // Successive stations are not neighbours in space.
                station = (station + 17) % stations;
                out.clear();
                positions.stations_in_range(now, StationId::new(station), &mut out);
                black_box(out.len())
            });
        });
    }
}

criterion_group!(benches, hearers);
criterion_main!(benches);
