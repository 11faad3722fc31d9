//! The `driftway` command.

#![forbid(unsafe_code)]

mod args;
mod bench;
mod check;
mod emulate;
mod failure;
mod files;
mod paper;
mod records;
mod report;
mod run;
mod runner;
mod shim;
mod sweep;
mod tables;
mod text;
mod aggregate;
mod validate;
mod terminal_width;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::failure::Failure;

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Run(args) => run::run(&args),
        Command::Check(args) => check::check(&args),
        Command::Emulate(args) => {
            return emulate::emulate(&args).unwrap_or_else(Failure::report);
        }
        Command::Guardian(args) => emulate::guard(&args),
        Command::Paper(args) => paper::paper(&args),
        Command::Report(args) => report::report(&args),
        Command::Shim(args) => shim::shim(&args),
        Command::Bench(args) => bench::bench(&args),
        Command::Sweep(args) => sweep::sweep(&args),
        Command::Validate(args) => validate::validate(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
