//! Two network namespaces, joined by a path of the simulator in real time.
//!
//! One thread moves packets: it waits for either device or the path's next event, reads the
//! kernels' packets, processes due events, and writes the packets that leave. The path keeps its
//! own time with a resolution of 1 ns; a delay of this thread affects only the time at which a
//! packet leaves, is measured there, and does not accumulate over hops.

mod emulated_path;
mod lateness;
mod packet_bytes;

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use driftway_base::{Duration, Instant, Ipv4Addr};
use driftway_scenario::{BitRate, Fault, HopChange, Path, Time};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl;
use nix::sys::time::TimeSpec;

pub use emulated_path::{DirectionCounts, EmulatedPath, EmulationCounts, PathEnd};
pub use lateness::LatenessHistogram;

use crate::{Namespace, RealClock, Tun};

/// Prefix of all addresses of a path, its routers' and those of networks behind its ends:
/// 10.0.0.0/8.
const PREFIX: u8 = 8;
/// Maximum number of packets read from one device before the other has its turn.
const BATCH: usize = 32;
/// Maximum length of an IPv4 packet.
const LARGEST_PACKET: usize = 65_535;

/// Tolerated lateness of the 99th percentile, as a share of the shortest hop's time.
pub const LATENESS_TOLERANCE: f64 = 0.1;

/// Two namespaces and the path between them, before the start.
pub struct Emulation {
    hosts: [EmulatedHost; 2],
    medium: EmulatedPath,
    shortest_hop: Duration,
}

struct EmulatedHost {
    namespace: Namespace,
    tun: Tun,
}

impl Emulation {
    /// Creates the namespaces, whose devices have this MTU (bytes), and a path with the simulator's
    /// random streams for this `seed`. Faults at random times occur within `duration`; the path
    /// continues after that.
    ///
    /// # Errors
    /// Any error of the kernel; see [`check_requirements`](crate::check_requirements) for the requirements.
    pub fn new(path: &Path, duration: Time, seed: u64, mtu: u16) -> io::Result<Self> {
        let medium = EmulatedPath::new(path, duration, seed);
        let side = |end| EmulatedHost::new(medium.address(end), mtu);
        let sides = [side(PathEnd::Near)?, side(PathEnd::Far)?];
        Ok(Self { hosts: sides, medium, shortest_hop: shortest_hop(path, mtu) })
    }

    /// The namespace at an end.
    pub fn namespace(&self, end: PathEnd) -> &Namespace {
        &self.hosts[end as usize].namespace
    }

    /// Address of the kernel at an end.
    pub fn address(&self, end: PathEnd) -> Ipv4Addr {
        self.medium.address(end)
    }

    /// Starts the path at time zero of the scenario.
    ///
    /// # Errors
    /// The thread or the pipe cannot be created.
    pub fn start(self) -> io::Result<RunningEmulation> {
        let (stopped, stop) = io::pipe()?;
        let delivered = Arc::new(AtomicU64::new(0));
        let [near, far] = self.hosts;
        let work = PacketLoop {
            tuns: [near.tun, far.tun],
            medium: self.medium,
            clock: RealClock::start(),
            lateness: LatenessHistogram::default(),
            refused: 0,
            delivered: Arc::clone(&delivered),
        };
        let thread =
            thread::Builder::new().name("path".into()).spawn(move || work.run(&stopped))?;
        Ok(RunningEmulation {
            namespaces: [near.namespace, far.namespace],
            stop,
            thread,
            delivered,
            shortest_hop: self.shortest_hop,
        })
    }
}

impl EmulatedHost {
    fn new(address: Ipv4Addr, mtu: u16) -> io::Result<Self> {
        let namespace = Namespace::new()?;
        for which in ["all", "default"] {
            // As in the simulator, the first router is the sending host's own: its messages arrive
            // from outside with the host's own address as source.
            namespace.set_sysctl(&format!("net/ipv4/conf/{which}/accept_local"), "1")?;
            namespace.set_sysctl(&format!("net/ipv4/conf/{which}/rp_filter"), "0")?;
        }
        let tun = namespace.run(|| Tun::open(address, PREFIX, mtu))??;
        Ok(Self { namespace, tun })
    }
}

/// A running path. If it is dropped without [`stop`](RunningEmulation::stop), it ends shortly
/// after.
pub struct RunningEmulation {
    namespaces: [Namespace; 2],
    stop: PipeWriter,
    thread: JoinHandle<io::Result<LoopOutcome>>,
    delivered: Arc<AtomicU64>,
    shortest_hop: Duration,
}

/// Final state of the loop.
struct LoopOutcome {
    tuns: [Tun; 2],
    medium: EmulatedPath,
    lateness: LatenessHistogram,
    refused: u64,
    is_urgent: bool,
    lasted: Duration,
}

impl RunningEmulation {
    /// The namespace at an end.
    pub fn namespace(&self, end: PathEnd) -> &Namespace {
        &self.namespaces[end as usize]
    }

