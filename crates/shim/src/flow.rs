//! One connection, followed from below the local TCP.

mod acts;
mod incoming;
mod outage;
mod outgoing;
mod receiving;
mod report;
mod sending;
pub(crate) mod view;

use alloc::collections::VecDeque;

use driftway_base::{Duration, FlowKey, Instant, ProbeSpacing, Seq, SeqRange};
use driftway_wire::TcpFlags;

use crate::config::Config;
use crate::counts::{Counts, Fate};
use crate::flight::Flight;
use crate::opening::Agreed;
use crate::pace::{RoundTrip, StampClock};
use crate::packet::Segment;
use crate::pool::Pool;
pub(crate) use acts::Aided;
use acts::Emitted;
use receiving::Given;
use report::Report;

/// What every step of a flow needs from outside.
pub(crate) struct Context<'a> {
    pub now: Instant,
    pub config: &'a Config,
    pub pool: &'a mut Pool,
    pub counts: &'a mut Counts,
    /// How many flows look for a path to the same destination, and how many of them come before
    /// this one.
    pub company: u64,
    pub before: u64,
}

/// What becomes of a packet, and of the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The flow goes on.
    On(Fate),
    /// There is nothing more to follow.
    Over(Fate),
}

/// What one end has last said.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said {
    /// Its acknowledgment number: what it expects next.
    pub ack: Seq,
    /// Its window field.
    pub window: u16,
    /// The TSecr that it sends now.
    pub echo: u32,
    /// It echoes congestion now (ECE).
    pub echoes: bool,
    /// One past its FIN.
    pub fin: Option<Seq>,
}

/// Retransmissions of the local TCP, until what was out when they began is acknowledged. It has
/// reduced its window for them once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Episode {
    /// When the first was sent, and its TSval.
    since: Instant,
    first: u32,
    until: Seq,
    undone: bool,
    /// It has sent again after the undo.
    again: bool,
    /// What it did stays: it is from before an outage, and perhaps for congestion. An undo of the
    /// outage's timeouts would take that back, too: a TCP keeps but one state to go back to.
    stays: bool,
    /// The aid wants it undone.
    wanted: bool,
    /// It is from while TCP was held, and its window is to be kept.
    kept: bool,
}

impl Episode {
    /// Is there a reduction to undo?
    fn is_open(&self) -> bool {
        !self.stays && (!self.undone || self.again)
    }
}

/// How the local TCP is held.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// For want of a path, and not for a repair of the aid's own.
    outage: bool,
    probe: ProbeSpacing,
    /// At its end what was out goes again.
    step_back: bool,
    /// The local TCP is to have the window that it had.
    keeps: bool,
    /// Whatever arrives ends it.
    any_ack: bool,
}

/// An outage, from its first sign until the local TCP has been told that it is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outage {
    held: Held,
    /// When TCP was held; not renewed by further signs of the same.
    since: Instant,
    probe_at: Instant,
    /// From the next probe to the one after it, and the least that this was.
    gap: Duration,
    shortest: Duration,
    /// When the last probe left, if one has.
    probed: Option<Instant>,
    /// What was outstanding when it began (bytes).
    flight: u32,
    /// The path has seemed to be back before, and since then the local TCP is not told what arrives.
    again: bool,
    /// If the path is gone again by then, it is told.
    tells_at: Instant,
    /// How often in a row it has, and nothing of the repair arrived although the peer was heard.
    in_vain: u8,
    /// Of the original that the local TCP holds to be the oldest without an acknowledgment: TSval,
    /// and one past its last number.
    oldest: Option<(u32, Seq)>,
    undo_acks: u8,
    /// The latest message of a router's about it, if there was one.
    report: Option<Report>,
    /// When the path was back, and when the peer then acknowledged something new.
    back: Option<Instant>,
    resumed: Option<Instant>,
    /// When what showed that it is had left, or this host knew it; `None` once the local TCP has been
    /// told of something new.
    tried: Option<Instant>,
}

/// The repair of what the outage has lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repair {
    /// It is over when the peer has acknowledged everything before.
    until: Seq,
    /// How much may be out (bytes), and when that was last reduced.
    window: u32,
    reduced: Instant,
    /// The shortest round trip of what was repaired.
    round_trip: Option<Duration>,
    /// If the peer takes nothing for so long, the path is gone again.
    patience: Duration,
    /// When the peer last took something.
    progress: Instant,
    /// Acknowledgments are not held for longer.
    hold_until: Instant,
    duplicates: u8,
}

/// Where a flow is.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    /// Everything passes.
    Open,
    /// There is no path.
    Disconnected(Outage),
    /// There is one again, and what was lost is being repaired.
    Resuming(Outage, Repair),
}

/// An acknowledgment to be made up for the local TCP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply {
    pub ack: Seq,
    pub echo: u32,
}

