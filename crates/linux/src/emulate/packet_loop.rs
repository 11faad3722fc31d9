//! The thread that moves packets between the kernels' devices and the network.

use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;

use driftway_base::{Duration, Instant};
use driftway_wire::ETHERNET_HEADER_LEN;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl;
use nix::sys::time::TimeSpec;

use super::carriers::Carriers;
use super::control::{ControlRequest, NetworkStatus};
use super::port::Port;
use super::progress::Progress;
use super::{EmulatedNetwork, LatenessHistogram};
use crate::RealClock;

/// Maximum number of packets read from one device before the next has its turn.
const BATCH: usize = 32;
/// Maximum length of a packet, in a frame.
const LARGEST_PACKET: usize = ETHERNET_HEADER_LEN + 65_535;

/// The packet loop, before it runs.
pub struct PacketLoop {
    /// The devices of the kernels, in order.
    ports: Vec<Port>,
    carriers: Carriers,
    network: EmulatedNetwork,
    clock: RealClock,
    lateness: LatenessHistogram,
    refused: u64,
    progress: Arc<Progress>,
    /// A kernel whose device was deleted.
    deleted: Option<usize>,
}

/// Final state of the loop.
pub struct LoopOutcome {
    /// The devices of the kernels, in order.
    pub ports: Vec<Port>,
    /// The network.
    pub network: EmulatedNetwork,
    /// Lateness of packets leaving the network.
    pub lateness: LatenessHistogram,
    /// Packets that a kernel rejected.
    pub refused: u64,
    /// The kernel whose device was deleted, which ended the loop.
    pub deleted: Option<usize>,
    /// Packets that kernels dropped because their device had no carrier.
    pub dropped_without_carrier: u64,
    /// True if the thread had real-time scheduling.
    pub is_realtime: bool,
    /// Running time.
    pub duration: Duration,
}

impl PacketLoop {
    /// Creates the loop, whose time is that of `clock`.
    pub fn new(
        ports: Vec<Port>,
        carriers: Carriers,
        network: EmulatedNetwork,
        clock: RealClock,
        progress: Arc<Progress>,
    ) -> Self {
        Self {
            ports,
            carriers,
            network,
            clock,
            lateness: LatenessHistogram::default(),
            refused: 0,
            progress,
            deleted: None,
        }
    }

    /// Runs until the other end of `stopped` is closed, or a device is deleted. `woken` has a byte for
    /// each request.
    ///
    /// # Errors
    /// Any error of a device.
    pub fn run(
        mut self,
        stopped: &PipeReader,
        mut woken: &PipeReader,
        requests: &Receiver<ControlRequest>,
    ) -> io::Result<LoopOutcome> {
        // By default timers of the kernel have a slack of 50 µs.
        prctl::set_timerslack(1)?;
        let is_realtime = crate::enable_realtime_scheduling();
        let mut buffer = vec![0; LARGEST_PACKET].into_boxed_slice();
        let mut ready = vec![true; self.ports.len()];
        let mut is_woken = false;
        let ports = std::mem::take(&mut self.ports);
        let watch = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let devices = ports.iter().map(|port| watch(port.as_fd()));
        let mut watched: Vec<_> =
            devices.chain([watch(woken.as_fd()), watch(stopped.as_fd())]).collect();
        loop {
            for (kernel, ready) in ready.iter_mut().enumerate() {
                if *ready {
                    *ready = self.read_packets(&ports[kernel], kernel, &mut buffer)?;
                }
            }
            if std::mem::take(&mut is_woken) {
                // A byte that is left wakes it again.
                let _ = woken.read(&mut [0; 64])?;
                requests.try_iter().for_each(|request| self.answer(request));
            }
            self.network.on_timeout(self.clock.now());
            self.write_packets(&ports)?;
            while let Some(change) = self.network.poll_carrier() {
                self.carriers.change(change);
            }
            if self.deleted.is_some() {
                break;
            }
            let timeout = match self.network.next_timeout() {
                _ if ready.contains(&true) => Some(Duration::ZERO),
                Instant::FAR_FUTURE => None,
                next => Some(self.clock.until(next)),
            };
            let Wait { ends, is_requested } = wait(timeout, &mut watched, &mut ready)?;
            if ends {
                break;
            }
            is_woken = is_requested;
        }
        let dropped_without_carrier = self.carriers.stop()?;
        Ok(LoopOutcome {
            dropped_without_carrier,
            duration: self.clock.now().since(Instant::ZERO),
            ports,
            network: self.network,
            lateness: self.lateness,
            refused: self.refused,
            deleted: self.deleted,
            is_realtime,
        })
    }

