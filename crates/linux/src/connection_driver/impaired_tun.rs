//! A TUN device with impairments in both directions.

use std::io;

use driftway_base::{Duration, Instant};

use super::impair::{Impairer, Impairment, ImpairmentCounts};
use crate::{RealClock, Tun};

/// Room for any IPv4 packet.
const LARGEST_PACKET: usize = 65_535;

/// A TUN device into a kernel, each direction impaired on its own.
///
/// The driver's loop: [`receive`](ImpairedTun::receive) until there is nothing,
/// [`send`](ImpairedTun::send) the protocol's answers, [`wait`](ImpairedTun::wait) until its next
/// deadline.
pub struct ImpairedTun {
    tun: Tun,
    clock: RealClock,
    to_kernel: Impairer,
    from_kernel: Impairer,
    rejected: u64,
    buffer: Box<[u8]>,
    outgoing: Vec<u8>,
}

impl ImpairedTun {
    /// A device into the kernel of `tun`, with the random streams of the run with this `seed`.
    pub fn new(
        tun: Tun,
        clock: RealClock,
        seed: u64,
        to_kernel: Impairment,
        from_kernel: Impairment,
    ) -> Self {
        Self {
            tun,
            clock,
            to_kernel: Impairer::new(to_kernel, seed, 0),
            from_kernel: Impairer::new(from_kernel, seed, 1),
            rejected: 0,
            buffer: vec![0; LARGEST_PACKET].into_boxed_slice(),
            outgoing: Vec::new(),
        }
    }

    /// The present time.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// The MTU (bytes).
    pub const fn mtu(&self) -> u16 {
        self.tun.mtu()
    }

    /// Replaces the impairments of both directions from now on.
    pub fn set_impairments(&mut self, to_kernel: Impairment, from_kernel: Impairment) {
        self.to_kernel.set_impairment(to_kernel);
        self.from_kernel.set_impairment(from_kernel);
    }

    /// Counters so far (to the kernel, from the kernel).
    pub const fn counts(&self) -> (ImpairmentCounts, ImpairmentCounts) {
        (self.to_kernel.counts(), self.from_kernel.counts())
    }

    /// Packets that the device rejected as no IP packets: those with a corrupted version field.
    pub const fn rejected(&self) -> u64 {
        self.rejected
    }

    /// Sends a packet to the kernel, and passes on all packets that are due.
    ///
    /// # Errors
    /// Any error of the device.
    pub fn send(&mut self, packet: &[u8]) -> io::Result<()> {
        self.to_kernel.offer(self.clock.now(), packet);
        self.flush()
    }

    /// Replaces `packet` by the next one from the kernel; `false` if none is due.
    ///
    /// # Errors
    /// Any error of the device.
    pub fn receive(&mut self, packet: &mut Vec<u8>) -> io::Result<bool> {
        while let Some(len) = self.tun.receive(&mut self.buffer)? {
            self.from_kernel.offer(self.clock.now(), &self.buffer[..len]);
        }
        Ok(self.from_kernel.take(self.clock.now(), packet))
    }

    /// Waits until the kernel sends a packet, one from it is due, or `deadline`
    /// ([`Instant::FAR_FUTURE`]: none); meanwhile passes packets to the kernel as they become due.
    ///
    /// # Errors
    /// Any error of the device.
    pub fn wait(&mut self, deadline: Instant) -> io::Result<()> {
        let deadline = self.from_kernel.next_timeout().map_or(deadline, |due| due.min(deadline));
        loop {
            self.flush()?;
            let wake = self.to_kernel.next_timeout().map_or(deadline, |due| due.min(deadline));
            let timeout = match wake {
                Instant::FAR_FUTURE => Duration::MAX,
                wake => self.clock.until(wake),
            };
            if self.tun.wait(timeout)? || self.clock.now() >= deadline {
                return Ok(());
            }
        }
    }

    /// Passes due packets to the kernel.
    fn flush(&mut self) -> io::Result<()> {
        while self.to_kernel.take(self.clock.now(), &mut self.outgoing) {
            match self.tun.send(&self.outgoing) {
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => self.rejected += 1,
                result => result?,
            }
        }
        Ok(())
    }
}
