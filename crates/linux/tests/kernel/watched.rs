//! Flows with which nothing is wrong: their packets pass, and the shim gets copies.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::thread;

use driftway_base::{Duration, Instant};
use driftway_linux::{Namespace, PathEnd, RealClock, ShimSettings, ShimSnapshot};
use netlink_packet_route::route::RouteMetric;

use crate::emulate::scenario;
use crate::pair::{DEVICE, HERE, THERE, pair};
use crate::shim_daemon::{cut, millis, secs};
use crate::shimmed::{RunningPath, RunningShim, Transfer, Until};
use crate::streams::{PATIENCE, connect, eventually, listen, nap, socket};
use crate::wired;

tests![
    a_healthy_transfer_is_not_intercepted,
    large_packets_are_not_intercepted,
    a_reported_outage_of_a_watched_flow,
    a_silent_outage_of_a_watched_flow,
    what_the_interface_has_refused,
];

/// Packets that are intercepted at the start, and while the shim looks at a route.
const FEW: u64 = 100;

/// Asserts that the transfer's packets were watched, and returns how many were not.
fn assert_watched(snapshot: &ShimSnapshot, least: u64) -> u64 {
    let counts = snapshot.counts;
    assert!(counts.watched > least, "{snapshot:?}");
    assert_eq!((counts.tracking_lost, counts.preexisting, counts.no_carrier), (0, 0, 0));
    assert_eq!(snapshot.daemon_counts.copies_lost, 0, "{snapshot:?}");
    counts.intercepted
}

/// 10 Mbit/s and 40 ms, with a receiver that does not fill the queues: nothing is lost.
fn path(more: &str) -> RunningPath {
    let link = "rate = \"10 Mbit/s\"\ndelay = \"10 ms\"\nqueue = { packets = 200 }";
    let path = RunningPath::start(&scenario(2, link, more), 1, true);
    path.running.end(PathEnd::Far).set_sysctl("net/ipv4/tcp_rmem", "4096 65536 131072").unwrap();
    path
}

fn a_healthy_transfer_is_not_intercepted() {
    let path = path("");
    let shims = PathEnd::BOTH
        .map(|end| RunningShim::start(path.running.end(end), &ShimSettings::default()));
    Transfer::start(&path, "cubic", Until::Time(Instant::ZERO + secs(3))).finish();
    for shim in shims {
        let stood = shim.stop();
        assert!(assert_watched(&stood, 2000) < FEW, "{stood:?}");
        assert!(stood.counts.not_stored <= 1, "what has passed by at first: {stood:?}");
    }
    path.running.stop().unwrap();
}

/// Packets of several segments, whose copies are as long.
fn large_packets_are_not_intercepted() {
    let [near, far] = pair(true).unwrap();
    near.run(|| wired::shape(DEVICE, 12_500_000, 200_000)).unwrap().unwrap();
    let shims = [&near, &far].map(|end| RunningShim::start(end, &ShimSettings::default()));
    let (to, clock) = (SocketAddrV4::new(THERE, 7000), RealClock::start());
    let until = Until::Time(Instant::ZERO + secs(5));
    let transfer = Transfer::between([&near, &far], to, clock, "cubic", until).connected();
    // The shim looks at the route of a new cable.
    thread::sleep(std::time::Duration::from_secs(3));
    let before = shims.each_ref().map(|shim| shim.snapshot().counts);
    transfer.finish();
    for (shim, before) in shims.into_iter().zip(before) {
        let counts = shim.stop().counts;
        let [watched, intercepted] =
            [counts.watched - before.watched, counts.intercepted - before.intercepted];
        assert!(watched > 10 * intercepted.max(100), "{watched} {intercepted} {counts:?}");
        assert_eq!((counts.malformed, counts.tracking_lost), (0, 0), "{counts:?}");
    }
}

fn a_reported_outage_of_a_watched_flow() {
    outage("", millis(200));
}

fn a_silent_outage_of_a_watched_flow() {
    // Probes come at intervals of a sixteenth of the silence.
    outage("signal = \"none\"\n", millis(200 + 3000 / 16));
}

