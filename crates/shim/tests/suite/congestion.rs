//! Twenty transfers over 300 kbit/s, where most losses lead to timeouts: silence is no outage. And
//! outages without signals.

use crate::common::net::{MS, Path, SharedNetworks, TestNetwork, like_linux};
use driftway_base::Instant;
use driftway_shim::{Config, Shim};
use driftway_tcp::ControlKind;

const FLOWS: u64 = 20;
const SPAN: u64 = 120;

/// Bytes carried by the flows without and with a shim, and the share of packets dropped by the
/// queue.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    bytes: [u64; 2],
    lost: f64,
}

impl Outcome {
    fn all(self) -> u64 {
        self.bytes.iter().sum()
    }
}

/// Every `every`-th flow has a shim; none with 0.
fn crowd(every: u64, ecn: bool, packets: u64, delay: u64, seed: u64) -> Outcome {
    let has_shim = |n: u64| every > 0 && n.is_multiple_of(every);
    let worlds = (0..FLOWS).map(|n| {
        let path = Path {
            bits_per_second: 300_000,
            delay: MS(delay),
            queue: packets * 1500,
            mark: u64::MAX,
            ..Path::clean()
        };
        let shim = has_shim(n).then(|| Shim::new(Config::default()));
        let config = driftway_tcp::Config { ecn, ..like_linux(ControlKind::Cubic) };
        let mut world = TestNetwork::new(&config, [shim, None], path, 100 * seed + n);
        world.ends[0].writes = 1 << 40;
        world
    });
    let mut crowd = SharedNetworks::new(worlds.collect());
    crowd.run_until(Instant::from_millis(1000 * SPAN));
    let mut bytes = [0; 2];
    for (n, world) in (0..).zip(&crowd.worlds) {
        bytes[usize::from(has_shim(n))] += world.ends[1].read;
    }
    let sum = |count: fn(&TestNetwork) -> u64| crowd.worlds.iter().map(count).sum::<u64>();
    let lost = sum(|world| world.drops) as f64 / sum(|world| world.offered) as f64;
    Outcome { bytes, lost }
}

/// The mean over seeds.
fn mean(every: u64, ecn: bool, packets: u64, delay: u64) -> Outcome {
    const SEEDS: u64 = 3;
    let outcomes: Vec<_> =
        (1..=SEEDS).map(|seed| crowd(every, ecn, packets, delay, seed)).collect();
    let bytes = [0, 1].map(|arm| outcomes.iter().map(|o| o.bytes[arm]).sum::<u64>() / SEEDS);
    Outcome { bytes, lost: outcomes.iter().map(|o| o.lost).sum::<f64>() / SEEDS as f64 }
}

/// Probes may cost a twentieth, and goodput may be lower by as much; runs differ by as much.
#[test]
fn congestion_is_no_outage() {
    for ecn in [false, true] {
        for (packets, delay) in [(5, 20), (20, 20), (50, 20), (5, 100), (20, 100), (50, 100)] {
            let [plain, shim] = [0, 1].map(|every| mean(every, ecn, packets, delay));
            println!("ecn {ecn}, {packets} packets, {delay} ms: {plain:?}, {shim:?}");
            assert!(shim.lost <= plain.lost * 1.1 + 0.01, "{plain:?}, {shim:?}");
            assert!(shim.all() * 100 >= plain.all() * 95, "{plain:?}, {shim:?}");
        }
    }
}

#[test]
fn neighbours_without_a_shim_keep_their_share() {
    for ecn in [false, true] {
        for (packets, delay) in [(20, 20), (50, 20), (20, 100), (50, 100)] {
            let mixed = mean(2, ecn, packets, delay);
            println!("ecn {ecn}, {packets} packets, {delay} ms: {mixed:?}");
            assert!(mixed.bytes[0] * 100 >= mixed.all() * 40, "{mixed:?}");
        }
    }
}

/// An outage without a signal: with the default shim the first data arrive soon after its end.
#[test]
fn transfer_resumes_after_a_silent_cut() {
    for growth in [ControlKind::Reno, ControlKind::Cubic] {
        for lasts in [3, 5, 10, 30] {
            let [start, end] = [10_000, 10_000 + 1000 * lasts].map(Instant::from_millis);
            let path = Path { cuts: vec![(start, end)], icmp: 0.0, ..Path::clean() };
            let [plain, shim] = [false, true].map(|on| {
                let shims = [on.then(|| Shim::new(Config::default())), None];
                let mut world = TestNetwork::new(&like_linux(growth), shims, path.clone(), 1);
                world.ends[0].writes = 1 << 40;
                world.run_until(end + MS(60_000));
                world
            });
            let idle = |world: &TestNetwork| {
                let after = world.ends[1].progress.iter().find(|(at, _)| *at > end);
                after.map(|(at, _)| at.since(end))
            };
            let [plain_read, shim_read] = [&plain, &shim].map(|world| world.ends[1].read);
            let [plain, shim] = [idle(&plain), idle(&shim)];
            println!("{growth:?}, {lasts} s: {plain:?} and {shim:?}, {plain_read} and {shim_read}");
            // A round-trip time and a half, and the interval of probes, a sixteenth of the silence.
            let limit = MS(150) + MS(1000 * lasts / 16).min(MS(500));
            assert!(shim <= Some(limit) && shim.is_some(), "{shim:?}");
            assert!(shim_read > plain_read);
        }
    }
}