/// A connection whose handshake was seen.
#[derive(Debug)]
pub(crate) struct Flow {
    /// From here to the peer.
    pub key: FlowKey,
    pub(super) agreed: Agreed,
    pub(super) state: State,
    pub(super) flight: Flight,
    /// The highest acknowledgment number that the local TCP has been given.
    pub(super) told: Seq,
    pub(super) ours: Said,
    pub(super) theirs: Said,
    /// What the local TCP holds to be the peer's latest TSval (TS.Recent, RFC 7323 §4.3). What is made
    /// up has this one: with an older one it would be discarded, with a newer one data of the peer
    /// that is still on its way would be.
    pub(super) recent: u32,
    /// One past the highest number that the peer has sent.
    pub(super) theirs_high: Seq,
    pub(super) round_trip: RoundTrip,
    /// What was sent before was on its way while TCP was held: its round trip says nothing (Karn).
    pub(super) timed_from: Instant,
    pub(super) clock: StampClock,
    /// The highest TSval of what has left and began before what was out then, and one past that: the
    /// peer may hold it as the latest (RFC 7323 §4.3), and discards what comes with an older one
    /// (PAWS, §5).
    pub(super) left_stamp: Option<(u32, Seq)>,
    /// Congestion was echoed; what is lost before this number is acknowledged, is lost to it.
    pub(super) congested: Option<Seq>,
    pub(super) episode: Option<Episode>,
    /// The segment at hand undoes what was lost.
    pub(super) undoes: bool,
    /// Congestion is echoed to the local TCP, until it says that it has responded.
    pub(super) cuts: bool,
    pub(super) emits: Option<Emitted>,
    /// Originals are sent again while TCP is held.
    pub(super) resends: bool,
    /// The peer has said something that the local TCP was not told.
    pub(super) unsaid: bool,
    /// Segments wait, or have to, behind those that wait.
    pub(super) queueing: bool,
    /// Until then what waits is spread, then it goes.
    pub(super) spread_until: Instant,
    pub(super) next_send: Instant,
    /// Bytes that are sent in a round trip.
    pub(super) rate: u32,
    pub(super) replies: VecDeque<Reply>,
    /// The retransmission about which the router's message is to be repeated: its first number and how
    /// many bytes it has.
    pub(super) repeats: Option<(Seq, u32)>,
    /// Acknowledgments by which the peer is still to be told that the path is back.
    pub(super) announces: u8,
    pub(super) given: Given,
    /// When the local TCP and when the peer last sent something.
    pub sent: Instant,
    pub heard: Instant,
    /// Something of the shim's has left in a packet of the local TCP's.
    pub carried: bool,
    /// When something was last made up for the local TCP.
    pub(super) made_up: Option<Instant>,
    /// Which of two bytes the last solicitation was.
    pub(super) solicited_odd: bool,
    /// When the peer had last sent something before that.
    pub(super) heard_before: Instant,
    /// Its path has come back: others to the same destination may want to look for theirs.
    pub came_back: bool,
    pub(super) tally: Tally,
    aid: Aided,
}

/// What a flow counts for itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    undone: u64,
    survived: u64,
    refused: u64,
    time_to_resume: Option<Duration>,
}

/// A flow as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowStatus {
    /// From here to the peer.
    pub key: FlowKey,
    /// `open`, `held` (the aid repairs a loss), `disconnected` or `resuming`.
    pub state: &'static str,
    /// Its aid, and that one's state.
    pub aid: &'static str,
    /// The state of its aid.
    pub aid_state: &'static str,
    /// What the aid has asked for and could not be done.
    pub refused: u64,
    /// What the peer has not acknowledged (bytes).
    pub outstanding: u32,
    /// What the stored packets take (bytes).
    pub stored_bytes: usize,
    /// Segments that wait to be sent.
    pub waiting: usize,
    /// The round trip, if one was measured.
    pub round_trip: Option<Duration>,
    /// Were timestamps negotiated? Always so, for a flow that is followed.
    pub timestamps: bool,
    /// Was ECN negotiated? Without it losses are not undone.
    pub ecn: bool,
    /// Reductions of the local TCP's window that were undone.
    pub undone: u64,
    /// Outages after which it went on.
    pub survived: u64,
    /// Of the last outage after which the peer acknowledged something: from when the probe left that
    /// was answered, as far as can be told (or from when this host knew that its own link was back),
    /// until the local TCP was given the first new acknowledgment. A round trip is the least.
    pub time_to_resume: Option<Duration>,
}

impl Flow {
    pub fn new(
        key: FlowKey,
        agreed: Agreed,
        ours: Said,
        theirs: Said,
        recent: u32,
        clock: StampClock,
        aid: Aided,
    ) -> Self {
        // What the peer acknowledges to open the connection: nothing but a SYN.
        let first = theirs.ack;
        Self {
            key,
            agreed,
            state: State::Open,
            flight: Flight::new(first),
            told: first,
            ours,
            theirs,
            recent,
            theirs_high: ours.ack,
            round_trip: RoundTrip::default(),
            timed_from: Instant::ZERO,
            clock,
            left_stamp: None,
            congested: None,
            episode: None,
            undoes: false,
            cuts: false,
            emits: None,
            resends: false,
            unsaid: false,
            queueing: false,
            spread_until: Instant::ZERO,
            next_send: Instant::ZERO,
            rate: 0,
            replies: VecDeque::with_capacity(4),
            repeats: None,
            announces: 0,
            given: Given::new(ours.ack),
            sent: Instant::ZERO,
            heard: Instant::ZERO,
            carried: false,
            made_up: None,
            solicited_odd: false,
            heard_before: Instant::ZERO,
            came_back: false,
            tally: Tally::default(),
            aid,
        }
    }

