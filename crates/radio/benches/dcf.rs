//! Total cost of a frame: a saturated pair, and fifty moving stations at ns-2's usual density, ten
//! of which always have a packet for one of their neighbours. Each iteration is a thousand frames,
//! so that microseconds read as nanoseconds per frame.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use driftway_base::{Duration, Instant, PacketId, RandomStream, StationId};
use driftway_radio::mobility::{InitialDistribution, RandomWaypoint};
use driftway_radio::{
    Dcf, DcfConfig, MacReport, Mobility, OutgoingPacket, Positions, Propagation, RadioConfig,
    StationInRange,
};

const FRAMES: u64 = 1_000;

/// Stations of which some always have a packet for a neighbour.
struct Load {
    dcf: Dcf,
    neighbours: Vec<StationInRange>,
    random: RandomStream,
    reports: Vec<MacReport>,
    now: Instant,
}

impl Load {
    fn new(config: DcfConfig, mobility: Mobility, senders: u32) -> Self {
        let stations = mobility.stations() as u32;
        let radio = Propagation::new(&RadioConfig::STANDARD, stations, 1).expect("a valid radio");
        let positions = Positions::new(mobility, radio.reach());
        let mut load = Self {
            dcf: Dcf::new(config, positions, radio, 1),
            neighbours: Vec::new(),
            random: RandomStream::new(1, "neighbour", 0),
            reports: Vec::new(),
            now: Instant::ZERO,
        };
        for sender in (0..senders).map(StationId::new) {
            load.send(sender);
        }
        load
    }

    fn send(&mut self, station: StationId) {
        self.neighbours.clear();
        self.dcf.positions().stations_in_range(self.now, station, &mut self.neighbours);
        self.neighbours.retain(|hearer| hearer.distance_squared < 240.0 * 240.0);
        let some = self.random.uniform_below(self.neighbours.len() as u64) as usize;
        let to = self.neighbours.get(some).map(|hearer| hearer.station);
        let packet = OutgoingPacket {
            id: PacketId::new(station.number()),
            to,
            bytes: 1500,
            is_control: false,
        };
        self.dcf.send(self.now, station, packet);
    }

    /// Runs this number of frames, or a few more until the next report.
    fn run(&mut self, frames: u64) {
        let end = self.dcf.frames_sent() + frames;
        let mut reports = std::mem::take(&mut self.reports);
        while self.dcf.frames_sent() < end {
            self.now = self.dcf.run(Instant::FAR_FUTURE, &mut reports);
            for report in reports.drain(..) {
                if let MacReport::Sent { station, .. } | MacReport::Failed { station, .. } = report
                {
                    self.send(station);
                }
            }
        }
        self.reports = reports;
    }

    /// Mean number of stations in range of a frame, over all stations now.
    fn hearers(&mut self) -> f64 {
        let stations = self.dcf.positions().stations() as u32;
        let mut all = Vec::new();
        for station in (0..stations).map(StationId::new) {
            self.dcf.positions().stations_in_range(self.now, station, &mut all);
        }
        all.len() as f64 / f64::from(stations)
    }
}

fn frames(c: &mut Criterion) {
    let mut group = c.benchmark_group("a thousand frames");
    group.throughput(Throughput::Elements(FRAMES));
    for (name, config) in [
        ("standard with RTS", DcfConfig { rts_threshold: 0, ..DcfConfig::STANDARD }),
        ("ns-2", DcfConfig::NS2),
    ] {
        let pair = Mobility::fixed(&[(0.0, 0.0), (200.0, 0.0)]);
        let model = RandomWaypoint {
            area: (1500.0, 1000.0),
            speed: (9.0, 11.0),
            pause: (Duration::ZERO, Duration::ZERO),
            start: InitialDistribution::SteadyState,
        };
        let fifty = Mobility::random_waypoint(&model, 50, 1).expect("a valid model");
        for (what, mobility, senders) in [("pair", pair, 1), ("fifty nodes", fifty, 10)] {
            let mut load = Load::new(config, mobility, senders);
            load.run(20_000);
            let what = format!("{what}, {:.1} hearers a frame", load.hearers());
            group.bench_function(BenchmarkId::new(name, what), |b| {
                b.iter(|| {
                    load.run(FRAMES);
                    black_box(load.now)
                });
            });
        }
    }
}

criterion_group!(benches, frames);
criterion_main!(benches);
