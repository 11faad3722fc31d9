//! The clock jumps forward, as that of a virtual machine that was stopped: everything is late, and
//! every timer has expired. (It never jumps back: drivers read a monotonic clock.)

use crate::common::net::{MS, TestNetwork, like_linux};
use crate::common::paths::path;
use driftway_base::Instant;
use driftway_shim::{Config, Shim};
use driftway_tcp::ControlKind;
use proptest::prelude::*;

/// A minute, or up to a day.
fn jump() -> impl Strategy<Value = u64> {
    prop_oneof![1_u64..60_000, 60_000_u64..86_400_000]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    /// The host of one shim or both is stopped at some instants. Everything arrives (each byte is
    /// compared), and nothing stays stored.
    #[test]
    fn nothing_is_lost_when_the_clock_jumps(
        seed: u64,
        path in path(),
        both: bool,
        jumps in prop::collection::vec((1_u64..5_000, jump()), 1..4),
    ) {
        let shim = || Some(Shim::new(Config::default()));
        let shims = [shim(), if both { shim() } else { None }];
        let mut world = TestNetwork::new(&like_linux(ControlKind::Cubic), shims, path, seed);
        world.ends[0].writes = 1_000_000;
        world.ends[1].writes = 200_000;
        let mut at = Instant::ZERO;
        for (after, jump) in jumps {
            at += MS(after);
            world.run_until(at);
            at += MS(jump);
            world.jump_to(at);
        }
        let is_open = |world: &TestNetwork| {
            world.ends.iter().all(|end| end.tcp.view().is_synchronized)
        };
        while !is_open(&world) && world.step() {}
        world.ends.iter_mut().for_each(|end| end.tcp.close());
        world.run();
        let states = world.ends.each_ref().map(|end| end.tcp.state());
        let read = world.ends.each_ref().map(|end| end.read);
        prop_assert_eq!(read, [200_000, 1_000_000], "{:?} at {:?}", states, world.now);
        for shim in world.ends.iter().filter_map(|end| end.shim.as_ref()) {
            prop_assert_eq!(shim.memory().0, 0);
        }
    }
}
