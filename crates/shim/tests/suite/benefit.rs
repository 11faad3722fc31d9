//! The benefit: one bulk transfer, 10 Mbit/s, 40 ms RTT, a queue of 120 kB that marks above 60 kB.

use crate::common::net::{MS, Path, TestNetwork, like_linux};
use driftway_base::Instant;
use driftway_shim::{Config, Shim};
use driftway_tcp::ControlKind;

/// Bytes that arrive in a minute.
fn carried(growth: ControlKind, shim: bool, path: Path, seed: u64) -> TestNetwork {
    let shims = [shim.then(|| Shim::new(Config::default())), None];
    let mut world = TestNetwork::new(&like_linux(growth), shims, path, seed);
    world.ends[0].writes = 1 << 40;
    world.run_until(Instant::from_millis(60_000));
    world
}

fn lossy() -> Path {
    Path { loss: [0.01, 0.0025], ..Path::clean() }
}

#[test]
fn losses_without_congestion_cost_little() {
    for growth in [ControlKind::Reno, ControlKind::Cubic] {
        for seed in 1..=3 {
            let [plain, shim] = [false, true].map(|on| carried(growth, on, lossy(), seed));
            let [plain, shim] = [plain, shim].map(|world| world.ends[1].read);
            println!("{growth:?} {seed}: {plain} and {shim} bytes");
            assert!(shim >= 2 * plain, "{growth:?} {seed}: {plain} and {shim} bytes");
        }
    }
}

#[test]
fn a_clean_path_carries_as_much() {
    for growth in [ControlKind::Reno, ControlKind::Cubic] {
        let [plain, shim] = [false, true].map(|on| carried(growth, on, Path::clean(), 1));
        assert_eq!(plain.ends[1].read, shim.ends[1].read, "no packet differs");
        assert!(shim.marks > 0 && shim.ends[0].acks_sent == 0);
    }
}

/// A short queue that drops before it marks: congestion losses must not be undone. With marks
/// first, no congestion loss occurs.
#[test]
fn a_full_queue_drains() {
    for growth in [ControlKind::Reno, ControlKind::Cubic] {
        let path = Path { queue: 60_000, mark: 20_000, ..Path::clean() };
        let [plain, shim] = [false, true].map(|on| carried(growth, on, path.clone(), 1));
        println!("{growth:?}: {} and {} drops", plain.drops, shim.drops);
        assert!(shim.drops <= plain.drops + plain.drops / 10);
        assert!(shim.ends[1].read * 100 >= plain.ends[1].read * 95);
    }
}

/// Cuts of one to thirty seconds: the first new data arrive within three RTTs of the end.
#[test]
fn transfer_resumes_at_the_end_of_an_outage() {
    for growth in [ControlKind::Reno, ControlKind::Cubic] {
        for (icmp, link_signals) in [(1.0, false), (0.0, true)] {
            let cuts = [(5_000, 6_000), (12_000, 15_000), (20_000, 50_000)];
            let cuts = cuts.map(|(a, b)| (Instant::from_millis(a), Instant::from_millis(b)));
            let path = Path { cuts: cuts.to_vec(), icmp, link_signals, ..Path::clean() };
            let [plain, shim] = [false, true].map(|on| carried(growth, on, path.clone(), 1));
            for (_, end) in cuts {
                let first = |world: &TestNetwork| {
                    let progress = &world.ends[1].progress;
                    progress.iter().find(|(at, _)| *at > end).map(|(at, _)| at.since(end))
                };
                let [plain, shim] = [first(&plain), first(&shim)];
                println!("{growth:?} {end:?}: {plain:?} and {shim:?}");
                assert!(shim.is_some_and(|after| after.as_millis() <= 120), "{shim:?}");
            }
            let [plain, shim] = [plain, shim].map(|world| world.ends[1].read);
            println!("{growth:?}: {plain} and {shim} bytes");
            assert!(shim > plain);
        }
    }
}

