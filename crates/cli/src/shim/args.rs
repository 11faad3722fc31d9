//! Command line of `driftway shim`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};
use driftway_base::Duration;
use driftway_scenario::{Aid, Size, Time};
use driftway_shim::{Config, Shim};
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde_json::Value;

use crate::failure::Failure;
use crate::help::help;

/// Longest name of an interface (bytes), `IFNAMSIZ` - 1.
const MAX_INTERFACE_NAME: usize = 15;

/// `driftway shim`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct ShimArgs {
    /// Control a running shim
    #[command(subcommand)]
    pub command: Option<ShimCommand>,
    #[command(flatten)]
    pub start: StartArgs,
}

/// Subcommands for a running shim.
#[derive(Debug, Subcommand)]
pub enum ShimCommand {
    /// Show the flows of this namespace's shim, and the kernel's state of them
    #[command(after_help = help!("shim-status"))]
    Status(StatusArgs),
    /// Stop the shim of this network namespace
    #[command(after_help = help!("shim-stop"))]
    Stop(StopArgs),
    /// Watchdog process of a shim
    #[command(hide = true)]
    Watchdog(WatchdogArgs),
    /// Process that removes a shim's socket after its end
    #[command(hide = true)]
    Cleaner(CleanerArgs),
}

/// Default aid.
const DEFAULT_AID: &str = "carry";
/// Aids that have an effect on a host. The others rely on reports of an ad hoc network's routing (ELFN,
/// EPLN), or model a TCP of ns-2 (the partial ATCP).
const AIDS: [&str; 7] =
    [DEFAULT_AID, "atcp", "tcp-f", "cwnd-limit", "mobile-host", "three-dupacks", "freeze-tcp"];
/// Arguments that are short for options of the default aid.
const CARRY_OPTIONS: [&str; 5] =
    ["cwnd", "no_undo_losses", "suspect_after", "probe_min", "probe_max"];

/// Arguments of `driftway shim` without a subcommand
#[derive(Debug, Args)]
pub struct StartArgs {
    /// Aid of each connection, as in a scenario
    #[arg(
        long, value_name = "NAME", default_value = DEFAULT_AID, conflicts_with_all = CARRY_OPTIONS,
        value_parser = PossibleValuesParser::new(AIDS)
    )]
    pub aid: String,
    /// An option of the aid, as in a scenario; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = aid_option, conflicts_with_all = CARRY_OPTIONS)]
    pub aid_option: Vec<(String, String)>,
    /// Handle only connections over this interface; repeatable [default: all]
    #[arg(long, value_name = "NAME", value_parser = interface)]
    pub interface: Vec<String>,
    /// Congestion window after an outage
    #[arg(long, value_enum, default_value_t = CwndAfterOutage::Keep)]
    pub cwnd: CwndAfterOutage,
    /// Do not undo window reductions after losses; handle only outages
    #[arg(long)]
    pub no_undo_losses: bool,
    /// Do not generate acknowledgments, except the one that ends an outage
    #[arg(long)]
    pub no_undo_ack: bool,
    /// Withhold, as a receiver, the acknowledgment of two bytes, to wake up the sender later
    #[arg(long)]
    pub hold_back: bool,
    /// Suspect an outage after N unanswered retransmissions; on a lossy connection, after more
    ///
    /// With never, outages are detected by ICMP errors and link state only.
    #[arg(long, value_name = "N|never", default_value = "2", value_parser = parse_suspect_after)]
    pub suspect_after: SuspectAfter,
    /// Shortest time between probes for a path
    #[arg(long, value_name = "TIME", default_value = "50 ms", value_parser = probe_interval)]
    pub probe_min: Time,
    /// Time between probes after two minutes without a path
    #[arg(long, value_name = "TIME", default_value = "1 s", value_parser = probe_interval)]
    pub probe_max: Time,
    /// Maximum number of connections handled
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..))]
    pub flows: u32,
    /// Maximum size of the stored data
    #[arg(long, value_name = "SIZE", default_value = "64 MiB")]
    pub store: Size,
    /// Maximum size of the stored data per connection [default: 4 MiB, at most --store]
    #[arg(long, value_name = "SIZE")]
    pub store_per_flow: Option<Size>,
    /// Minimum severity of messages on standard error
    #[arg(long, value_enum, default_value_t = LogLevel::Info)]
    pub log: LogLevel,
    /// Socket for status requests [default: a file in /run/driftway]
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
}