    /// How it stands.
    pub fn status(&self) -> FlowStatus {
        FlowStatus {
            key: self.key,
            state: match self.state {
                State::Open => "open",
                State::Disconnected(outage) if outage.held.outage => "disconnected",
                State::Disconnected(_) => "held",
                State::Resuming(..) => "resuming",
            },
            aid: self.aid.0.name(),
            aid_state: self.aid.0.state(),
            refused: self.tally.refused,
            outstanding: self.flight.outstanding(),
            stored_bytes: self.flight.stored,
            waiting: self.waiting(),
            round_trip: self.round_trip.measured(),
            timestamps: true,
            ecn: self.agreed.ecn,
            undone: self.tally.undone,
            survived: self.tally.survived,
            time_to_resume: self.tally.time_to_resume,
        }
    }

    pub fn is_disconnected(&self) -> bool {
        matches!(self.state, State::Disconnected(_))
    }
    /// Is there anything that would be lost if it were forgotten?
    pub fn is_idle(&self) -> bool {
        self.flight.is_empty() && self.replies.is_empty()
    }
    /// When either end last sent something.
    pub fn last_seen(&self) -> Instant {
        self.sent.max(self.heard)
    }
    /// Gives back what it has stored.
    pub fn clear(&mut self, pool: &mut Pool) {
        self.flight.clear(pool);
    }
    /// What the local TCP acknowledges, and its window field.
    pub fn last_said(&self) -> (Seq, u16) {
        (self.ours.ack, self.ours.window)
    }
    /// The handshake took that long.
    pub fn on_round_trip(&mut self, rtt: Duration) {
        self.round_trip.sample(rtt);
    }

    /// Could a segment that begins at `seq` be on its way (RFC 5927 §4.1)?
    pub fn is_in_flight(&self, seq: Seq) -> bool {
        let here = SeqRange::new(seq, seq + 1);
        let mut left = self.flight.overlapping(here).filter(|original| original.left);
        seq.at_or_after(self.flight.una) && left.next().is_some()
    }

    /// Both ends have closed, and both know it.
    pub(super) fn is_closed(&self) -> bool {
        let ours = self.ours.fin.is_some_and(|fin| self.told.at_or_after(fin));
        let theirs = self.theirs.fin.is_some_and(|fin| self.ours.ack.at_or_after(fin));
        ours && theirs && self.replies.is_empty()
    }

    /// What the local TCP says of itself in whatever it sends.
    pub(super) fn note_ours(&mut self, now: Instant, segment: &Segment) {
        self.sent = now;
        if segment.has(TcpFlags::ACK) && !segment.ack.before(self.ours.ack) {
            self.ours.ack = segment.ack;
            self.ours.window = segment.window;
            self.ours.echoes = segment.has(TcpFlags::ECE);
        }
        if let Some(stamps) = segment.options.timestamps {
            self.ours.echo = stamps.echo;
            self.recent = Seq(self.recent).max(Seq(stamps.echo)).0;
            self.clock.on_stamp(now, stamps.value);
        }
        if segment.has(TcpFlags::FIN) {
            self.ours.fin = Some(segment.range().end);
        }
        // RFC 3168 §6.1.2
        self.cuts &= !segment.has(TcpFlags::CWR);
    }

    /// What the peer says of itself in whatever it sends.
    pub(super) fn note_theirs(&mut self, now: Instant, segment: &Segment) {
        (self.heard_before, self.heard) = (self.heard, now);
        let range = segment.range();
        self.theirs_high = self.theirs_high.max(range.end);
        if !segment.ack.before(self.flight.una) {
            self.theirs.window = segment.window;
            self.theirs.echoes = segment.has(TcpFlags::ECE);
        }
        if let Some(stamps) = segment.options.timestamps
            && segment.seq.at_or_before(self.ours.ack)
        {
            self.theirs.echo = stamps.echo;
            self.recent = Seq(self.recent).max(Seq(stamps.value)).0;
        }
        if segment.has(TcpFlags::FIN) {
            self.theirs.fin = Some(range.end);
        }
        // RFC 3168 §6.1.2: one reaction to what is out at the first echo. Those that follow until the
        // peer has seen the reaction (CWR) are echoes of the same.
        if self.agreed.ecn && segment.has(TcpFlags::ECE) {
            let known = self.congested.filter(|point| segment.ack.at_or_before(*point));
            self.congested = known.or(Some(self.flight.max));
        }
    }
}