    /// Packets passed to the kernels so far.
    pub fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    /// Returns whether it has failed; [`stop`](RunningEmulation::stop) then returns the error.
    pub fn has_failed(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends the path, and returns its report.
    ///
    /// # Errors
    /// Any error of a device, or a violation of packet conservation, which is a bug in driftway.
    pub fn stop(self) -> io::Result<EmulationReport> {
        drop(self.stop);
        let done = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        done.medium.check_conservation().map_err(|what| {
            io::Error::other(format!("a bug in driftway: packet conservation is violated: {what}"))
        })?;
        let mut overflows = 0;
        for (namespace, tun) in self.namespaces.iter().zip(&done.tuns) {
            overflows += namespace.run(|| tun.overflows())??;
        }
        Ok(EmulationReport {
            duration: done.lasted,
            counts: done.medium.counts().clone(),
            marked: done.medium.marked(),
            lateness: done.lateness,
            overflows,
            refused: done.refused,
            is_realtime: done.is_urgent,
            shortest_hop: self.shortest_hop,
        })
    }
}

/// Results of an emulation, and its accuracy.
#[derive(Clone, Debug)]
pub struct EmulationReport {
    /// Running time.
    pub duration: Duration,
    /// Packet counters.
    pub counts: EmulationCounts,
    /// Packets marked by queues.
    pub marked: u64,
    /// Lateness of packets leaving the path.
    pub lateness: LatenessHistogram,
    /// Packets that a kernel dropped before they reached the path, because this machine did not
    /// keep up.
    pub overflows: u64,
    /// Packets that a kernel rejected when they left the path.
    pub refused: u64,
    /// The path's thread had real-time scheduling (see [`crate::enable_realtime_scheduling`]).
    pub is_realtime: bool,
    /// The shortest time of a packet of the MTU's size over any hop, at any time.
    pub shortest_hop: Duration,
}

impl EmulationReport {
    /// Tolerated lateness of one packet in a hundred: a tenth of the shortest hop's time.
    pub fn tolerated_lateness(&self) -> Duration {
        Duration::from_nanos((self.shortest_hop.as_nanos() as f64 * LATENESS_TOLERANCE) as u64)
    }

    /// Reasons to distrust the results; empty if there are none.
    pub fn warnings(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        let (p99, tolerated) = (self.lateness.quantile(0.99), self.tolerated_lateness());
        if p99 > tolerated {
            let besides =
                if self.is_realtime { "" } else { "; it may not use the real time class" };
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

/// The shortest time of a packet of `mtu` bytes over any hop, including later changes.
fn shortest_hop(path: &Path, mtu: u16) -> Duration {
    let own = (1..=path.hops).map(|hop| (Some(hop), path.hop_link(hop)));
    let beside = path.parallel.iter().map(|route| (None, path.parallel_link(route)));
    let time = |(hop, link): (Option<u32>, driftway_scenario::Link)| {
        let (mut rates, mut delays) = (vec![link.rate], vec![link.delay]);
        for fault in &path.faults {
            if let Fault::Change(HopChange { hop: changed, rate, delay, .. }) = fault
                && hop == Some(*changed)
            {
                rates.extend(rate);
                delays.extend(delay);
            }
        }
        let serialised =
            rates.into_iter().map(|BitRate(rate)| rate.transmission_time(mtu.into())).min();
        let delayed = delays.into_iter().map(|delay| delay.bounds().0).min();
        serialised.unwrap_or_default() + delayed.unwrap_or_default()
    };
    own.chain(beside).map(time).min().unwrap_or_default()
}

/// The packet loop of the path's thread.
struct PacketLoop {
    tuns: [Tun; 2],
    medium: EmulatedPath,
    clock: RealClock,
    lateness: LatenessHistogram,
    refused: u64,
    delivered: Arc<AtomicU64>,
}

impl PacketLoop {
    fn run(mut self, stopped: &PipeReader) -> io::Result<LoopOutcome> {
        // By default timers of the kernel have a slack of 50 µs.
        prctl::set_timerslack(1)?;
        let is_urgent = crate::enable_realtime_scheduling();
        let mut buffer = vec![0; LARGEST_PACKET].into_boxed_slice();
        let mut ready = [true; 2];
        loop {
            for end in PathEnd::BOTH {
                if ready[end as usize] {
                    ready[end as usize] = self.read_packets(end, &mut buffer)?;
                }
            }
            self.medium.on_timeout(self.clock.now());
            self.write_packets()?;
            let timeout = match self.medium.next_timeout() {
                _ if ready.contains(&true) => Some(Duration::ZERO),
                Instant::FAR_FUTURE => None,
                next => Some(self.clock.until(next)),
            };
            if self.wait(timeout, stopped, &mut ready)? {
                break;
            }
        }
        Ok(LoopOutcome {
            lasted: self.clock.now().since(Instant::ZERO),
            tuns: self.tuns,
            medium: self.medium,
            lateness: self.lateness,
            refused: self.refused,
            is_urgent,
        })
    }

    /// Reads packets of the kernel at an end; returns whether there may be more.
    fn read_packets(&mut self, end: PathEnd, buffer: &mut [u8]) -> io::Result<bool> {
        for _ in 0..BATCH {
            let Some(len) = self.tuns[end as usize].receive(buffer)? else { return Ok(false) };
            self.medium.offer(self.clock.now(), end, &buffer[..len]);
        }
        Ok(true)
    }

    /// Writes the packets that have left the path.
    fn write_packets(&mut self) -> io::Result<()> {
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

    /// Waits for packets, the timeout or the end; returns whether it is the end.
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
