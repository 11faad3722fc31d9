//! Changes of a running network, and its state, for other threads.

use std::io::{self, PipeWriter, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use driftway_base::Instant;
use driftway_net::{ImpossibleChange, LiveChange, Network};

use super::emulated_network::EmulationCounts;
use super::lateness::LatenessHistogram;
use super::status::{LinkStatus, NodeStatus};

/// A handle of a running network, of which there may be many.
#[derive(Clone, Debug)]
pub struct EmulationControl {
    requests: Sender<ControlRequest>,
    wake: Arc<PipeWriter>,
}

/// A look at the network at the present time.
pub type Look = Box<dyn FnOnce(Instant, &Network) + Send>;

/// A request to the thread of the network, and where the answer goes.
pub enum ControlRequest {
    /// Changes, all of them or none after the first that is impossible.
    Change(Vec<LiveChange>, SyncSender<ChangeOutcome>),
    /// The state of the network.
    Status(SyncSender<NetworkStatus>),
    /// A look at the network at the present time.
    Inspect(Look),
}

/// The time of the scenario at which changes were made, or why one could not be made.
pub type ChangeOutcome = Result<Instant, ImpossibleChange>;

/// The state of a network.
#[derive(Clone, Debug)]
pub struct NetworkStatus {
    /// Time of the scenario.
    pub at: Instant,
    /// All nodes.
    pub nodes: Vec<NodeStatus>,
    /// All links.
    pub links: Vec<LinkStatus>,
    /// Counters so far.
    pub counts: EmulationCounts,
    /// Lateness so far.
    pub lateness: LatenessHistogram,
}

impl EmulationControl {
    /// Creates a handle whose requests wake the reader of this pipe.
    pub fn new(wake: PipeWriter) -> (Self, Receiver<ControlRequest>) {
        let (requests, requested) = channel();
        (Self { requests, wake: Arc::new(wake) }, requested)
    }

    /// Changes the network at once; returns the time, or why it could not be changed. Changes before an
    /// impossible one have been made.
    ///
    /// # Errors
    /// The network has ended.
    pub fn change(&self, changes: Vec<LiveChange>) -> io::Result<ChangeOutcome> {
        self.ask(|to| ControlRequest::Change(changes, to))
    }

    /// Returns the present state.
    ///
    /// # Errors
    /// The network has ended.
    pub fn status(&self) -> io::Result<NetworkStatus> {
        self.ask(ControlRequest::Status)
    }

    /// Returns what a look at the network gives, which all packets wait for.
    ///
    /// # Errors
    /// The network has ended.
    pub fn inspect<T: Send + 'static>(
        &self,
        look: impl FnOnce(Instant, &Network) -> T + Send + 'static,
    ) -> io::Result<T> {
        self.ask(|to| {
            ControlRequest::Inspect(Box::new(move |at, net| {
                // If the caller does not wait for the answer, nobody needs it.
                let _ = to.send(look(at, net));
            }))
        })
    }

    fn ask<T>(&self, request: impl FnOnce(SyncSender<T>) -> ControlRequest) -> io::Result<T> {
        let ended = || io::Error::new(io::ErrorKind::BrokenPipe, "the emulation has ended");
        let (to, answer) = sync_channel(1);
        self.requests.send(request(to)).map_err(|_| ended())?;
        (&*self.wake).write_all(&[0]).map_err(|_| ended())?;
        answer.recv().map_err(|_| ended())
    }
}
