//! One connection, followed from below the local TCP.

mod acts;
mod incoming;
mod outage;
mod outgoing;
mod ack_holdback;
mod icmp_report;
mod sending;
pub(crate) mod view;

use alloc::collections::VecDeque;

use driftway_base::{Duration, FlowKey, Instant, ProbeSpacing, Seq, SeqRange};
use driftway_wire::TcpFlags;

use crate::config::Config;
use crate::counts::{Counts, PacketDisposition};
use crate::retransmission_queue::RetransmissionQueue;
use crate::handshake::Negotiated;
use crate::pace::{RttEstimator, TimestampClock};
use crate::packet::Segment;
use crate::pool::BufferPool;
pub(crate) use acts::ConnectionAid;
use acts::RequestedAcks;
use ack_holdback::AckHoldback;
use icmp_report::IcmpReport;

/// What every step of a flow needs from outside.
pub(crate) struct Context<'a> {
    pub now: Instant,
    pub config: &'a Config,
    pub pool: &'a mut BufferPool,
    pub counts: &'a mut Counts,
    /// How many flows look for a path to the same destination, and how many of them come before
    /// this one.
    pub probing_flows: u64,
    pub probing_before: u64,
}

/// What becomes of a packet, and of the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The flow goes on.
    Continue(PacketDisposition),
    /// There is nothing more to follow.
    Closed(PacketDisposition),
}

/// What one end has last said.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndpointState {
    /// Its acknowledgment number: what it expects next.
    pub ack: Seq,
    /// Its window field.
    pub window: u16,
    /// The TSecr that it sends now.
    pub echo: u32,
    /// It echoes congestion now (ECE).
    pub ece: bool,
    /// One past its FIN.
    pub fin_end: Option<Seq>,
}

/// Retransmissions of the local TCP, until what was out when they began is acknowledged. It has
/// reduced its window for them once.
#[derive(Clone, Copy, Debug)]
pub(super) struct LossEpisode {
    /// When the first was sent, and its TSval.
    since: Instant,
    first_tsval: u32,
    until: Seq,
    undone: bool,
    /// It has sent again after the undo.
    again: bool,
    /// What it did stays: it is from before an outage, and perhaps for congestion. An undo of the
    /// outage's timeouts would take that back, too: a TCP keeps but one state to go back to.
    keep_reduction: bool,
    /// The aid wants it undone.
    undo_wanted: bool,
    /// It is from while TCP was held, and its window is to be kept.
    keep_window: bool,
}

impl LossEpisode {
    /// Is there a reduction to undo?
    fn has_reduction_to_undo(&self) -> bool {
        !self.keep_reduction && (!self.undone || self.again)
    }
}

/// How the local TCP is held.
#[derive(Clone, Copy, Debug)]
pub(super) struct HoldMode {
    /// For want of a path, and not for a repair of the aid's own.
    is_outage: bool,
    probe_spacing: ProbeSpacing,
    /// At its end what was out goes again.
    step_back: bool,
    /// The local TCP is to have the window that it had.
    keep_window: bool,
    /// Whatever arrives ends it.
    any_ack: bool,
}

/// An outage, from its first sign until the local TCP has been told that it is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outage {
    hold: HoldMode,
    /// When TCP was held; not renewed by further signs of the same.
    since: Instant,
    probe_at: Instant,
    /// From the next probe to the one after it, and the least that this was.
    probe_interval: Duration,
    min_probe_interval: Duration,
    /// When the last probe left, if one has.
    last_probe: Option<Instant>,
    /// What was outstanding when it began (bytes).
    outstanding_bytes: u32,
    /// The path has seemed to be back before, and since then the local TCP is not told what arrives.
    again: bool,
    /// If the path is gone again by then, it is told.
    withhold_until: Instant,
    /// How often in a row it has, and nothing of the repair arrived although the peer was heard.
    failed_repairs: u8,
    /// Of the original that the local TCP holds to be the oldest without an acknowledgment: TSval,
    /// and one past its last number.
    oldest: Option<(u32, Seq)>,
    undo_acks: u8,
    /// The latest message of a router's about it, if there was one.
    icmp_report: Option<IcmpReport>,
    /// When the path was back, and when the peer then acknowledged something new.
    path_restored_at: Option<Instant>,
    first_new_ack_at: Option<Instant>,
    /// When what showed that it is had left, or this host knew it; `None` once the local TCP has been
    /// told of something new.
    probe_answered_sent_at: Option<Instant>,
}

/// The repair of what the outage has lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repair {
    /// It is over when the peer has acknowledged everything before.
    until: Seq,
    /// How much may be out (bytes), and when that was last reduced.
    window: u32,
    last_reduction: Instant,
    /// The shortest round trip of what was repaired.
    min_rtt: Option<Duration>,
    /// If the peer takes nothing for so long, the path is gone again.
    progress_timeout: Duration,
    /// When the peer last took something.
    last_progress: Instant,
    /// Acknowledgments are not held for longer.
    withhold_until: Instant,
    duplicate_acks: u8,
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
pub(crate) struct SyntheticAck {
    pub ack: Seq,
    pub echo: u32,
}