    /// Answers another thread's request. If that does not wait for the answer, nobody needs it.
    fn answer(&mut self, request: ControlRequest) {
        let at = self.clock.now();
        match request {
            ControlRequest::Change(changes, to) => {
                let mut changes = changes.into_iter();
                let outcome = changes.try_for_each(|change| self.network.change(at, change));
                let _ = to.send(outcome.map(|()| at));
            }
            ControlRequest::Status(to) => {
                let (nodes, links) = self.network.status(at);
                let (counts, lateness) = (self.network.counts().clone(), self.lateness.clone());
                let _ = to.send(NetworkStatus { at, nodes, links, counts, lateness });
            }
            ControlRequest::Inspect(look) => look(at, self.network.inspect(at)),
        }
    }

    /// Reads packets of a kernel; returns whether there may be more.
    fn read_packets(&mut self, port: &Port, kernel: usize, buffer: &mut [u8]) -> io::Result<bool> {
        for _ in 0..BATCH {
            let len = match port.receive(buffer) {
                Ok(Some(len)) => len,
                Ok(None) => return Ok(false),
                Err(error) if is_deleted(&error) => {
                    self.deleted.get_or_insert(kernel);
                    return Ok(false);
                }
                Err(error) => return Err(error),
            };
            if self.network.offer(self.clock.now(), kernel, &buffer[..len]) {
                self.progress.on_sent(kernel);
            }
        }
        Ok(true)
    }

    /// Writes the packets that have left the network.
    fn write_packets(&mut self, ports: &[Port]) -> io::Result<()> {
        while let Some(departing) = self.network.poll() {
            let port = &ports[departing.kernel];
            match port.send(&departing.bytes) {
                Err(error) if port.is_refusal(&error) => self.refused += 1,
                Err(error) if is_deleted(&error) => {
                    self.refused += 1;
                    self.deleted.get_or_insert(departing.kernel);
                }
                result => result?,
            }
            self.lateness.record(self.clock.now().since(departing.due));
            self.network.give_back(departing);
            self.progress.delivered.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Returns true for the error of a device whose interface was deleted.
fn is_deleted(error: &io::Error) -> bool {
    error.raw_os_error().map(Errno::from_raw) == Some(Errno::EBADFD)
}

/// Outcome of a wait, besides packets and the timeout.
struct Wait {
    ends: bool,
    is_requested: bool,
}

/// Waits for packets, the timeout, a request or the end; the last two of the descriptors watched are those
/// of requests and of the end.
fn wait(
    timeout: Option<Duration>,
    watched: &mut [PollFd<'_>],
    ready: &mut [bool],
) -> io::Result<Wait> {
    let timeout = timeout.map(|timeout| {
        TimeSpec::from_duration(std::time::Duration::from_nanos(timeout.as_nanos()))
    });
    match ppoll(watched, timeout, None) {
        Err(Errno::EINTR) | Ok(0) => return Ok(Wait { ends: false, is_requested: false }),
        Err(errno) => return Err(errno.into()),
        Ok(_) => {}
    }
    let mut is_ready = watched.iter().map(|fd| fd.any().unwrap_or(true));
    for (ready, now) in ready.iter_mut().zip(&mut is_ready) {
        *ready |= now;
    }
    let is_requested = is_ready.next().unwrap_or(false);
    Ok(Wait { is_requested, ends: is_ready.next().unwrap_or(false) })
}
