//! Packets of several segments (segmentation and receive offload) pass the shim as such.

use std::fs;
use std::net::SocketAddrV4;

use driftway_host::{Namespace, RealClock, ShimSettings};

use crate::pair::{THERE, pair};
use crate::shimmed::{RunningShim, Transfer, Until};

tests![a_receiver_acknowledges_as_often_as_without_the_shim];

/// Segments that the namespace's TCP has sent.
fn segments_sent(namespace: &Namespace) -> u64 {
    let table =
        namespace.run(|| fs::read_to_string("/proc/thread-self/net/snmp")).unwrap().unwrap();
    let mut lines = table.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let mut pairs = names.split(' ').zip(values.split(' '));
    pairs.find(|(name, _)| *name == "OutSegs").unwrap().1.parse().unwrap()
}

/// Acknowledgments per megabyte over a cable with offload.
fn acks_per_megabyte(shim_at: Option<usize>) -> f64 {
    const BYTES: u64 = 100_000_000;
    let ends = pair(true).unwrap();
    let shim = shim_at.map(|end| RunningShim::start(&ends[end], &ShimSettings::default()));
    let [near, far] = &ends;
    let to = SocketAddrV4::new(THERE, 7000);
    let until = Until::Bytes(BYTES);
    let transfer = Transfer::between([near, far], to, RealClock::start(), "cubic", until);
    let transfer = transfer.connected();
    let before = segments_sent(far);
    transfer.finish();
    let acks = segments_sent(far) - before;
    if let Some(shim) = shim {
        let counts = shim.stop().counts;
        assert_eq!(
            (counts.flows, counts.tracking_lost, counts.preexisting),
            (1, 0, 0),
            "{counts:?}"
        );
    }
    acks as f64 / (BYTES as f64 / 1e6)
}

/// Six times as often, where packets are segmented before the shim.
fn a_receiver_acknowledges_as_often_as_without_the_shim() {
    let plain = acks_per_megabyte(None);
    for end in [0, 1] {
        let acks = acks_per_megabyte(Some(end));
        assert!(acks <= 2.0 * plain + 5.0, "{acks} a megabyte, else {plain}, at {end}");
    }
}
