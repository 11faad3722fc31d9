//! One scripted peer, two arms: scripts drive driftway's TCP with the preset `linux` in virtual
//! time and the kernel's TCP in real time, and what both send is compared, segment by segment,
//! with their windows.
//!
//! A script contains no expected packets: the kernel's are the expectation. Where there is no
//! kernel to ask, they are read from the folder `transcripts`. `DRIFTWAY_BLESS=1` writes these
//! anew, and `DRIFTWAY_SCRIPT=name` runs the scripts whose name contains it and prints both arms
//! side by side.

mod arm;
mod checks;
mod compare;
mod differences;
mod kernel;
mod kernel_runs;
mod peer;
mod receiver;
mod record;
mod script;
mod scripts;
mod segment;
mod simulated;
mod transcript;

use checks::{a_transcript_is_read_as_it_was_written, each_kind_of_difference_is_found};
use compare::Comparison;
use driftway_linux::check_requirements;
use kernel_runs::ask_kernel;
use record::Record;
use script::Script;
use simulated::SimulatedArm;
use transcript::{Transcript, running_kernel};

tests![
    both_arms_send_the_same,
    each_kind_of_difference_is_found,
    a_transcript_is_read_as_it_was_written,
];

/// So few scripts that fail are run again: on a busy machine the kernel may be late where no step
/// shows it.
const FEW: usize = 4;
const ROUNDS: usize = 3;

fn both_arms_send_the_same() {
    let mut scripts = scripts::all();
    let names: Vec<_> = scripts.iter().map(|script| script.name).collect();
    let stale = differences::unknown_names(&names);
    assert!(stale.is_empty(), "differences of scripts that are not there: {stale:?}");
    if let Ok(wanted) = std::env::var("DRIFTWAY_SCRIPT") {
        scripts.retain(|script| script.name.contains(&wanted));
        assert!(!scripts.is_empty(), "no script has {wanted} in its name");
    }
    let mut failures: Vec<String> = scripts.iter().filter_map(compare_with_transcript).collect();
    if let Err(missing) = check_requirements() {
        assert!(!blesses(), "transcripts are written with root: {missing}");
    } else {
        failures.extend(compare_with_kernel(scripts));
    }
    assert!(failures.is_empty(), "{}\n{} failures", failures.join("\n"), failures.len());
}

/// Writes the kernels' transcripts anew.
fn blesses() -> bool {
    std::env::var_os("DRIFTWAY_BLESS").is_some()
}

/// Compares our arm with the transcript; a fault is returned. With a kernel of another version
/// than the transcript's, which may act otherwise, only the kernel counts.
fn compare_with_transcript(script: &Script) -> Option<String> {
    if blesses() {
        return None;
    }
    let Some(transcript) = Transcript::read(script) else {
        return Some(format!("{}: there is no transcript", script.name));
    };
    let is_alone = check_requirements().is_err();
    let fault = compare(script, &transcript.record, "transcript", is_alone);
    fault.filter(|_| is_alone || transcript.kernel == running_kernel())
}

/// Compares our arm with the running kernel.
fn compare_with_kernel(mut scripts: Vec<Script>) -> Vec<String> {
    let mut faults = Vec::new();
    for round in 1..=ROUNDS {
        let found: Vec<_> = scripts
            .iter()
            .zip(ask_kernel(&scripts))
            .filter_map(|(script, theirs)| {
                if blesses() {
                    let record = theirs.clone();
                    Transcript { kernel: running_kernel(), record }.write(script);
                }
                let name = format!("Linux {}", running_kernel());
                let fault = compare(script, &theirs, &name, true);
                fault.map(|fault| (script.clone(), fault))
            })
            .collect();
        (scripts, faults) = found.into_iter().unzip();
        if faults.is_empty() || faults.len() > FEW || round == ROUNDS || blesses() {
            break;
        }
    }
    faults
}

/// Runs our arm and compares it with `theirs`; what is not listed is returned with both arms side
/// by side. `shows`: both arms are printed if `DRIFTWAY_SCRIPT` asks for them.
fn compare(script: &Script, theirs: &Record, name: &str, shows: bool) -> Option<String> {
    let ours = arm::run(script, &mut SimulatedArm::new(script));
    let comparison = match script.is_paced() {
        true => Comparison::paced(&ours, theirs),
        false => Comparison::new(&ours, theirs),
    };
    let found = comparison.differences();
    let report = |verdict: &str| {
        let Script { name: script, about, .. } = script;
        let late = theirs.lateness;
        let table = comparison.side_by_side(["driftway", name]);
        format!("\n{script} ({about}), {late:.1} ms late\n{verdict}\n{table}")
    };
    let verdict = differences::judge(&found, &differences::known(script.name));
    if shows && std::env::var_os("DRIFTWAY_SCRIPT").is_some() {
        println!("{}", report(&format!("{found:?}")));
    }
    verdict.err().map(|fault| report(&fault))
}
