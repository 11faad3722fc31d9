//! Two network namespaces, joined by a path of the lab in real time.
//!
//! One thread moves packets: it waits for either device or the path's next instant, takes what the
//! kernels sent, lets the path do what is due, and hands out what left it. The path keeps its own
//! time, exact to the nanosecond; that we are late shows only where a packet leaves, is measured
//! there, and does not add up from hop to hop.

mod bytes;
mod lateness;
mod medium;

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use driftway_base::{Duration, Instant, Ipv4Addr};
use driftway_scenario::{BitRate, Change, Fault, Path, Time};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl;
use nix::sys::time::TimeSpec;

pub use lateness::Lateness;
pub use medium::{Account, Carried, End, Medium};

use crate::{Namespace, RealClock, Tun, urgent};

/// All addresses of a path, its routers' and those of networks behind its ends: 10.0.0.0/8.
const PREFIX: u8 = 8;
/// Packets taken from a device before the other one has its turn.
const BATCH: usize = 32;
/// More than any IPv4 packet.
const LARGEST_PACKET: usize = 65_535;

/// The share of the shortest hop's time that one packet in a hundred may be late.
pub const TOLERANCE: f64 = 0.1;

/// Two namespaces and what is between them, not yet at work.
pub struct Emulation {
    sides: [Side; 2],
    medium: Medium,
    shortest_hop: Duration,
}

struct Side {
    namespace: Namespace,
    tun: Tun,
}

impl Emulation {
    /// Makes the namespaces, whose devices carry packets of at most `mtu` bytes, and a path with the
    /// random streams that the lab has with this `seed`. Faults at random times are placed within
    /// `duration`; the path goes on after that.
    ///
    /// # Errors
    /// Any error of the kernel; see [`available`](crate::available) for what it takes.
    pub fn new(path: &Path, duration: Time, seed: u64, mtu: u16) -> io::Result<Self> {
        let medium = Medium::new(path, duration, seed);
        let side = |end| Side::new(medium.address(end), mtu);
        let sides = [side(End::Near)?, side(End::Far)?];
        Ok(Self { sides, medium, shortest_hop: shortest_hop(path, mtu) })
    }

    /// A namespace.
    pub fn namespace(&self, end: End) -> &Namespace {
        &self.sides[end as usize].namespace
    }

    /// The address that the kernel of a namespace has.
    pub fn address(&self, end: End) -> Ipv4Addr {
        self.medium.address(end)
    }

    /// Begins: the scenario's time is zero now.
    ///
    /// # Errors
    /// No thread, no pipe.
    pub fn start(self) -> io::Result<Running> {
        let (stopped, stop) = io::pipe()?;
        let delivered = Arc::new(AtomicU64::new(0));
        let [near, far] = self.sides;
        let work = Loop {
            tuns: [near.tun, far.tun],
            medium: self.medium,
            clock: RealClock::start(),
            lateness: Lateness::default(),
            refused: 0,
            delivered: Arc::clone(&delivered),
        };
        let thread =
            thread::Builder::new().name("path".into()).spawn(move || work.run(&stopped))?;
        Ok(Running {
            namespaces: [near.namespace, far.namespace],
            stop,
            thread,
            delivered,
            shortest_hop: self.shortest_hop,
        })
    }
}

impl Side {
    fn new(address: Ipv4Addr, mtu: u16) -> io::Result<Self> {
        let namespace = Namespace::new()?;
        for which in ["all", "default"] {
            // The first router is the sending host's own, as in the lab: what it says has the host's
            // own address as its source, and comes from outside.
            namespace.set(&format!("net/ipv4/conf/{which}/accept_local"), "1")?;
            namespace.set(&format!("net/ipv4/conf/{which}/rp_filter"), "0")?;
        }
        let tun = namespace.run(|| Tun::open(address, PREFIX, mtu))??;
        Ok(Self { namespace, tun })
    }
}

/// A path at work. Dropped without [`stop`](Running::stop), it stops by itself, soon.
pub struct Running {
    namespaces: [Namespace; 2],
    stop: PipeWriter,
    thread: JoinHandle<io::Result<Done>>,
    delivered: Arc<AtomicU64>,
    shortest_hop: Duration,
}

/// What the loop leaves.
struct Done {
    tuns: [Tun; 2],
    medium: Medium,
    lateness: Lateness,
    refused: u64,
    is_urgent: bool,
    lasted: Duration,
}

impl Running {
    /// A namespace.
    pub fn namespace(&self, end: End) -> &Namespace {
        &self.namespaces[end as usize]
    }

    /// Packets handed to the kernels so far.
    pub fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    /// Has it failed? Then [`stop`](Running::stop) says why.
    pub fn has_failed(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends it.
    ///
    /// # Errors
    /// What a device said, or that the books don't balance, which is a bug in driftway.
    pub fn stop(self) -> io::Result<Report> {
        drop(self.stop);
        let done = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        done.medium.balance().map_err(|what| {
            io::Error::other(format!("a bug in driftway: the books don't balance: {what}"))
        })?;
        let mut overflows = 0;
        for (namespace, tun) in self.namespaces.iter().zip(&done.tuns) {
            overflows += namespace.run(|| tun.overflows())??;
        }
        Ok(Report {
            lasted: done.lasted,
            account: done.medium.account().clone(),
            marked: done.medium.marked(),
            lateness: done.lateness,
            overflows,
            refused: done.refused,
            is_urgent: done.is_urgent,
            shortest_hop: self.shortest_hop,
        })
    }
}

/// What happened, and how exactly.
#[derive(Clone, Debug)]
pub struct Report {
    /// How long the path was at work.
    pub lasted: Duration,
    /// Packets.
    pub account: Account,
    /// Packets that queues marked.
    pub marked: u64,
    /// How much later than they should packets left the path.
    pub lateness: Lateness,
    /// Packets that a kernel dropped before the path saw them, because we did not keep up.
    pub overflows: u64,
    /// Packets that a kernel did not take when they left the path.
    pub refused: u64,
    /// Was the path's thread before all ordinary ones (see [`urgent`])?
    pub is_urgent: bool,
    /// The shortest time that a packet of the MTU's size takes over any hop at any time.
    pub shortest_hop: Duration,
}

impl Report {
    /// How late one packet in a hundred may be: [`TOLERANCE`] of the shortest hop.
    pub fn tolerated(&self) -> Duration {
        Duration::from_nanos((self.shortest_hop.as_nanos() as f64 * TOLERANCE) as u64)
    }

