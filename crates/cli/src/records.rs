//! What runs write while they go: event logs and a capture.

use std::io;
use std::path::Path;

use driftway_scenario::{Network, Scenario};
use driftway_sim::Observers;
use driftway_sim::capture::Capture;
use driftway_sim::log::EventLog;
use driftway_sim::trace::Trace;

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::files::{OutputDir, Staging};

/// Where it goes.
pub struct Records {
    /// Event logs go where all results go.
    events: bool,
    pcap: Option<(Staging, String)>,
}

/// What is kept of one run beside its result.
#[derive(Default)]
pub struct RunRecords {
    pub trace: Option<Trace>,
    pub log: Option<EventLog>,
    pub capture: Option<Capture>,
}

/// What became of it.
pub struct FinishedRecords {
    pub trace: Option<Trace>,
    log: Option<io::Result<()>>,
    capture: Option<io::Result<()>>,
}

impl Records {
    /// Tries, before the work begins, whether what is asked for can be.
    ///
    /// # Errors
    /// A capture of several runs or of a network without an air, or a file that can't be written.
    pub fn open(args: &RunArgs, scenario: &Scenario) -> Result<Self, Failure> {
        let pcap = args.pcap.as_deref().map(|path| {
            let runs = args.runs.get();
            if runs > 1 {
                return Err(refused(
                    path,
                    &format!("a capture is of one run, and --runs {runs} makes {runs}"),
                    &format!("leave --runs out, and choose the run with --seed {}", args.seed),
                ));
            }
            if !Capture::supports(scenario) {
                let (what, help) = match &scenario.network {
                    Network::Path(_) => (
                        "there is no air on a path",
                        "a capture shows the frames of a network of kind \"adhoc\"",
                    ),
                    Network::Adhoc(_) => (
                        "this link layer's frames are not those of 802.11",
                        "give network.mac the kind \"dcf\"",
                    ),
                };
                return Err(refused(path, what, help));
            }
            open_capture(path)
        });
        Ok(Self { events: args.events, pcap: pcap.transpose()? })
    }

    /// For a run that is about to begin. Only a run that is traced has a log.
    ///
    /// # Errors
    /// A file can't be made.
    pub fn start_run(
        &self,
        out: Option<&Staging>,
        scenario: &Scenario,
        seed: u64,
        traced: bool,
    ) -> Result<RunRecords, Failure> {
        let log = match out.filter(|_| traced && self.events) {
            Some(out) => Some(EventLog::new(Box::new(out.create(&EventLog::file_name(seed))?))),
            None => None,
        };
        let capture = match &self.pcap {
            Some((staging, name)) => Capture::new(Box::new(staging.create(name)?), scenario, seed),
            None => None,
        };
        Ok(RunRecords { trace: traced.then(Trace::default), log, capture })
    }

    /// The run of this seed is over, and its result is good.
    ///
    /// # Errors
    /// What its files refused.
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

    /// All is well: a capture takes its place.
    ///
    /// # Errors
    /// It can't be renamed.
    pub fn commit(self) -> Result<(), Failure> {
        self.pcap.map_or(Ok(()), |(staging, _)| staging.commit())
    }
}

impl RunRecords {
    /// What a run is watched by.
    pub fn watch(&mut self) -> Observers<'_> {
        Observers {
            trace: self.trace.as_mut(),
            log: self.log.as_mut(),
            capture: self.capture.as_mut(),
        }
    }

    /// The run is over.
    pub fn finish(self) -> FinishedRecords {
        FinishedRecords {
            trace: self.trace,
            log: self.log.map(EventLog::finish),
            capture: self.capture.map(Capture::finish),
        }
    }
}

/// The directory of a file, ready to be written, and its name there.
fn open_capture(path: &Path) -> Result<(Staging, String), Failure> {
    let help = "--pcap wants the name of a file that can be written, as in --pcap run.pcapng";
    let dir = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return Err(refused(path, "that is not the name of a file", help)),
    };
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return Err(refused(path, "that is not the name of a file", help));
    };
    // It would be replaced, whatever it is.
    if path.exists() && !path.is_file() {
        let what = if path.is_dir() { "that is a directory" } else { "that is no regular file" };
        return Err(refused(path, what, help));
    }
    if !dir.is_dir() {
        return Err(refused(path, &format!("there is no directory {}", dir.display()), help));
    }
    let staging = OutputDir::open(dir).and_then(|dir| dir.stage());
    let staging = staging.map_err(|failure| match failure {
        Failure::Failed(message) => refused(path, &message, help),
        other => other,
    });
    Ok((staging?, name.to_owned()))
}

fn refused(path: &Path, what: &str, help: &str) -> Failure {
    Failure::Input(format!("--pcap {}: {what}\nhelp: {help}", path.display()))
}
