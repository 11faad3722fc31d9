//! The shim depends on no clock but one that measures its own time.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::thread;

use driftway_base::Instant;
use driftway_linux::Namespace;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::gettid;

use crate::shim_daemon::{cut, marking, millis, secs};
use crate::shimmed::{RunningPath, ShimProcess, Transfer, Until};

tests![the_clock_of_the_host_may_have_any_value];

/// Seconds that the shim's host has been running for: hardly, and for 100 years.
const UPTIMES: [i64; 2] = [1, 100 * 365 * 86_400];

/// The present uptime, by the clock that time namespaces shift.
fn uptime() -> i64 {
    let text = fs::read_to_string("/proc/uptime").unwrap();
    text.split('.').next().unwrap().parse().unwrap()
}

/// Moves what the calling thread starts from now on to a time namespace whose monotonic clocks show
/// this uptime (seconds).
fn shift_clocks(shown: i64) -> io::Result<()> {
    unshare(CloneFlags::from_bits_retain(nix::libc::CLONE_NEWTIME))?;
    let offset = shown - uptime();
    let mut offsets =
        OpenOptions::new().write(true).open(format!("/proc/{}/timens_offsets", gettid()))?;
    offsets.write_all(format!("monotonic {offset} 0\nboottime {offset} 0\n").as_bytes())
}

/// A shim with its watchdog, as a process in a time namespace of its own, if the kernel has those.
fn shim_at(namespace: &Namespace, shown: i64) -> ShimProcess {
    let own = Path::new("/proc/self/ns/time");
    thread::scope(|scope| {
        let start = || {
            if own.exists() {
                shift_clocks(shown).unwrap();
            }
            ShimProcess::start_watched(namespace)
        };
        scope.spawn(start).join().unwrap()
    })
}

/// Wall clocks jump when they are set; the shim does not read them. The clock that it reads never
/// does, and may have any value at its start.
fn the_clock_of_the_host_may_have_any_value() {
    let arms = UPTIMES.map(|shown| {
        thread::spawn(move || {
            let path = RunningPath::start(&marking("", &cut("800 ms", "1500 ms")), 31, true);
            let mut shim = shim_at(path.near(), shown);
            let until = Until::Time(Instant::ZERO + secs(3));
            let arrived = Transfer::start(&path, "cubic", until).finish();
            let first = arrived.first_after(Instant::ZERO + millis(2300));
            // Plain TCP would wait for its timer, which is about as long as the outage.
            assert!(first < millis(400), "{first:?} at {shown} s");
            assert!(shim.is_running(), "its watchdog has not ended it");
            shim.end();
            path.running.stop().unwrap();
        })
    });
    arms.into_iter().for_each(|arm| arm.join().unwrap());
}