/// `driftway shim status`
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Repeat once a second, until interrupted
    #[arg(long)]
    pub watch: bool,
    /// Print one JSON document instead of a table
    #[arg(long, conflicts_with = "watch")]
    pub json: bool,
    /// The shim's socket, if not in /run/driftway
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
}

/// `driftway shim stop`
#[derive(Debug, Args)]
pub struct StopArgs {
    /// The shim's socket, if not in /run/driftway
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
}

/// `driftway shim watchdog`, the process that a shim starts as its watchdog
#[derive(Debug, Args)]
pub struct WatchdogArgs {
    /// User ID and group ID to change to; by default they are not changed
    #[arg(num_args = 2)]
    pub user: Vec<u32>,
}

/// `driftway shim cleaner`
#[derive(Debug, Args)]
pub struct CleanerArgs {
    /// Path of the socket
    pub path: PathBuf,
    /// The process that started this one has ended
    #[arg(long)]
    pub detached: bool,
}

/// Congestion window after an outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CwndAfterOutage {
    /// The previous window: the path is the same
    Keep,
    /// One segment: the path may have changed
    Reset,
}

/// Severity of log messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    /// Fatal errors
    Error,
    /// Unexpected conditions
    Warn,
    /// Outages, link changes, start and end
    Info,
    /// Details of each
    Debug,
}

impl StartArgs {
    /// Builds the shim.
    ///
    /// # Errors
    /// Values that contradict each other, or an invalid option of the aid.
    pub fn shim(&self) -> Result<Shim, Failure> {
        let config = self.config();
        if let Some(per_flow) = self.store_per_flow.filter(|per_flow| per_flow.0 > self.store.0) {
            let store = self.store;
            let message = format!(
                "--store-per-flow {per_flow} is more than all connections may store: set it to at \
                 most {store}, or --store to {per_flow} or more"
            );
            return Err(Failure::Input(message));
        }
        let (Time(probe_min), Time(probe_max)) = (self.probe_min, self.probe_max);
        if probe_min > probe_max {
            let message =
                "--probe-min is longer than --probe-max: make one shorter or the other longer";
            return Err(Failure::Input(message.to_owned()));
        }
        if self.aid == DEFAULT_AID && self.aid_option.is_empty() {
            return Ok(Shim::new(config));
        }
        let aid = self.aid().map_err(|error| Failure::Input(format!("--aid-option: {error}")))?;
        if let Some([(short, less), (long, more)]) = aid.misordered_options() {
            let message = format!("--aid-option: {short} of {less} is longer than {long}, {more}");
            return Err(Failure::Input(message));
        }
        let make = move || aid.build(Duration::ZERO).expect("it is one of the list");
        Ok(Shim::with_aid(config, make))
    }

    /// Parses the aid and its options as in a scenario.
    fn aid(&self) -> Result<Aid, serde_json::Error> {
        let name = ("name".to_owned(), Value::String(self.aid.clone()));
        let options = self.aid_option.iter().map(|(name, value)| {
            // Counts and booleans are parsed; all other values are strings.
            let plain = |value: &Value| value.is_u64() || value.is_boolean();
            let read = serde_json::from_str(value).ok().filter(plain);
            (name.clone(), read.unwrap_or_else(|| Value::String(value.clone())))
        });
        let pairs: Vec<_> = std::iter::once(name).chain(options).collect();
        Aid::deserialize(MapAccessDeserializer::new(MapDeserializer::new(pairs.into_iter())))
    }

