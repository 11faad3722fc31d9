//! `driftway shim` on the command line.

use clap::{Args, Subcommand, ValueEnum};
use scenario::{Size, Time};
use shim::{Config, Cwnd};

/// The longest name that an interface can have (bytes).
const NAME: usize = 15;

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
    /// Show what the shim of this network namespace does: its flows, and the kernel's view of them
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

Connections go on as plain TCP. One that was killed has left nothing behind: what it had put into
the kernel is bound to its process. If there is something nevertheless, this removes it.")]
    Stop,
}

/// `driftway shim` itself.
#[derive(Debug, Args)]
pub struct StartArgs {
    /// Carry only connections over this interface; can be given several times [default: all]
    #[arg(long, value_name = "NAME", value_parser = interface)]
    pub interface: Vec<String>,
    /// What the congestion window is to be after an outage
    #[arg(long, value_enum, default_value_t = Window::Keep)]
    pub cwnd: Window,
    /// Leave it to TCP what losses mean; only outages are survived
    #[arg(long)]
    pub no_undo_losses: bool,
    /// Make up no acknowledgment but the one that ends an outage
    #[arg(long)]
    pub no_undo_ack: bool,
    /// As a receiver, hold back the acknowledgment of two bytes, to wake up a sender without a shim
    /// when this host's link is back
    #[arg(long)]
    pub hold_back: bool,
    /// Hold the path for broken after N retransmissions without an answer [default: only signals
    /// say so]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub suspect_after: Option<u32>,
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
    #[arg(long, value_enum, default_value_t = Level::Info)]
    pub log: Level,
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
}

/// What becomes of the congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Window {
    /// What it was: the path is the same one
    Keep,
    /// One segment: the path may be a new one
    Reset,
}

/// How much is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Level {
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
                Window::Keep => Cwnd::Keep,
                Window::Reset => Cwnd::Reset,
            },
            probe_min,
            probe_max: probe_max.max(probe_min),
            suspect_after: self.suspect_after,
            ..Config::default()
        }
    }
}

fn interface(name: &str) -> Result<String, String> {
    let legal = |byte: u8| byte.is_ascii_graphic() && byte != b'/';
    match name {
        "lo" => Err("the loopback interface loses nothing, and is left alone".to_owned()),
        _ if name.is_empty() || name.len() > NAME || !name.bytes().all(legal) => {
            Err(format!("an interface's name has 1 to {NAME} letters, as in eth0"))
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
    fn what_is_given_arrives() {
        let config =
            read(&["--cwnd", "reset", "--store", "1 MB", "--suspect-after", "2", "--hold-back"]);
        let config = config.unwrap().config();
        assert!(config.hold_back);
        assert_eq!((config.cwnd, config.store), (Cwnd::Reset, 1_000_000));
        assert_eq!(config.suspect_after, Some(2));
        for wrong in [&["--interface", "lo"][..], &["--interface", "a/b"], &["--store", "7"]] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
