//! Two connections and a wire between them, for tests of whole connections.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod test_connection;

use std::collections::VecDeque;

use driftway_base::{Duration, Ecn, Endpoint, Instant, Ipv4Addr, Seq};
use driftway_tcp::{Config, Connection, Event, Transmit};

pub const MS: fn(u64) -> Duration = Duration::from_millis;

/// One end of the wire.
pub struct End {
    pub tcp: Connection,
    /// Number of bytes read, each checked against the offset that its sender gave it.
    pub read: u64,
    /// Events of the connection; those of lost segments are left out.
    pub events: Vec<Event>,
    /// Segments sent by this end, with their times.
    pub sent: Vec<(Instant, Transmit)>,
    /// Reads data as soon as it arrives.
    pub reads: bool,
}

/// Effect of the wire on a segment.
pub enum WireAction {
    Deliver(Duration),
    Drop,
    Duplicate(Duration, Duration),
    DeliverMarked(Duration),
}

pub type WirePolicy = Box<dyn FnMut(usize, u64, &Transmit) -> WireAction>;

pub struct Pair {
    pub now: Instant,
    pub ends: [End; 2],
    in_transit: VecDeque<(Instant, usize, Transmit)>,
    /// Decides what happens to the n-th segment that an end sends.
    pub policy: WirePolicy,
    counts: [u64; 2],
}

pub fn address(host: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, host)
}

pub const DELAY: Duration = Duration::from_millis(50);

impl Pair {
    /// End 0 connects to end 1, which listens; the delay is 50 ms each way.
    pub fn new(client: &Config, server: &Config) -> Self {
        let (a, b) = (Endpoint::new(address(1), 4000), Endpoint::new(address(2), 80));
        // Initial sequence numbers near the wrap, so that every test crosses it.
        let client = Connection::connect(client, a, b, Seq(u32::MAX - 500), 1, Instant::ZERO);
        let server = Connection::listen(server, b, Seq(u32::MAX - 100), 2);
        Self::from_connections(client, server)
    }

    pub fn from_connections(a: Connection, b: Connection) -> Self {
        let end = |tcp| End { tcp, read: 0, events: vec![], sent: vec![], reads: true };
        Self {
            now: Instant::ZERO,
            ends: [end(a), end(b)],
            in_transit: VecDeque::new(),
            policy: Box::new(|_, _, _| WireAction::Deliver(DELAY)),
            counts: [0; 2],
        }
    }

    fn schedule(&mut self, at: Instant, to: usize, transmit: Transmit) {
        let place = self.in_transit.partition_point(|(t, ..)| *t <= at);
        self.in_transit.insert(place, (at, to, transmit));
    }

    /// Sends and reads everything possible at this instant.
    pub fn drain(&mut self) {
        for from in 0..2 {
            loop {
                let end = &mut self.ends[from];
                while end.reads
                    && let Some(part) = end.tcp.read(u32::MAX)
                {
                    assert_eq!(part.offset, end.read, "bytes out of order");
                    assert_eq!(part.stream, 2 - from as u32, "bytes of another stream");
                    end.read += u64::from(part.len);
                }
                let Some(transmit) = end.tcp.poll_transmit(self.now) else { break };
                end.sent.push((self.now, transmit));
                let n = self.counts[from];
                self.counts[from] += 1;
                match (self.policy)(from, n, &transmit) {
                    WireAction::Deliver(delay) => {
                        self.schedule(self.now + delay, 1 - from, transmit)
                    }
                    WireAction::Drop => {}
                    WireAction::Duplicate(first, second) => {
                        self.schedule(self.now + first, 1 - from, transmit);
                        self.schedule(self.now + second, 1 - from, transmit);
                    }
                    WireAction::DeliverMarked(delay) => {
                        let ecn = if transmit.ecn.is_capable() { Ecn::Ce } else { transmit.ecn };
                        self.schedule(self.now + delay, 1 - from, Transmit { ecn, ..transmit });
                    }
                }
            }
            self.check_invariants(from);
            let end = &mut self.ends[from];
            while let Some(event) = end.tcp.poll_event() {
                if !matches!(event, Event::RetransmissionTimeout | Event::FastRetransmit) {
                    end.events.push(event);
                }
            }
        }
    }

    /// Checks the invariants.
    fn check_invariants(&self, end: usize) {
        let view = self.ends[end].tcp.view();
        let [una, nxt, max] =
            [view.snd_una, view.snd_nxt, view.snd_max].map(|seq| seq.value().unwrap());
        assert!(una.at_or_before(nxt) && nxt.at_or_before(max), "{view:?}");
        let peer = &self.ends[1 - end];
        let arrived = peer.read + u64::from(peer.tcp.readable_bytes());
        assert!(
            self.ends[end].tcp.acknowledged_bytes() <= arrived,
            "acknowledged what never arrived"
        );
    }

    /// Advances to the next event; false if there is none.
    pub fn step(&mut self) -> bool {
        self.drain();
        let arrival = self.in_transit.front().map(|(at, ..)| *at);
        let timer = self.ends.iter().filter_map(|e| e.tcp.next_timeout()).min();
        let Some(next) = [arrival, timer].into_iter().flatten().min() else { return false };
        assert!(next >= self.now, "time went back");
        self.now = next;
        if arrival == Some(next) {
            let (_, to, transmit) = self.in_transit.pop_front().expect("an arrival");
            let from = address(2 - to as u8);
            self.ends[to].tcp.on_segment(next, from, &transmit.segment, transmit.ecn);
        } else {
            for end in &mut self.ends {
                end.tcp.on_timeout(next);
                assert!(end.tcp.next_timeout().is_none_or(|at| at > next), "time does not advance");
            }
        }
        self.drain();
        true
    }

    pub fn run_until(&mut self, end: Instant) {
        loop {
            self.drain();
            let arrival = self.in_transit.front().map(|(at, ..)| *at);
            let timer = self.ends.iter().filter_map(|e| e.tcp.next_timeout()).min();
            match [arrival, timer].into_iter().flatten().min() {
                Some(next) if next <= end => self.step(),
                _ => break,
            };
        }
        self.now = end;
    }

    /// Runs until there are no more events.
    pub fn run(&mut self) {
        let mut steps = 0;
        while self.step() {
            steps += 1;
            assert!(steps < 3_000_000, "does not terminate: {:?}", self.now);
        }
    }
}
