//! The command line.

use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};
use driftway_experiment::sweep::Vary;
use driftway_scenario::{Size, Time};

use crate::shim::args::ShimArgs;

/// TCP for networks that move: simulate, measure, and see.
#[derive(Debug, Parser)]
#[command(name = "driftway", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  driftway check scenarios/lossy-path.toml
  driftway run scenarios/lossy-path.toml --runs 10 --out results
  driftway report results
  driftway sweep scenarios/lossy-path.toml --vary network.link.delay=5ms,50ms
  driftway paper list

Exit status: 0 done; 1 the run failed, or a paper's verdict is not the recorded one; 2 the input
was wrong; 130 stopped by Ctrl-C.
`driftway COMMAND --help` says more and gives examples.")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Simulate a scenario with one seed or several
    #[command(after_help = "\
Examples:
  driftway run lossy-path.toml
      one run, seed 1, and a table
  driftway run lossy-path.toml --runs 20 --jobs 2
      seeds 1 to 20, two at a time: means with 90 % intervals
  driftway run lossy-path.toml --set network.link.rate='1 Mbit/s' --set flow.0.aid=atcp
      the same scenario with other values
  driftway run lossy-path.toml --runs 20 --out results && driftway report results
      keep results and traces, and draw them
  driftway run adhoc.toml --seed 3 --pcap run.pcapng
      one run of radios for Wireshark, frame by frame, with a comment on each packet that died
  driftway run adhoc.toml --out results --events && driftway report results
      what happened when and where, as one table, and plots of it
  driftway run paper:chandran-1998#7/timers-box --out results --events
      one run of a paper's figure, with what happened in it