    /// Configuration of the shim.
    pub fn config(&self) -> Config {
        let (Time(probe_min), Time(probe_max)) = (self.probe_min, self.probe_max);
        let bytes = |Size(bytes)| usize::try_from(bytes).unwrap_or(usize::MAX);
        let defaults = Config::default();
        let store = bytes(self.store);
        Config {
            flows: self.flows as usize,
            store,
            store_per_flow: self.store_per_flow.map_or(defaults.store_per_flow.min(store), bytes),
            undo_losses: !self.no_undo_losses,
            undo_ack: !self.no_undo_ack,
            hold_back: self.hold_back,
            cwnd: match self.cwnd {
                CwndAfterOutage::Keep => driftway_shim::CwndAfterOutage::Keep,
                CwndAfterOutage::Reset => driftway_shim::CwndAfterOutage::Reset,
            },
            probe_min,
            probe_max,
            suspect_after: self.suspect_after.0,
            ..defaults
        }
    }
}

/// Number of unanswered retransmissions, or `None` for never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuspectAfter(pub Option<u32>);

fn parse_suspect_after(text: &str) -> Result<SuspectAfter, String> {
    match text {
        "never" => Ok(SuspectAfter(None)),
        _ => match text.parse() {
            Ok(n @ 1..=Config::MAX_SUSPECT_AFTER) => Ok(SuspectAfter(Some(n))),
            _ => Err(format!("expected a count from 1 to {}, or never", Config::MAX_SUSPECT_AFTER)),
        },
    }
}

fn probe_interval(text: &str) -> Result<Time, String> {
    let least = Time(Config::MIN_PROBE_INTERVAL);
    match text.parse() {
        Ok(interval @ Time(span)) if span >= least.0 => Ok(interval),
        Ok(_) => Err(format!("expected a time of at least {least}")),
        Err(error) => Err(error),
    }
}

