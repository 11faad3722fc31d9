//! Tests of the command with the kernel: namespaces, TUN devices, programs at both ends of a path.
//!
//! On a machine that lacks a requirement each test is skipped by name, and the last line has their
//! number. Otherwise no test is skipped: every error is a failure.

mod emulate;
mod guard;
mod paper;
mod program;
mod shim;

use std::process::ExitCode;

use driftway_host::available;
use libtest_mimic::{Arguments, Completion, Trial, run};

fn main() -> ExitCode {
    if program::is_meant() {
        return program::run();
    }
    let modules = [emulate::TESTS, guard::TESTS, paper::TESTS, shim::TESTS];
    let trials = modules.concat().into_iter().map(|(name, test)| {
        Trial::ignorable_test(name, move || match available() {
            Ok(()) => {
                test();
                Ok(Completion::Completed)
            }
            Err(missing) => {
                println!("skipped {name}: {missing}");
                Ok(Completion::ignored_with(missing))
            }
        })
    });
    let conclusion = run(&Arguments::from_args(), trials.collect());
    let ran = conclusion.num_passed + conclusion.num_failed;
    println!("kernel tests of the command: {ran} run, {} skipped", conclusion.num_ignored);
    conclusion.exit_code()
}
