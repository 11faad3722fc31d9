//! Tests of ATCP: each transition and each rule, on the scripted driver.

mod congested;
mod diagram;
mod disconnected;
mod loss;
mod lost_messages;
mod properties;

use std::vec::Vec;

use driftway_base::{Act, Duration, HeldTimers, Instant, Release, Seq, SeqRange, UnreachableScope};
use driftway_base::{Assign, Signal, SignalKind};
use driftway_wire::{Payload, TcpFlags, TcpSegment};

use super::*;
use crate::Aid;
use crate::scripted::{Event, Response, ScriptedDriver, Tcp};

type Line = ScriptedDriver<Machine<Atcp>>;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn at_ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// First sequence number of segment `n` of the transfer (from 0).
fn nth(n: u32) -> Seq {
    Tcp::START + 100 * n
}

fn options() -> AtcpOptions {
    AtcpOptions::default()
}

/// Ten segments are in flight, sent 100 ms after the start.
fn ten_sent(options: AtcpOptions) -> Line {
    let mut line = ScriptedDriver::new(Atcp::new(options));
    line.advance(ms(100));
    line.write(1_000);
    assert_eq!(line.take_events().len(), 10);
    line
}

/// Loss state: ten segments were sent, and three duplicates reported the loss of the first.
fn in_loss(options: AtcpOptions) -> Line {
    let mut line = ten_sent(options);
    line.duplicates(3);
    assert_eq!(line.aid.state, State::Loss);
    line.take_events();
    line
}

/// Disconnected state: ten segments were sent, and the first caused an ICMP error.
fn disconnected(options: AtcpOptions) -> Line {
    let mut line = ten_sent(options);
    line.unreachable();
    assert_eq!(line.aid.state, State::Disconnected);
    line.take_events();
    line
}

fn marked(mut segment: TcpSegment) -> TcpSegment {
    segment.flags = segment.flags.with(TcpFlags::ECE);
    segment
}

fn hold_in_loss() -> Act {
    Act::Hold {
        probe: None,
        rewind_snd_nxt: false,
        timers: HeldTimers::Stop,
        cwnd: Assign::Keep,
        release: Release::Resume,
    }
}

fn hold_in_partition(first: Duration, max: Duration) -> Act {
    Act::Hold {
        probe: Some(ProbeSpacing::new(first, max)),
        rewind_snd_nxt: true,
        timers: HeldTimers::Stop,
        cwnd: Assign::Value(100),
        release: Release::AnyAck,
    }
}

fn resume(cwnd: Assign<u32>) -> Act {
    Act::Resume { cwnd, ssthresh: Assign::Keep, rto: Assign::Keep }
}

fn resend(from: Seq, to: Seq) -> Act {
    Act::Resend { range: SeqRange::new(from, to), ahead_of_queue: true }
}

trait TimeLine {
    fn duplicates(&mut self, copies: usize);
    fn unreachable(&mut self);
    fn data_from_peer(&mut self, bytes: u32);
    fn asked(&mut self) -> Vec<Act>;
    fn resent(&mut self) -> Vec<(Instant, Seq, u32)>;
    fn sent(&mut self) -> Vec<(Instant, Seq, u32)>;
    fn responses(&self) -> Vec<Response>;
}

impl TimeLine for Line {
    fn duplicates(&mut self, copies: usize) {
        for _ in 0..copies {
            self.receive_ack(self.tcp.una());
        }
    }
    fn unreachable(&mut self) {
        self.signal(Signal::new(SignalKind::Unreachable(UnreachableScope::Host)));
    }
    fn data_from_peer(&mut self, bytes: u32) {
        let payload = Payload::new(1, 0, bytes);
        self.receive(TcpSegment { payload, ..self.peer_ack(self.tcp.una()) });
    }
    /// The acts requested since the events were last taken, all of them supported.
    fn asked(&mut self) -> Vec<Act> {
        let act = |event| match event {
            Event::Requested(act, ActResult::Done) => Some(act),
            Event::Requested(act, ActResult::Unsupported) => panic!("{act:?} refused"),
            _ => None,
        };
        self.take_events().into_iter().filter_map(act).collect()
    }
    fn resent(&mut self) -> Vec<(Instant, Seq, u32)> {
        let resent = self.record.iter().filter_map(|(at, event)| match event {
            Event::Resent { segment, .. } => Some((*at, segment.seq, segment.sequence_len())),
            _ => None,
        });
        resent.collect()
    }
    fn sent(&mut self) -> Vec<(Instant, Seq, u32)> {
        let sent = self.record.iter().filter_map(|(at, event)| match event {
            Event::Sent(segment) => Some((*at, segment.seq, segment.sequence_len())),
            _ => None,
        });
        sent.collect()
    }
    fn responses(&self) -> Vec<Response> {
        let responses = self.record.iter().filter_map(|(_, event)| match event {
            Event::Responded(response) => Some(*response),
            _ => None,
        });
        responses.collect()
    }
}
