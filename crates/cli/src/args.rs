//! Command line.

use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::str::FromStr;

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, FromArgMatches, Parser, Subcommand, ValueEnum};
use driftway_experiment::study::shard::Shard;
use driftway_experiment::vary::Vary;
use driftway_scenario::{Size, Time};

use crate::assignment::assignment;
use crate::ctl::args::CtlArgs;
use crate::figures::options::FigureOptions;
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
    /// Check scenarios, studies and papers for errors, and summarise what they would run
    #[command(after_help = help!("check"))]
    Check(CheckArgs),
    /// Print a script by which a shell completes driftway's commands and options
    #[command(after_help = help!("completions"))]
    Completions(CompletionsArgs),
    /// Run programs over a scenario's network in real time, with the kernel's own TCP
    #[command(after_help = help!("emulate"))]
    Emulate(EmulateArgs),
    /// Look into a running emulation, run commands in its nodes, and change it
    #[command(after_help = help!("ctl"))]
    Ctl(CtlArgs),
    /// Process that cleans up after an emulation
    #[command(hide = true)]
    Guardian(GuardianArgs),
    /// First process of a node of an emulation
    #[command(hide = true)]
    NodeInit,
    /// Keep this host's TCP connections going through losses and outages, below its own TCP
    #[command(after_help = help!("shim"))]
    Shim(ShimArgs),
    /// Run a scenario or a study over varying parameters: a table, a page, CSV and Parquet
    #[command(after_help = help!("sweep"))]
    Sweep(SweepArgs),
    /// Compare all aids over all TCPs on your links, or on a list of networks: what helps where
    #[command(after_help = help!("compare"))]
    Compare(CompareArgs),
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
#[derive(Clone, Debug, Args)]
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
    #[command(flatten)]
    pub programs: ProgramArgs,
    /// Go on when a program fails within a second of its start
    #[arg(long)]
    pub keep_going: bool,
    /// Programs share the host's files, host name, processes and /sys
    #[arg(long)]
    pub share: bool,
    /// Lead what leaves the network from NODE over INTERFACE of the host
    #[arg(long, value_name = "NODE=INTERFACE", value_parser = assignment)]
    pub uplink: Option<(String, String)>,
    /// Give NODE a further ADDRESS; repeatable
    #[arg(long, value_name = "NODE=ADDRESS", value_parser = assignment)]
    pub address: Vec<(String, String)>,
    /// Carry Ethernet frames to neighbours; the nodes' kernels route
    #[arg(long)]
    pub ethernet: bool,
    /// Make a container behind a host interface NODE; repeatable
    #[arg(long, value_name = "NODE=INTERFACE", value_parser = assignment)]
    pub attach: Vec<(String, String)>,
    /// Write emulation.json, results.json, samples, scenario.toml to DIR
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write events-seed-N.csv to DIR: one row per event
    #[arg(long, requires = "out")]
    pub events: bool,
    /// Time between rows of positions in the event log
    #[arg(long, value_name = "TIME|off", default_value = "1 s", requires = "events")]
    pub positions: PositionInterval,
    /// Write frames and packets on wires to FILE, for Wireshark
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Command for the near end, with its arguments
    #[arg(last = true, required_unless_present = "at", value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// The programs of an emulation, in the order of the command line.
#[derive(Debug, Default)]
pub struct ProgramArgs {
    /// Those of `--far` and `--at`.
    pub programs: Vec<ProgramArg>,
    /// The start of COMMAND: what precedes every `--far` and `--at`.
    pub main: Start,
}

/// A program of `--far` or `--at`.
#[derive(Debug)]
pub struct ProgramArg {
    /// The node of `--at`; `None`: it is the program of `--far`.
    pub node: Option<OsString>,
    /// A line for the shell.
    pub line: OsString,
    /// Its start.
    pub start: Start,
}

/// Start and readiness of a program.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// Time of the scenario.
    pub after: Option<Time>,
    /// Its readiness; `None`: see `--help`.
    pub ready: Option<Readiness>,
}

/// Readiness of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// A socket has this port.
    Port(u16),
    /// This line for the shell succeeds.
    Line(OsString),
}

