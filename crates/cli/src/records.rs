//! Event logs and captures, written while a simulation runs.

use std::io;
use std::path::Path;

use driftway_scenario::{Network, Scenario, Time};
use driftway_sim::Observers;
use driftway_sim::capture::Capture;
use driftway_sim::log::EventLog;
use driftway_sim::samples::{Samples, write_rows};
use driftway_sim::trace::Trace;

use crate::args::{PositionInterval, RunArgs};
use crate::failure::Failure;
use crate::files::{OutputDir, Staging};

/// Event logs and the capture that `driftway run` was asked for.
pub struct Records {
    /// Writes event logs to the output directory.
    events: bool,
    /// Time between the rows of positions in event logs.
    positions: PositionInterval,
    pcap: Option<(Staging, String)>,
}

/// Trace, samples, event log and capture of a run in progress.
#[derive(Default)]
pub struct RunRecords {
    pub trace: Option<Trace>,
    pub samples: Option<Samples>,
    pub log: Option<EventLog>,
    pub capture: Option<Capture>,
}

/// Trace and samples of a finished run, and the outcomes of writing its event log and capture.
pub struct FinishedRecords {
    pub trace: Option<Trace>,
    pub samples: Option<Samples>,
    log: Option<io::Result<()>>,
    capture: Option<io::Result<()>>,
}

impl Records {
    /// Checks the options, and opens the capture's directory, before the first run.
    ///
    /// # Errors
    /// A capture of several runs, or of a network that has neither wires nor frames of 802.11, or a file
    /// that cannot be written.
    pub fn open(args: &RunArgs, scenario: &Scenario) -> Result<Self, Failure> {
        let pcap = args.pcap.as_deref().map(|path| {
            let runs = args.runs.get();
            if runs > 1 {
                return Err(refused(
                    path,
                    &format!("a capture is of one run, not of {runs}"),
                    &format!("leave --runs out, and select the run with --seed {}", args.seed),
                ));
            }
            check_supported(path, scenario)?;
            open_capture(path)
        });
        Ok(Self { events: args.events, positions: args.positions, pcap: pcap.transpose()? })
    }

    /// Creates the recorders of a run that is about to start. Only traced runs have an event log.
    ///
    /// # Errors
    /// A file that cannot be created.
    pub fn start_run(
        &self,
        out: Option<&Staging>,
        scenario: &Scenario,
        seed: u64,
        traced: bool,
    ) -> Result<RunRecords, Failure> {
        let log = match out.filter(|_| traced && self.events) {
            Some(out) => {
                let log = EventLog::new(Box::new(out.create(&EventLog::file_name(seed))?));
                let PositionInterval(interval) = self.positions;
                Some(log.with_positions(interval.map(|Time(interval)| interval)))
            }
            None => None,
        };
        let capture = match &self.pcap {
            Some((staging, name)) => Capture::new(Box::new(staging.create(name)?), scenario, seed),
            None => None,
        };
        let samples = traced.then(Samples::default);
        Ok(RunRecords { trace: traced.then(Trace::default), samples, log, capture })
    }

    /// Adds the files of a successful run to the output.
    ///
    /// # Errors
    /// A file that could not be written.
    pub fn finish_run(
        &mut self,
        out: Option<&mut Staging>,
        seed: u64,
        done: FinishedRecords,
    ) -> Result<(), Failure> {
        if let (Some(out), Some(written)) = (out, done.log) {
            out.add_finished(&EventLog::file_name(seed), written)?;
        }
        if let (Some((staging, name)), Some(written)) = (&mut self.pcap, done.capture) {
            staging.add_finished(name, written)?;
        }
        Ok(())
    }

    /// Moves the capture into place.
    ///
    /// # Errors
    /// A capture that cannot be renamed.
    pub fn commit(self) -> Result<(), Failure> {
        self.pcap.map_or(Ok(()), |(staging, _)| staging.commit())
    }
}

impl RunRecords {
    /// Observers for the simulation.
    pub fn watch(&mut self) -> Observers<'_> {
        Observers {
            trace: self.trace.as_mut(),
            samples: self.samples.as_mut(),
            log: self.log.as_mut(),
            capture: self.capture.as_mut(),
        }
    }

    /// Flushes the files at the end of the run.
    pub fn finish(self) -> FinishedRecords {
        FinishedRecords {
            trace: self.trace,
            samples: self.samples,
            log: self.log.map(EventLog::finish),
            capture: self.capture.map(Capture::finish),
        }
    }
}

/// Adds the files of samples to the output: of links only if the network has any.
///
/// # Errors
/// A file that could not be written.
pub fn write_samples(staging: &mut Staging, seed: u64, samples: &Samples) -> Result<(), Failure> {
    if samples.link_rows().next().is_some() {
        let name = Samples::links_file_name(seed);
        staging.write(&name, |out| write_rows(samples.link_rows(), out))?;
    }
    let name = Samples::flows_file_name(seed);
    staging.write(&name, |out| write_rows(samples.flow_rows(), out))
}

/// Checks that a network can be captured in a file, which is written in place.
///
/// # Errors
/// A network that has neither wires nor frames of 802.11, or what is not a name of a file.
pub fn check_capture(path: &Path, scenario: &Scenario) -> Result<(), Failure> {
    check_supported(path, scenario)?;
    check_file_name(path).map(drop)
}

fn check_supported(path: &Path, scenario: &Scenario) -> Result<(), Failure> {
    if Capture::supports(scenario) {
        return Ok(());
    }
    let is_mixed = matches!(scenario.network, Network::Mixed(_));
    let table = if is_mixed { "network.air" } else { "network" };
    Err(refused(
        path,
        "this link layer's frames are not those of 802.11",
        &format!("give {table}.mac the kind \"dcf\""),
    ))
}

/// Help about `--pcap`.
const HELP: &str = "--pcap needs the name of a writable file, as in --pcap run.pcapng";

/// Opens the directory of the capture for writing; returns it with the file's name.
fn open_capture(path: &Path) -> Result<(Staging, String), Failure> {
    let (dir, name) = check_file_name(path)?;
    let staging = OutputDir::open(dir).and_then(|dir| dir.stage());
    let staging = staging.map_err(|failure| match failure {
        Failure::Failed(message) => refused(path, &message, HELP),
        other => other,
    });
    Ok((staging?, name.to_owned()))
}

/// Returns the directory and the name of a file that exists or can be created.
fn check_file_name(path: &Path) -> Result<(&Path, &str), Failure> {
    let help = HELP;
    let dir = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return Err(refused(path, "not a file name", help)),
    };
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return Err(refused(path, "not a file name", help));
    };
    // Renaming would replace it, whatever its type.
    if path.exists() && !path.is_file() {
        let what = if path.is_dir() { "is a directory" } else { "not a regular file" };
        return Err(refused(path, what, help));
    }
    if !dir.is_dir() {
        return Err(refused(path, &format!("no directory {}", dir.display()), help));
    }
    Ok((dir, name))
}

fn refused(path: &Path, what: &str, help: &str) -> Failure {
    Failure::Input(format!("--pcap {}: {what}\nhelp: {help}", path.display()))
}