/// The host with the shim receives, and sees its link fail and recover; its peer has no shim.
#[test]
fn a_sender_without_a_shim_resumes_at_once() {
    for growth in [ControlKind::Reno, ControlKind::Cubic] {
        let cuts = [(5_000, 8_000), (12_000, 32_000)];
        let cuts = cuts.map(|(a, b)| (Instant::from_millis(a), Instant::from_millis(b)));
        let path = Path { cuts: cuts.to_vec(), icmp: 0.0, link_signals: true, ..Path::clean() };
        let [plain, shim] = [false, true].map(|on| {
            let shims = [on.then(|| Shim::new(Config::default())), None];
            let mut world = TestNetwork::new(&like_linux(growth), shims, path.clone(), 1);
            world.ends[1].writes = 1 << 40;
            world.run_until(Instant::from_millis(60_000));
            world
        });
        for (_, end) in cuts {
            let first = |world: &TestNetwork| {
                let progress = &world.ends[0].progress;
                progress.iter().find(|(at, _)| *at > end).map(|(at, _)| at.since(end))
            };
            println!("{growth:?} {end:?}: {:?} and {:?}", first(&plain), first(&shim));
            assert!(first(&shim).is_some_and(|after| after.as_millis() <= 120));
        }
        let [plain, shim] = [plain, shim].map(|world| world.ends[0].read);
        println!("{growth:?}: {plain} and {shim} bytes");
        assert!(shim > plain);
    }
}

#[test]
fn held_back_acknowledgments_cost_nothing() {
    for growth in [ControlKind::Reno, ControlKind::Cubic] {
        let [plain, shim] = [false, true].map(|hold_back| {
            let config = Config { hold_back, ..Config::default() };
            let shims = [Some(Shim::new(config)), None];
            let mut world = TestNetwork::new(&like_linux(growth), shims, Path::clean(), 1);
            world.ends[1].writes = 1 << 40;
            world.run_until(Instant::from_millis(30_000));
            assert_eq!(world.ends[1].tcp.stats().timeouts, 0);
            world.ends[0].read
        });
        assert!(shim * 1000 >= plain * 995, "{growth:?}: {plain} and {shim} bytes");
    }
}

/// Both ends have negotiated ECN, but the bottleneck drops and never marks: losses to its queue are
/// not undone. If the queue is too short to be observed, the number of simultaneous losses is the
/// criterion.
#[test]
fn losses_at_a_queue_without_marks_are_not_undone() {
    for growth in [ControlKind::Reno, ControlKind::Cubic] {
        for queue in [120_000, 20_000, 6_000] {
            let path = Path { queue, mark: u64::MAX, ..Path::clean() };
            let [plain, shim] = [false, true].map(|on| carried(growth, on, path.clone(), 1));
            let packets = shim.ends[1].read / 1448;
            println!("{growth:?} {queue}: {} and {} drops of {packets}", plain.drops, shim.drops);
            let most = if queue > 6_000 { plain.drops + plain.drops / 2 } else { packets / 50 };
            assert!(shim.drops <= most, "{growth:?} {queue}: {} and {}", plain.drops, shim.drops);
            // A queue of four packets makes congestion losses look random: that costs up to 2.1 %.
            assert!(shim.ends[1].read * 1000 >= plain.ends[1].read * 975, "{growth:?} {queue}");
        }
    }
}

/// Losses not caused by that queue are still undone.
#[test]
fn a_queue_without_marks_beside_other_losses() {
    for growth in [ControlKind::Reno, ControlKind::Cubic] {
        let path = Path { mark: u64::MAX, ..lossy() };
        let [plain, shim] = [false, true].map(|on| carried(growth, on, path.clone(), 1));
        let [plain, read] = [&plain, &shim].map(|world| world.ends[1].read);
        println!("{growth:?}: {plain} and {read} bytes, {} drops", shim.drops);
        assert!(read >= 2 * plain && shim.drops * 200 <= read / 1448);
    }
}

/// One packet in twenty arrives 30 ms late, and none is lost.
#[test]
fn reordering_does_no_harm() {
    for growth in [ControlKind::Reno, ControlKind::Cubic] {
        let path = Path { late: (0.05, MS(30)), ..Path::clean() };
        let [plain, shim] = [false, true].map(|on| carried(growth, on, path.clone(), 1));
        let [plain, shim] = [plain, shim].map(|world| world.ends[1].read);
        println!("{growth:?}: {plain} and {shim} bytes");
        assert!(shim * 100 >= plain * 95);
    }
}
