//! `driftway shim` on the command line.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use driftway_scenario::{Aid, Size, Time};
use driftway_shim::{Config, Shim};
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde_json::Value;

use crate::failure::Failure;

/// The longest name that an interface can have (bytes).
const MAX_INTERFACE_NAME: usize = 15;

/// `driftway shim`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct ShimArgs {
    /// What else
    #[command(subcommand)]
    pub command: Option<ShimCommand>,
    #[command(flatten)]
    pub start: StartArgs,
}

/// What to do with one that is at work.
#[derive(Debug, Subcommand)]
pub enum ShimCommand {
    /// Show what this namespace's shim does: its flows, and the kernel's view of them
    #[command(after_help = "\
Examples:
  driftway shim status
      a table of flows: the peer, the local port, the kernel's congestion window (segments) and
      retransmission timeout, bytes stored, reductions of the window undone, outages survived, and
      how long the kernel's TCP then waited (see time_to_resume_s); below that, what is untouched
  driftway shim status --watch
      the same, once a second, until it is interrupted
  driftway shim status --json | jq '.flows[] | select(.state != \"open\")'
      flows that have no path

In the JSON document every name ends with its unit. `kernel` is what the kernel says of the
connection (inet_diag), null if it has closed meanwhile. `time_to_resume_s` is the time from when a
probe left that found the path again (or this host's own link was back) until the kernel's TCP was
given the first new acknowledgment; it includes a round trip, and is null as long as there was no
outage with something to acknowledge. `unseen` counts the packets that go by without being shown to
the shim: IPv6 (ipv6_tcp, ipv6_other), udp (with the tunnels that use it), tunnels that IP has a
number for (in IPv4, GRE, IPsec, L2TP, MPLS), other protocols, and pieces of packets, made
(pieces_out) or put together (pieces_in) by the kernel. The kernel counts them.")]
    Status(StatusArgs),
    /// End the shim of this network namespace
    #[command(after_help = "\
Examples:
  driftway shim stop

Connections go on as plain TCP. One that does not end within two seconds, because it hangs or was
stopped, is killed. One that was killed has left nothing behind: what it had put into the kernel is
bound to its process. If there is something nevertheless, this removes it.")]
    Stop(StopArgs),
    /// What a shim starts for itself
    #[command(hide = true)]
    Watchdog(WatchdogArgs),
}

/// What helps a connection unless another is named.
const DEFAULT_AID: &str = "carry";
/// What is short for options of that one.
const CARRY_OPTIONS: [&str; 5] =
    ["cwnd", "no_undo_losses", "suspect_after", "probe_min", "probe_max"];

/// `driftway shim` itself.
#[derive(Debug, Args)]
pub struct StartArgs {
    /// What helps each connection: carry, atcp, tcp-f or cwnd-limit, as in a scenario
    #[arg(long, value_name = "NAME", default_value = DEFAULT_AID, conflicts_with_all = CARRY_OPTIONS)]
    pub aid: String,
    /// An option of the aid, as in a scenario; can be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = aid_option, conflicts_with_all = CARRY_OPTIONS)]
    pub aid_option: Vec<(String, String)>,
    /// Carry only connections over this interface; can be given several times [default: all]
    #[arg(long, value_name = "NAME", value_parser = interface)]
    pub interface: Vec<String>,
    /// What the congestion window is to be after an outage
    #[arg(long, value_enum, default_value_t = CwndAfterOutage::Keep)]
    pub cwnd: CwndAfterOutage,
    /// Leave it to TCP what losses mean; only outages are survived
    #[arg(long)]
    pub no_undo_losses: bool,
    /// Make up no acknowledgment but the one that ends an outage
    #[arg(long)]
    pub no_undo_ack: bool,
    /// As a receiver, hold back two bytes' acknowledgment, to wake up a sender later
    #[arg(long)]
    pub hold_back: bool,
    /// Suspect an outage after N unanswered retransmissions, or more if losses explain them
    ///
    /// With never, only signals say so.
    #[arg(long, value_name = "N|never", default_value = "2", value_parser = parse_suspect_after)]
    pub suspect_after: SuspectAfter,
    /// Least time between probes for a path
    #[arg(long, value_name = "TIME", default_value = "50 ms")]
    pub probe_min: Time,
    /// Time between probes once there has been none for two minutes
    #[arg(long, value_name = "TIME", default_value = "1 s")]
    pub probe_max: Time,
    /// Connections that are followed at most
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..))]
    pub flows: u32,
    /// What is stored at most
    #[arg(long, value_name = "SIZE", default_value = "64 MiB")]
    pub store: Size,
    /// What is stored at most for one connection
    #[arg(long, value_name = "SIZE", default_value = "4 MiB")]
    pub store_per_flow: Size,
    /// What is told on standard error
    #[arg(long, value_enum, default_value_t = LogLevel::Info)]
    pub log: LogLevel,
    /// Where to listen for questions [default: a file in /run/driftway]
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
}

/// `driftway shim status`
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Again once a second, until it is interrupted
    #[arg(long)]
    pub watch: bool,
    /// Print one JSON document instead of a table
    #[arg(long, conflicts_with = "watch")]
    pub json: bool,
    /// Where it listens, if not in /run/driftway
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
}

/// `driftway shim stop`
#[derive(Debug, Args)]
pub struct StopArgs {
    /// Where it listens, if not in /run/driftway
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
}

