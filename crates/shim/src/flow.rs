//! One connection, tracked from below the local TCP.

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

/// Arguments common to all steps of a flow.
pub(crate) struct Context<'a> {
    pub now: Instant,
    pub config: &'a Config,
    pub pool: &'a mut Pool,
    pub counts: &'a mut Counts,
    /// Number of flows that probe the path to the same destination, and of those before this one.
    pub company: u64,
    pub before: u64,
}

/// Result of a packet for itself and for the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The flow continues.
    On(Fate),
    /// The flow has ended.
    Over(Fate),
}

/// Latest state that one end has announced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said {
    /// Acknowledgment number: the next sequence number it expects.
    pub ack: Seq,
    /// Window field.
    pub window: u16,
    /// TSecr that it sends now.
    pub echo: u32,
    /// It sets ECE now.
    pub echoes: bool,
    /// One past the sequence number of its FIN.
    pub fin: Option<Seq>,
}

/// A loss recovery of the local TCP, from its first retransmission until the data then outstanding
/// are acknowledged. The local TCP has reduced its window for it once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Episode {
    /// Time of the first retransmission, and its TSval.
    since: Instant,
    first: u32,
    until: Seq,
    undone: bool,
    /// The local TCP has retransmitted after the undo.
    again: bool,
    /// The reduction stays: it precedes an outage, and may be for congestion. An undo of the
    /// outage's timeouts would revert it, too, since a TCP saves only one state.
    stays: bool,
    /// The aid has requested the undo.
    wanted: bool,
    /// It began while TCP was held, and the window is to be kept.
    kept: bool,
}

impl Episode {
    /// Returns whether there is a reduction to undo.
    fn is_open(&self) -> bool {
        !self.stays && (!self.undone || self.again)
    }
}

/// Mode in which the local TCP is held.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// For an outage, and not for a loss repair by the aid.
    outage: bool,
    probe: ProbeSpacing,
    /// Outstanding data are sent again when the hold ends.
    step_back: bool,
    /// The local TCP keeps its previous congestion window.
    keeps: bool,
    /// Any arriving segment ends the hold.
    any_ack: bool,
}

/// An outage, from its first signal until the local TCP receives the acknowledgments after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outage {
    held: Held,
    /// Start of the hold; not renewed by further signals.
    since: Instant,
    probe_at: Instant,
    /// Interval to the probe after the next, and the least it has been.
    gap: Duration,
    shortest: Duration,
    /// Time of the last probe.
    probed: Option<Instant>,
    /// Bytes outstanding at the start.
    flight: u32,
    /// The path has seemed restored before, and acknowledgments are withheld from the local TCP
    /// since.
    again: bool,
    /// Withheld acknowledgments are reported at this time even if the path is lost again.
    tells_at: Instant,
    /// Consecutive repairs of which nothing arrived although the peer answered.
    in_vain: u8,
    /// The oldest original that is unacknowledged for the local TCP: its TSval, and one past its
    /// last sequence number.
    oldest: Option<(u32, Seq)>,
    undo_acks: u8,
    /// The latest ICMP message of a router about the outage.
    report: Option<Report>,
    /// Time at which the path was restored, and time of the peer's first new acknowledgment after
    /// it.
    back: Option<Instant>,
    resumed: Option<Instant>,
    /// Send time of the packet whose answer showed that the path is back, or the time at which this
    /// host knew it; `None` once new data were acknowledged to the local TCP.
    tried: Option<Instant>,
}

/// The repair of the losses of an outage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repair {
    /// The repair ends when the peer has acknowledged everything before.
    until: Seq,
    /// Limit on the bytes in flight, and the time of its last reduction.
    window: u32,
    reduced: Instant,
    /// Minimum RTT of the repair's segments.
    round_trip: Option<Duration>,
    /// Time without progress after which the path is considered lost again.
    patience: Duration,
    /// Time at which the peer last acknowledged something.
    progress: Instant,
    /// End of the withholding of acknowledgments.
    hold_until: Instant,
    duplicates: u8,
}

/// State of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    /// Packets pass.
    Open,
    /// TCP is held.
    Disconnected(Outage),
    /// The path is back, and losses are being repaired.
    Resuming(Outage, Repair),
}

/// A synthetic acknowledgment for the local TCP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply {
    pub ack: Seq,
    pub echo: u32,
}

