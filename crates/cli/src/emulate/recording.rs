//! The capture and the event log of an emulation, written while it runs.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use driftway_linux::{NetworkEvent, NetworkObserver, ObservedNetwork};
use driftway_scenario::{Scenario, Time};
use driftway_sim::NetworkRecorder;
use driftway_sim::capture::Capture;
use driftway_sim::log::EventLog;

use super::stream_writer::{Backlog, StreamWriter, WriterThread};
use crate::args::{EmulateArgs, PositionInterval};
use crate::failure::{Failure, failed};
use crate::files::Staging;
use crate::records::check_capture;

/// The recorder of an emulation and its files. If it is dropped before it is finished, the capture is
/// removed.
pub struct Recording {
    shared: Arc<Shared>,
    capture: Option<(PathBuf, WriterThread)>,
    log: Option<(String, WriterThread)>,
}

/// The part that the network's thread uses.
struct Shared {
    recorder: Mutex<Option<NetworkRecorder>>,
    backlog: Arc<Backlog>,
    missed: AtomicU64,
}

impl Recording {
    /// Creates the files that the options ask for; the event log among those of `staging`.
    ///
    /// # Errors
    /// A network without anything to capture, or a file that cannot be created.
    pub fn open(
        args: &EmulateArgs,
        scenario: &Scenario,
        is_ethernet: bool,
        staging: Option<&Staging>,
    ) -> Result<Self, Failure> {
        if let Some(path) = &args.pcap {
            check_capture(path, scenario)?;
        }
        let backlog = Arc::default();
        let start =
            |file| StreamWriter::start(file, &backlog).map_err(|e| failed("start a thread", &e));
        let (mut log, mut log_thread) = (None, None);
        if let Some(staging) = staging.filter(|_| args.events) {
            let name = EventLog::file_name(args.seed);
            let (out, thread) = start(staging.create_file(&name)?)?;
            let PositionInterval(interval) = args.positions;
            let interval = interval.map(|Time(interval)| interval);
            log = Some(EventLog::new(Box::new(out)).with_positions(interval));
            log_thread = Some((name, thread));
        }
        let (mut capture, mut capture_thread) = (None, None);
        if let Some(path) = &args.pcap {
            let file = File::create(path).map_err(|e| Failure::file("write", path, &e))?;
            let (out, thread) = start(file)?;
            let of_packets = Capture::new(Box::new(out), scenario, args.seed);
            capture = match is_ethernet {
                true => of_packets.map(Capture::with_ethernet),
                false => of_packets,
            };
            capture_thread = Some((path.clone(), thread));
        }
        let is_used = log.is_some() || capture.is_some();
        let recorder = Mutex::new(is_used.then(|| NetworkRecorder::new(log, capture)));
        let shared = Shared { recorder, backlog, missed: AtomicU64::new(0) };
        Ok(Self { shared: Arc::new(shared), capture: capture_thread, log: log_thread })
    }

    /// Returns the observer of the network; `None` if nothing is recorded.
    pub fn observer(&self) -> Option<Box<dyn NetworkObserver>> {
        let is_used = self.capture.is_some() || self.log.is_some();
        is_used.then(|| Box::new(Recorder(Arc::clone(&self.shared))) as Box<dyn NetworkObserver>)
    }

    /// Ends the files, when the network has ended. Returns the number of events that were left out,
    /// because the disk did not keep up.
    ///
    /// # Errors
    /// A file that could not be written.
    pub fn finish(&mut self) -> Result<u64, Failure> {
        if let Some(recorder) = self.shared.take() {
            let (log, capture) = recorder.finish();
            if let (Some(outcome), Some((path, thread))) = (capture, self.capture.take()) {
                joined(thread, outcome).map_err(|e| {
                    remove(&path);
                    Failure::file("write", &path, &e)
                })?;
            }
            if let (Some(outcome), Some((name, thread))) = (log, self.log.take()) {
                joined(thread, outcome)
                    .map_err(|e| Failure::file("write", Path::new(&name), &e))?;
            }
        }
        Ok(self.shared.missed.load(Ordering::Relaxed))
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        drop(self.shared.take());
        if let Some((path, thread)) = self.capture.take() {
            // There was an error, which is reported.
            let _ = thread.join();
            remove(&path);
        }
    }
}

/// The outcome of a file: the error of its thread goes before what that has caused.
fn joined(thread: WriterThread, outcome: io::Result<()>) -> io::Result<()> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).and(outcome)
}

fn remove(path: &Path) {
    // What is not a file, such as a pipe, is not ours.
    if path.is_file() {
        let _ = fs::remove_file(path);
    }
}

impl Shared {
    fn take(&self) -> Option<NetworkRecorder> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The network's end of the recording.
struct Recorder(Arc<Shared>);

impl Recorder {
    fn with(&self, record: impl FnOnce(&mut NetworkRecorder)) {
        let mut recorder = self.0.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(recorder) = &mut *recorder {
            record(recorder);
        }
    }
}

impl NetworkObserver for Recorder {
    fn on_start(&mut self, net: &ObservedNetwork) {
        self.with(|recorder| recorder.on_start(net));
    }

    fn on_event(&mut self, net: &ObservedNetwork, event: &NetworkEvent, bytes: Option<&[u8]>) {
        if self.0.backlog.is_full() {
            self.0.missed.fetch_add(1, Ordering::Relaxed);
        } else {
            self.with(|recorder| recorder.on_event(net, event, bytes));
        }
    }

    fn on_time(&mut self, net: &mut ObservedNetwork) {
        self.with(|recorder| recorder.on_time(net));
    }
}
