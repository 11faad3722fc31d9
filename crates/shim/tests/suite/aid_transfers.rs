//! Whole connections with each aid of the registry, between two of driftway's own TCPs over a bad
//! network. With any aid each byte arrives once and in order, none is acknowledged before its
//! receiver has acknowledged it, and nothing stays stored.

use crate::common::net::{Path, TestNetwork, like_linux};
use crate::common::paths::path;
use driftway_aid::registry::{AIDS, AidEntry};
use driftway_base::Instant;
use driftway_shim::{Config, Shim};
use driftway_tcp::ControlKind;
use proptest::prelude::*;

fn with(listed: &'static AidEntry, config: Config) -> Option<Shim> {
    Some(Shim::with_aid(config, || listed.build(&[]).expect("no options are needed")))
}

/// Bytes that arrive in a minute, with three cuts and losses.
fn carried(aid: Option<&'static AidEntry>, link_signals: bool) -> (u64, TestNetwork) {
    let cuts = [(5_000, 9_000), (20_000, 30_000), (45_000, 48_000)];
    let cuts = cuts.map(|(a, b)| (Instant::from_millis(a), Instant::from_millis(b)));
    let icmp = if link_signals { 0.0 } else { 1.0 };
    let loss = [0.005, 0.001];
    let path = Path { cuts: cuts.to_vec(), icmp, link_signals, loss, ..Path::clean() };
    let shim = aid.and_then(|aid| with(aid, Config::default()));
    let mut world = TestNetwork::new(&like_linux(ControlKind::Reno), [shim, None], path, 1);
    world.ends[0].writes = 1 << 40;
    world.run_until(Instant::from_millis(60_000));
    (world.ends[1].read, world)
}

/// ATCP with ICMP messages, TCP-F with link signals, as in the papers.
#[test]
fn the_aids_of_the_papers_help_from_below() {
    for (name, link_signals) in [("atcp", false), ("tcp-f", true), ("carry", false)] {
        let plain = carried(None, link_signals).0;
        let (bytes, world) = carried(driftway_aid::registry::find(name), link_signals);
        let counts = *world.ends[0].shim.as_ref().expect("the first host has a shim").counts();
        println!("{name}: {plain} and {bytes} bytes, {counts:?}");
        assert_eq!((counts.outages, counts.survived), (3, 3), "{name}");
        assert!(bytes * 100 >= plain * 110, "{name}: {plain} and {bytes}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn everything_arrives_with_any_aid(
        which in 0..AIDS.len(),
        seed: u64,
        path in path(),
        bytes in (0_u64..2_000_000, prop_oneof![2 => Just(0), 1 => 0_u64..1_000_000]),
        both: bool,
        store in prop_oneof![Just(4_usize << 20), 4096_usize..100_000],
        killed in prop_oneof![2 => Just(None), 1 => (0_u64..40_000, any::<bool>()).prop_map(Some)],
    ) {
        let config = Config { store_per_flow: store, ..Config::default() };
        let aid = &AIDS[which];
        let shims = [with(aid, config), if both { with(aid, config) } else { None }];
        let mut world = TestNetwork::new(&like_linux(ControlKind::Reno), shims, path, seed);
        world.bounds = config;
        let bytes: [u64; 2] = bytes.into();
        for (end, bytes) in world.ends.iter_mut().zip(bytes) {
            end.writes = bytes;
        }
        if let Some((at, gently)) = killed {
            world.run_until(Instant::from_millis(at));
            world.kill(gently);
        }
        let open = |world: &TestNetwork| world.ends.iter().all(|end| end.tcp.view().is_synchronized);
        while !open(&world) && world.step() {}
        world.ends.iter_mut().for_each(|end| end.tcp.close());
        world.run();
        for (at, end) in world.ends.iter().enumerate() {
            prop_assert_eq!(end.read, bytes[1 - at], "{} at {:?}", aid.name, world.now);
            let Some(shim) = &end.shim else { continue };
            prop_assert_eq!(shim.memory().0, 0);
            prop_assert!(shim.flows().all(|flow| flow.outstanding == 0 && flow.waiting == 0));
        }
    }
}
