//! Command line.

use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};
use driftway_experiment::sweep::Vary;
use driftway_scenario::{Size, Time};

use crate::shim::args::ShimArgs;

/// Simulate, emulate and measure TCP over mobile networks.
#[derive(Debug, Parser)]
#[command(name = "driftway", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  driftway check scenarios/lossy-path.toml
  driftway run scenarios/lossy-path.toml --runs 10 --out results
  driftway report results
  driftway sweep scenarios/lossy-path.toml --vary network.link.delay=5ms,50ms
  driftway paper list

Exit status: 0 success; 1 a run failed, or a verdict on a paper differs from the recorded one;
2 invalid input; 130 interrupted by Ctrl-C.
`driftway COMMAND --help` has the details, with examples.")]
pub struct Cli {
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// Subcommands of `driftway`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Simulate a scenario with one seed or several
    #[command(after_help = "\
Examples:
  driftway run lossy-path.toml
      one run with seed 1, and a table of its results
  driftway run lossy-path.toml --runs 20 --jobs 2
      seeds 1 to 20, two runs at a time: means with 90 % confidence intervals
  driftway run lossy-path.toml --set network.link.rate='1 Mbit/s' --set flow.0.aid=atcp
      the same scenario with other values
  driftway run lossy-path.toml --runs 20 --out results && driftway report results
      write results and traces, and plot them
  driftway run adhoc.toml --seed 3 --pcap run.pcapng
      a capture of every frame sent in one run, for Wireshark; dropped packets have a comment
  driftway run adhoc.toml --out results --events && driftway report results
      a table of all events, with time and node, and plots made from it
  driftway run paper:chandran-1998#7/timers-box --out results --events
      one run of a paper's figure, with its events

In the JSON document every name ends with its unit: _s seconds, _bps bits per second, _bytes bytes
(1 kB = 1000 bytes), _ratio dimensionless. `ci90` and `ci95` are confidence intervals of the mean
(Student's t). Scenario, seed and version determine a run: --jobs never changes a result.")]
    Run(RunArgs),
    /// Check scenarios for errors, and summarise what they would run
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

Errors are reported with file, line and column; nothing is run. docs/scenario.md lists all keys.
Quantities carry their unit in the value (\"32 kbit/s\", \"20 ms\", \"1 MB\"); only counts and ratios
are bare numbers.")]
    Check(CheckArgs),
    /// Print a script by which a shell completes driftway's commands and options
    #[command(after_help = "\
Examples:
  driftway completions bash > ~/.local/share/bash-completion/completions/driftway
  driftway completions zsh > ~/.zfunc/_driftway
  driftway completions fish > ~/.config/fish/completions/driftway.fish")]
    Completions(CompletionsArgs),
    /// Run programs over a scenario's network in real time, with the kernel's own TCP
    #[command(after_help = "\
Examples:
  driftway emulate lossy-path.toml -- sh -c 'ping -c 10 $DRIFTWAY_REMOTE'
      round-trip times over the path
  driftway emulate lossy-path.toml --far 'iperf3 -s -1' -- sh -c 'iperf3 -c $DRIFTWAY_REMOTE'
      throughput of the kernel's TCP over the path
  driftway emulate lossy-path.toml --set network.link.rate='1 Mbit/s' \\
        --far 'python3 -m http.server' -- sh -c 'curl -O http://$DRIFTWAY_REMOTE:8000/file'
      a file transfer over the path with another link rate; the server is at the far end
  driftway emulate adhoc-aodv.toml --at 4 'iperf3 -s' \\
        --at 0 'iperf3 -c $DRIFTWAY_ADDRESS_4'
      throughput of the kernel's TCP between two of fifty moving nodes, with 802.11 and AODV
  driftway emulate adhoc-gateway.toml --at host 'iperf3 -s' \\
        --at n5 'iperf3 -c $DRIFTWAY_ADDRESS_host'
      from a node of an ad hoc network through its gateway to a wired host

Each node that runs a program is a network namespace with a kernel's TCP; the others are routers.
Between them are the scenario's links, radios, faults and routing, with the random streams that
`driftway run` uses for the same seed; nodes move by themselves. A path has the ends near, node 0,
and far, its last node; in another network they are the sender and the receiver of the first flow.
COMMAND runs at the near end, --far at the far end, and --at at any node, all as root; a node is a
number, in a mixed network also a name. Programs given for the same node share its namespace. Nodes
have the addresses 10.0.0.1, 10.0.0.2 … in order.
The environment variables DRIFTWAY_NODE and DRIFTWAY_LOCAL hold the number and the address of the
program's node, DRIFTWAY_ADDRESS_0, DRIFTWAY_ADDRESS_1 … the addresses of all nodes, in a mixed
network also by name (DRIFTWAY_ADDRESS_host; a hyphen of a name is an underscore), and at an end
DRIFTWAY_REMOTE that of the other end.

The emulation ends with COMMAND; without COMMAND, with the program of the last --at. This program
and the scenario's clock start as soon as a socket listens at the node of each other program, or
after one second. When it ends, all processes left at all nodes are terminated; other programs may
end before. The scenario's flows do not run: the programs are the traffic. The MTU of the devices
is the largest `mss` of the flows plus 40 bytes. IPv4 only; multicast and broadcast are not
forwarded.

At the end the lateness of packets is printed to standard error (with --json to standard output,
and COMMAND's output goes to standard error). Do not trust a result in which one packet in a
hundred was late by more than a tenth of the shortest time that a full packet takes over a link, or
with radios by more than 1 ms.

Exit status: that of the program with which the emulation ends, or 128 plus the number of the signal
that ended it; 2 if the input is invalid or the machine lacks a requirement (root, /dev/net/tun,
network namespaces).")]
    Emulate(EmulateArgs),
    /// Process that cleans up after an emulation
    #[command(hide = true)]
    Guardian(GuardianArgs),
    /// Keep this host's TCP connections going through losses and outages, below its own TCP
    #[command(after_help = "\
Examples:
  driftway shim
      every new IPv4 connection of this host, or of this network namespace, until Ctrl-C
  driftway shim --interface wlan0 --interface wwan0
      only connections over these interfaces
  driftway shim --suspect-after never
      detect outages by ICMP errors and link state only, not by missing acknowledgments
  driftway shim --cwnd reset --no-undo-losses
      for hosts whose path changes in an outage, and queues that drop packets instead of marking
  driftway shim --aid atcp --aid-option persist_min='500 ms'
      with another aid, and an option of it as in a scenario
  driftway shim status
  driftway shim stop

Programs, kernel, routes, addresses and settings are not changed. The kernel passes each TCP packet
to the shim below its own TCP, and the shim stores segments until they are acknowledged. While
there is no path (an ICMP error or the host's own link reports it), the shim holds new segments and
probes the path; when the path is restored, it retransmits lost segments in order, and the
congestion window is what it was. Packets of the shim are carried by packets that it causes the
kernel's TCP to send, and so have the same mark, device and owner and pass the same firewall rules
(Linux 5.18).
Where nothing reports an outage and the peer is silent for longer than the losses of the connection
explain, the shim sends probes of its own, at most a twentieth of the bytes that the connection
carried (--suspect-after). Window reductions after losses without congestion are undone on
connections that negotiated ECN and timestamps (sysctl net.ipv4.tcp_ecn=1 requests ECN); on others
only outages are handled. Where no router marks, a trial has to show first that losses do not come
more often without reductions. --no-undo-losses turns that off.

An aid makes the decisions, the same code that `driftway run` adds to its own TCP: carry, unless
--aid names another. --cwnd, --no-undo-losses, --suspect-after, --probe-min and --probe-max are
short for options of carry. Below the kernel's TCP an aid can hold new segments, resume with the
previous window or with one segment, retransmit segments, undo a window reduction, request one
(where ECN was negotiated), and acknowledge data that has arrived. Other actions are refused, and
`driftway shim status` counts them by action: hold or resume with another window (hold, resume),
limit the window (limit cwnd), set the response to a timeout (set timeout response), resend data
that is not stored (resend), undo while congestion is echoed or with nothing to undo (undo), reduce
the window without ECN (reduce cwnd), acknowledge data that has not arrived (send acks), and other
changes of segments (verdict).
ATCP cannot anticipate a timeout, because only the kernel knows its timer; the route messages of
TCP-F are this host's own link and route changes.

However the shim ends, every connection continues as plain TCP: the shim's kernel state is bound to
its process. If the shim hangs or is stopped, a second process, the watchdog, kills it after 0.7 s;
if that fails, new packets pass after one second. The service manager should then restart the shim
(dist/driftway-shim.service). Connections older than the shim, IPv6, UDP, and segments with unknown
TCP options pass untouched, and so does every connection until it is a second old or has carried 16
KiB: `driftway shim status` lists it from then on. A watchdog that ends is replaced after a second
or more; if both processes hang at once, connections with packets in the queue wait for `driftway
shim stop`.

The shim needs CAP_NET_ADMIN and CAP_NET_RAW to start, and keeps only the first of them. Started as
root, with CAP_SETUID and CAP_SETGID, it changes to the user `driftway` or, if there is none, to a
user ID that no other process has. With CAP_SYS_NICE it sets its nice value to -10, because every
packet of the host waits for it. A shim in a named network namespace (ip-netns(8)) ends when the
namespace is deleted. Ctrl-Z does not stop it. SIGHUP ends it as Ctrl-C does if it was started from
a terminal; without one, or under nohup(1), it is ignored, because there is no configuration file to
read again.

While it runs, there is an nf_tables table `driftway`. A ruleset that `nft list ruleset` saved with
this table cannot be loaded again: leave the table out. A firewall must let the shim's packets pass
on the loopback interface, or connections get no help (`no_carrier` in the status).

Metrics for Prometheus are served on a local socket, a file in /run/driftway (in /run/driftway/unit
if systemd started the shim) with the inode number of the network namespace in its name:
  namespace=$(stat -Lc %i /proc/self/ns/net)
  curl --unix-socket /run/driftway/shim-$namespace.sock http://localhost/metrics
Every user may connect, with a few requests at a time. If you may not write to /run/driftway, set
another path with --socket, in a directory where no other user may write.

A connection survives as long as the kernel retries. With data outstanding and no path it ends with
an error, as without the shim, after about a quarter of an hour (net.ipv4.tcp_retries2), or after
TCP_USER_TIMEOUT if the program sets it; a connection that the program has closed, after about a
hundred seconds (tcp_orphan_retries); one being opened, after about two minutes (tcp_syn_retries),
or at once if a router reports an error. The shim forgets a connection when the path is restored,
or five minutes after the kernel last sent a segment. Keep-alive probes of a program get no answer
while there is no path. IPv6, UDP, tunnels and IP fragments are not changed; `driftway shim status`
counts them.

Exit status: 0 terminated on request; 1 failure; 2 invalid input, another shim is running in this
network namespace, or the machine lacks a requirement (nf_tables and NFQUEUE, Linux 5.12). Before
Linux 5.18 the shim starts with a warning, and connections may get no help.")]
    Shim(ShimArgs),
    /// Run a scenario or a study over varying parameters: a table, a page, CSV and Parquet
    #[command(after_help = "\
Examples:
  driftway sweep lossy-path.toml --vary network.link.bit_error_rate=1e-6,1e-5,1e-4 --runs 10
      one axis: a column per point, means with 90 % confidence intervals
  driftway sweep adhoc.toml --vary flow.0.tcp.window=4,8 \\
        --vary network.routing.protocol=static,aodv,dsr --runs 3 --out results
      three protocols, two windows: results/index.html, and tables for your own tools
  driftway sweep results/study.toml --fresh
      a study file, which names arms, axes and metrics; here the one that was just written

The first key whose values are numbers is the axis; the values of the other keys make the arms. Put
a value that contains a comma in quotes or brackets. Metrics are those of `driftway run --json`, of
flows (the sum over the flows; for times and ratios the mean) or of the network, such as
routing.packets_sent.

With --out: index.html; results.json; runs, flows and (with --step) steps as .csv and .parquet, one
row per run, per flow, and per flow and time step; the study and its scenarios, to be run again.

Each finished run is cached in ~/.cache/driftway, or in DRIFTWAY_CACHE (`off`: no cache), under its
scenario, its seed, and the code that made it. Ctrl-C stops the sweep; the same command continues
with the missing runs and gives the same bytes. --fresh repeats all runs.

Exit status: 0 success; 1 a run failed; 2 invalid input; 130 interrupted by Ctrl-C.")]
    Sweep(SweepArgs),
    /// Reproduce a paper: its figures and its statements
    #[command(after_help = "\
Examples:
  driftway paper list
      the papers that are available
  driftway paper liu-singh-2001 --quick
      a part of it that takes a minute or two
  driftway paper liu-singh-2001 --out results
      all of it: tables and verdicts here, and a page with the figures in results/index.html
  driftway paper liu-singh-2001 --figure 8 --json
      one figure and the statements about it, as one JSON document
  driftway paper liu-singh-2001 --numbers
      every number cited in its README and its explanations, and the value that a run gives
  driftway paper liu-singh-2001 --kernel --quick
      as root: its figures with this machine's own TCP in real time, in a quarter of an hour

Each statement is printed with the paper's value, the measured value, and the verdict. A number in
the text agrees if the 90 % interval overlaps it ± 10 % (± 5 points for percentages), an order or a
trend if the paired 90 % interval excludes zero in its direction, a band if it contains the whole
interval. There is no other tolerance. A transfer that does not complete counts with the time that
it had, and no statement agrees because of it. Choices that the paper leaves open are made in
several readings: each statement is judged and counted in each reading, the literal one first. A
statement that would hold for any aid is capped: shown, but not counted.

Verdicts are recorded with the paper, for all its runs and for those of --quick, and so are its
results (results.csv). If one differs from the recorded one, the exit status is 1. With another
--runs nothing is recorded, and the exit status does not depend on verdicts.

NAME is searched for in ./papers, then among the built-in papers; a directory with a paper.toml is
accepted as well. --jobs never changes a result.

With --kernel each point is a connection of this machine's own TCP over the scenario's path in real
time, as in `driftway emulate`, without and with `driftway shim` in the sending namespace, or in
that of the paper's mobile host; the simulator runs the same scenarios with the same seeds. Many
runs go on at once (--jobs), because each takes minutes but little processor time; fewer if they
send all the time. A run with late packets is repeated at most twice, then reported. Transfers that
take longer than an hour do not complete. --quick ends runs early and runs the ends of each axis. No
statement is judged: kernel runs are not reproducible.")]
    Paper(PaperArgs),
    /// Plot results on one self-contained HTML page
    #[command(after_help = "\
Examples:
  driftway run lossy-path.toml --runs 20 --out results && driftway report results
      one scenario: tables, time-sequence plots and congestion windows
  for aid in none atcp; do for ber in 1e-6 1e-5 1e-4; do
    driftway run lossy-path.toml --runs 10 --out sweep/$aid-$ber \\
        --set flow.0.aid=$aid --set network.link.bit_error_rate=$ber
  done; done; driftway report sweep
      several: completion time and throughput against the varied key, one curve per aid")]
    Report(ReportArgs),
    /// Compare the simulator with ns-2.35, ns-3 and theory
    #[command(after_help = "\
Examples:
  driftway validate --out results
      every case against the stored numbers: tables here, a page in results/index.html
  driftway validate mobile-aodv mobile-dsr --runs 5 --ns2
      two cases, five seeds, with ns-2.35 run as well (Debian: apt-get install ns2)

The cases are the figures of a study, `studies/validation/study.toml` in driftway's sources, with
scenarios, movement files and stored numbers in the same directory. A ratio is driftway's mean over
the seeds divided by the other simulator's, with Welch's 90 % interval. Where nodes move, each
movement file gives one log ratio, the mean over seeds of the logarithm of driftway's goodput minus
that of the other's, and the case agrees if the 90 % interval of the mean log ratio (Student's t
over the files) lies between ln 0.9 and ln 1.1. If a judged case differs, the exit status is 1.")]
    Validate(ValidateArgs),
    /// Measure the simulator's speed, against ns-2.35 and from 50 to 5,000 nodes
    #[command(after_help = "\
Examples:
  driftway bench
      all measurements; twenty minutes with ns-2.35, one run at a time
  driftway bench --runs 1

A row of the comparison with ns-2.35 counts if goodput and hop transmissions agree within 10 %.
ns-2.35 runs without traces. If it is not installed (Debian: apt-get install ns2), its tables are
left out; with --ns2 that is an error.")]
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
    /// A key of the scenario and its values; repeatable
    #[arg(long, value_name = "KEY=a,b,c", value_parser = Vary::from_str)]
    pub vary: Vec<Vary>,
    /// Set a key in every run; repeatable
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = assignment, requires = "vary")]
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
    /// Record the results in the paper's results.csv and README tables
    #[arg(long, conflicts_with_all = ["figure", "reading", "runs", "quick", "kernel", "numbers"])]
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

/// `driftway validate`
#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// The cases to run [default: all]
    #[arg(value_name = "CASE")]
    pub case: Vec<String>,
    /// Runs per point [default: the case's]
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub runs: Option<NonZeroU64>,
    /// Run ns-2.35 as well, instead of using the stored numbers
    #[arg(long)]
    pub ns2: bool,
    /// Runs in parallel [default: one per processor]
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub jobs: Option<NonZeroU64>,
    /// Repeat runs that are cached
    #[arg(long)]
    pub fresh: bool,
    /// The study with the cases
    #[arg(long, value_name = "STUDY.toml", default_value = "studies/validation/study.toml")]
    pub study: PathBuf,
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