/// A connection whose handshake was seen.
#[derive(Debug)]
pub(crate) struct Flow {
    /// From here to the peer.
    pub key: FlowKey,
    pub(super) negotiated: Negotiated,
    pub(super) state: State,
    pub(super) retransmission_queue: RetransmissionQueue,
    /// The highest acknowledgment number that the local TCP has been given.
    pub(super) local_una: Seq,
    pub(super) local: EndpointState,
    pub(super) peer: EndpointState,
    /// What the local TCP holds to be the peer's latest TSval (TS.Recent, RFC 7323 §4.3). What is made
    /// up has this one: with an older one it would be discarded, with a newer one data of the peer
    /// that is still on its way would be.
    pub(super) ts_recent: u32,
    /// One past the highest number that the peer has sent.
    pub(super) peer_max: Seq,
    pub(super) rtt: RttEstimator,
    /// What was sent before was on its way while TCP was held: its round trip says nothing (Karn).
    pub(super) rtt_valid_from: Instant,
    pub(super) clock: TimestampClock,
    /// The highest TSval of what has left and began before what was out then, and one past that: the
    /// peer may hold it as the latest (RFC 7323 §4.3), and discards what comes with an older one
    /// (PAWS, §5).
    pub(super) sent_tsval: Option<(u32, Seq)>,
    /// Congestion was echoed; what is lost before this number is acknowledged, is lost to it.
    pub(super) congestion_until: Option<Seq>,
    pub(super) loss_episode: Option<LossEpisode>,
    /// The segment at hand undoes what was lost.
    pub(super) undo_with_segment: bool,
    /// Congestion is echoed to the local TCP, until it says that it has responded.
    pub(super) echo_congestion: bool,
    pub(super) requested_acks: Option<RequestedAcks>,
    /// Originals are sent again while TCP is held.
    pub(super) resend_while_held: bool,
    /// The peer has said something that the local TCP was not told.
    pub(super) has_unreported_ack: bool,
    /// Segments wait, or have to, behind those that wait.
    pub(super) is_queueing: bool,
    /// Until then what waits is spread, then it goes.
    pub(super) pace_until: Instant,
    pub(super) next_send: Instant,
    /// Bytes that are sent in a round trip.
    pub(super) pacing_bytes_per_rtt: u32,
    pub(super) synthetic_acks: VecDeque<SyntheticAck>,
    /// The retransmission about which the router's message is to be repeated: its first number and how
    /// many bytes it has.
    pub(super) icmp_repeat: Option<(Seq, u32)>,
    /// Acknowledgments by which the peer is still to be told that the path is back.
    pub(super) announcements_left: u8,
    pub(super) ack_holdback: AckHoldback,
    /// When the local TCP and when the peer last sent something.
    pub last_sent: Instant,
    pub last_heard: Instant,
    /// Something of the shim's has left in a packet of the local TCP's.
    pub has_used_carrier: bool,
    /// When something was last made up for the local TCP.
    pub(super) last_injected: Option<Instant>,
    /// Which of two bytes the last solicitation was.
    pub(super) last_solicitation_was_odd: bool,
    /// When the peer had last sent something before that.
    pub(super) previously_heard: Instant,
    /// Its path has come back: others to the same destination may want to look for theirs.
    pub path_came_back: bool,
    pub(super) counts: FlowCounts,
    aid: ConnectionAid,
}

