//! The thread that moves packets between the kernels' devices and the network.

use std::io::{self, PipeReader};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use driftway_base::{Duration, Instant};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl;
use nix::sys::time::TimeSpec;

use super::carriers::Carriers;
use super::{EmulatedNetwork, LatenessHistogram};
use crate::{RealClock, Tun};

/// Maximum number of packets read from one device before the next has its turn.
const BATCH: usize = 32;
/// Maximum length of an IPv4 packet.
const LARGEST_PACKET: usize = 65_535;

/// The packet loop, before it runs.
pub struct PacketLoop {
    /// The devices of the kernels, in order.
    tuns: Vec<Tun>,
    carriers: Carriers,
    network: EmulatedNetwork,
    clock: RealClock,
    lateness: LatenessHistogram,
    refused: u64,
    delivered: Arc<AtomicU64>,
}

/// Final state of the loop.
pub struct LoopOutcome {
    /// The devices of the kernels, in order.
    pub tuns: Vec<Tun>,
    /// The network.
    pub network: EmulatedNetwork,
    /// Lateness of packets leaving the network.
    pub lateness: LatenessHistogram,
    /// Packets that a kernel rejected.
    pub refused: u64,
    /// Packets that kernels dropped because their device had no carrier.
    pub dropped_without_carrier: u64,
    /// True if the thread had real-time scheduling.
    pub is_realtime: bool,
    /// Running time.
    pub duration: Duration,
}

impl PacketLoop {
    /// Creates the loop, whose time begins now. `delivered` counts the packets passed to kernels.
    pub fn new(
        tuns: Vec<Tun>,
        carriers: Carriers,
        network: EmulatedNetwork,
        delivered: Arc<AtomicU64>,
    ) -> Self {
        Self {
            tuns,
            carriers,
            network,
            clock: RealClock::start(),
            lateness: LatenessHistogram::default(),
            refused: 0,
            delivered,
        }
    }

    /// Runs until the other end of the pipe is closed.
    ///
    /// # Errors
    /// Any error of a device.
    pub fn run(mut self, stopped: &PipeReader) -> io::Result<LoopOutcome> {
        // By default timers of the kernel have a slack of 50 µs.
        prctl::set_timerslack(1)?;
        let is_realtime = crate::enable_realtime_scheduling();
        let mut buffer = vec![0; LARGEST_PACKET].into_boxed_slice();
        let mut ready = vec![true; self.tuns.len()];
        let tuns = std::mem::take(&mut self.tuns);
        let watch = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let devices = tuns.iter().map(|tun| watch(tun.as_fd()));
        let mut watched: Vec<_> = devices.chain([watch(stopped.as_fd())]).collect();
        loop {
            for (kernel, ready) in ready.iter_mut().enumerate() {
                if *ready {
                    *ready = self.read_packets(&tuns[kernel], kernel, &mut buffer)?;
                }
            }
            self.network.on_timeout(self.clock.now());
            self.write_packets(&tuns)?;
            while let Some(change) = self.network.poll_carrier() {
                self.carriers.change(change);
            }
            let timeout = match self.network.next_timeout() {
                _ if ready.contains(&true) => Some(Duration::ZERO),
                Instant::FAR_FUTURE => None,
                next => Some(self.clock.until(next)),
            };
            if wait(timeout, &mut watched, &mut ready)? {
                break;
            }
        }
        let dropped_without_carrier = self.carriers.stop()?;
        Ok(LoopOutcome {
            dropped_without_carrier,
            duration: self.clock.now().since(Instant::ZERO),
            tuns,
            network: self.network,
            lateness: self.lateness,
            refused: self.refused,
            is_realtime,
        })
    }

    /// Reads packets of a kernel; returns whether there may be more.
    fn read_packets(&mut self, tun: &Tun, kernel: usize, buffer: &mut [u8]) -> io::Result<bool> {
        for _ in 0..BATCH {
            let Some(len) = tun.receive(buffer)? else { return Ok(false) };
            self.network.offer(self.clock.now(), kernel, &buffer[..len]);
        }
        Ok(true)
    }

    /// Writes the packets that have left the network.
    fn write_packets(&mut self, tuns: &[Tun]) -> io::Result<()> {
        while let Some(departing) = self.network.poll() {
            match tuns[departing.kernel].send(&departing.bytes) {
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => self.refused += 1,
                result => result?,
            }
            self.lateness.record(self.clock.now().since(departing.due));
            self.network.give_back(departing);
            self.delivered.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Waits for packets, the timeout or the end, the last of the descriptors watched; returns whether it
/// is the end.
fn wait(
    timeout: Option<Duration>,
    watched: &mut [PollFd<'_>],
    ready: &mut [bool],
) -> io::Result<bool> {
    let timeout = timeout.map(|timeout| {
        TimeSpec::from_duration(std::time::Duration::from_nanos(timeout.as_nanos()))
    });
    match ppoll(watched, timeout, None) {
        Err(Errno::EINTR) | Ok(0) => return Ok(false),
        Err(errno) => return Err(errno.into()),
        Ok(_) => {}
    }
    let mut is_ready = watched.iter().map(|fd| fd.any().unwrap_or(true));
    for (ready, now) in ready.iter_mut().zip(&mut is_ready) {
        *ready |= now;
    }
    Ok(is_ready.next().unwrap_or(false))
}
