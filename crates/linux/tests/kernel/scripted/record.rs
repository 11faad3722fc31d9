//! The record of one arm: a line for each step, each segment sent, and each change of the window.

use driftway_base::{Instant, SeqRange};
use driftway_wire::{Packet, TcpFlags, TcpSegment};

use super::arm::Observation;
use super::peer::ScriptedPeer;

/// Kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A step of the application or of the peer.
    Step,
    /// A segment that the TCP under test sent.
    Sent,
    /// State, window and phase of the TCP under test.
    Window,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Time since the start of the script (ms).
    pub at: f64,
    pub kind: Kind,
    /// The part that is compared.
    pub text: String,
    /// Further values for a reader.
    pub note: String,
}

/// The record of one arm.
#[derive(Clone, Debug, Default)]
pub struct Record {
    pub lines: Vec<Line>,
    /// Largest delay of a step beyond its time (ms).
    pub lateness: f64,
}

impl Record {
    pub fn step(&mut self, at: Instant, text: String) {
        self.lines.push(Line { at: millis(at), kind: Kind::Step, text, note: String::new() });
    }

    pub fn sent(&mut self, at: Instant, text: String) {
        self.lines.push(Line { at: millis(at), kind: Kind::Sent, text, note: String::new() });
    }

    /// Adds the state and the window, unless they are as before.
    pub fn observe(&mut self, at: Instant, seen: &Observation) {
        let text = seen.to_string();
        let before = self.lines.iter().rfind(|line| line.kind == Kind::Window);
        if before.is_none_or(|before| before.text != text) {
            let note = seen.note.clone();
            self.lines.push(Line { at: millis(at), kind: Kind::Window, text, note });
        }
    }
}

pub fn millis(at: Instant) -> f64 {
    at.as_nanos() as f64 / 1e6
}

/// A sent segment in words. PSH is left out: RFC 9293 leaves it to the sender's buffer, and no
/// receiver here acts on it. TSval is the clock of the arm.
pub fn describe(peer: &ScriptedPeer, packet: &Packet, segment: &TcpSegment) -> String {
    let mut text = flag_letters(segment.flags.without(TcpFlags::PSH));
    let start = peer.relative(segment.seq);
    if segment.sequence_len() > 0 {
        text += &format!(" {start}..{}", start.wrapping_add(segment.sequence_len()));
    } else {
        text += &format!(" {start}");
    }
    if segment.flags.contains(TcpFlags::ACK) {
        text += &format!(" ack {}", ScriptedPeer::relative_ack(segment.ack));
    }
    let options = &segment.options;
    for SeqRange { start, end } in options.sack.as_slice() {
        let [start, end] = [*start, *end].map(ScriptedPeer::relative_ack);
        text += &format!(" sack {start}..{end}");
    }
    if let Some(mss) = options.mss {
        text += &format!(" mss {mss}");
    }
    if options.sack_permitted {
        text += " sackok";
    }
    if options.window_scale.is_some() {
        text += " scaled";
    }
    if let Some(timestamps) = options.timestamps {
        text += &format!(" ecr {}", timestamps.echo);
    }
    if segment.window == 0 && !segment.flags.contains(TcpFlags::RST) {
        text += " closed";
    }
    if packet.ip.ecn.is_capable() {
        text += " ect";
    }
    text
}

/// The letters of a packet dump.
pub fn flag_letters(flags: TcpFlags) -> String {
    let letters = [
        (TcpFlags::SYN, 'S'),
        (TcpFlags::FIN, 'F'),
        (TcpFlags::RST, 'R'),
        (TcpFlags::PSH, 'P'),
        (TcpFlags::ACK, 'A'),
        (TcpFlags::URG, 'U'),
        (TcpFlags::ECE, 'E'),
        (TcpFlags::CWR, 'W'),
    ];
    letters.iter().filter(|(flag, _)| flags.contains(*flag)).map(|(_, letter)| letter).collect()
}