    /// Why the result is not to be trusted; empty: it is.
    pub fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        let (p99, tolerated) = (self.lateness.quantile(0.99), self.tolerated());
        if p99 > tolerated {
            let besides = if self.is_urgent { "" } else { "; it may not use the real time class" };
            doubts.push(format!(
                "one packet in a hundred was late by {} µs or more, over a tenth of the shortest \
                 hop's time ({} µs){besides}",
                p99.as_nanos() / 1000,
                self.shortest_hop.as_nanos() / 1000,
            ));
        }
        if self.overflows > 0 {
            doubts.push(format!(
                "{} packets were dropped before the path saw them: this machine did not keep up",
                self.overflows
            ));
        }
        if self.refused > 0 {
            doubts.push(format!(
                "{} packets that had come through were not taken by a kernel",
                self.refused
            ));
        }
        doubts
    }
}

/// The shortest time of a packet of `mtu` bytes over any hop, changes to come included.
fn shortest_hop(path: &Path, mtu: u16) -> Duration {
    let own = (1..=path.hops).map(|hop| (Some(hop), path.link_of(hop)));
    let beside = path.parallel.iter().map(|route| (None, path.link_beside(route)));
    let time = |(hop, link): (Option<u32>, driftway_scenario::Link)| {
        let (mut rates, mut delays) = (vec![link.rate], vec![link.delay]);
        for fault in &path.faults {
            if let Fault::Change(Change { hop: changed, rate, delay, .. }) = fault
                && hop == Some(*changed)
            {
                rates.extend(rate);
                delays.extend(delay);
            }
        }
        let serialised = rates.into_iter().map(|BitRate(rate)| rate.time_for(mtu.into())).min();
        let delayed = delays.into_iter().map(|delay| delay.bounds().0).min();
        serialised.unwrap_or_default() + delayed.unwrap_or_default()
    };
    own.chain(beside).map(time).min().unwrap_or_default()
}

/// The thread that moves packets.
struct Loop {
    tuns: [Tun; 2],
    medium: Medium,
    clock: RealClock,
    lateness: Lateness,
    refused: u64,
    delivered: Arc<AtomicU64>,
}

impl Loop {
    fn run(mut self, stopped: &PipeReader) -> io::Result<Done> {
        // By default the kernel lets a timer be 50 µs late to wake less often.
        prctl::set_timerslack(1)?;
        let is_urgent = urgent();
        let mut buffer = vec![0; LARGEST_PACKET].into_boxed_slice();
        let mut ready = [true; 2];
        loop {
            for end in End::BOTH {
                if ready[end as usize] {
                    ready[end as usize] = self.take_in(end, &mut buffer)?;
                }
            }
            self.medium.on_timeout(self.clock.now());
            self.hand_out()?;
            let timeout = match self.medium.next_timeout() {
                _ if ready.contains(&true) => Some(Duration::ZERO),
                Instant::FAR_FUTURE => None,
                next => Some(self.clock.until(next)),
            };
            if self.wait(timeout, stopped, &mut ready)? {
                break;
            }
        }
        Ok(Done {
            lasted: self.clock.now().since(Instant::ZERO),
            tuns: self.tuns,
            medium: self.medium,
            lateness: self.lateness,
            refused: self.refused,
            is_urgent,
        })
    }

    /// Takes what the kernel at an end has sent; is there more?
    fn take_in(&mut self, end: End, buffer: &mut [u8]) -> io::Result<bool> {
        for _ in 0..BATCH {
            let Some(len) = self.tuns[end as usize].receive(buffer)? else { return Ok(false) };
            self.medium.offer(self.clock.now(), end, &buffer[..len]);
        }
        Ok(true)
    }

    /// Hands out what has left the path.
    fn hand_out(&mut self) -> io::Result<()> {
        while let Some(leaving) = self.medium.poll() {
            match self.tuns[leaving.end as usize].send(&leaving.bytes) {
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => self.refused += 1,
                result => result?,
            }
            self.lateness.record(self.clock.now().since(leaving.due));
            self.medium.give_back(leaving);
            self.delivered.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Waits for packets, the timeout or the end; is that here?
    fn wait(
        &self,
        timeout: Option<Duration>,
        stopped: &PipeReader,
        ready: &mut [bool; 2],
    ) -> io::Result<bool> {
        let [near, far] = &self.tuns;
        let mut watched = [near.as_fd(), far.as_fd(), stopped.as_fd()]
            .map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        let timeout = timeout.map(|timeout| {
            TimeSpec::from_duration(std::time::Duration::from_nanos(timeout.as_nanos()))
        });
        match ppoll(&mut watched, timeout, None) {
            Err(Errno::EINTR) | Ok(0) => return Ok(false),
            Err(errno) => return Err(errno.into()),
            Ok(_) => {}
        }
        let [near, far, stop] = watched.map(|fd| fd.any().unwrap_or(true));
        for (ready, now) in ready.iter_mut().zip([near, far]) {
            *ready |= now;
        }
        Ok(stop)
    }
}
