//! Two namespaces with impairments between them that no path of the simulator has.

use std::io::{self, PipeReader, PipeWriter};
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::thread::{self, JoinHandle};

use driftway_base::{Duration, Probability};
use driftway_linux::{
    Impairer, Impairment, ImpairmentCounts, Namespace, RealClock, Tun, enable_realtime_scheduling,
};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

const ENDS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
const PREFIX: u8 = 24;
const MTU: u16 = 1500;
/// Maximum number of packets read from one device before the other has its turn.
const BATCH: usize = 32;

/// Running until it is stopped.
pub struct ReorderingLink {
    namespaces: [Namespace; 2],
    stop: PipeWriter,
    thread: JoinHandle<io::Result<[ImpairmentCounts; 2]>>,
}

impl ReorderingLink {
    /// Starts the loop.
    pub fn start() -> io::Result<Self> {
        let namespaces = [Namespace::new()?, Namespace::new()?];
        let mut tuns = Vec::new();
        for (namespace, address) in namespaces.iter().zip(ENDS) {
            namespace.set_sysctl("net/ipv4/tcp_ecn", "1")?;
            tuns.push(namespace.run(|| Tun::open(address, PREFIX, MTU))??);
        }
        let (stopped, stop) = io::pipe()?;
        let thread = thread::spawn(move || cross(&tuns, &stopped));
        Ok(Self { namespaces, stop, thread })
    }

    pub fn ends(&self) -> [&Namespace; 2] {
        self.namespaces.each_ref()
    }

    pub fn far_address(&self) -> Ipv4Addr {
        ENDS[1]
    }

    /// Stops the loop; returns its counters, by direction.
    pub fn stop(self) -> io::Result<[ImpairmentCounts; 2]> {
        drop(self.stop);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn impairment() -> Impairment {
    let one_in = |n: f64| Probability::from_f64(1.0 / n);
    Impairment {
        delay: Duration::from_millis(10),
        drop: one_in(1000.0),
        duplicate: one_in(100.0),
        reorder: one_in(100.0),
        reorder_delay: Duration::from_millis(3),
        corrupt: one_in(500.0),
        ..Impairment::default()
    }
}

fn cross(tuns: &[Tun], stopped: &PipeReader) -> io::Result<[ImpairmentCounts; 2]> {
    enable_realtime_scheduling();
    let clock = RealClock::start();
    let mut ways = [0, 1].map(|direction| Impairer::new(impairment(), 1, direction));
    let (mut buffer, mut packet) = (vec![0; 65_535], Vec::new());
    loop {
        let mut more = false;
        for (from, way) in ways.iter_mut().enumerate() {
            for n in 0..BATCH {
                let Some(len) = tuns[from].receive(&mut buffer)? else { break };
                way.offer(clock.now(), &buffer[..len]);
                more |= n + 1 == BATCH;
            }
            while way.take(clock.now(), &mut packet) {
                match tuns[1 - from].send(&packet) {
                    // The flipped bit was in the version.
                    Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
                    sent => sent?,
                }
            }
        }
        let next = ways.iter().filter_map(Impairer::next_timeout).min();
        let wait = if more { Some(Duration::ZERO) } else { next.map(|at| clock.until(at)) };
        let wait = wait
            .map(|wait| TimeSpec::from_duration(std::time::Duration::from_nanos(wait.as_nanos())));
        let mut watched = [tuns[0].as_fd(), tuns[1].as_fd(), stopped.as_fd()]
            .map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        match ppoll(&mut watched, wait, None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        if watched[2].any().unwrap_or(true) {
            return Ok(ways.each_ref().map(Impairer::counts));
        }
    }
}
