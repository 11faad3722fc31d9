//! liu-singh-2001 §III-A "Effect of Lost Messages": lost echoes and destination unreachable messages are
//! repeated, so that ATCP reaches the correct state.

use core::ops::Range;
use std::collections::BTreeSet;

use driftway_base::{Probability, RandomStream};

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
    in_flight: Vec<(Instant, Arrival)>,
    events_transmitted: usize,
    random: RandomStream,
    loss_probability: Probability,
    marking: Range<Instant>,
    outage: Range<Instant>,
    expected: Seq,
    out_of_order: BTreeSet<u32>,
    is_echoing: bool,
    lost: u32,
}

impl Path {
    fn new(seed: u64, losing: f64) -> Self {
        let never = Instant::FAR_FUTURE..Instant::FAR_FUTURE;
        let mut line = ScriptedDriver::new(Atcp::new(options()));
        line.tcp.set_ssthresh(1_000);
        Self {
            line,
            in_flight: Vec::new(),
            events_transmitted: 0,
            random: RandomStream::new(seed, "lost-messages", 0),
            loss_probability: Probability::from_f64(losing),
            marking: never.clone(),
            outage: never,
            expected: Tcp::START,
            out_of_order: BTreeSet::new(),
            is_echoing: false,
            lost: 0,
        }
    }

    fn loses(&mut self) -> bool {
        let hit = self.random.bernoulli(self.loss_probability);
        self.lost += u32::from(hit);
        hit
    }

    /// Transfers `bytes` bytes, at most until `end`.
    fn transfer(&mut self, bytes: u32, end: Instant) {
        self.line.write(bytes);
        self.transmit_sent();
        loop {
            let first = self.in_flight.iter().map(|(at, _)| *at).min();
            let timeout = self.line.next_timeout();
            let Some(next) = first.into_iter().chain(timeout).min().filter(|at| *at <= end) else {
                return;
            };
            // At one instant arrivals precede timers.
            match self.in_flight.iter().position(|(at, _)| *at == next) {
                Some(index) => {
                    let (_, arrival) = self.in_flight.remove(index);
                    self.line.run_until(next - Duration::from_nanos(1));
                    self.line.wait_until(next);
                    self.arrive(next, arrival);
                }
                None => self.line.run_until(next),
            }
            self.transmit_sent();
        }
    }

    fn transmit_sent(&mut self) {
        for (at, event) in &self.line.record[self.events_transmitted..] {
            if let Event::Sent(segment) | Event::Resent { segment, .. } = event {
                self.in_flight.push((*at + DELAY, Arrival::AtReceiver(*segment)));
            }
        }
        self.events_transmitted = self.line.record.len();
    }

    fn arrive(&mut self, now: Instant, arrival: Arrival) {
        match arrival {
            Arrival::AtReceiver(segment) if self.outage.contains(&now) => {
                if !self.loses() {
                    let mut signal = Signal::new(SignalKind::Unreachable(UnreachableScope::Host));
                    signal.details.seq = Some(segment.seq);
                    self.in_flight.push((now + DELAY, Arrival::Signal(signal)));
                }
            }
            Arrival::AtReceiver(segment) => {
                if segment.flags.contains(TcpFlags::CWR) {
                    self.is_echoing = false;
                }
                self.is_echoing |= self.marking.contains(&now);
                self.take(&segment);
                let ack = self.line.peer_ack(self.expected);
                if !self.is_echoing {
                    self.in_flight.push((now + DELAY, Arrival::AtSender(ack)));
                } else if !self.loses() {
                    self.in_flight.push((now + DELAY, Arrival::AtSender(marked(ack))));
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
                self.out_of_order.insert(seq.0);
            }
        }
        while self.out_of_order.remove(&self.expected.0) {
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
        self.expected == self.line.tcp.stream_end()
            && self.line.tcp.una() == self.line.tcp.stream_end()
    }
}

fn congested_for_a_second(seed: u64, losing: f64) -> Path {
    let mut path = Path::new(seed, losing);
    path.marking = Instant::from_secs(1)..Instant::from_secs(2);
    path.transfer(60_000, END);
    path
}

fn partitioned_for_ten_seconds(seed: u64, losing: f64) -> Path {
    let mut path = Path::new(seed, losing);
    path.outage = Instant::from_secs(1)..Instant::from_secs(11);
    path.transfer(60_000, END);
    path
}

const LOSS_PROBABILITIES: [f64; 4] = [0.0, 0.3, 0.6, 0.8];

#[test]
fn lost_echoes_are_repeated() {
    let mut lost = 0;
    for (seed, losing) in (0..20).flat_map(|seed| LOSS_PROBABILITIES.map(|losing| (seed, losing))) {
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
    for (seed, losing) in (0..20).flat_map(|seed| LOSS_PROBABILITIES.map(|losing| (seed, losing))) {
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
