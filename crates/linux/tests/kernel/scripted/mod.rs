//! One scripted peer, two arms: scripts drive driftway's TCP with the preset `linux` in virtual
//! time and the kernel's TCP in real time, and what both send is compared, segment by segment,
//! with their windows.
//!
//! A script contains no expected packets: the kernel's are the expectation. Where there is no
//! kernel to ask, they are read from the folder `transcripts`. `DRIFTWAY_BLESS=1` writes these
//! anew, and `DRIFTWAY_SCRIPT=name` runs the scripts whose name contains it and prints both arms
//! side by side.

mod arm;
mod compare;
mod differences;
mod kernel;
mod peer;
mod receiver;
mod record;
mod script;
mod scripts;
mod segment;
mod simulated;
mod transcript;

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use compare::{Aspect, Comparison};
use driftway_linux::{RealClock, check_requirements, enable_realtime_scheduling};
use kernel::{KernelArm, Prepared};
use record::Record;
use script::Script;
use simulated::SimulatedArm;
use transcript::{Transcript, running_kernel};

tests![both_arms_send_the_same];

/// A run with a step that is later than this is repeated (ms): the kernel's timers have expired
/// that much earlier, relative to the step, and two acknowledgments are that much further apart.
const LATE: f64 = 0.9;
/// Attempts, and the time after which there is no other.
const ATTEMPTS: usize = 6;
const PATIENCE: Duration = Duration::from_secs(20);
/// Time between the starts of two scripts, which spreads their work.
const STAGGER: Duration = Duration::from_millis(7);

fn both_arms_send_the_same() {
    let wanted = std::env::var("DRIFTWAY_SCRIPT").ok();
    let blesses = std::env::var_os("DRIFTWAY_BLESS").is_some();
    let mut scripts = scripts::all();
    let names: Vec<_> = scripts.iter().map(|script| script.name).collect();
    scripts.retain(|script| wanted.as_ref().is_none_or(|wanted| script.name.contains(wanted)));
    assert!(!scripts.is_empty(), "no script has {wanted:?} in its name");
    let stale = differences::unknown_names(&names);
    assert!(stale.is_empty(), "differences of scripts that are not there: {stale:?}");
    let live = check_requirements().is_ok();
    let kernels: Vec<Option<Record>> =
        if live { ask_kernel(&scripts) } else { scripts.iter().map(|_| None).collect() };

    let mut failures = Vec::new();
    for (script, theirs) in scripts.iter().zip(kernels) {
        if let Some(record) = &theirs
            && blesses
        {
            Transcript { kernel: running_kernel(), record: record.clone() }.write(script);
        }
        let stored = Transcript::read(script);
        let ours = arm::run(script, &mut SimulatedArm::new(script));
        let mut records = Vec::new();
        match (theirs, stored) {
            (None, None) => failures.push(format!("{}: no transcript", script.name)),
            (None, Some(stored)) => records.push(("transcript", stored.record)),
            (Some(theirs), stored) => {
                records.push(("kernel", theirs));
                match stored {
                    // Of the same kernel: it must say the same.
                    Some(stored) if stored.kernel == running_kernel() => {
                        records.push(("transcript", stored.record));
                    }
                    Some(_) => {}
                    None => failures.push(format!("{}: no transcript", script.name)),
                }
            }
        }
        for (source, theirs) in &records {
            let comparison = Comparison::new(&ours, theirs);
            let late = theirs.lateness;
            let title = format!("{} ({})", script.name, script.about);
            let table = comparison.side_by_side(["driftway", source]);
            if wanted.is_some() && *source != "transcript" {
                println!("\n{title}\n{:?}\n{table}", comparison.differences());
            }
            if let Err(fault) = judge(script, &comparison.differences()) {
                failures.push(format!("{title}: {fault}, {late:.1} ms late\n{table}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}\n{} failures", failures.join("\n"), failures.len());
}

/// Compares the differences that were found with those that are listed.
fn judge(script: &Script, found: &[(Aspect, u64)]) -> Result<(), String> {
    let mut known = differences::known(script.name);
    known.sort_unstable();
    let of = |from: &[(Aspect, u64)], others: &[(Aspect, u64)]| {
        from.iter().copied().filter(|one| !others.contains(one)).collect::<Vec<_>>()
    };
    let (new, gone) = (of(found, &known), of(&known, found));
    if new.is_empty() && gone.is_empty() {
        return Ok(());
    }
    Err(format!("new differences {new:?}, listed but not found {gone:?}"))
}

/// Runs all scripts with the kernel's TCP, at the same time.
fn ask_kernel(scripts: &[Script]) -> Vec<Option<Record>> {
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
        arms.into_iter().map(|arm| Some(arm.join().expect("no panic"))).collect()
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
