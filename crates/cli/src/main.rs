//! The `driftway` command.

#![forbid(unsafe_code)]

mod args;
mod check;
mod failure;
mod files;
mod jobs;
mod paper;
mod report;
mod run;
mod summary;
mod tables;
mod text;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Run(args) => run::run(&args),
        Command::Check(args) => check::check(&args),
        Command::Paper(args) => paper::paper(&args),
        Command::Report(args) => report::report(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
