//! A bottleneck that several hosts share: a TUN device in a namespace for each of them and for a
//! server, and a thread that forwards between them. It has a rate, a FIFO queue of limited length
//! that may mark, random losses, and a delay. It shares no code with the emulator, so that a fault
//! of one cannot hide in the other.
//!
//! Flows of equal delay that one deterministic queue clocks are in step: which of them finds the
//! queue full depends on some ten microseconds (Floyd & Jacobson, "On Traffic Phase Effects in
//! Packet-Switched Gateways", 1992). Acknowledgments are therefore delayed by up to a packet's
//! transmission time, at random; without that ([`Bottleneck::is_random`]) a delay of 100 µs at one
//! of two plain hosts gives it three quarters of the link.

use std::collections::VecDeque;
use std::io::{self, PipeReader, PipeWriter};
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::thread::{self, JoinHandle};

use driftway_base::{Duration, Instant, RandomStream};
use driftway_linux::{Namespace, RealClock, Tun, enable_realtime_scheduling};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

const MTU: u16 = 1500;
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 2, 0, 1);
/// Maximum number of packets read from one device before another has its turn.
const BATCH: usize = 16;
/// All addresses are reached over the TUN device.
const PREFIX: u8 = 8;

/// The bottleneck towards the server; the way back has only the delay.
#[derive(Clone, Copy, Debug)]
pub struct Bottleneck {
    /// Rate (bit/s).
    pub rate: u64,
    /// Round-trip time without a queue.
    pub round_trip: Duration,
    /// Queue length, in bandwidth-delay products. One packet is in service besides.
    pub queue_bdp: f64,
    /// Packets that are ECN-capable are marked when the queue is at least this full (0 to 1).
    pub mark_from: Option<f64>,
    /// Probability of the loss of a packet before the queue.
    pub loss: f64,
    /// Acknowledgments are delayed at random.
    pub is_random: bool,
    /// Further delay of the first sender's acknowledgments.
    pub first_delay: Duration,
    /// Connections agree on ECN.
    pub ecn: bool,
}

impl Bottleneck {
    fn queue_bytes(&self) -> f64 {
        self.rate as f64 * self.round_trip.as_secs_f64() / 8.0 * self.queue_bdp
    }
}

/// Packets of one sender to the server.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderCounts {
    pub delivered: u64,
    pub delivered_bytes: u64,
    /// Dropped at the full queue.
    pub dropped: u64,
}

/// Counters by sender: at each requested time, and at the end.
pub type CountsOverTime = Vec<Vec<SenderCounts>>;

/// Hosts and a server around a bottleneck, until it is stopped.
pub struct SharedBottleneck {
    pub senders: Vec<Namespace>,
    pub server: Namespace,
    pub clock: RealClock,
    stop: PipeWriter,
    thread: JoinHandle<io::Result<CountsOverTime>>,
}

impl SharedBottleneck {
    /// Starts it with so many senders. Counters are recorded at these times (ascending).
    pub fn start(
        bottleneck: Bottleneck,
        senders: usize,
        seed: u64,
        record_at: Vec<Instant>,
    ) -> io::Result<Self> {
        let mut namespaces = Vec::new();
        let mut tuns = Vec::new();
        for n in 0..=senders {
            let namespace = Namespace::new()?;
            namespace.set_sysctl("net/ipv4/tcp_ecn", if bottleneck.ecn { "1" } else { "0" })?;
            let address = if n < senders { Self::address_of(n) } else { SERVER };
            tuns.push(namespace.run(|| Tun::open(address, PREFIX, MTU))??);
            namespaces.push(namespace);
        }
        let server = namespaces.pop().ok_or_else(|| io::Error::other("there is a server"))?;
        let (stopped, stop) = io::pipe()?;
        let clock = RealClock::start();
        let forwarder = Forwarder::new(bottleneck, tuns, seed, record_at);
        let thread = thread::spawn(move || forwarder.run(clock, &stopped));
        Ok(Self { senders: namespaces, server, clock, stop, thread })
    }

    pub fn server_address() -> Ipv4Addr {
        SERVER
    }

    fn address_of(sender: usize) -> Ipv4Addr {
        Ipv4Addr::new(10, 1, 0, 1 + u8::try_from(sender).expect("few senders"))
    }

