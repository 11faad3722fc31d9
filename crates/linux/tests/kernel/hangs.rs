//! A hanging shim, over a veth pair: neither its connections nor new ones fail.

use std::net::SocketAddrV4;
use std::thread;

use driftway_base::{Duration, Instant};
use driftway_linux::{Namespace, RealClock};
use nix::sys::signal::Signal;

use crate::pair::{THERE, pair};
use crate::shim_daemon::{millis, secs};
use crate::shimmed::{ReceivedStream, ShimProcess, Transfer, Until};

tests![
    a_transfer_survives_a_shim_that_hangs,
    without_a_watchdog_new_packets_pass,
    a_gap_does_no_harm,
];

/// A veth pair with a data rate that a test can bear.
fn slow_pair() -> [Namespace; 2] {
    let ends = pair(false).unwrap();
    ends[1].set_sysctl("net/ipv4/tcp_rmem", "4096 8192 16384").unwrap();
    ends
}

fn transfer([near, far]: &[Namespace; 2], port: u16, clock: RealClock, until: Until) -> Transfer {
    Transfer::between([near, far], SocketAddrV4::new(THERE, port), clock, "cubic", until)
}

fn sleep_until(clock: RealClock, at: Instant) {
    thread::sleep(std::time::Duration::from_nanos(clock.until(at).as_nanos()));
}

fn rate(arrived: &ReceivedStream, from: Instant, to: Instant) -> f64 {
    (arrived.bytes_by(to) - arrived.bytes_by(from)) as f64 / to.since(from).as_secs_f64()
}

fn a_transfer_survives_a_shim_that_hangs() {
    let ends = slow_pair();
    let at = |seconds| Instant::ZERO + secs(seconds);
    // The same link without a shim.
    let clock = RealClock::start();
    let plain = transfer(&ends, 7000, clock, Until::Time(at(2))).finish();
    let plain = rate(&plain, at(0), at(2));

    let clock = RealClock::start();
    let shim = ShimProcess::start_watched(&ends[0]);
    let old = transfer(&ends, 7001, clock, Until::Time(at(9)));
    sleep_until(clock, at(2));
    shim.signal(Signal::SIGSTOP);
    let stopped = clock.now();
    let new = transfer(&ends, 7002, clock, Until::Bytes(10_000)).finish();
    assert!(new.end().since(stopped) < secs(4), "{:?}", new.end().since(stopped));
    let old = old.finish();
    let first = old.first_after(stopped + secs(1));
    // Packets lost with the queue are retransmitted by TCP's own timer, a second or two later.
    assert!(first < secs(3), "{first:?}");
    let after = rate(&old, stopped + secs(4), at(9));
    // A machine that has become busy carries less, but more than with waits for timers.
    assert!(after > plain / 10.0, "{after} bytes a second, {plain} without a shim");
    assert_eq!(shim.ended_by(), Some(Signal::SIGKILL));
}

fn without_a_watchdog_new_packets_pass() {
    let ends = slow_pair();
    let clock = RealClock::start();
    let shim = ShimProcess::start(&ends[0]);
    transfer(&ends, 7000, clock, Until::Bytes(10_000)).finish();
    shim.signal(Signal::SIGSTOP);
    // Packets sent before the kernel notices stay in the queue, where TCP waits for them.
    thread::sleep(std::time::Duration::from_millis(1100));
    let stopped = clock.now();
    let new = transfer(&ends, 7001, clock, Until::Bytes(1_000_000)).finish();
    assert!(new.end().since(stopped) < secs(6), "{:?}", new.end().since(stopped));
    shim.signal(Signal::SIGCONT);
    // It works again.
    transfer(&ends, 7002, clock, Until::Bytes(1_000_000)).finish();
    shim.end();
}

fn a_gap_does_no_harm() {
    let ends = slow_pair();
    let shim = ShimProcess::start(&ends[0]);
    let clock = RealClock::start();
    let end = Instant::ZERO + secs(12);
    let streams =
        [7000, 7001].map(|port| transfer(&ends, port, clock, Until::Time(end)).connected());
    // Shorter and longer than the dead-man switch's expiry.
    for gap in [300, 1500, 2500] {
        thread::sleep(std::time::Duration::from_millis(700));
        shim.signal(Signal::SIGSTOP);
        thread::sleep(std::time::Duration::from_millis(gap));
        shim.signal(Signal::SIGCONT);
    }
    let back = clock.now();
    for stream in streams {
        let arrived = stream.finish();
        let first = arrived.first_after(back + millis(1));
        assert!(first < Duration::from_secs(1), "{first:?}");
    }
    shim.end();
}
