//! Whole connections between two of driftway's own TCPs over a bad network, with a shim below one
//! or both of them: invariants.

use crate::common::net::{MS, Path, TestNetwork, YoungRule, like_linux};
use crate::common::paths::path;
use driftway_base::{Duration, Instant};
use driftway_shim::{Config, CwndAfterOutage, Shim, UNSEEN_MAX};
use driftway_tcp::ControlKind;
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    growth: ControlKind,
    bytes: [u64; 2],
    path: Path,
    both: bool,
    config: Config,
    /// Bytes and time (ms) of each host for which its connection passes by.
    young: [(u32, u64); 2],
}

fn config() -> impl Strategy<Value = Config> {
    let kept = prop_oneof![Just(4_usize << 20), 4096_usize..100_000];
    let all = prop_oneof![Just(64_usize << 20), 4096_usize..100_000];
    let cwnd = prop_oneof![Just(CwndAfterOutage::Keep), Just(CwndAfterOutage::Reset)];
    let suspect = prop_oneof![3 => Just(None), 1 => (1_u32..4).prop_map(Some)];
    ((kept, all), cwnd, suspect, any::<(bool, bool)>(), any::<bool>()).prop_map(
        |((store_per_flow, store), cwnd, suspect_after, (undo_ack, undo_losses), hold_back)| {
            Config {
                store_per_flow,
                store,
                cwnd,
                suspect_after,
                undo_ack,
                undo_losses,
                hold_back,
                ..Config::default()
            }
        },
    )
}

fn case() -> impl Strategy<Value = Case> {
    let growth = prop_oneof![Just(ControlKind::Reno), Just(ControlKind::Cubic)];
    let bytes = (0_u64..3_000_000, prop_oneof![2 => Just(0), 1 => 0_u64..1_000_000]);
    let young = prop_oneof![Just((0, 0)), (0..=UNSEEN_MAX, 0_u64..2000)];
    let young = prop::array::uniform2(young);
    (any::<u64>(), growth, bytes, path(), any::<bool>(), config(), young).prop_map(
        |(seed, growth, bytes, path, both, config, young)| {
            let bytes = bytes.into();
            Case { seed, growth, bytes, path, both, config, young }
        },
    )
}

fn world(case: &Case) -> TestNetwork {
    let shim = || Some(Shim::new(case.config));
    let shims = [shim(), if case.both { shim() } else { None }];
    let mut world = TestNetwork::new(&like_linux(case.growth), shims, case.path.clone(), case.seed);
    world.bounds = case.config;
    for (end, (bytes, time)) in world.ends.iter_mut().zip(case.young) {
        end.young = (time > 0).then(|| YoungRule::new(bytes, MS(time)));
    }
    for (end, bytes) in world.ends.iter_mut().zip(case.bytes) {
        end.writes = bytes;
    }
    world
}

/// Lets both ends send everything, and close; then waits until nothing moves any more.
fn finish(world: &mut TestNetwork, case: &Case) {
    // An end that closes before the connection is open never opens it.
    let open = |world: &TestNetwork| world.ends.iter().all(|end| end.tcp.view().is_synchronized);
    while !open(world) && world.step() {}
    for end in &mut world.ends {
        end.tcp.close();
    }
    world.run();
    for (at, end) in world.ends.iter().enumerate() {
        let other = &world.ends[1 - at];
        assert_eq!(
            end.read,
            case.bytes[1 - at],
            "end {at}, {:?}, from {:?}, at {:?}",
            end.tcp.state(),
            other.tcp.state(),
            world.now
        );
        let Some(shim) = &end.shim else { continue };
        assert_eq!(shim.memory().0, 0, "packets of ended flows are stored");
        assert!(shim.flows().all(|flow| flow.outstanding == 0 && flow.waiting == 0));
        // Each wake-up sends something, begins or ends something, or would send what is not stored.
        let counts = shim.counts();
        let ends = counts.given_up + counts.outages + counts.survived;
        let reasons = end.acks_sent + ends + counts.refused_resend;
        assert!(end.wakes <= reasons + 1, "{} wakes for {reasons}", end.wakes);
        let shown = counts.intercepted;
        assert!(end.acks_sent <= 200 + 2 * shown + 25 * world.now.as_nanos() / 1_000_000_000);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn everything_arrives_in_order_and_nothing_stays_stored(case in case()) {
        let mut world = world(&case);
        finish(&mut world, &case);
    }

    /// SIGKILL at any instant: every connection continues as plain TCP.
    #[test]
    fn the_shim_may_end_at_any_instant(case in case(), at in 0_u64..40_000, gently: bool) {
        let mut world = world(&case);
        world.run_until(Instant::from_millis(at));
        world.kill(gently);
        finish(&mut world, &case);
    }

    /// A receiver that does not read for a while: its window closes, also during an outage.
    #[test]
    fn windows_that_close(case in case(), pauses in prop::collection::vec(1_u64..8_000, 1..6)) {
        let mut world = world(&case);
        let mut at = Duration::ZERO;
        for pause in pauses {
            at = at + MS(pause);
            world.ends[1].is_reading ^= true;
            world.run_until(Instant::ZERO + at);
        }
        world.ends[1].is_reading = true;
        finish(&mut world, &case);
    }
}