fn aid_option(text: &str) -> Result<(String, String), String> {
    let (name, value) =
        text.split_once('=').ok_or("expected NAME=VALUE, as in persist_min='1 s'")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn interface(name: &str) -> Result<String, String> {
    let legal = |byte: u8| byte.is_ascii_graphic() && byte != b'/';
    match name {
        _ if name.contains(['*', '?']) => Err(
            "names of interfaces are not patterns: repeat --interface for each one, or leave it out \
             for all but the loopback interface"
                .to_owned(),
        ),
        "lo" => Err("the loopback interface is not supported: it loses no packets".to_owned()),
        _ if name.is_empty() || name.len() > MAX_INTERFACE_NAME || !name.bytes().all(legal) => {
            Err(format!(
                "expected an interface's name of 1 to {MAX_INTERFACE_NAME} characters, as in eth0"
            ))
        }
        _ => Ok(name.to_owned()),
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: StartArgs,
    }

    fn read(words: &[&str]) -> Result<StartArgs, clap::Error> {
        let words = [&["shim"], words].concat();
        <Line as clap::Parser>::try_parse_from(words).map(|line| line.args)
    }

    #[test]
    fn default_arguments_are_the_default_configuration() {
        assert_eq!(read(&[]).unwrap().config(), Config::default());
    }

    #[test]
    fn every_aid_and_its_options_are_accepted_as_in_scenarios() {
        let shim = |words: &[&str]| read(words).unwrap().shim();
        for name in AIDS {
            assert!(shim(&["--aid", name]).is_ok(), "{name}");
        }
        let given = ["--aid", "atcp", "--aid-option", "persist_min=1 s", "--aid-option"];
        for last in ["backoff=false", "resend=all", "tick = 100 ms"] {
            assert!(shim(&[&given[..], &[last]].concat()).is_ok(), "{last}");
        }
        assert!(shim(&["--aid", "cwnd-limit", "--aid-option", "segments=3"]).is_ok());
        assert!(shim(&["--aid-option", "cwnd=reset", "--aid-option", "probe_min=1 s"]).is_ok());
        assert!(shim(&[]).is_ok());
    }

    #[test]
    fn an_error_in_the_aid_says_what_is_valid() {
        let wrong = |words: &[&str]| match read(words).unwrap().shim() {
            Err(Failure::Input(message)) => message,
            other => panic!("{other:?}"),
        };
        let says = |words: &[&str], parts: &[&str]| {
            let message = wrong(words);
            assert!(parts.iter().all(|part| message.contains(part)), "{message}");
        };
        let option = |aid, option| ["--aid", aid, "--aid-option", option];
        says(&option("atcp", "persit_min=1 s"), &["unknown key", "did you mean `persist_min`?"]);
        says(&option("cwnd-limit", "segments=0"), &["`segments` of 0 out of range"]);
        says(
            &option("atcp", "persist_min=2 h"),
            &["persist_min of 7200 s is longer than persist_max"],
        );
        says(&["--probe-min", "5 s"], &["longer than --probe-max"]);
        for words in [
            &["--aid-option", "persist_min"][..],
            &["--aid", "atcp", "--cwnd", "reset"],
            &["--aid-option", "cwnd=keep", "--suspect-after", "3"],
        ] {
            assert!(read(words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn an_unknown_aid_is_refused_with_those_that_are_accepted() {
        let others = driftway_aid::registry::AIDS.iter().map(|listed| listed.name);
        let others = others.filter(|name| !AIDS.contains(name));
        let list = format!("[possible values: {}]", AIDS.join(", "));
        for name in others.chain(["none", "bogus"]) {
            let error = read(&["--aid", name]).unwrap_err().to_string();
            assert!(error.contains(&list), "{error}");
        }
        let error = read(&["--aid", "actp"]).unwrap_err().to_string();
        assert!(error.contains("'atcp'"), "{error}");
    }

    #[test]
    fn a_value_without_effect_is_refused_with_the_nearest_one_that_has() {
        for (words, says) in [
            (["--probe-min", "1 ns"], "at least 1 ms"),
            (["--probe-max", "999 us"], "at least 1 ms"),
            (["--suspect-after", "255"], "from 1 to 254, or never"),
            (["--interface", "*"], "leave it out for all but the loopback interface"),
            (["--interface", "eth?"], "repeat --interface"),
        ] {
            let error = read(&words).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        assert!(read(&["--probe-min", "1 ms", "--suspect-after", "254"]).is_ok());
    }

    #[test]
    fn the_store_of_a_connection_is_at_most_the_whole_one() {
        let shim = |words: &[&str]| read(words).unwrap().shim();
        match shim(&["--store-per-flow", "2 MiB", "--store", "1 MiB"]) {
            Err(Failure::Input(message)) => {
                assert!(message.contains("--store-per-flow") && message.contains("--store to"))
            }
            other => panic!("{other:?}"),
        }
        assert!(shim(&["--store-per-flow", "1 MiB", "--store", "1 MiB"]).is_ok());
        let config = read(&["--store", "1 MiB"]).unwrap().config();
        assert_eq!((config.store, config.store_per_flow), (1 << 20, 1 << 20));
    }

    #[test]
    fn arguments_reach_the_configuration() {
        let config =
            read(&["--cwnd", "reset", "--store", "1 MB", "--suspect-after", "2", "--hold-back"]);
        let config = config.unwrap().config();
        assert!(config.hold_back);
        assert_eq!((config.cwnd, config.store), (driftway_shim::CwndAfterOutage::Reset, 1_000_000));
        assert_eq!(config.suspect_after, Some(2));
        let suspects = |words: &[&str]| read(words).unwrap().config().suspect_after;
        assert_eq!(suspects(&["--suspect-after", "never"]), None);
        assert_eq!(suspects(&[]), Config::default().suspect_after);
        for wrong in [
            &["--interface", "lo"][..],
            &["--interface", "a/b"],
            &["--store", "7"],
            &["--suspect-after", "0"],
            &["--suspect-after", "always"],
        ] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
