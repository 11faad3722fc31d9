//! Packets of several segments (segmentation and receive offload) pass the shim as such.

use std::net::SocketAddrV4;

use driftway_linux::{RealClock, ShimSettings};

use crate::kernel_counters::kernel_counter;
use crate::pair::{THERE, pair};
use crate::shimmed::{RunningShim, Transfer, Until};

tests![large_packets_reach_the_receiver_as_such];

/// Packets per megabyte that the receiver's TCP gets over a cable with offload.
fn packets_per_megabyte(shim_at: Option<usize>) -> f64 {
    const BYTES: u64 = 100_000_000;
    let ends = pair(true).unwrap();
    let shim = shim_at.map(|end| RunningShim::start(&ends[end], &ShimSettings::default()));
    let [near, far] = &ends;
    let to = SocketAddrV4::new(THERE, 7000);
    let until = Until::Bytes(BYTES);
    let transfer = Transfer::between([near, far], to, RealClock::start(), "cubic", until);
    let transfer = transfer.connected();
    let before = kernel_counter(far, "Tcp", "InSegs");
    transfer.finish();
    let packets = kernel_counter(far, "Tcp", "InSegs") - before;
    if let Some(shim) = shim {
        let counts = shim.stop().counts;
        assert_eq!(
            (counts.flows, counts.tracking_lost, counts.preexisting),
            (1, 0, 0),
            "{counts:?}"
        );
    }
    packets as f64 / (BYTES as f64 / 1e6)
}

/// Packets of one segment each are 691, and acknowledgments more. Their own number depends on how fast
/// the program reads, too.
fn large_packets_reach_the_receiver_as_such() {
    let plain = packets_per_megabyte(None);
    for end in [0, 1] {
        let packets = packets_per_megabyte(Some(end));
        assert!(packets <= 5.0 * plain, "{packets} a megabyte, else {plain}, at {end}");
    }
}
