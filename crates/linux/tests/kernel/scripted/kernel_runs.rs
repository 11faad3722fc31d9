//! Runs of all scripts with the kernel's TCP, at the same time.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use driftway_linux::{RealClock, enable_realtime_scheduling};

use super::arm;
use super::kernel::{self, KernelArm, Prepared};
use super::record::Record;
use super::script::Script;

/// A run with a step that is later than this is repeated (ms): the kernel's timers have expired
/// that much earlier, relative to the step, and two acknowledgments are that much further apart.
const LATE: f64 = 0.9;
/// Attempts, and the time after which there is no other.
const ATTEMPTS: usize = 6;
const PATIENCE: Duration = Duration::from_secs(20);
/// Time between the starts of two scripts, which spreads their work.
const STAGGER: Duration = Duration::from_millis(7);

/// Runs all scripts with the kernel's TCP, at the same time.
pub fn ask_kernel(scripts: &[Script]) -> Vec<Record> {
    let ready = Barrier::new(scripts.len());
    thread::scope(|scope| {
        let ready = &ready;
        let arms: Vec<_> = (0..)
            .zip(scripts)
            .map(|(number, script)| {
                scope.spawn(move || {
                    let wait = || {
                        ready.wait();
                        thread::sleep(STAGGER * number);
                    };
                    run_with_kernel(script, wait)
                })
            })
            .collect();
        arms.into_iter().map(|arm| arm.join().expect("no panic")).collect()
    })
}

/// Runs a script after `wait`, and again while a step is late.
fn run_with_kernel(script: &Script, wait: impl Fn() + Send) -> Record {
    let mut best: Option<Record> = None;
    let clock = RealClock::start();
    for attempt in 0..ATTEMPTS {
        let namespace = kernel::namespace(script);
        let prepared = namespace.as_ref().map(|namespace| namespace.run(|| Prepared::new(script)));
        // Errors are reported after it, so that nobody waits for this script in vain.
        if attempt == 0 {
            wait();
        }
        let prepared = prepared.expect("a namespace").expect("a thread").expect("a device");
        let run = || {
            enable_realtime_scheduling();
            let mut arm = KernelArm::start(prepared).expect("a connection of the kernel");
            arm::run(script, &mut arm)
        };
        let record = namespace.expect("it is there").run(run).expect("a thread");
        if best.as_ref().is_none_or(|best| record.lateness < best.lateness) {
            best = Some(record);
        }
        let is_late = clock.now().as_millis() > PATIENCE.as_millis() as u64;
        if is_late || best.as_ref().is_some_and(|best| best.lateness < LATE) {
            break;
        }
    }
    best.expect("at least one attempt")
}