    /// Stops it; returns the recorded counters.
    pub fn stop(self) -> io::Result<CountsOverTime> {
        drop(self.stop);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

struct Forwarder {
    bottleneck: Bottleneck,
    /// Those of the senders, and the server's.
    tuns: Vec<Tun>,
    random: RandomStream,
    /// Packets in the queue: times at which their transmission starts, and lengths (bytes). The one in service counts
    /// no more, as in a real queue: if it counted by what is left of it, each later packet had an advantage.
    waiting: VecDeque<(Instant, usize)>,
    /// Time at which the queue is empty.
    busy_until: Instant,
    /// Arrival of the last packet to each sender: packets keep their order.
    last_arrivals: Vec<Instant>,
    /// Packets to the server and back, with the time of their arrival, in order.
    on_the_way: [VecDeque<(Instant, usize, Vec<u8>)>; 2],
    counts: Vec<SenderCounts>,
    record_at: VecDeque<Instant>,
    recorded: CountsOverTime,
}

impl Forwarder {
    fn new(bottleneck: Bottleneck, tuns: Vec<Tun>, seed: u64, record_at: Vec<Instant>) -> Self {
        let senders = tuns.len() - 1;
        Self {
            bottleneck,
            tuns,
            random: RandomStream::new(seed, "losses", 0),
            waiting: VecDeque::new(),
            busy_until: Instant::ZERO,
            last_arrivals: vec![Instant::ZERO; senders],
            on_the_way: Default::default(),
            counts: vec![SenderCounts::default(); senders],
            record_at: record_at.into(),
            recorded: Vec::new(),
        }
    }

    fn run(mut self, clock: RealClock, stopped: &PipeReader) -> io::Result<CountsOverTime> {
        enable_realtime_scheduling();
        let mut buffer = vec![0; 65_535];
        loop {
            let mut more = false;
            for from in 0..self.tuns.len() {
                for n in 0..BATCH {
                    let Some(len) = self.tuns[from].receive(&mut buffer)? else { break };
                    self.on_packet(clock.now(), from, &buffer[..len]);
                    more |= n + 1 == BATCH;
                }
            }
            self.deliver(clock.now())?;
            let next = self.on_the_way.iter().filter_map(|way| Some(way.front()?.0)).min();
            let wait = if more { Some(Duration::ZERO) } else { next.map(|at| clock.until(at)) };
            let wait = wait.map(|wait| {
                TimeSpec::from_duration(std::time::Duration::from_nanos(wait.as_nanos()))
            });
            let fds = self.tuns.iter().map(AsFd::as_fd).chain([stopped.as_fd()]);
            let mut watched: Vec<_> = fds.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
            match ppoll(&mut watched, wait, None) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            if watched.last().is_some_and(|stop| stop.any().unwrap_or(true)) {
                self.recorded.push(self.counts.clone());
                return Ok(self.recorded);
            }
        }
    }

    fn on_packet(&mut self, now: Instant, from: usize, packet: &[u8]) {
        while self.record_at.front().is_some_and(|at| *at <= now) {
            self.record_at.pop_front();
            self.recorded.push(self.counts.clone());
        }
        let one_way = self.bottleneck.round_trip.over(2);
        let Some(counts) = self.counts.get_mut(from) else {
            // From the server: the last byte of the address names the sender.
            let to = packet.get(19).map_or(0, |last| usize::from(*last)).wrapping_sub(1);
            self.on_answer(now + one_way, to, packet);
            return;
        };
        let drawn = self.random.uniform_below(1 << 32) as f64 / (1u64 << 32) as f64;
        if drawn < self.bottleneck.loss {
            return;
        }
        let bits = packet.len() as f64 * 8.0;
        let rate = self.bottleneck.rate as f64;
        while self.waiting.front().is_some_and(|(starts, _)| *starts <= now) {
            self.waiting.pop_front();
        }
        let backlog = self.waiting.iter().map(|(_, len)| *len as f64).sum::<f64>();
        let limit = self.bottleneck.queue_bytes().max(MTU.into());
        if self.busy_until > now && backlog + packet.len() as f64 > limit {
            counts.dropped += 1;
            return;
        }
        let mut packet = packet.to_vec();
        if self.bottleneck.mark_from.is_some_and(|from| backlog >= from * limit) {
            mark(&mut packet);
        }
        counts.delivered += 1;
        counts.delivered_bytes += packet.len() as u64;
        let takes = Duration::from_nanos((bits / rate * 1e9) as u64);
        let starts = self.busy_until.max(now);
        self.waiting.push_back((starts, packet.len()));
        self.busy_until = starts + takes;
        self.on_the_way[0].push_back((self.busy_until + one_way, self.tuns.len() - 1, packet));
    }

    /// A packet of the server, to arrive at this time or later.
    fn on_answer(&mut self, arrives: Instant, to: usize, packet: &[u8]) {
        if to >= self.counts.len() {
            return;
        }
        let transmission = u64::from(MTU) * 8 * 1_000_000_000 / self.bottleneck.rate;
        let random = if self.bottleneck.is_random {
            self.random.uniform_below(transmission.max(1))
        } else {
            0
        };
        let own = if to == 0 { self.bottleneck.first_delay } else { Duration::ZERO };
        let arrives = (arrives + own + Duration::from_nanos(random)).max(self.last_arrivals[to]);
        self.last_arrivals[to] = arrives;
        let answers = &mut self.on_the_way[1];
        let place = answers.partition_point(|(at, ..)| *at <= arrives);
        answers.insert(place, (arrives, to, packet.to_vec()));
    }

    fn deliver(&mut self, now: Instant) -> io::Result<()> {
        for way in &mut self.on_the_way {
            while way.front().is_some_and(|(at, ..)| *at <= now) {
                let Some((_, to, packet)) = way.pop_front() else { break };
                self.tuns[to].send(&packet)?;
            }
        }
        Ok(())
    }
}

/// Sets Congestion Experienced on an ECN-capable packet (RFC 3168).
fn mark(packet: &mut [u8]) {
    let Some(tos) = packet.get(1).copied() else { return };
    if tos & 3 == 0 {
        return;
    }
    packet[1] = tos | 3;
    // RFC 1624: the header checksum follows the change of one word.
    let word = |at: usize| u32::from(u16::from_be_bytes([packet[at], packet[at + 1]]));
    let old = u32::from(u16::from_be_bytes([packet[0], tos]));
    let sum = (!word(10) & 0xffff) + (!old & 0xffff) + word(0);
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = ((folded & 0xffff) + (folded >> 16)) as u16;
    packet[10..12].copy_from_slice(&(!folded).to_be_bytes());
}