/// The options as clap reads them, without their order.
#[derive(Args)]
struct ProgramOptions {
    /// Shell command for the far end; started first, ended last
    #[arg(long, value_name = "COMMAND LINE")]
    far: Option<OsString>,
    /// Shell command for a node (number, name, near or far); repeatable
    #[arg(long, num_args = 2, value_names = ["NODE", "COMMAND LINE"], allow_hyphen_values = true)]
    at: Vec<OsString>,
    /// Readiness of the --far or --at before: its port, or a command
    #[arg(long, value_name = "LINE|PORT")]
    ready: Vec<OsString>,
    /// Start the --far or --at before, or else COMMAND, at TIME
    #[arg(long, value_name = "TIME", value_parser = Time::from_str)]
    after: Vec<Time>,
}

impl Args for ProgramArgs {
    fn augment_args(command: clap::Command) -> clap::Command {
        ProgramOptions::augment_args(command)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        ProgramOptions::augment_args_for_update(command)
    }
}

impl FromArgMatches for ProgramArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut read = Self::default();
        read.update_from_arg_matches(matches)?;
        Ok(read)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let ProgramOptions { far, at, ready, after } = ProgramOptions::from_arg_matches(matches)?;
        let places = |id: &str| matches.indices_of(id).into_iter().flatten().collect::<Vec<_>>();
        let mut programs = Vec::new();
        for (place, line) in places("far").into_iter().zip(far) {
            let program = ProgramArg { node: None, line, start: Start::default() };
            programs.push((place, program));
        }
        for (place, pair) in places("at").into_iter().step_by(2).zip(at.chunks(2)) {
            let [node, line] = pair else { continue };
            let (node, line) = (Some(node.clone()), line.clone());
            programs.push((place, ProgramArg { node, line, start: Start::default() }));
        }
        programs.sort_by_key(|(place, _)| *place);
        let mut main = Start::default();
        for (place, line) in places("ready").into_iter().zip(ready) {
            let start = start_before(place, &mut programs, &mut main);
            if start.ready.replace(Readiness::new(line)).is_some() {
                return Err(twice("--ready"));
            }
        }
        for (place, time) in places("after").into_iter().zip(after) {
            let start = start_before(place, &mut programs, &mut main);
            if start.after.replace(time).is_some() {
                return Err(twice("--after"));
            }
        }
        if main.ready.is_some() {
            let what = "--ready: it follows the --far or --at whose program has to be ready";
            return Err(clap::Error::raw(ErrorKind::ArgumentConflict, format!("{what}\n")));
        }
        self.main = main;
        self.programs = programs.into_iter().map(|(_, program)| program).collect();
        Ok(())
    }
}

/// The start of the last program before a place on the command line, or of COMMAND.
fn start_before<'a>(
    place: usize,
    programs: &'a mut [(usize, ProgramArg)],
    main: &'a mut Start,
) -> &'a mut Start {
    let before = programs.iter_mut().rfind(|(program, _)| *program < place);
    before.map_or(main, |(_, program)| &mut program.start)
}

fn twice(option: &str) -> clap::Error {
    let what = format!("{option}: it is given twice for one program\n");
    clap::Error::raw(ErrorKind::ArgumentConflict, what)
}

impl Readiness {
    /// A port from 1, or a line.
    fn new(text: OsString) -> Self {
        match text.to_str().and_then(|text| text.parse().ok()) {
            Some(port) if port > 0 => Self::Port(port),
            _ => Self::Line(text),
        }
    }
}

/// `driftway guardian`, the process that cleans up after an emulation
#[derive(Debug, Args)]
pub struct GuardianArgs {
    /// Interface whose forwarding is switched off at the end
    #[arg(long)]
    pub forwarding: Option<String>,
    /// File descriptors of the namespaces
    #[arg(required = true)]
    pub namespaces: Vec<i32>,
}