/// What a flow counts for itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FlowCounts {
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
    pub srtt: Option<Duration>,
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
        agreed: Negotiated,
        ours: EndpointState,
        theirs: EndpointState,
        recent: u32,
        clock: TimestampClock,
        aid: ConnectionAid,
    ) -> Self {
        // What the peer acknowledges to open the connection: nothing but a SYN.
        let first = theirs.ack;
        Self {
            key,
            negotiated: agreed,
            state: State::Open,
            retransmission_queue: RetransmissionQueue::new(first),
            local_una: first,
            local: ours,
            peer: theirs,
            ts_recent: recent,
            peer_max: ours.ack,
            rtt: RttEstimator::default(),
            rtt_valid_from: Instant::ZERO,
            clock,
            sent_tsval: None,
            congestion_until: None,
            loss_episode: None,
            undo_with_segment: false,
            echo_congestion: false,
            requested_acks: None,
            resend_while_held: false,
            has_unreported_ack: false,
            is_queueing: false,
            pace_until: Instant::ZERO,
            next_send: Instant::ZERO,
            pacing_bytes_per_rtt: 0,
            synthetic_acks: VecDeque::with_capacity(4),
            icmp_repeat: None,
            announcements_left: 0,
            ack_holdback: AckHoldback::new(ours.ack),
            last_sent: Instant::ZERO,
            last_heard: Instant::ZERO,
            has_used_carrier: false,
            last_injected: None,
            last_solicitation_was_odd: false,
            previously_heard: Instant::ZERO,
            path_came_back: false,
            counts: FlowCounts::default(),
            aid,
        }
    }

    /// How it stands.
    pub fn status(&self) -> FlowStatus {
        FlowStatus {
            key: self.key,
            state: match self.state {
                State::Open => "open",
                State::Disconnected(outage) if outage.hold.is_outage => "disconnected",
                State::Disconnected(_) => "held",
                State::Resuming(..) => "resuming",
            },
            aid: self.aid.0.name(),
            aid_state: self.aid.0.state(),
            refused: self.counts.refused,
            outstanding: self.retransmission_queue.outstanding(),
            stored_bytes: self.retransmission_queue.stored_bytes,
            waiting: self.waiting(),
            srtt: self.rtt.srtt(),
            timestamps: true,
            ecn: self.negotiated.ecn,
            undone: self.counts.undone,
            survived: self.counts.survived,
            time_to_resume: self.counts.time_to_resume,
        }
    }

    pub fn is_disconnected(&self) -> bool {
        matches!(self.state, State::Disconnected(_))
    }
    /// Is there anything that would be lost if it were forgotten?
    pub fn is_idle(&self) -> bool {
        self.retransmission_queue.is_empty() && self.synthetic_acks.is_empty()
    }
    /// When either end last sent something.
    pub fn last_activity(&self) -> Instant {
        self.last_sent.max(self.last_heard)
    }
    /// Gives back what it has stored.
    pub fn clear(&mut self, pool: &mut BufferPool) {
        self.retransmission_queue.clear(pool);
    }
    /// What the local TCP acknowledges, and its window field.
    pub fn last_ack_and_window(&self) -> (Seq, u16) {
        (self.local.ack, self.local.window)
    }
    /// The handshake took that long.
    pub fn on_rtt_sample(&mut self, rtt: Duration) {
        self.rtt.sample(rtt);
    }

    /// Could a segment that begins at `seq` be on its way (RFC 5927 §4.1)?
    pub fn is_in_flight(&self, seq: Seq) -> bool {
        let here = SeqRange::new(seq, seq + 1);
        let mut left = self.retransmission_queue.overlapping(here).filter(|original| original.was_sent);
        seq.at_or_after(self.retransmission_queue.una) && left.next().is_some()
    }

    /// Both ends have closed, and both know it.
    pub(super) fn is_closed(&self) -> bool {
        let ours = self.local.fin_end.is_some_and(|fin| self.local_una.at_or_after(fin));
        let theirs = self.peer.fin_end.is_some_and(|fin| self.local.ack.at_or_after(fin));
        ours && theirs && self.synthetic_acks.is_empty()
    }

    /// What the local TCP says of itself in whatever it sends.
    pub(super) fn record_local(&mut self, now: Instant, segment: &Segment) {
        self.last_sent = now;
        if segment.has_flags(TcpFlags::ACK) && !segment.ack.before(self.local.ack) {
            self.local.ack = segment.ack;
            self.local.window = segment.window;
            self.local.ece = segment.has_flags(TcpFlags::ECE);
        }
        if let Some(stamps) = segment.options.timestamps {
            self.local.echo = stamps.echo;
            self.ts_recent = Seq(self.ts_recent).max(Seq(stamps.echo)).0;
            self.clock.on_tsval(now, stamps.value);
        }
        if segment.has_flags(TcpFlags::FIN) {
            self.local.fin_end = Some(segment.range().end);
        }
        // RFC 3168 §6.1.2
        self.echo_congestion &= !segment.has_flags(TcpFlags::CWR);
    }

    /// What the peer says of itself in whatever it sends.
    pub(super) fn record_peer(&mut self, now: Instant, segment: &Segment) {
        (self.previously_heard, self.last_heard) = (self.last_heard, now);
        let range = segment.range();
        self.peer_max = self.peer_max.max(range.end);
        if !segment.ack.before(self.retransmission_queue.una) {
            self.peer.window = segment.window;
            self.peer.ece = segment.has_flags(TcpFlags::ECE);
        }
        if let Some(stamps) = segment.options.timestamps
            && segment.seq.at_or_before(self.local.ack)
        {
            self.peer.echo = stamps.echo;
            self.ts_recent = Seq(self.ts_recent).max(Seq(stamps.value)).0;
        }
        if segment.has_flags(TcpFlags::FIN) {
            self.peer.fin_end = Some(range.end);
        }
        // RFC 3168 §6.1.2: one reaction to what is out at the first echo. Those that follow until the
        // peer has seen the reaction (CWR) are echoes of the same.
        if self.negotiated.ecn && segment.has_flags(TcpFlags::ECE) {
            let known = self.congestion_until.filter(|point| segment.ack.at_or_before(*point));
            self.congestion_until = known.or(Some(self.retransmission_queue.max));
        }
    }
}
