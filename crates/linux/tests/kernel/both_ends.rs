//! A shim at either end of a path, with losses and an outage.

use std::thread;
use std::time::Duration;

use driftway_linux::{PathEnd, ShimSettings};

use crate::shim_daemon::{cut, marking, millis};
use crate::shimmed::{RunningPath, RunningShim, ShimProcess};
use crate::streams::{connect, exchange, listen, nap, socket};

tests![two_shims_are_not_worse_than_none, one_of_two_shims_is_killed];

const PORT: u16 = 7000;
const BYTES: [u64; 2] = [1_500_000, 1_500_000];

fn path(seed: u64) -> RunningPath {
    // Both hosts are informed of the one, and of the other not.
    let silent = cut("2 s", "500 ms") + "signal = \"none\"\n";
    let faults = cut("600 ms", "800 ms") + &silent;
    RunningPath::start(&marking("packet_error_rate = 0.004", &faults), seed, true)
}

/// Opens a connection by one end, and sends in both directions; returns the time.
fn transfer(path: &RunningPath, opens: PathEnd) -> Duration {
    let listens = opens.other();
    let [opens, there] = [opens, listens].map(|end| path.running.end(end));
    let to = (path.addresses[listens as usize], PORT);
    exchange(&connect(socket(opens), &listen(there, to), to), BYTES)
}

fn two_shims_are_not_worse_than_none() {
    let arm = |shimmed: bool, opens: PathEnd| {
        thread::spawn(move || {
            let path = path(21);
            let shims = PathEnd::BOTH
                .map(|end| shimmed.then(|| (path.running.end(end), ShimSettings::default())))
                .map(|wanted| wanted.map(|(end, settings)| RunningShim::start(end, &settings)));
            let time = transfer(&path, opens);
            // The flow is removed after the last acknowledgment of a FIN, which may be repeated.
            nap(1500);
            for shim in shims.into_iter().flatten() {
                let stood = shim.stop();
                let counts = stood.counts;
                let lost = (counts.tracking_lost, counts.implausible);
                assert_eq!((counts.flows, lost), (1, (0, 0)), "{stood:?}");
                // A FIN that comes again after that, since its acknowledgment was lost, and the answer to it.
                assert!(counts.preexisting <= 4, "{stood:?}");
                assert!(counts.outages >= 1, "{stood:?}");
                assert_eq!(counts.survived, counts.outages, "{stood:?}");
                assert!(stood.flows.is_empty() && stood.memory.0 == 0, "{stood:?}");
            }
            path.running.stop().unwrap();
            time
        })
    };
    let arms = PathEnd::BOTH.map(|opens| [true, false].map(|shimmed| arm(shimmed, opens)));
    for arms in arms {
        let [shimmed, plain] = arms.map(|arm| arm.join().unwrap());
        // They are faster; other work on the machine may hit one arm more than the other.
        assert!(shimmed <= plain * 3 / 2 + Duration::from_secs(1), "{shimmed:?}, else {plain:?}");
    }
}

/// The shim is killed before the outage, in it, or while what was stored is sent again.
fn one_of_two_shims_is_killed() {
    let arms = [(PathEnd::Near, 400), (PathEnd::Far, 1000), (PathEnd::Near, 1450)];
    let arms = arms.map(|(killed, at)| {
        thread::spawn(move || {
            let path = path(22);
            let shim =
                RunningShim::start(path.running.end(killed.other()), &ShimSettings::default());
            let process = ShimProcess::start(path.running.end(killed));
            thread::scope(|scope| {
                let transfer = scope.spawn(|| transfer(&path, PathEnd::Near));
                path.sleep_until(millis(at));
                process.kill();
                transfer.join().unwrap();
            });
            nap(300);
            let stood = shim.stop();
            let counts = stood.counts;
            assert_eq!((counts.flows, counts.tracking_lost), (1, 0), "{stood:?}");
            assert!(stood.flows.is_empty() && stood.memory.0 == 0, "{stood:?}");
            path.running.stop().unwrap();
        })
    });
    arms.into_iter().for_each(|arm| arm.join().unwrap());
}
