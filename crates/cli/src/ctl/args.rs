//! The arguments of `driftway ctl`.

use std::ffi::OsString;

use clap::{Args, Subcommand};
use driftway_scenario::Distance;

use super::protocol::Toggled;
use crate::assignment::assignment;

/// `driftway ctl`
#[derive(Debug, Args)]
pub struct CtlArgs {
    /// Process of the emulation, if several are running
    #[arg(long, value_name = "PID")]
    pub emulation: Option<u32>,
    /// The command.
    #[command(subcommand)]
    pub command: CtlCommand,
}

/// Subcommands of `driftway ctl`.
#[derive(Debug, Subcommand)]
pub enum CtlCommand {
    /// List the running emulations
    List {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Print queues, routes, positions, lateness and changes
    Status {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Run a command in a node
    Exec {
        /// Node: its number or name, near or far
        node: String,
        /// Command with its arguments
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    /// Set the rate, the delay or an error rate of links
    Set {
        /// A key of the scenario, as in network.link.rate='2 Mbit/s'
        #[arg(required = true, value_name = "KEY=VALUE", value_parser = assignment)]
        keys: Vec<(String, String)>,
    },
    /// Take a link or the radios of a node down
    Down {
        /// Kind
        what: Toggled,
        /// Number of the link from 1, or the node
        which: String,
    },
    /// Bring a link or radios up again
    Up {
        /// Kind
        what: Toggled,
        /// Number of the link from 1, or the node
        which: String,
    },
    /// Move a node with a radio to a position, where it stays
    Move {
        /// Node: its number or name, near or far
        node: String,
        /// Position (m)
        #[arg(allow_negative_numbers = true, value_parser = metres)]
        x: f64,
        /// Position (m)
        #[arg(allow_negative_numbers = true, value_parser = metres)]
        y: f64,
    },
}

/// A number of metres, or a distance with its unit.
fn metres(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|metres| metres.is_finite());
    number.map_or_else(|| text.parse().map(|Distance(metres)| metres), Ok)
}
