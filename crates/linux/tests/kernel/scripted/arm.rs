//! An arm: a TCP under test, in virtual or in real time, and the script that drives it.

use std::fmt;

use driftway_base::{Duration, Instant};
use driftway_tcp::State;
use driftway_wire::{Body, Packet};

use super::peer::ScriptedPeer;
use super::record::{Record, describe, flag_letters, millis};
use super::script::{Script, Step};
use super::segment::{PeerSegment, PeerTimestamps};

/// A packet that the TCP under test sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub at: Instant,
    pub packet: Packet,
}

/// State and window of the TCP under test.
#[derive(Clone, Debug)]
pub struct Observation {
    pub state: State,
    /// In segments.
    pub cwnd: u32,
    pub ssthresh: u32,
    pub phase: Phase,
    /// Further values for a reader.
    pub note: String,
}

/// The phase of congestion control, as far as both arms have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Open,
    Recovery,
    Loss,
}

/// ssthresh from which it means "none yet" (segments).
const NO_SSTHRESH: u32 = 100_000;

impl fmt::Display for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.name();
        let shows_window = matches!(
            self.state,
            State::Established
                | State::CloseWait
                | State::FinWait1
                | State::Closing
                | State::LastAck
        );
        if !shows_window {
            return f.write_str(state);
        }
        if self.state != State::Established {
            write!(f, "{state} ")?;
        }
        write!(f, "cwnd {}", self.cwnd)?;
        if self.ssthresh < NO_SSTHRESH {
            write!(f, " ssthresh {}", self.ssthresh)?;
        }
        match self.phase {
            Phase::Open => Ok(()),
            Phase::Recovery => f.write_str(" recovery"),
            Phase::Loss => f.write_str(" loss"),
        }
    }
}

/// An action of the application of the TCP under test.
#[derive(Clone, Copy, Debug)]
pub enum Command {
    Write(u64),
    Read,
    StopReading,
    Close,
    Abort,
}

/// A TCP under test.
pub trait Arm {
    fn now(&self) -> Instant;
    /// Lets time pass until TCP sends a packet, which is returned, or until `until`.
    fn wait(&mut self, until: Instant) -> Option<Sent>;
    /// The application does something; the first call comes after the connection was opened.
    fn command(&mut self, command: Command);
    /// A packet of the peer arrives.
    fn deliver(&mut self, packet: &Packet);
    fn observe(&mut self) -> Observation;
}

/// Time in which the TCP under test responds to a step.
const MOMENT: Duration = Duration::from_millis(3);

/// Follows a script to its end.
pub fn run(script: &Script, arm: &mut impl Arm) -> Record {
    let mut peer = ScriptedPeer::new(script);
    let mut record = Record::default();
    let mut steps = script.steps.iter().peekable();
    // The time of the last step, and when it was done.
    let mut last = (Instant::ZERO, arm.now());
    loop {
        let next_step = steps.peek().map(|(at, _)| *at);
        let due =
            [next_step, peer.next_timeout()].into_iter().flatten().fold(script.end, Instant::min);
        if let Some(sent) = arm.wait(due) {
            if let Body::Tcp(segment) = &sent.packet.body {
                // What follows a step at once leaves at the step's time, so that delays of the
                // real arm do not add up.
                let follows = sent.at.since(last.1) < MOMENT;
                let at = if follows { last.0 } else { sent.at };
                peer.on_segment(at, segment, sent.packet.ip.ecn.is_capable());
                record.sent(sent.at, describe(&peer, &sent.packet, segment));
            } else {
                record.sent(sent.at, format!("{:?}", sent.packet.body));
            }
            continue;
        }
        record.lateness = record.lateness.max(millis(arm.now()) - millis(due));
        // Before each step, which shows what timers have done, and after it.
        if next_step == Some(due) || due == script.end {
            record.observe(arm.now(), &arm.observe());
        }
        if let Some(answer) = peer.poll(due) {
            deliver(due, &answer, &mut peer, arm, &mut record);
        } else if next_step == Some(due) {
            let (_, step) = steps.next().expect("it was there");
            follow(due, step, &mut peer, arm, &mut record);
        } else if due == script.end {
            return record;
        } else {
            continue;
        }
        last = (due, arm.now());
        record.observe(last.1, &arm.observe());
    }
}

fn follow(
    at: Instant,
    step: &Step,
    peer: &mut ScriptedPeer,
    arm: &mut impl Arm,
    record: &mut Record,
) {
    let (text, command) = match step {
        Step::Segment(segment) => return deliver(at, segment, peer, arm, record),
        Step::Receiver(path) => {
            peer.start_receiver(at, path);
            return record.step(arm.now(), "a receiver takes over".to_owned());
        }
        Step::Unreachable(code, seq) => {
            record.step(arm.now(), format!("< ICMP {code:?} unreachable about {seq}"));
            if let Some(packet) = peer.unreachable(*code, *seq) {
                arm.deliver(&packet);
            }
            return;
        }
        Step::Write(bytes) => (format!("writes {bytes}"), Command::Write(*bytes)),
        Step::Read => ("reads".to_owned(), Command::Read),
        Step::StopReading => ("stops reading".to_owned(), Command::StopReading),
        Step::Close => ("closes".to_owned(), Command::Close),
        Step::Abort => ("aborts".to_owned(), Command::Abort),
    };
    record.step(arm.now(), text);
    arm.command(command);
}

fn deliver(
    at: Instant,
    segment: &PeerSegment,
    peer: &mut ScriptedPeer,
    arm: &mut impl Arm,
    record: &mut Record,
) {
    let packet = peer.packet(at, segment);
    record.step(arm.now(), arriving(segment));
    arm.deliver(&packet);
}

/// A segment of the peer in words.
fn arriving(segment: &PeerSegment) -> String {
    let mut text = format!("< {}", flag_letters(segment.flags));
    if let Some(seq) = segment.seq {
        text += &format!(" {seq}");
    }
    if segment.len > 0 {
        text += &format!(" +{}", segment.len);
    }
    text += &format!(" ack {}", segment.ack);
    for (start, end) in &segment.sack {
        text += &format!(" sack {start}..{end}");
    }
    if let Some(window) = segment.window {
        text += &format!(" window {window}");
    }
    match segment.timestamps {
        PeerTimestamps::OfLastTransmission | PeerTimestamps::Exact { .. } => {}
        PeerTimestamps::OfFirstTransmission => text += " of the first transmission",
        PeerTimestamps::Value(value) => text += &format!(" val {value}"),
        PeerTimestamps::Absent => text += " no timestamps",
    }
    if segment.marked {
        text += " ce";
    }
    text
}