/// A connection whose handshake was seen.
#[derive(Debug)]
pub(crate) struct Flow {
    /// From this host to the peer.
    pub key: FlowKey,
    pub(super) agreed: Agreed,
    pub(super) state: State,
    pub(super) flight: Flight,
    /// SND.UNA of the local TCP: the highest acknowledgment number it has received.
    pub(super) told: Seq,
    pub(super) ours: Said,
    pub(super) theirs: Said,
    /// The local TCP's TS.Recent (RFC 7323 §4.3). Synthetic segments carry it as TSval: with an
    /// older one they would be discarded, with a newer one the peer's data in flight would be.
    pub(super) recent: u32,
    /// One past the highest sequence number that the peer has sent.
    pub(super) theirs_high: Seq,
    pub(super) round_trip: RoundTrip,
    /// Segments sent before were in flight during a hold: they give no RTT sample (Karn's
    /// algorithm).
    pub(super) timed_from: Instant,
    pub(super) clock: StampClock,
    /// The highest TSval of a segment that was sent from within the outstanding data, and one past
    /// those data: the peer may hold it as TS.Recent (RFC 7323 §4.3), and discards segments with an
    /// older one (PAWS, §5).
    pub(super) left_stamp: Option<(u32, Seq)>,
    /// Congestion was echoed: losses until this number is acknowledged are attributed to it.
    pub(super) congested: Option<Seq>,
    pub(super) episode: Option<Episode>,
    /// The segment being processed undoes a reduction.
    pub(super) undoes: bool,
    /// ECE is set towards the local TCP until it sends CWR.
    pub(super) cuts: bool,
    pub(super) emits: Option<Emitted>,
    /// Originals are retransmitted during the hold.
    pub(super) resends: bool,
    /// The peer has sent an acknowledgment that was not reported to the local TCP.
    pub(super) unsaid: bool,
    /// New segments wait behind others.
    pub(super) queueing: bool,
    /// Waiting segments are paced until then.
    pub(super) spread_until: Instant,
    pub(super) next_send: Instant,
    /// Bytes sent per RTT.
    pub(super) rate: u32,
    pub(super) replies: VecDeque<Reply>,
    /// The retransmission about which the router's message is to be repeated: first sequence number
    /// and length.
    pub(super) repeats: Option<(Seq, u32)>,
    /// Acknowledgments left to send to announce the restored path to the peer.
    pub(super) announces: u8,
    pub(super) given: Given,
    /// Times at which the local TCP and the peer last sent a segment.
    pub sent: Instant,
    pub heard: Instant,
    /// A segment of the shim has left in place of an acknowledgment of the local TCP.
    pub carried: bool,
    /// Time of the last synthetic segment for the local TCP.
    pub(super) made_up: Option<Instant>,
    /// Parity of the byte in the last solicitation.
    pub(super) solicited_odd: bool,
    /// Time of the peer's segment before the last one.
    pub(super) heard_before: Instant,
    /// The path has come back: other flows to the same destination may probe theirs.
    pub came_back: bool,
    pub(super) tally: Tally,
    aid: Aided,
}

/// Counters of one flow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    undone: u64,
    survived: u64,
    refused: u64,
    time_to_resume: Option<Duration>,
}

/// Status of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowStatus {
    /// From this host to the peer.
    pub key: FlowKey,
    /// `open`, `held` (the aid repairs a loss), `disconnected` or `resuming`.
    pub state: &'static str,
    /// Name of its aid.
    pub aid: &'static str,
    /// State of its aid.
    pub aid_state: &'static str,
    /// Requests of the aid that were refused.
    pub refused: u64,
    /// Bytes not acknowledged by the peer.
    pub outstanding: u32,
    /// Size of the stored packets (bytes).
    pub stored_bytes: usize,
    /// Segments waiting to be sent.
    pub waiting: usize,
    /// SRTT, if there was a sample.
    pub round_trip: Option<Duration>,
    /// Timestamps were negotiated; always true for a tracked flow.
    pub timestamps: bool,
    /// ECN was negotiated; without it losses are not undone.
    pub ecn: bool,
    /// Window reductions of the local TCP that were undone.
    pub undone: u64,
    /// Outages survived.
    pub survived: u64,
    /// For the last outage after which the peer acknowledged new data: time from the send time of
    /// the probe that was answered, as far as it is known (or from the time at which this host knew
    /// that its own link was back), to the first new acknowledgment for the local TCP. At least one
    /// RTT.
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
        // The SYN occupies one sequence number.
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

    /// The present status.
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
    /// Returns whether nothing would be lost if it were removed.
    pub fn is_idle(&self) -> bool {
        self.flight.is_empty() && self.replies.is_empty()
    }
    /// Time at which either end last sent a segment.
    pub fn last_seen(&self) -> Instant {
        self.sent.max(self.heard)
    }
    /// Releases the stored packets.
    pub fn clear(&mut self, pool: &mut Pool) {
        self.flight.clear(pool);
    }
    /// Acknowledgment number and window field of the local TCP.
    pub fn last_said(&self) -> (Seq, u16) {
        (self.ours.ack, self.ours.window)
    }
    /// Takes the RTT sample of the handshake.
    pub fn on_round_trip(&mut self, rtt: Duration) {
        self.round_trip.sample(rtt);
    }

    /// Returns whether a segment that begins at `seq` may be in flight (RFC 5927 §4.1).
    pub fn is_in_flight(&self, seq: Seq) -> bool {
        let here = SeqRange::new(seq, seq + 1);
        let mut left = self.flight.overlapping(here).filter(|original| original.left);
        seq.at_or_after(self.flight.una) && left.next().is_some()
    }

    /// Returns whether both ends have closed, with both FINs acknowledged.
    pub(super) fn is_closed(&self) -> bool {
        let ours = self.ours.fin.is_some_and(|fin| self.told.at_or_after(fin));
        let theirs = self.theirs.fin.is_some_and(|fin| self.ours.ack.at_or_after(fin));
        ours && theirs && self.replies.is_empty()
    }

    /// Records the state that a segment of the local TCP announces.
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

    /// Records the state that a segment of the peer announces.
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
        // RFC 3168 §6.1.2: one reduction for the data outstanding at the first echo. Echoes until
        // the peer has seen CWR are of the same congestion.
        if self.agreed.ecn && segment.has(TcpFlags::ECE) {
            let known = self.congested.filter(|point| segment.ack.at_or_before(*point));
            self.congested = known.or(Some(self.flight.max));
        }
    }
}
