//! Command line.

use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};
use driftway_experiment::study::shard::Shard;
use driftway_experiment::vary::Vary;
use driftway_scenario::{Size, Time};

use crate::help::help;
use crate::shim::args::ShimArgs;

/// Simulate, emulate and measure TCP over mobile networks.
#[derive(Debug, Parser)]
#[command(name = "driftway", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = help!("driftway"))]
pub struct Cli {
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// Subcommands of `driftway`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Simulate a scenario with one seed or several
    #[command(after_help = help!("run"))]
    Run(RunArgs),
    /// Check scenarios for errors, and summarise what they would run
    #[command(after_help = help!("check"))]
    Check(CheckArgs),
    /// Print a script by which a shell completes driftway's commands and options
    #[command(after_help = help!("completions"))]
    Completions(CompletionsArgs),
    /// Run programs over a scenario's network in real time, with the kernel's own TCP
    #[command(after_help = help!("emulate"))]
    Emulate(EmulateArgs),
    /// Process that cleans up after an emulation
    #[command(hide = true)]
    Guardian(GuardianArgs),
    /// Keep this host's TCP connections going through losses and outages, below its own TCP
    #[command(after_help = help!("shim"))]
    Shim(ShimArgs),
    /// Run a scenario or a study over varying parameters: a table, a page, CSV and Parquet
    #[command(after_help = help!("sweep"))]
    Sweep(SweepArgs),
    /// Reproduce a paper: its figures and its statements
    #[command(after_help = help!("paper"))]
    Paper(PaperArgs),
    /// Plot results on one self-contained HTML page
    #[command(after_help = help!("report"))]
    Report(ReportArgs),
    /// Show a run, or two beside each other, on a map and a time line: one self-contained HTML page
    #[command(after_help = help!("replay"))]
    Replay(ReplayArgs),
    /// Compare the simulator with ns-2.35, ns-3 and theory, and its TCP with the kernel's
    #[command(after_help = help!("validate"))]
    Validate(ValidateArgs),
    /// Measure the simulator's speed, against ns-2.35 and from 50 to 5,000 nodes
    #[command(after_help = help!("bench"))]
    Bench(BenchArgs),
}

/// A scenario, and the keys that are set to other values.
#[derive(Debug, Args)]
pub struct ScenarioArgs {
    /// The scenario file, paper:NAME/FILE, or paper:NAME#FIGURE/ARM/POINT
    #[arg(value_name = "SCENARIO.toml")]
    pub scenario: PathBuf,
    /// Set a key, e.g. network.hops=8; flow=3 keeps the first 3 flows
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = assignment)]
    pub set: Vec<(String, String)>,
}

/// `driftway run`
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    pub seed: u64,
    /// Number of runs: seeds N, N+1, …
    #[arg(long, value_name = "N", default_value = "1", value_parser = at_least_one, allow_negative_numbers = true)]
    pub runs: NonZeroU64,
    /// Runs in parallel [default: one per processor]
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub jobs: Option<NonZeroU64>,
    /// Write results.json, scenario.toml and the first seed's traces to DIR
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
    /// Trace every seed, not only the first
    #[arg(long, requires = "out")]
    pub trace: bool,
    /// Write events-seed-N.csv with the traces: one row per event
    #[arg(long, requires = "out")]
    pub events: bool,
    /// Time between rows of positions in event logs
    #[arg(long, value_name = "TIME|off", default_value = "1 s", requires = "events")]
    pub positions: PositionInterval,
    /// Write frames and packets on wires to FILE, for Wireshark; one run only
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
}

/// Time between the rows of positions; `None`: there are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PositionInterval(pub Option<Time>);

impl FromStr for PositionInterval {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self(None));
        }
        match text.parse() {
            Ok(Time(interval)) if interval.is_zero() => {
                Err("not a time above 0; \"off\" writes none".to_owned())
            }
            other => other.map(|interval| Self(Some(interval))),
        }
    }
}

