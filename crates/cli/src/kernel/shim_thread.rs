//! A shim below the kernel's TCP of a namespace, in a thread.

use std::io::{self, PipeWriter};
use std::os::fd::AsFd;
use std::thread::{self, JoinHandle};

use driftway_base::Duration;
use driftway_experiment::study::check::aid_named;
use driftway_linux::{
    Namespace, ShimDaemon, ShimSnapshot, StatusHandle, enable_realtime_scheduling,
};
use driftway_shim::{Config, Shim};

/// The aid of `driftway shim` by default.
pub const DEFAULT_AID: &str = "carry";

/// A running shim.
pub struct ShimThread {
    asker: StatusHandle,
    stop: PipeWriter,
    thread: JoinHandle<io::Result<()>>,
}

impl ShimThread {
    /// Starts a shim with the aid of this name.
    ///
    /// # Errors
    /// No such aid, or any error of the kernel.
    pub fn start(namespace: &Namespace, aid: &str) -> io::Result<Self> {
        let aid = aid_named(aid).map_err(io::Error::other)?;
        let make = move || aid.build(Duration::ZERO).expect("a named aid can be built");
        let start = || {
            let shim = Shim::with_aid(Config::default(), make);
            let mut daemon = ShimDaemon::start_with_shim(&[], shim)?;
            let asker = daemon.status_handle();
            let (stopped, stop) = io::pipe()?;
            let work = move || {
                // A host has one shim; here there is one per run, on few processors.
                enable_realtime_scheduling();
                daemon.run(stopped.as_fd())
            };
            let thread = thread::Builder::new().name("shim".into()).spawn(work)?;
            Ok(Self { asker, stop, thread })
        };
        namespace.run(start)?
    }

    /// Stops the shim; returns its final state.
    ///
    /// # Errors
    /// It ended early, or any error of the kernel.
    pub fn stop_and_report(self) -> io::Result<ShimSnapshot> {
        let last = self.asker.snapshot();
        drop(self.stop);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        last.ok_or_else(|| io::Error::other("the shim ended early"))
    }
}
