//! The largest scale of windows (RFC 7323 §2.3): 14.

use std::net::SocketAddr;
use std::thread;

use driftway_linux::{ShimSettings, kernel_tcp};

use crate::pair::{DEVICE, THERE, pair, plug};
use crate::shimmed::RunningShim;
use crate::stream_digest::StreamDigest;
use crate::streams::{connect, exchange_after, listen, nap, send, socket};
use crate::wired;

tests![windows_of_a_gigabyte, windows_of_few_units];

const PORT: u16 = 7000;

/// Buffers as large as the scale allows from the beginning.
fn windows_of_a_gigabyte() {
    transfer("4096 536870912 1073741824", 20_000_000);
}

/// Buffers of 64 KB that may grow: windows are multiples of 16 KB, and close early.
fn windows_of_few_units() {
    transfer("4096 65536 1073741824", 60_000);
}

/// The receiver pauses while so many bytes are sent, and reads again after an outage.
fn transfer(buffers: &str, paused: u64) {
    let ends = pair(true).unwrap();
    let [near, far] = &ends;
    near.run(|| wired::shape(DEVICE, 12_500_000, 200_000)).unwrap().unwrap();
    for namespace in &ends {
        namespace.set_sysctl("net/ipv4/tcp_rmem", buffers).unwrap();
    }
    let shims = [0, 1].map(|end| RunningShim::start(&ends[end], &ShimSettings::default()));
    let to = (THERE, PORT);
    let streams = connect(socket(near), &listen(far, to), to);
    let (Ok(SocketAddr::V4(from)), Ok(SocketAddr::V4(to))) =
        (streams[0].local_addr(), streams[0].peer_addr())
    else {
        unreachable!("IPv4")
    };
    let kernel = near.run(|| kernel_tcp(from, to)).unwrap().unwrap();
    assert_eq!(kernel.window_scale(), Some((14, 14)));

    // The other direction's are enough for the flow to begin at either end.
    let mut sent = [StreamDigest::default(), StreamDigest::default()];
    for (key, bytes) in [(0, paused), (1, 40_000)] {
        send(&streams[key], key as u64, &mut sent[key], bytes);
    }
    nap(100);
    thread::scope(|scope| {
        let exchange = || {
            // The cable is out, and a part of this waits.
            nap(300);
            exchange_after(&streams, [8_000_000, 2_000_000], sent);
        };
        scope.spawn(exchange);
        far.run(|| plug(false)).unwrap().unwrap();
        nap(1200);
        far.run(|| plug(true)).unwrap().unwrap();
    });
    nap(100);
    for shim in shims {
        let stood = shim.stop();
        let counts = stood.counts;
        assert_eq!((counts.flows, counts.tracking_lost), (1, 0), "{stood:?}");
        // One outside windows of a few units passes unchanged.
        assert!(counts.implausible <= 1 && counts.preexisting == 0, "{stood:?}");
        assert_eq!((counts.outages, counts.survived), (1, 1), "{stood:?}");
        assert!(stood.flows.is_empty() && stood.memory.0 == 0, "{stood:?}");
    }
}
