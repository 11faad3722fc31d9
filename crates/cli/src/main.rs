//! The `driftway` command.

#![forbid(unsafe_code)]

mod aggregate;
mod args;
mod assignment;
mod bench;
mod check;
mod compare;
mod ctl;
mod dask;
mod emulate;
mod exit_status;
mod failure;
mod figures;
mod files;
mod flow_names;
mod help;
mod kernel;
mod output;
mod page;
mod paper;
mod records;
mod replay;
mod report;
mod result_dirs;
#[cfg(test)]
mod results_reference;
mod run;
mod runner;
mod shim;
mod short_queue;
mod sweep;
mod tables;
mod terminal_width;
mod text;
mod validate;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::args::{Cli, Command};
use crate::failure::Failure;

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Run(args) => run::run(&args),
        Command::Check(args) => check::check(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Completions(args) => completions(args.shell),
        Command::Emulate(args) => {
            return emulate::emulate(&args).unwrap_or_else(Failure::report);
        }
        Command::Ctl(args) => return ctl::ctl(&args).unwrap_or_else(Failure::report),
        Command::Guardian(args) => emulate::guard(&args),
        Command::NodeInit => emulate::node_init(),
        Command::Paper(args) => paper::paper(&args),
        Command::Replay(args) => replay::replay(&args),
        Command::Report(args) => report::report(&args),
        Command::Shim(args) => shim::shim(&args),
        Command::Bench(args) => bench::bench(&args),
        Command::Sweep(args) => sweep::sweep(&args),
        Command::Validate(args) => validate::validate(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// A command without its hidden subcommands, which clap_complete would offer.
fn without_hidden(command: &clap::Command) -> clap::Command {
    let shown = command.get_subcommands().filter(|inner| !inner.is_hide_set());
    clap::Command::new(command.get_name().to_owned())
        .about(command.get_about().cloned().unwrap_or_default())
        .args(command.get_arguments().cloned())
        .subcommands(shown.map(without_hidden))
}

/// Prints the script by which `shell` completes this command.
fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    use std::io::Write;
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut without_hidden(&Cli::command()), "driftway", &mut script);
    anstream::stdout().lock().write_all(&script)?;
    Ok(())
}