In the JSON document every name ends with its unit: _s seconds, _bps bits per second, _bytes bytes
(1 kB = 1000 bytes), _ratio none. `ci90` and `ci95` are intervals of the mean (Student's t).
A run is a function of scenario, seed and version: --jobs never changes a result.")]
    Run(RunArgs),
    /// Check scenarios and say what they would run
    #[command(after_help = "\
Examples:
  driftway check lossy-path.toml
  driftway check scenarios/*.toml
  driftway check lossy-path.toml --show --set network.hops=8
      the file with every default written out, each key with its documentation
  driftway check lossy-path.toml --show=brief
      the same without documentation
  driftway check --schema > driftway.schema.json
      for an editor that completes and checks TOML files (Taplo, VS Code's Even Better TOML)

Reports each error with file, line and column, and runs nothing. docs/scenario.md lists all keys. Quantities carry their unit in the
value (\"32 kbit/s\", \"20 ms\", \"1 MB\"); only counts and ratios are bare numbers.")]
    Check(CheckArgs),
    /// Print a script by which a shell completes driftway's commands and options
    #[command(after_help = "\
Examples:
  driftway completions bash > ~/.local/share/bash-completion/completions/driftway
  driftway completions zsh > ~/.zfunc/_driftway
  driftway completions fish > ~/.config/fish/completions/driftway.fish")]
    Completions(CompletionsArgs),
    /// Run programs over a scenario's path in real time, with the kernel's own TCP
    #[command(after_help = "\
Examples:
  driftway emulate lossy-path.toml -- sh -c 'ping -c 10 $DRIFTWAY_REMOTE'
      round trips over the path
  driftway emulate lossy-path.toml --far 'iperf3 -s -1' -- sh -c 'iperf3 -c $DRIFTWAY_REMOTE'
      the kernel's TCP over it
  driftway emulate lossy-path.toml --set network.link.rate='1 Mbit/s' \\
        --far 'python3 -m http.server' -- sh -c 'curl -O http://$DRIFTWAY_REMOTE:8000/file'
      with another value; a server at the far end

Two network namespaces stand at the path's ends, with the scenario's links, faults and routers
between them and the random streams that `driftway run` has with this seed. COMMAND runs at node 0,
--far at the last node, both as root. Their environment has DRIFTWAY_LOCAL and DRIFTWAY_REMOTE, the
addresses here and there; nodes are 10.0.0.1, 10.0.0.2 … in the order of the path. COMMAND starts,
and with it the scenario's time, once somebody listens at the far end, or a second later; when it
ends, all that still runs at either end is ended. The scenario's flows do not run: the programs are
the traffic. The devices' MTU is the largest `mss` among them and 40 bytes. IPv4 only.

At the end it says on standard error (with --json on standard output, and COMMAND's output goes to
standard error) how late packets were, and whether that is too much: if one in a hundred was late
by more than a tenth of the shortest time of a full packet over any hop, do not trust the result.

Exit status: COMMAND's own, 128 and the signal's number if one ended it; 2 if the input was wrong,
or this machine lacks what it takes (root, /dev/net/tun, network namespaces).")]
    Emulate(EmulateArgs),
    /// What an emulation starts for itself
    #[command(hide = true)]
    Guardian(GuardianArgs),
    /// Carry this host's TCP connections over losses and outages, below its own TCP
    #[command(after_help = "\
Examples:
  driftway shim
      every new connection over IPv4 of this host, or of this network namespace, until Ctrl-C
  driftway shim --interface wlan0 --interface wwan0
      only what goes over these
  driftway shim --suspect-after never
      leave it to TCP where no router and no link says that the path is broken
  driftway shim --cwnd reset --no-undo-losses
      where the path after an outage is another one, and queues drop without marking
  driftway shim --aid atcp --aid-option persist_min='500 ms'
      with another aid than its own, with the options that scenarios have
  driftway shim status
  driftway shim stop

Neither programs nor kernel are changed, nor are routes, addresses or settings. The kernel shows
the shim each TCP packet below its own TCP; the shim keeps what is not acknowledged. While there
is no path (a router's ICMP or the host's own link say so) what is new is kept and the path is
probed; when it is back, what was lost is sent in order, and the window is what it was. What the
shim sends travels in packets that TCP is made to send: by the same mark, device, owner, through
the same firewall, and no other way (Linux 5.18).
Where nobody says so and the peer is silent for longer than the connection's losses explain, the
shim probes beside TCP, with at most a twentieth of what the connection carried (--suspect-after).
Losses that are not congestion are undone on connections that have agreed on ECN and timestamps
(sysctl net.ipv4.tcp_ecn=1 asks for it); on others only outages are handled. A path whose full
queues drop although the ends have agreed on ECN wants --no-undo-losses.

What decides is an aid, the same code that `driftway run` has above its own TCP: carry, unless
--aid names another. --cwnd, --no-undo-losses, --suspect-after, --probe-min and --probe-max are
short for options of carry. From below a foreign TCP an aid gets what can be had: to be held (what
is new is kept), to go on with the window that it had or with one segment, segments sent again,
a reduction taken back, one asked for (where ECN was agreed on), acknowledgments of what has
arrived. What it can't get is refused, and `driftway shim status` lists it by act: a hold or
resume with another window (hold, resume), a limit of the window (limit), another timeout (set
timer), what is not stored (resend), an undo while congestion is echoed or with nothing to undo
(undo), a reduction without ECN (cut), acknowledgments of what has not arrived (emit), and other
changes of segments (verdict). ATCP sees no timeout coming, because only the kernel knows its
timer; TCP-F's messages about routes are the news of this host's own links and routes.

If the shim ends, by whatever means, every connection goes on as plain TCP: what it has put into
the kernel is bound to its process. If it hangs, or somebody stops it, a watchdog, a second
process, kills it after 0.7 s; where that fails, new packets pass after a second. Whatever started
it should start it again (dist/driftway-shim.service). Connections that are older than the shim,
IPv6, UDP, and TCP options that it does not know pass untouched. A watchdog that ends is replaced,
after a second or more; where both hang at once, connections with packets in the queue wait for
`driftway shim stop`.

It needs CAP_NET_ADMIN and CAP_NET_RAW to begin, and keeps the first of them only. Started as
root, with CAP_SETUID and CAP_SETGID, it becomes the user `driftway`, or, if there is none, a user
that no other process has. With CAP_SYS_NICE it takes a nice value of -10, because every packet of
the host waits for it. A shim in a network namespace with a name (ip-netns(8)) ends when that is
deleted. Ctrl-Z does not stop it.

It has a table of nf_tables, `driftway`, as long as it works. A ruleset that was saved with it by
`nft list ruleset` can't be loaded again: leave the table out. A firewall has to let the shim's
packets through on the loopback interface, or connections get no help (`no_carrier` in the status).

Metrics for Prometheus are at a local socket, a file in /run/driftway (in /run/driftway/unit, if
systemd has started it) with the number of the network namespace in its name:
  namespace=$(stat -Lc %i /proc/self/ns/net)
  curl --unix-socket /run/driftway/shim-$namespace.sock http://localhost/metrics
Everybody may ask there, a few questions at a time. If you may not write to /run/driftway, name
another place with --socket, in a directory where nobody else may write.

A connection lasts as long as the kernel is patient: with data outstanding and no path for about a
quarter of an hour (net.ipv4.tcp_retries2), or for TCP_USER_TIMEOUT where the program sets it, it
ends with an error, as it would without the shim; one that the program has closed already after
about a hundred seconds (tcp_orphan_retries); one being opened after about two minutes
(tcp_syn_retries), or at once where a router reports it. The shim forgets it when the path is
back, or five minutes after the kernel last sent something. Keep-alives of a program are answered
by nobody while there is no path. Of IPv6, UDP, tunnels and pieces of packets nothing is changed;
`driftway shim status` counts them.

Exit status: 0 it was asked to end; 1 it failed; 2 the input was wrong, another shim is at work in
this network namespace, or this machine lacks what it takes (nf_tables and NFQUEUE, Linux 5.12).
Before Linux 5.18 it begins with a warning, and connections may get no help.")]
    Shim(ShimArgs),
    /// Run a scenario, or a study, over what varies: a table, a page, CSV and Parquet
    #[command(after_help = "\
Examples:
  driftway sweep lossy-path.toml --vary network.link.bit_error_rate=1e-6,1e-5,1e-4 --runs 10
      one axis: a column a point, means with 90 % intervals
  driftway sweep adhoc.toml --vary flow.0.tcp.window=4,8 \\
        --vary network.routing.protocol=static,aodv,dsr --runs 3 --out results
      three protocols, two windows: results/index.html, and tables for your own tools
  driftway sweep results/study.toml --fresh
      a study file, which names arms, axes and metrics; here the one that was just written

The first key whose values are numbers is the axis; the values of all others make the arms. A value
with a comma stands in quotes or brackets. Metrics are those of `driftway run --json`: of flows (the
sum, or of times and ratios the mean, over the flows), or of the network, as routing.packets_sent.

With --out: index.html; results.json; runs, flows and (with --step) steps as .csv and .parquet, a row
a run, a row a flow, a row a flow and step of time; the study and its scenarios, to be run again.

Each run is kept as soon as it is finished, in ~/.cache/driftway or where DRIFTWAY_CACHE says (`off`:
nowhere), by its scenario, seed, and the code that made it. Ctrl-C stops; the same command goes on
with what is missing, and gives the same bytes. --fresh makes all runs again.

Exit status: 0 done; 1 a run failed; 2 the input was wrong; 130 stopped by Ctrl-C.")]
    Sweep(SweepArgs),
    /// Reproduce a paper: its figures, and what it says
    #[command(after_help = "\
Examples:
  driftway paper list
      the papers there are
  driftway paper liu-singh-2001 --quick
      a part of it that takes a minute or two
  driftway paper liu-singh-2001 --out results
      all of it: tables and verdicts here, and a page with the figures in results/index.html
  driftway paper liu-singh-2001 --figure 8 --json
      one figure, and the statements about it, as one document
  driftway paper liu-singh-2001 --numbers
      every number that its README and its causes cite, beside what a run gives
  driftway paper liu-singh-2001 --kernel --quick
      as root: its figures by this machine's own TCP in real time, in a quarter of an hour

For each statement: what the paper says, what was measured, and whether they agree. A number in the
prose agrees if the 90 % interval meets it ± 10 % (± 5 points for percentages), an order or a trend
if the paired 90 % interval excludes zero in its direction, a band if the whole interval is in it.
Nothing else is tolerated. A transfer that does not complete counts with the time that it had, and
nothing agrees because of it. What the paper leaves open is read in several ways: each statement is
judged in each reading and counted there, the literal one first. What no aid could break is capped:
shown, and not counted.

Verdicts are recorded with the paper, for all its runs and for those of --quick, and so are its
results (results.csv). Where one comes out otherwise, the exit status is 1. With another --runs
nothing is recorded, and the exit status does not depend on verdicts.

NAME is looked for in ./papers, then among the papers built in; a directory with a paper.toml does
as well. --jobs never changes a result.

With --kernel each point is a transfer of this machine's own TCP over the scenario's path in real
time, as `driftway emulate` has it, without and with `driftway shim` in the sending namespace; the
lab runs the same scenarios with the same seeds beside it. Many runs go on at once (--jobs),
because each takes minutes and little else. One in which packets were late is repeated twice at
most, then told. Transfers that take longer than an hour do not complete. --quick ends transfers
early and runs the ends of each axis. No statement is judged: a kernel never does the same twice.")]
    Paper(PaperArgs),
    /// Draw results as one HTML page that needs no network
    #[command(after_help = "\
Examples:
  driftway run lossy-path.toml --runs 20 --out results && driftway report results
      one scenario: its tables, time-sequence plots and congestion windows
  for aid in none atcp; do for ber in 1e-6 1e-5 1e-4; do
    driftway run lossy-path.toml --runs 10 --out sweep/$aid-$ber \\
        --set flow.0.aid=$aid --set network.link.bit_error_rate=$ber
  done; done; driftway report sweep
      a set: completion time and throughput against what varies, one curve an aid")]
    Report(ReportArgs),
    /// Hold the lab against ns-2.35, ns-3 and theory
    #[command(after_help = "\
Examples:
  driftway validate --out results
      every case against the stored numbers: tables here, a page in results/index.html
  driftway validate mobile-aodv mobile-dsr --runs 5 --ns2
      two cases, five seeds, with ns-2.35 run beside us (Debian: apt-get install ns2)

The cases are the figures of a study, `studies/validation/study.toml` in driftway's sources; scenarios,
movement files and stored numbers stand beside it. A ratio is that of means over the seeds, ours over theirs, with Welch's 90 % interval. Where
nodes move, each movement file gives one log ratio, the mean over seeds of the logarithm of our
goodput less that of theirs, and the case agrees if the 90 % interval of their mean (Student's t over
the files) lies between ln 0.9 and ln 1.1. If a case that is judged differs, the exit status is 1.")]
    Validate(ValidateArgs),
    /// Measure how fast the lab is, beside ns-2.35 and from 50 to 5,000 nodes
    #[command(after_help = "\
Examples:
  driftway bench
      all of it; twenty minutes with ns-2.35, one run at a time
  driftway bench --runs 1

A row beside ns-2.35 counts if goodput and hop transmissions agree within 10 %. ns-2.35 runs without
traces. Without it (Debian: apt-get install ns2) that table is left out, unless --ns2 asks for it.")]
    Bench(BenchArgs),
}

/// Which scenario, with what changed.
#[derive(Debug, Args)]
pub struct ScenarioArgs {
    /// The scenario file, paper:NAME/FILE, or paper:NAME#FIGURE/ARM/POINT
    #[arg(value_name = "SCENARIO.toml")]
    pub scenario: PathBuf,
    /// Change a key, e.g. network.hops=8; flow=3 keeps the first 3 flows
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
    /// How many runs: seeds N, N+1, …
    #[arg(long, value_name = "N", default_value = "1", value_parser = at_least_one, allow_negative_numbers = true)]
    pub runs: NonZeroU64,
    /// How many runs at a time [default: one a processor]
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub jobs: Option<NonZeroU64>,
    /// Write results.json, scenario.toml and the first seed's traces there
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
    /// Trace every seed, not only the first
    #[arg(long, requires = "out")]
    pub trace: bool,
    /// Write events-seed-N.csv beside the traces: every event, one a row
    #[arg(long, requires = "out")]
    pub events: bool,
    /// Write each frame on the air there, for Wireshark; one run only
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
}

/// `driftway emulate`
#[derive(Debug, Args)]
pub struct EmulateArgs {
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// The seed of the path's random streams
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    pub seed: u64,
    /// What runs at the far end, a line for sh; started first, ended last
    #[arg(long, value_name = "COMMAND LINE")]
    pub far: Option<OsString>,
    /// Write emulation.json and scenario.toml there
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// What runs at the near end, with its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// `driftway guardian`, by which an emulation starts what clears up after it.
#[derive(Debug, Args)]
pub struct GuardianArgs {
    /// The file descriptors of the namespaces
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

/// How much `check --show` prints.
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
    /// A key of the scenario and its values; can be given several times
    #[arg(long, value_name = "KEY=a,b,c", value_parser = Vary::from_str)]
    pub vary: Vec<Vary>,
    /// Give a key another value in every run
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = assignment, requires = "vary")]
    pub set: Vec<(String, String)>,
    /// What is measured; can be given several times
    #[arg(long, value_name = "NAME", requires = "vary")]
    pub metric: Vec<String>,
    /// A row of time so often, in steps.csv and steps.parquet
    #[arg(long, value_name = "TIME", requires = "vary")]
    pub step: Option<Time>,
    /// Only this figure of the study; can be given several times
    #[arg(long, value_name = "N", conflicts_with = "vary")]
    pub figure: Vec<String>,
    /// Run a part: what the study names in [quick], else 2 runs of each axis' ends
    #[arg(long)]
    pub quick: bool,
    /// How many runs a point [default: 10, or as many as the study has]
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub runs: Option<NonZeroU64>,
    /// Runs at a time [default: 1 a processor]
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub jobs: Option<NonZeroU64>,
    /// Make runs again that were kept
    #[arg(long)]
    pub fresh: bool,
    /// Write the page, results.json, and tables as CSV and Parquet there
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
}

/// `driftway paper`
#[derive(Debug, Args)]
pub struct PaperArgs {
    /// The paper: `list` for all there are, a name, or a directory with a paper.toml
    #[arg(value_name = "list | NAME")]
    pub name: String,
    /// Only this figure; can be given several times
    #[arg(long, value_name = "N")]
    pub figure: Vec<String>,
    /// Only this reading of what the paper leaves open
    #[arg(long, value_name = "NAME", conflicts_with = "kernel")]
    pub reading: Option<String>,
    /// How many runs a point [default: as many as the paper has]
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub runs: Option<NonZeroU64>,
    /// Run a part: what its paper.toml names in [quick], or [kernel]
    #[arg(long)]
    pub quick: bool,
    /// Run it with this machine's own TCP, without and with the shim
    #[arg(long)]
    pub kernel: bool,
    /// Congestion control, can be repeated [default: cubic, reno]
    #[arg(long, value_name = "NAME", requires = "kernel")]
    pub congestion_control: Vec<String>,
    /// With a kernel: end each transfer after so much
    #[arg(long, value_name = "SIZE", requires = "kernel")]
    pub transfer: Option<Size>,
    /// Runs at a time [default: 1 a processor; with --kernel 80]
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub jobs: Option<NonZeroU64>,
    /// Make runs again that were kept
    #[arg(long)]
    pub fresh: bool,
    /// Write results.json, index.html, traces, the paper's files there
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Hold each number that its texts cite against what a run gives
    #[arg(long, conflicts_with_all = ["figure", "reading", "runs", "quick", "kernel", "out", "json"])]
    pub numbers: bool,
    /// Write results.csv and the README's tables beside the paper
    #[arg(long, conflicts_with_all = ["figure", "reading", "runs", "quick", "kernel", "numbers"])]
    pub record: bool,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
}

/// `driftway report`
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// What `run --out` wrote, or a directory of such directories
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
}

/// `driftway validate`
#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// The cases to run [default: all]
    #[arg(value_name = "CASE")]
    pub case: Vec<String>,
    /// How many runs a point [default: as many as the case has]
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub runs: Option<NonZeroU64>,
    /// Run ns-2.35 beside us instead of taking the stored numbers
    #[arg(long)]
    pub ns2: bool,
    /// How many runs at a time [default: one a processor]
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub jobs: Option<NonZeroU64>,
    /// Make runs again that were kept
    #[arg(long)]
    pub fresh: bool,
    /// The study whose figures are held against others
    #[arg(long, value_name = "STUDY.toml", default_value = "studies/validation/study.toml")]
    pub study: PathBuf,
    /// Write results.json and index.html there
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
}

/// `driftway bench`
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// How many runs of each
    #[arg(long, value_name = "N", default_value = "3", value_parser = at_least_one, allow_negative_numbers = true)]
    pub runs: NonZeroU64,
    /// Fail where there is no ns-2.35
    #[arg(long)]
    pub ns2: bool,
    /// The study whose figures are held against others
    #[arg(long, value_name = "STUDY.toml", default_value = "studies/validation/study.toml")]
    pub study: PathBuf,
}

fn at_least_one(text: &str) -> Result<NonZeroU64, String> {
    text.parse().map_err(|_| "what is wanted is a whole number, at least 1".to_owned())
}

fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("what is wanted is KEY=VALUE, as in network.hops=4".to_owned()),
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
    fn a_value_may_hold_an_equals_sign() {
        assert_eq!(assignment(" a.b = c=d").unwrap(), ("a.b".into(), "c=d".into()));
        assert!(assignment("a.b").is_err());
        assert!(assignment("=3").is_err());
    }
}