/// `driftway emulate`
#[derive(Debug, Args)]
pub struct EmulateArgs {
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// The seed of the network's random streams
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    pub seed: u64,
    /// Shell command for the far end; started first, ended last
    #[arg(long, value_name = "COMMAND LINE")]
    pub far: Option<OsString>,
    /// Shell command for a node (number, name, near or far); repeatable
    #[arg(long, num_args = 2, value_names = ["NODE", "COMMAND LINE"], allow_hyphen_values = true)]
    pub at: Vec<OsString>,
    /// Write emulation.json and scenario.toml to DIR
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Command for the near end, with its arguments
    #[arg(last = true, required_unless_present = "at", value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// `driftway guardian`, the process that cleans up after an emulation
#[derive(Debug, Args)]
pub struct GuardianArgs {
    /// File descriptors of the namespaces
    #[arg(required = true)]
    pub namespaces: Vec<i32>,
}

/// `driftway check`
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Scenario files, paper:NAME/FILE, or paper:NAME#FIGURE/ARM/POINT
    #[arg(value_name = "SCENARIO.toml", required_unless_present = "schema")]
    pub scenarios: Vec<PathBuf>,
    /// Change a key in each of them, e.g. network.hops=8
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = assignment)]
    pub set: Vec<(String, String)>,
    /// Print each scenario with every default filled in, and with the documentation of each key
    #[arg(
        long,
        value_name = "FORM",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "full"
    )]
    pub show: Option<Show>,
    /// Print the JSON schema of scenario files, for editors
    #[arg(long, conflicts_with_all = ["scenarios", "set", "show"])]
    pub schema: bool,
}

/// Amount of output of `check --show`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Show {
    /// Keys, values and documentation
    Full,
    /// Keys and values
    Brief,
}

/// `driftway completions`
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell that reads the script
    pub shell: clap_complete::Shell,
}

/// `driftway sweep`
#[derive(Debug, Args)]
pub struct SweepArgs {
    /// A study, or a scenario together with --vary
    #[arg(value_name = "STUDY.toml | SCENARIO.toml")]
    pub file: PathBuf,
    /// A key of the scenario and its values; repeatable; KEY,KEY=a:b,c:d varies keys together
    #[arg(long, value_name = "KEY=a,b,c", value_parser = Vary::from_str)]
    pub vary: Vec<Vary>,
    /// Set a key in every run; repeatable
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = assignment)]
    pub set: Vec<(String, String)>,
    /// A metric to report; repeatable
    #[arg(long, value_name = "NAME", requires = "vary")]
    pub metric: Vec<String>,
    /// Time between the rows of steps.csv and steps.parquet
    #[arg(long, value_name = "TIME", requires = "vary")]
    pub step: Option<Time>,
    /// Run only this figure of the study; repeatable
    #[arg(long, value_name = "N", conflicts_with = "vary")]
    pub figure: Vec<String>,
    /// Run a part: the study's [quick], or 2 runs at the ends of each axis
    #[arg(long)]
    pub quick: bool,
    /// Runs per point [default: 10, or the study's]
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub runs: Option<NonZeroU64>,
    /// Runs in parallel [default: one per processor]
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub jobs: Option<NonZeroU64>,
    /// Repeat runs that are cached
    #[arg(long)]
    pub fresh: bool,
    /// Perform the I-th of N parts of the runs, from 1, and write their records to DIR
    #[arg(long, value_name = "I/N", value_parser = Shard::from_str, requires = "out", conflicts_with = "json")]
    pub shard: Option<Shard>,
    /// Take the runs from the directories of all shards
    #[arg(long, value_name = "DIR", num_args = 1.., requires = "out", conflicts_with_all = ["shard", "fresh"])]
    pub merge: Vec<PathBuf>,
    /// Perform the runs on the workers of a Dask scheduler, e.g. tcp://10.0.0.1:8786
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["shard", "merge"])]
    pub dask: Option<String>,
    /// Write the page, results.json, and tables as CSV and Parquet to DIR
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
}

