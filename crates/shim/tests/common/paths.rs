//! Random bad networks.

use driftway_base::Instant;
use proptest::prelude::*;

use super::net::{MS, Path};

/// Losses, delays, duplicates and cuts, signalled or not.
pub fn path() -> impl Strategy<Value = Path> {
    let span = (100_u64..20_000, 1_u64..15_000);
    let faults = (0.0..0.05, 0.0..0.02, 0.0..0.05, 0.0..0.02, 0.0..=1.0);
    (faults, prop::collection::vec(span, 0..4), 5_u64..100, 1_u64..40, any::<(bool, bool)>())
        .prop_map(
            |((data, acks, late, doubled, icmp), spans, delay, mbits, (link_signals, edge))| {
                let (mut cuts, mut at) = (Vec::new(), Instant::ZERO);
                for (after, lasts) in spans {
                    at += MS(after);
                    cuts.push((at, at + MS(lasts)));
                    at += MS(lasts);
                }
                Path {
                    bits_per_second: mbits * 1_000_000,
                    delay: MS(delay),
                    loss: [data, acks],
                    late: (late, MS(30)),
                    doubled,
                    cuts,
                    icmp,
                    link_signals,
                    edge,
                    ..Path::clean()
                }
            },
        )
}