/// `driftway shim watchdog`, by which a shim starts its watchdog.
#[derive(Debug, Args)]
pub struct WatchdogArgs {
    /// The numbers of the user and the group that it runs as; none: as what it is
    #[arg(num_args = 2)]
    pub user: Vec<u32>,
}

/// What becomes of the congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CwndAfterOutage {
    /// What it was: the path is the same one
    Keep,
    /// One segment: the path may be a new one
    Reset,
}

/// How much is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    /// What ends it
    Error,
    /// What is not as it should be
    Warn,
    /// Outages, links, begin and end
    Info,
    /// More of each
    Debug,
}

impl StartArgs {
    /// The shim that is asked for.
    ///
    /// # Errors
    /// What is wrong with the aid's name or options.
    pub fn shim(&self) -> Result<Shim, Failure> {
        let config = self.config();
        let (Time(probe_min), Time(probe_max)) = (self.probe_min, self.probe_max);
        if probe_min > probe_max {
            let message =
                "--probe-min is longer than --probe-max: make one shorter or the other longer";
            return Err(Failure::Input(message.to_owned()));
        }
        if self.aid == DEFAULT_AID && self.aid_option.is_empty() {
            return Ok(Shim::new(config));
        }
        let aid = self.aid().map_err(|error| Failure::Input(format!("--aid: {error}")))?;
        if let Some([(short, less), (long, more)]) = aid.misordered_options() {
            let message = format!("--aid-option: {short} of {less} is longer than {long}, {more}");
            return Err(Failure::Input(message));
        }
        if aid.build(driftway_base::Duration::ZERO).is_none() {
            let message = "--aid none: a shim without an aid does nothing; leave it away";
            return Err(Failure::Input(message.to_owned()));
        }
        let make = move || aid.build(driftway_base::Duration::ZERO).expect("it was built before");
        Ok(Shim::with_aid(config, make))
    }

    /// The aid and its options, read as a scenario's.
    fn aid(&self) -> Result<Aid, serde_json::Error> {
        let name = ("name".to_owned(), Value::String(self.aid.clone()));
        let options = self.aid_option.iter().map(|(name, value)| {
            // Counts and switches are what they look like; all else is a word or a quantity.
            let plain = |value: &Value| value.is_u64() || value.is_boolean();
            let read = serde_json::from_str(value).ok().filter(plain);
            (name.clone(), read.unwrap_or_else(|| Value::String(value.clone())))
        });
        let pairs: Vec<_> = std::iter::once(name).chain(options).collect();
        Aid::deserialize(MapAccessDeserializer::new(MapDeserializer::new(pairs.into_iter())))
    }

    /// How the shim is to behave.
    pub fn config(&self) -> Config {
        let (Size(store), Size(store_per_flow)) = (self.store, self.store_per_flow);
        let (Time(probe_min), Time(probe_max)) = (self.probe_min, self.probe_max);
        let bytes = |bytes| usize::try_from(bytes).unwrap_or(usize::MAX);
        Config {
            flows: self.flows as usize,
            store: bytes(store),
            store_per_flow: bytes(store_per_flow),
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
            ..Config::default()
        }
    }
}

/// So many, or `None` for never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuspectAfter(pub Option<u32>);

fn parse_suspect_after(text: &str) -> Result<SuspectAfter, String> {
    match text {
        "never" => Ok(SuspectAfter(None)),
        _ => match text.parse() {
            Ok(n @ 1..) => Ok(SuspectAfter(Some(n))),
            _ => Err("a count from 1, or never".to_owned()),
        },
    }
}

fn aid_option(text: &str) -> Result<(String, String), String> {
    let (name, value) =
        text.split_once('=').ok_or("an option is NAME=VALUE, as in persist_min='1 s'")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn interface(name: &str) -> Result<String, String> {
    let legal = |byte: u8| byte.is_ascii_graphic() && byte != b'/';
    match name {
        "lo" => Err("the loopback interface loses nothing, and is left alone".to_owned()),
        _ if name.is_empty() || name.len() > MAX_INTERFACE_NAME || !name.bytes().all(legal) => {
            Err(format!("an interface's name has 1 to {MAX_INTERFACE_NAME} letters, as in eth0"))
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
    fn said_defaults_are_those_of_the_shim() {
        assert_eq!(read(&[]).unwrap().config(), Config::default());
    }

    #[test]
    fn every_aid_and_its_options_are_taken_as_scenarios_have_them() {
        let shim = |words: &[&str]| read(words).unwrap().shim();
        for name in ["carry", "atcp", "tcp-f", "cwnd-limit"] {
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
    fn a_mistake_about_the_aid_says_what_would_be_right() {
        let wrong = |words: &[&str]| match read(words).unwrap().shim() {
            Err(Failure::Input(message)) => message,
            other => panic!("{other:?}"),
        };
        let says = |words: &[&str], parts: &[&str]| {
            let message = wrong(words);
            assert!(parts.iter().all(|part| message.contains(part)), "{message}");
        };
        says(&["--aid", "actp"], &["unknown value `actp`", "did you mean `atcp`?"]);
        let option = |aid, option| ["--aid", aid, "--aid-option", option];
        says(&option("atcp", "persit_min=1 s"), &["unknown key", "did you mean `persist_min`?"]);
        says(&option("cwnd-limit", "segments=0"), &["`segments` of 0 out of range"]);
        says(
            &option("atcp", "persist_min=2 h"),
            &["persist_min of 7200 s is longer than persist_max"],
        );
        says(&["--aid", "none"], &["does nothing"]);
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
    fn what_is_given_arrives() {
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
