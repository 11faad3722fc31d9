//! Changes of routes and links on a host with many connections: no one waits for the shim's reviews.

use driftway_shim::FlowState;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use driftway_linux::ShimSettings;
use nix::sys::signal::Signal;

use crate::crowd::{Change, Crowd, OWN, UNRELATED, under_load};
use crate::shim_daemon::{millis, secs};
use crate::shimmed::{RunningShim, ShimProcess};

tests![
    a_change_asks_only_the_flows_that_it_concerns,
    a_busy_host_with_changes_keeps_its_shim,
    a_failed_link_is_noticed_by_all_its_flows,
];

fn nap(millis: u64) {
    thread::sleep(std::time::Duration::from_millis(millis));
}

fn a_change_asks_only_the_flows_that_it_concerns() {
    const FLOWS: usize = 500;
    let crowd = Crowd::new().unwrap();
    let shim = RunningShim::start(&crowd.host, &ShimSettings::default());
    let connections = crowd.connect(FLOWS);
    nap(300);
    let before = shim.snapshot().daemon_counts;
    // Twenty a second, if there is a processor for them.
    let events = || {
        crowd.ping_pong_during(Change::Route(UNRELATED), secs(1));
        shim.snapshot().daemon_counts.route_events
    };
    assert!((0..20).any(|_| events() >= before.route_events + 10), "{:?}", shim.snapshot());
    let after = shim.snapshot().daemon_counts;
    assert_eq!(after.injected, before.injected, "{after:?}");
    // The one that concerns all of them.
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| crowd.change_until(Change::Route(OWN), &stop));
        nap(20);
        stop.store(true, Ordering::Relaxed);
    });
    nap(1500);
    let last = shim.stop();
    assert!(last.daemon_counts.injected >= after.injected + FLOWS as u64, "{last:?}");
    assert_eq!(last.counts.outages, 0, "{:?}", last.counts);
    drop(connections);
}

/// Eight busy loops, and changes that concern each flow.
fn a_busy_host_with_changes_keeps_its_shim() {
    let crowd = Crowd::new().unwrap();
    let mut shim = ShimProcess::start_watched(&crowd.host);
    let connections = crowd.connect(1500);
    under_load(8, || crowd.ping_pong_during(Change::Route(OWN), secs(4)));
    assert!(shim.is_running());
    // The watchdog does its work.
    under_load(8, || {
        shim.signal(Signal::SIGSTOP);
        nap(2500);
    });
    assert_eq!(shim.ended_by(), Some(Signal::SIGKILL));
    drop(connections);
}

/// Nothing that they send leaves until it is back, and then at once; the other interface goes on.
fn a_failed_link_is_noticed_by_all_its_flows() {
    const FLOWS: usize = 500;
    let crowd = Crowd::new().unwrap();
    let shim = RunningShim::start(&crowd.host, &ShimSettings::default());
    let mut connections = crowd.connect(FLOWS);
    crowd.plug(false);
    nap(1000);
    for [near, _] in &mut connections {
        near.write_all(&[1]).unwrap();
    }
    crowd.ping_pong(millis(300));
    let stood = shim.snapshot();
    assert!(stood.daemon_counts.unsent >= FLOWS as u64, "{stood:?}");
    crowd.plug(true);
    for [_, far] in &mut connections {
        far.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
        far.read_exact(&mut [0]).unwrap();
    }
    nap(300);
    let last = shim.stop();
    assert!(last.flows.iter().all(|flow| flow.state == FlowState::Open), "{:?}", last.counts);
    assert_eq!(last.counts.no_carrier, 0, "{:?}", last.counts);
}
