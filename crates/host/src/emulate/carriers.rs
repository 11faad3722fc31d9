//! The carriers of the kernels' devices.

use std::io;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

use super::emulated_network::CarrierChange;
use crate::netlink::CarrierSwitch;

/// Changes carriers in a thread of its own, because the kernel's answer waits for any process that
/// changes a link, and packets must not.
pub struct Carriers {
    requests: Sender<CarrierChange>,
    thread: JoinHandle<io::Result<()>>,
}

impl Carriers {
    /// Starts the thread; `switches` are those of the kernels, in order.
    pub fn start(switches: Vec<CarrierSwitch>) -> io::Result<Self> {
        let (requests, requested) = channel::<CarrierChange>();
        let work = move || {
            for CarrierChange { kernel, is_on } in requested {
                switches[kernel].set(is_on)?;
            }
            Ok(())
        };
        let thread = thread::Builder::new().name("carriers".into()).spawn(work)?;
        Ok(Self { requests, thread })
    }

    /// Requests a change.
    pub fn change(&self, change: CarrierChange) {
        // An error that has ended the thread is reported at the end.
        let _ = self.requests.send(change);
    }

    /// Ends the thread.
    ///
    /// # Errors
    /// The first error of the kernel.
    pub fn stop(self) -> io::Result<()> {
        drop(self.requests);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