/// Help comes as if the flow had been intercepted from the beginning, and then it is watched again.
fn outage(signal: &str, within: Duration) {
    let path = path(&(cut("2 s", "3 s") + signal));
    let shim = RunningShim::start(path.near(), &ShimSettings::default());
    let transfer = Transfer::start(&path, "cubic", Until::Time(Instant::ZERO + secs(10)));
    path.sleep_until(millis(1900));
    assert!(assert_watched(&shim.snapshot(), 1000) < FEW, "{:?}", shim.snapshot());
    path.sleep_until(secs(8));
    let before = shim.snapshot().counts;
    let arrived = transfer.finish();
    let stood = shim.stop();
    let first = arrived.first_after(Instant::ZERO + secs(5));
    assert!(first <= within, "{first:?} {stood:?}");
    assert_eq!((stood.counts.outages, stood.counts.survived), (1, 1), "{stood:?}");
    assert!(stood.counts.originals_sent > 10, "it has stored what it saw as copies: {stood:?}");
    let of = |from: Duration| {
        arrived.bytes_by(Instant::ZERO + from + secs(1)) - arrived.bytes_by(Instant::ZERO + from)
    };
    assert!(2 * of(millis(5500)) > of(millis(900)), "the window is the previous one: {stood:?}");
    assert!(stood.counts.intercepted < before.intercepted + FEW, "{before:?} {stood:?}");
    assert!(stood.counts.watched > before.watched + 1000, "{before:?} {stood:?}");
    path.running.stop().unwrap();
}

/// `RTAX_RTO_MIN` (linux/rtnetlink.h).
const RTO_MIN: u32 = 13;

/// The shim has a copy, but TCP counts it as not sent. If it reached the peer, TCP would reject the
/// acknowledgment, and all later ones.
fn what_the_interface_has_refused() {
    let [near, far] = [(); 2].map(|()| Namespace::new().unwrap());
    wired::cable([(&near, "far", HERE), (&far, "near", THERE)]).unwrap();
    // TCP tries again when the link is back (ms; the lock makes it a lower bound).
    let metrics = vec![RouteMetric::Lock(1 << RTO_MIN), RouteMetric::RtoMin(3000)];
    near.run(|| wired::metrics(THERE, "far", metrics)).unwrap().unwrap();
    let shim = RunningShim::start(&near, &ShimSettings::default());
    let listener = listen(&far, (THERE, 7000));
    let [here, there] = connect(socket(&near), &listener, (THERE, 7000));
    let pass = |mut from: &TcpStream, mut to: &TcpStream, bytes| {
        from.write_all(&vec![7; bytes]).unwrap();
        to.read_exact(&mut vec![0; bytes]).unwrap();
    };
    eventually("the connection is watched", || {
        nap(300);
        let before = shim.snapshot().counts.intercepted;
        pass(&here, &there, 100);
        nap(100);
        let counts = shim.snapshot().counts;
        counts.watched > 0 && counts.intercepted == before
    });
    near.run(|| wired::refuse("far")).unwrap().unwrap();
    (&here).write_all(&[7; 30_000]).unwrap();
    far.run(|| wired::plug("near", false)).unwrap().unwrap();
    near.run(|| wired::release("far")).unwrap().unwrap();
    eventually("the shim knows", || shim.snapshot().counts.outages > 0);
    far.run(|| wired::plug("near", true)).unwrap().unwrap();
    there.set_read_timeout(Some(std::time::Duration::from_secs(1))).unwrap();
    let early = (&there).read(&mut [0]).map_err(|error| error.kind());
    assert_eq!(early, Err(ErrorKind::WouldBlock), "TCP has not sent it");
    there.set_read_timeout(Some(PATIENCE)).unwrap();
    (&there).read_exact(&mut [0; 30_000]).unwrap();
    pass(&there, &here, 100);
    pass(&here, &there, 5000);
    eventually("all is acknowledged", || shim.snapshot().flows[0].outstanding == 0);
    let counts = shim.stop().counts;
    assert_eq!((counts.outages, counts.survived), (1, 1), "{counts:?}");
    assert!(counts.not_sent > 0, "{counts:?}");
}
