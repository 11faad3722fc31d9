//! A TUN device with what happens to packets on the way to it and from it.

use std::io;

use driftway_base::{Duration, Instant};

use crate::{ImpairmentCounts, Impairer, Impairment, RealClock, Tun};

/// Room for any IPv4 packet.
const LARGEST_PACKET: usize = 65_535;

/// The cable between us and a kernel, each direction impaired on its own.
///
/// The driver's loop: [`receive`](Cable::receive) until there is nothing, [`send`](Cable::send)
/// what the protocol answers, [`wait`](Cable::wait) until its next deadline.
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
    /// A cable into the kernel of `tun`, with the fates of the run with this `seed`.
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

    /// What the clock shows.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// The largest packet that the kernel takes (bytes).
    pub const fn mtu(&self) -> u16 {
        self.tun.mtu()
    }

    /// Changes what happens to packets from now on, in both directions.
    pub fn set_impairments(&mut self, to_kernel: Impairment, from_kernel: Impairment) {
        self.to_kernel.set_impairment(to_kernel);
        self.from_kernel.set_impairment(from_kernel);
    }

    /// What happened so far (to the kernel, from the kernel).
    pub const fn counts(&self) -> (ImpairmentCounts, ImpairmentCounts) {
        (self.to_kernel.counts(), self.from_kernel.counts())
    }

    /// Packets that the device did not even take for IP: a corrupted version field, if nobody sends
    /// nonsense.
    pub const fn rejected(&self) -> u64 {
        self.rejected
    }

    /// Sends the kernel a packet; what is due by now reaches it.
    ///
    /// # Errors
    /// What the device says.
    pub fn send(&mut self, packet: &[u8]) -> io::Result<()> {
        self.to_kernel.offer(self.clock.now(), packet);
        self.flush()
    }

    /// Replaces `packet` by the next one from the kernel that has come through; `false` if there is
    /// none by now.
    ///
    /// # Errors
    /// What the device says.
    pub fn receive(&mut self, packet: &mut Vec<u8>) -> io::Result<bool> {
        while let Some(len) = self.tun.receive(&mut self.buffer)? {
            self.from_kernel.offer(self.clock.now(), &self.buffer[..len]);
        }
        Ok(self.from_kernel.take(self.clock.now(), packet))
    }

    /// Waits until the kernel sends something, a packet from it comes through, or `deadline`
    /// ([`Instant::FAR_FUTURE`]: there is none); meanwhile lets go to the kernel what becomes due.
    ///
    /// # Errors
    /// What the device says.
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

    /// Gives the kernel what is due.
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
