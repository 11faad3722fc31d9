//! The carriers of the kernels' devices.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use nix::errno::Errno;

use super::emulated_network::CarrierChange;
use crate::netlink::CarrierSwitch;

/// Changes carriers in a thread of its own, because the kernel's answer waits for any process that
/// changes a link, and packets must not.
pub struct Carriers {
    requests: Sender<CarrierChange>,
    thread: JoinHandle<io::Result<u64>>,
}

/// A device, and what its kernel had dropped when it lost its carrier.
struct Device {
    /// `None` for an interface of the host, which keeps its carrier.
    switch: Option<CarrierSwitch>,
    dropped_before: Option<u64>,
}

impl Carriers {
    /// Starts the thread; `switches` are those of the kernels, in order.
    pub fn start(switches: Vec<Option<CarrierSwitch>>) -> io::Result<Self> {
        let (requests, requested) = channel();
        let device = |switch| Device { switch, dropped_before: None };
        let devices: Vec<Device> = switches.into_iter().map(device).collect();
        let work = move || change_carriers(devices, &requested);
        let thread = thread::Builder::new().name("carriers".into()).spawn(work)?;
        Ok(Self { requests, thread })
    }

    /// Requests a change.
    pub fn change(&self, change: CarrierChange) {
        // An error that has ended the thread is reported at the end.
        let _ = self.requests.send(change);
    }

    /// Ends the thread. Returns the number of packets that kernels dropped because a device had no
    /// carrier.
    ///
    /// # Errors
    /// The first error of a kernel.
    pub fn stop(self) -> io::Result<u64> {
        drop(self.requests);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn change_carriers(
    mut devices: Vec<Device>,
    requested: &Receiver<CarrierChange>,
) -> io::Result<u64> {
    let mut dropped = 0;
    for CarrierChange { kernel, is_on } in requested {
        let device = &mut devices[kernel];
        dropped += device.dropped_since()?;
        device.dropped_before = if is_on { None } else { device.tx_dropped()? };
        if let Some(switch) = &device.switch {
            unless_deleted(switch.set(is_on))?;
        }
    }
    for device in &devices {
        dropped += device.dropped_since()?;
    }
    Ok(dropped)
}

impl Device {
    /// Packets dropped since the device lost its carrier; 0 if it has one.
    fn dropped_since(&self) -> io::Result<u64> {
        let Some(before) = self.dropped_before else { return Ok(0) };
        Ok(self.tx_dropped()?.map_or(0, |now| now.saturating_sub(before)))
    }

    /// Packets dropped since it was created; `None` if it was deleted.
    fn tx_dropped(&self) -> io::Result<Option<u64>> {
        let Some(switch) = &self.switch else { return Ok(None) };
        unless_deleted(switch.tx_dropped())
    }
}

/// `None` in place of the error of a device that was deleted: the packet loop reports that.
fn unless_deleted<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.raw_os_error() == Some(Errno::ENODEV as i32) => Ok(None),
        Err(error) => Err(error),
    }
}