/// `driftway check`
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Scenarios, studies, folders of papers, paper:NAME[/FILE], paper:NAME#FIGURE/ARM/POINT
    #[arg(value_name = "FILE.toml", required_unless_present = "schema")]
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
    /// Print the JSON schema of scenarios, studies or papers, for editors
    #[arg(
        long,
        value_name = "KIND",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "scenario",
        conflicts_with_all = ["scenarios", "set", "show"]
    )]
    pub schema: Option<FileKind>,
}

/// Kind of a TOML file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FileKind {
    /// A scenario
    Scenario,
    /// A study
    Study,
    /// A paper
    Paper,
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
    /// A key and its values; repeatable; KEY,KEY=a:b,c:d varies keys together
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
    /// Perform the I-th of N parts of the runs, from 1; records go to DIR
    #[arg(long, value_name = "I/N", value_parser = Shard::from_str, requires = "out", conflicts_with_all = ["json", "figures"])]
    pub shard: Option<Shard>,
    /// Take the runs from the directories of all shards
    #[arg(long, value_name = "DIR", num_args = 1.., requires = "out", conflicts_with_all = ["shard", "fresh"])]
    pub merge: Vec<PathBuf>,
    /// Perform the runs on a Dask scheduler's workers, e.g. tcp://10.0.0.1:8786
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["shard", "merge"])]
    pub dask: Option<String>,
    /// Write the page, results.json, and tables as CSV and Parquet to DIR
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub figures_for_print: FigureOptions,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
}

/// `driftway compare`
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Scenarios of links; their first flow of TCP is compared
    #[arg(value_name = "SCENARIO.toml")]
    pub scenarios: Vec<PathBuf>,
    /// A network of the list; repeatable [default: all, without SCENARIO.toml]
    #[arg(long, value_name = "NAME")]
    pub network: Vec<String>,
    /// Run a part: of the list five networks, and fewer seeds
    #[arg(long)]
    pub quick: bool,
    /// Run it also with this machine's own TCP, in real time; needs root
    #[arg(long)]
    pub kernel: bool,
    /// Runs in parallel [default: one per processor; of the kernel, up to 24]
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub jobs: Option<NonZeroU64>,
    /// Repeat runs that are cached
    #[arg(long)]
    pub fresh: bool,
    /// Write index.html and results.json to DIR
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub figures_for_print: FigureOptions,
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
    #[arg(long, conflicts_with = "figures")]
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
    #[arg(long, conflicts_with_all = ["figure", "reading", "runs", "quick", "kernel", "out", "json", "figures"])]
    pub numbers: bool,
    /// Record the results (of --figure) in results.csv and the README
    #[arg(long, conflicts_with_all = ["reading", "runs", "quick", "kernel", "numbers"])]
    pub record: bool,
    #[command(flatten)]
    pub figures_for_print: FigureOptions,
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
    #[command(flatten)]
    pub figures_for_print: FigureOptions,
}

/// `driftway replay`
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// A folder of `run --out --events`, or a scenario to run; one or two
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
    /// The study [default: study.toml in studies/validation, or in its kernel]
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
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
}

fn at_least_one(text: &str) -> Result<NonZeroU64, String> {
    text.parse().map_err(|_| "expected a whole number, at least 1".to_owned())
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
    fn options_belong_to_the_program_before_them() {
        let line = "driftway emulate s.toml --after 1s --far f --ready 80 --at 1 a --after 2s \
                    --ready true -- c";
        let Command::Emulate(args) = Cli::parse_from(line.split_whitespace()).command else {
            panic!()
        };
        let ProgramArgs { programs, main } = args.programs;
        assert_eq!(main.after, Some("1 s".parse().unwrap()));
        let [far, at] = &programs[..] else { panic!("{programs:?}") };
        assert_eq!((&far.node, &far.start.after), (&None, &None));
        assert_eq!(far.start.ready, Some(Readiness::Port(80)));
        assert_eq!(at.start.after, Some("2 s".parse().unwrap()));
        assert_eq!(at.start.ready, Some(Readiness::Line("true".into())));
        for wrong in ["--ready 80 --far f -- c", "--far f --after 1s --after 1s -- c"] {
            let words = format!("driftway emulate s.toml {wrong}");
            assert!(Cli::try_parse_from(words.split_whitespace()).is_err(), "{wrong}");
        }
    }
}
