//! Tests against the running kernel: namespaces, TUN devices, its TCP.
//!
//! On a machine that does not meet the requirements each test is skipped by name, and the last line
//! counts them. Otherwise no test can be skipped: any error is a failure, if it is one again when the test runs alone.

/// The tests of a module with their names.
macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        pub const TESTS: &[crate::Test] =
            &[$((concat!(module_path!(), "::", stringify!($name)), $name)),*];
    };
}

mod agreement;
mod aids;
mod application;
mod attempts;
mod both_ends;
mod clock;
mod congested;
mod crowd;
mod cut_off;
mod echo;
mod emulate;
mod emulate_frames;
mod emulate_ipv6;
mod emulate_lab;
mod emulate_radio;
mod endings;
mod filter;
mod giving_up;
mod hangs;
mod hold_back;
mod kernel_counters;
mod large;
mod loopback;
mod many;
mod mobile_host;
mod namespaces;
mod no_harm;
mod on_path;
mod pair;
mod peer;
mod reuse_port;
mod route_events;
mod scripted;
mod shim_daemon;
mod shimmed;
mod stream_digest;
mod streams;
mod transfer;
mod trouble;
mod unseen;
mod untouched;
mod watched;
mod window_scale;
mod windows;
mod wired;
mod wrapping;
mod young;

use std::process::ExitCode;

use driftway_linux::check_requirements;
use libtest_mimic::{Arguments, Completion, Trial, run};

/// Name and function.
type Test = (&'static str, fn());

/// Tests that need no kernel, because they have stored transcripts of one.
const ANYWHERE: &[Test] = scripted::TESTS;

const MODULES: &[&[Test]] = &[
    // The long ones first.
    shim_daemon::TESTS,
    no_harm::TESTS,
    congested::TESTS,
    giving_up::TESTS,
    aids::TESTS,
    hold_back::TESTS,
    mobile_host::TESTS,
    hangs::TESTS,
    route_events::TESTS,
    cut_off::TESTS,
    wrapping::TESTS,
    large::TESTS,
    unseen::TESTS,
    many::TESTS,
    both_ends::TESTS,
    untouched::TESTS,
    watched::TESTS,
    window_scale::TESTS,
    reuse_port::TESTS,
    clock::TESTS,
    young::TESTS,
    emulate_lab::TESTS,
    emulate_radio::TESTS,
    emulate::TESTS,
    emulate_frames::TESTS,
    emulate_ipv6::TESTS,
    windows::TESTS,
    transfer::TESTS,
    endings::TESTS,
    trouble::TESTS,
    agreement::TESTS,
    loopback::TESTS,
    echo::TESTS,
    namespaces::TESTS,
];

fn main() -> ExitCode {
    if shimmed::is_shim_process() {
        return shimmed::run();
    }
    if many::is_part_process() {
        return many::run_part();
    }
    let name_of = |path: &'static str| path.trim_start_matches("kernel::");
    let anywhere = ANYWHERE.iter().map(|(path, test)| {
        let name = name_of(path);
        Trial::test(name, move || {
            attempts::run(name, *test);
            Ok(())
        })
    });
    let trials = MODULES.concat().into_iter().map(|(path, test)| {
        let name = name_of(path);
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
    let conclusion = run(&arguments, anywhere.chain(trials).collect());
    let ran = conclusion.num_passed + conclusion.num_failed;
    let repeated = attempts::repeated();
    println!("kernel tests: {ran} run, {} skipped{repeated}", conclusion.num_ignored);
    conclusion.exit_code()
}
