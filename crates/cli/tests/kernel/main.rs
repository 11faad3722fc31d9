//! Tests of the command with the kernel: namespaces, TUN devices, programs at both ends of a path.
//!
//! On a machine that lacks a requirement each test is skipped by name, and the last line has their
//! number. Otherwise no test is skipped: every error is a failure, if it is one again when the test runs alone.

#[path = "../../../linux/tests/kernel/attempts.rs"]
mod attempts;
mod compare;
mod emulate;
mod emulate_devices;
mod emulate_results;
mod paper;
mod shim;
mod shim_robustness;
mod test_programs;
mod validate;

use std::process::ExitCode;

use driftway_linux::check_requirements;
use libtest_mimic::{Arguments, Completion, Trial, run};

fn main() -> ExitCode {
    if test_programs::is_program_role() {
        return test_programs::run_role();
    }
    let modules = [
        emulate::TESTS,
        emulate_devices::TESTS,
        emulate_results::TESTS,
        shim_robustness::TESTS,
        paper::TESTS,
        shim::TESTS,
        validate::TESTS,
        compare::TESTS,
    ];
    let trials = modules.concat().into_iter().map(|(name, test)| {
        Trial::ignorable_test(name, move || match check_requirements() {
            Ok(()) => {
                attempts::run(name, test);
                Ok(Completion::Completed)
            }
            Err(missing) => {
                println!("skipped {name}: {missing}");
                Ok(Completion::ignored_with(missing))
            }
        })
    });
    let mut arguments = Arguments::from_args();
    // They wait more than they compute.
    arguments.test_threads.get_or_insert(4);
    let conclusion = run(&arguments, trials.collect());
    let ran = conclusion.num_passed + conclusion.num_failed;
    let (skipped, repeated) = (conclusion.num_ignored, attempts::repeated());
    println!("kernel tests of the command: {ran} run, {skipped} skipped{repeated}");
    conclusion.exit_code()
}