/// `driftway paper`
#[derive(Debug, Args)]
pub struct PaperArgs {
    /// A paper's name, a directory with a paper.toml, or `list` for all papers
    #[arg(value_name = "list | NAME")]
    pub name: String,
    /// Run only this figure; repeatable
    #[arg(long, value_name = "N")]
    pub figure: Vec<String>,
    /// Run only this reading of the choices that the paper leaves open
    #[arg(long, value_name = "NAME", conflicts_with = "kernel")]
    pub reading: Option<String>,
    /// Runs per point [default: the paper's]
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub runs: Option<NonZeroU64>,
    /// Run a part: that of [quick], or of [kernel], in its paper.toml
    #[arg(long)]
    pub quick: bool,
    /// Run with this machine's own TCP, without and with the shim
    #[arg(long)]
    pub kernel: bool,
    /// A congestion control; repeatable [default: cubic, reno]
    #[arg(long, value_name = "NAME", requires = "kernel")]
    pub congestion_control: Vec<String>,
    /// End each transfer after SIZE
    #[arg(long, value_name = "SIZE", requires = "kernel")]
    pub transfer: Option<Size>,
    /// Runs in parallel [default: one per processor; with --kernel, 80]
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub jobs: Option<NonZeroU64>,
    /// Repeat runs that are cached
    #[arg(long)]
    pub fresh: bool,
    /// Write results.json, index.html, traces, the paper's files to DIR
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Compare each number cited in its texts with the value of a run
    #[arg(long, conflicts_with_all = ["figure", "reading", "runs", "quick", "kernel", "out", "json"])]
    pub numbers: bool,
    /// Record the results (of --figure) in results.csv and the README
    #[arg(long, conflicts_with_all = ["reading", "runs", "quick", "kernel", "numbers"])]
    pub record: bool,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
}

/// `driftway report`
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// A directory written by `run --out`, or one with such subdirectories
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
}

/// `driftway replay`
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// A directory written by `run --out --events`, or a scenario, which is run; one or two
    #[arg(value_name = "DIR | SCENARIO.toml", required = true, num_args = 1..=2)]
    pub runs: Vec<PathBuf>,
    /// The seed [default: a directory's first one with an event log; of a scenario 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Show the run from this time on
    #[arg(long, value_name = "TIME", default_value = "0 s")]
    pub from: Time,
    /// Show the run up to this time [default: to its end]
    #[arg(long, value_name = "TIME")]
    pub to: Option<Time>,
    /// The page to write
    #[arg(long, value_name = "FILE", default_value = "replay.html")]
    pub out: PathBuf,
}

/// `driftway validate`
#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// The cases to run, or with --kernel the paths [default: all]
    #[arg(value_name = "CASE")]
    pub case: Vec<String>,
    /// Runs per point [default: the case's]
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub runs: Option<NonZeroU64>,
    /// Run ns-2.35 as well, instead of using the stored numbers
    #[arg(long)]
    pub ns2: bool,
    /// Compare the presets of Linux with this machine's own TCP
    #[arg(long, conflicts_with_all = ["ns2", "out"])]
    pub kernel: bool,
    /// Run a part in five minutes, not forty
    #[arg(long, requires = "kernel")]
    pub quick: bool,
    /// Runs in parallel [default: one per processor; with --kernel, up to 80]
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub jobs: Option<NonZeroU64>,
    /// Repeat runs that are cached
    #[arg(long)]
    pub fresh: bool,
    /// The study with the cases [default: study.toml in studies/validation, or in its kernel]
    #[arg(long, value_name = "STUDY.toml")]
    pub study: Option<PathBuf>,
    /// Write results.json and index.html to DIR
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
}

/// `driftway bench`
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Runs of each case
    #[arg(long, value_name = "N", default_value = "3", value_parser = at_least_one, allow_negative_numbers = true)]
    pub runs: NonZeroU64,
    /// Fail if ns-2.35 is not installed
    #[arg(long)]
    pub ns2: bool,
    /// The study with the cases
    #[arg(long, value_name = "STUDY.toml", default_value = "studies/validation/study.toml")]
    pub study: PathBuf,
}

fn at_least_one(text: &str) -> Result<NonZeroU64, String> {
    text.parse().map_err(|_| "expected a whole number, at least 1".to_owned())
}

fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("expected KEY=VALUE, as in network.hops=4".to_owned()),
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn a_value_may_contain_an_equals_sign() {
        assert_eq!(assignment(" a.b = c=d").unwrap(), ("a.b".into(), "c=d".into()));
        assert!(assignment("a.b").is_err());
        assert!(assignment("=3").is_err());
    }
}
