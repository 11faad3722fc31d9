//! liu-singh-2001 §III-A "Effect of Lost Messages": lost echoes and destination unreachable messages are
//! repeated, so that ATCP reaches the correct state.

use core::ops::Range;
use std::collections::BTreeSet;

use driftway_base::{Chance, RandomStream};

use super::*;

/// One-way delay.
const DELAY: Duration = Duration::from_millis(40);
/// Time enough for timers with a back-off of 64 s.
const END: Instant = Instant::from_secs(2_000);

#[derive(Clone, Copy)]
enum Arrival {
    AtReceiver(TcpSegment),
    AtSender(TcpSegment),
    Signal(Signal),
}

/// A path that marks or is down for a while, and a receiver that repeats its echo until it receives CWR.
struct Path {
    line: Line,
    flying: Vec<(Instant, Arrival)>,
    launched: usize,
    draws: RandomStream,
    losing: Chance,
    marks: Range<Instant>,
    cut: Range<Instant>,
    expected: Seq,
    early: BTreeSet<u32>,
    echoes: bool,
    lost: u32,
}

impl Path {
    fn new(seed: u64, losing: f64) -> Self {
        let never = Instant::FAR_FUTURE..Instant::FAR_FUTURE;
        let mut line = Scripted::new(Atcp::new(options()));
        line.tcp.set_ssthresh(1_000);
        Self {
            line,
            flying: Vec::new(),
            launched: 0,
            draws: RandomStream::new(seed, "lost-messages", 0),
            losing: Chance::from_probability(losing),
            marks: never.clone(),
            cut: never,
            expected: Tcp::START,
            early: BTreeSet::new(),
            echoes: false,
            lost: 0,
        }
    }

    fn loses(&mut self) -> bool {
        let hit = self.draws.hits(self.losing);
        self.lost += u32::from(hit);
        hit
    }

    /// Transfers `bytes` bytes, at most until `end`.
    fn transfer(&mut self, bytes: u32, end: Instant) {
        self.line.write(bytes);
        self.launch();
        loop {
            let first = self.flying.iter().map(|(at, _)| *at).min();
            let timeout = self.line.next_timeout();
            let Some(next) = first.into_iter().chain(timeout).min().filter(|at| *at <= end) else {
                return;
            };
            // At one instant arrivals precede timers.
            match self.flying.iter().position(|(at, _)| *at == next) {
                Some(index) => {
                    let (_, arrival) = self.flying.remove(index);
                    self.line.run_until(next - Duration::from_nanos(1));
                    self.line.wait_until(next);
                    self.arrive(next, arrival);
                }
                None => self.line.run_until(next),
            }
            self.launch();
        }
    }

    fn launch(&mut self) {
        for (at, event) in &self.line.record[self.launched..] {
            if let Event::Sent(segment) | Event::Resent { segment, .. } = event {
                self.flying.push((*at + DELAY, Arrival::AtReceiver(*segment)));
            }
        }
        self.launched = self.line.record.len();
    }

    fn arrive(&mut self, now: Instant, arrival: Arrival) {
        match arrival {
            Arrival::AtReceiver(segment) if self.cut.contains(&now) => {
                if !self.loses() {
                    let mut signal = Signal::of(SignalKind::Unreachable(Scope::Host));
                    signal.about.seq = Some(segment.seq);
                    self.flying.push((now + DELAY, Arrival::Signal(signal)));
                }
            }
            Arrival::AtReceiver(segment) => {
                if segment.flags.contains(TcpFlags::CWR) {
                    self.echoes = false;
                }
                self.echoes |= self.marks.contains(&now);
                self.take(&segment);
                let ack = self.line.peers(self.expected);
                if !self.echoes {
                    self.flying.push((now + DELAY, Arrival::AtSender(ack)));
                } else if !self.loses() {
                    self.flying.push((now + DELAY, Arrival::AtSender(marked(ack))));
                }
            }
            Arrival::AtSender(segment) => self.line.receive(segment),
            Arrival::Signal(signal) => self.line.signal(signal),
        }
    }

    /// Bytes are recorded one by one, because probes split segments.
    fn take(&mut self, segment: &TcpSegment) {
        for n in 0..segment.payload.len {
            let seq = segment.seq + n;
            if seq.at_or_after(self.expected) {
                self.early.insert(seq.0);
            }
        }
        while self.early.remove(&self.expected.0) {
            self.expected += 1;
        }
    }

    /// Time at which ATCP first entered the state.
    fn entered(&self, state: &str) -> Option<Instant> {
        let first = |(at, event): &(Instant, Event)| match event {
            Event::Entered(name) if *name == state => Some(*at),
            _ => None,
        };
        self.line.record.iter().find_map(first)
    }

    fn is_complete(&self) -> bool {
        self.expected == self.line.tcp.end() && self.line.tcp.una() == self.line.tcp.end()
    }
}

fn congested_for_a_second(seed: u64, losing: f64) -> Path {
    let mut path = Path::new(seed, losing);
    path.marks = Instant::from_secs(1)..Instant::from_secs(2);
    path.transfer(60_000, END);
    path
}

fn partitioned_for_ten_seconds(seed: u64, losing: f64) -> Path {
    let mut path = Path::new(seed, losing);
    path.cut = Instant::from_secs(1)..Instant::from_secs(11);
    path.transfer(60_000, END);
    path
}

const SHARES: [f64; 4] = [0.0, 0.3, 0.6, 0.8];

#[test]
fn lost_echoes_are_repeated() {
    let mut lost = 0;
    for (seed, losing) in (0..20).flat_map(|seed| SHARES.map(|losing| (seed, losing))) {
        let path = congested_for_a_second(seed, losing);
        let congested = path.entered("congested").expect("reached");
        assert!(congested >= Instant::from_secs(1), "{congested:?}");
        assert!(path.line.responses().contains(&Response::CongestionEcho));
        assert!(path.is_complete(), "{seed} {losing}");
        lost += path.lost;
    }
    assert!(lost > 100, "{lost}");
}

#[test]
fn lost_unreachables_are_repeated() {
    let mut lost = 0;
    for (seed, losing) in (0..20).flat_map(|seed| SHARES.map(|losing| (seed, losing))) {
        let path = partitioned_for_ten_seconds(seed, losing);
        let disconnected = path.entered("disconnected").expect("reached");
        let cut = Instant::from_secs(1)..Instant::from_secs(11) + DELAY;
        assert!(cut.contains(&disconnected), "{disconnected:?}");
        assert!(path.line.responses().is_empty(), "TCP saw neither loss nor congestion");
        assert!(path.is_complete(), "{seed} {losing}");
        lost += path.lost;
    }
    assert!(lost > 100, "{lost}");
}

#[test]
fn if_all_messages_are_lost_a_partition_is_treated_as_loss() {
    let path = congested_for_a_second(1, 1.0);
    assert_eq!(path.entered("congested"), None);
    let path = partitioned_for_ten_seconds(1, 1.0);
    assert_eq!(path.entered("disconnected"), None);
    assert!(path.entered("loss").is_some_and(|at| at > Instant::from_secs(1)));
    assert!(path.is_complete());
}
