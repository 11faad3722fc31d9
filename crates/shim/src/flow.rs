//! One connection, tracked from below the local TCP.

mod ack_holdback;
mod ack_limit;
mod acts;
mod capture;
mod flow_state;
mod icmp_report;
mod incoming;
mod outage;
mod outgoing;
mod sending;
pub(crate) mod view;

use alloc::collections::VecDeque;

use driftway_aid::LossDecisions;
use driftway_base::{Duration, FlowKey, Instant, ProbeSpacing, Seq, SeqRange};
use driftway_wire::TcpFlags;

use crate::config::Config;
use crate::counts::{Counts, PacketAction};
use crate::negotiated::Negotiated;
use crate::pace::{RttEstimator, TimestampClock};
use crate::packet::Segment;
use crate::pool::BufferPool;
use crate::retransmission_queue::RetransmissionQueue;
use ack_limit::AckLimit;
pub(crate) use acts::ConnectionAid;
use acts::RequestedAcks;
pub(crate) use capture::Capture;
pub use flow_state::FlowState;
use icmp_report::IcmpReport;

/// Arguments common to all steps of a flow.
pub(crate) struct Context<'a> {
    pub now: Instant,
    pub config: &'a Config,
    pub pool: &'a mut BufferPool,
    pub counts: &'a mut Counts,
    /// Number of flows that probe the path to the same destination, and of those before this one.
    pub probing_flows: u64,
    pub probing_before: u64,
    /// The packet is a copy: whatever the action is, it has passed.
    pub is_copy: bool,
}

/// Result of a packet for itself and for the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The flow continues.
    Continue(PacketAction),
    /// The flow has ended.
    Closed(PacketAction),
}

/// Latest state that one end has announced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndpointState {
    /// Acknowledgment number: the next sequence number it expects.
    pub ack: Seq,
    /// Window field.
    pub window: u16,
    /// TSecr that it sends now.
    pub echo: u32,
    /// It sets ECE now.
    pub ece: bool,
    /// One past the sequence number of its FIN.
    pub fin_end: Option<Seq>,
}

/// A loss recovery of the local TCP, from its first retransmission until the data then outstanding
/// are acknowledged. The local TCP has reduced its window for it once.
#[derive(Clone, Copy, Debug)]
pub(super) struct LossEpisode {
    /// Time of the first retransmission, and its TSval.
    since: Instant,
    first_tsval: u32,
    until: Seq,
    undone: bool,
    /// The local TCP has retransmitted after the undo.
    again: bool,
    /// The reduction stays: it precedes an outage, and may be for congestion. An undo of the
    /// outage's timeouts would revert it, too, since a TCP saves only one state.
    keep_reduction: bool,
    /// The aid has requested the undo.
    undo_wanted: bool,
    /// It began while TCP was held, and the window is to be kept.
    keep_window: bool,
}

impl LossEpisode {
    /// Returns whether there is a reduction to undo.
    fn has_reduction_to_undo(&self) -> bool {
        !self.keep_reduction && (!self.undone || self.again)
    }
}

/// Mode in which the local TCP is held.
#[derive(Clone, Copy, Debug)]
pub(super) struct HoldMode {
    /// The hold is for an outage, and not for a loss repair by the aid.
    is_outage: bool,
    probe_spacing: ProbeSpacing,
    /// Outstanding data are sent again when the hold ends.
    step_back: bool,
    /// The local TCP keeps its previous congestion window.
    keep_window: bool,
    /// Any arriving segment ends the hold.
    any_ack: bool,
}

/// An outage, from its first signal until the local TCP receives the acknowledgments after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outage {
    hold: HoldMode,
    /// Start of the hold; not renewed by further signals.
    since: Instant,
    probe_at: Instant,
    /// Interval to the probe after the next, and the least it has been.
    probe_interval: Duration,
    min_probe_interval: Duration,
    /// Time of the last probe.
    last_probe: Option<Instant>,
    /// Bytes outstanding at the start.
    outstanding_bytes: u32,
    /// The path has seemed restored before, and acknowledgments are withheld from the local TCP
    /// since.
    again: bool,
    /// Withheld acknowledgments are reported at this time even if the path is lost again.
    withhold_until: Instant,
    /// Consecutive repairs of which nothing arrived although the peer answered.
    failed_repairs: u8,
    /// The oldest original that is unacknowledged for the local TCP: its TSval, and one past its
    /// last sequence number.
    oldest: Option<(u32, Seq)>,
    undo_acks: u8,
    /// The latest ICMP message of a router about the outage.
    icmp_report: Option<IcmpReport>,
    /// Time at which the path was restored, and time of the peer's first new acknowledgment after
    /// it.
    path_restored_at: Option<Instant>,
    first_new_ack_at: Option<Instant>,
    /// Send time of the packet whose answer showed that the path is back, or the time at which this
    /// host knew it; `None` once new data were acknowledged to the local TCP.
    probe_answered_sent_at: Option<Instant>,
}

/// The repair of the losses of an outage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repair {
    /// The repair ends when the peer has acknowledged everything before.
    until: Seq,
    /// Limit on the bytes in flight, and the time of its last reduction.
    window: u32,
    last_reduction: Instant,
    /// Minimum RTT of the repair's segments.
    min_rtt: Option<Duration>,
    /// Time without progress after which the path is considered lost again.
    progress_timeout: Duration,
    /// Time at which the peer last acknowledged something.
    last_progress: Instant,
    /// End of the withholding of acknowledgments.
    withhold_until: Instant,
    duplicate_acks: u8,
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
pub(crate) struct SyntheticAck {
    pub ack: Seq,
    pub echo: u32,
}

/// A connection whose handshake was seen.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Both endpoints, from this host to the peer.
    pub key: FlowKey,
    pub(super) negotiated: Negotiated,
    pub(super) state: State,
    pub(super) retransmission_queue: RetransmissionQueue,
    /// SND.UNA of the local TCP: the highest acknowledgment number it has received.
    pub(super) local_una: Seq,
    pub(super) local: EndpointState,
    pub(super) peer: EndpointState,
    /// The local TCP's TS.Recent (RFC 7323 §4.3). Synthetic segments carry it as TSval: with an
    /// older one they would be discarded, with a newer one the peer's data in flight would be.
    pub(super) ts_recent: u32,
    /// One past the highest sequence number that the peer has sent.
    pub(super) peer_max: Seq,
    pub(super) rtt: RttEstimator,
    /// Segments sent before were in flight during a hold, or as the clock jumped: they give no RTT
    /// sample (Karn's algorithm).
    pub(super) rtt_valid_from: Instant,
    pub(super) clock: TimestampClock,
    /// The highest TSval of a segment that was sent from within the outstanding data, and one past
    /// those data: the peer may hold it as TS.Recent (RFC 7323 §4.3), and discards segments with an
    /// older one (PAWS, §5).
    pub(super) sent_tsval: Option<(u32, Seq)>,
    /// Congestion was echoed: losses until this number is acknowledged are attributed to it.
    pub(super) congestion_until: Option<Seq>,
    pub(super) loss_episode: Option<LossEpisode>,
    /// The segment being processed undoes a reduction.
    pub(super) undo_with_segment: bool,
    /// ECE is set towards the local TCP until it sends CWR.
    pub(super) echo_congestion: bool,
    /// Acknowledgments requested by the aid, in order.
    pub(super) requested_acks: VecDeque<RequestedAcks>,
    /// Originals are retransmitted during the hold.
    pub(super) resend_while_held: bool,
    /// The peer has sent an acknowledgment that was not reported to the local TCP.
    pub(super) has_unreported_ack: bool,
    /// New segments wait behind others.
    pub(super) is_queueing: bool,
    /// Waiting segments are paced until then.
    pub(super) pace_until: Instant,
    pub(super) next_send: Instant,
    /// Bytes sent per RTT.
    pub(super) pacing_bytes_per_rtt: u32,
    pub(super) synthetic_acks: VecDeque<SyntheticAck>,
    /// The retransmission about which the router's message is to be repeated: first sequence number
    /// and length.
    pub(super) icmp_repeat: Option<(Seq, u32)>,
    /// Acknowledgments left to send to announce the restored path to the peer.
    pub(super) announcements_left: u8,
    pub(super) ack_limit: AckLimit,
    /// Time at which the bytes held back with [`Config::hold_back`] are acknowledged.
    pub(super) hold_back_until: Instant,
    /// Payload of the local TCP's segments since the path has become narrower.
    pub(super) path_payload: Option<u32>,
    /// The connection passed by at first: one past the last sequence number that the local TCP may
    /// have sent unseen, and the TSval of its first intercepted segment.
    pub(super) unseen: Option<(Seq, u32)>,
    /// Times at which the local TCP and the peer last sent a segment.
    pub last_sent: Instant,
    pub last_heard: Instant,
    /// A segment of the shim has left in place of an acknowledgment of the local TCP.
    pub has_used_carrier: bool,
    /// Number of segments of the shim in a row to which the local TCP sent no acknowledgment.
    pub missed_carriers: u8,
    /// Time of the last synthetic segment for the local TCP.
    pub(super) last_injected: Option<Instant>,
    /// Parity of the byte in the last solicitation.
    pub(super) last_solicitation_was_odd: bool,
    /// Time of the peer's segment before the last one.
    pub(super) previously_heard: Instant,
    /// The way by which the flow's packets reach the shim, as the driver knows it.
    pub capture: Capture,
    /// Something might act on packets after the last event.
    pub(super) may_act: bool,
    /// Its packets are intercepted at least until then.
    pub(super) intercept_until: Instant,
    /// The path has come back: other flows to the same destination may probe theirs.
    pub path_came_back: bool,
    pub(super) counts: FlowCounts,
    /// The aid's decisions about losses that are in the shim's counts.
    loss_decisions: LossDecisions,
    aid: ConnectionAid,
}

/// Counters of one flow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FlowCounts {
    undone: u64,
    survived: u64,
    refused: u64,
    time_to_resume: Option<Duration>,
}

/// Status of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowStatus {
    /// Both endpoints, from this host to the peer.
    pub key: FlowKey,
    /// Its state.
    pub state: FlowState,
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
    pub srtt: Option<Duration>,
    /// Timestamps were negotiated; always true for a tracked flow.
    pub timestamps: bool,
    /// ECN was negotiated; without it losses are not undone.
    pub ecn: bool,
    /// Window reductions of the local TCP that were undone.
    pub undone: u64,
    /// Outages survived.
    pub survived: u64,
    /// Time to resume after the last outage after which the peer acknowledged new data: time from the send time of
    /// the probe that was answered, as far as it is known (or from the time at which this host knew
    /// that its own link was back), to the first new acknowledgment for the local TCP. At least one
    /// RTT.
    pub time_to_resume: Option<Duration>,
}

impl Flow {
    pub fn new(
        key: FlowKey,
        negotiated: Negotiated,
        local: EndpointState,
        peer: EndpointState,
        ts_recent: u32,
        clock: TimestampClock,
        aid: ConnectionAid,
    ) -> Self {
        // The SYN occupies one sequence number.
        let first = peer.ack;
        Self {
            key,
            negotiated,
            state: State::Open,
            retransmission_queue: RetransmissionQueue::new(first),
            local_una: first,
            local,
            peer,
            ts_recent,
            peer_max: local.ack,
            rtt: RttEstimator::default(),
            rtt_valid_from: Instant::ZERO,
            clock,
            sent_tsval: None,
            congestion_until: None,
            loss_episode: None,
            undo_with_segment: false,
            echo_congestion: false,
            requested_acks: VecDeque::new(),
            resend_while_held: false,
            has_unreported_ack: false,
            is_queueing: false,
            pace_until: Instant::ZERO,
            next_send: Instant::ZERO,
            pacing_bytes_per_rtt: 0,
            synthetic_acks: VecDeque::with_capacity(4),
            icmp_repeat: None,
            announcements_left: 0,
            ack_limit: AckLimit::new(local.ack),
            hold_back_until: Instant::ZERO,
            path_payload: None,
            unseen: None,
            last_sent: Instant::ZERO,
            last_heard: Instant::ZERO,
            has_used_carrier: false,
            missed_carriers: 0,
            last_injected: None,
            last_solicitation_was_odd: false,
            previously_heard: Instant::ZERO,
            capture: Capture::Intercepted,
            may_act: false,
            intercept_until: Instant::ZERO,
            path_came_back: false,
            counts: FlowCounts::default(),
            loss_decisions: LossDecisions::default(),
            aid,
        }
    }

    /// The present status.
    pub fn status(&self) -> FlowStatus {
        FlowStatus {
            key: self.key,
            state: match self.state {
                State::Open => FlowState::Open,
                State::Disconnected(outage) if outage.hold.is_outage => FlowState::Disconnected,
                State::Disconnected(_) => FlowState::Held,
                State::Resuming(..) => FlowState::Resuming,
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
    /// Returns whether nothing would be lost if it were removed.
    pub fn is_idle(&self) -> bool {
        self.retransmission_queue.is_empty()
            && self.synthetic_acks.is_empty()
            && !self.ack_limit.is_active()
    }
    /// Time at which either end last sent a segment.
    pub fn last_activity(&self) -> Instant {
        self.last_sent.max(self.last_heard)
    }
    /// Releases the stored packets.
    pub fn clear(&mut self, pool: &mut BufferPool) {
        self.retransmission_queue.clear(pool);
    }
    /// Acknowledgment number and window field of the local TCP.
    pub fn last_ack_and_window(&self) -> (Seq, u16) {
        (self.local.ack, self.local.window)
    }
    /// Records that the local TCP may have sent segments before `until` unseen, and that the first
    /// one that was seen has the TSval `first`.
    pub fn set_unseen(&mut self, until: Seq, first: u32) {
        self.unseen = Some((until, first));
    }
    /// Records a FIN that has passed by.
    pub fn on_unseen_fin(&mut self, fin_end: Seq, is_outgoing: bool) {
        (if is_outgoing { &mut self.local } else { &mut self.peer }).fin_end = Some(fin_end);
    }
    /// Takes the RTT sample of the handshake.
    pub fn on_rtt_sample(&mut self, rtt: Duration) {
        // It is the only one of the handshake.
        let _ = self.rtt.sample(rtt);
    }

    /// Returns whether a segment that begins at `seq` may be in flight (RFC 5927 §4.1).
    pub fn is_in_flight(&self, seq: Seq) -> bool {
        let here = SeqRange::new(seq, seq + 1);
        let mut left =
            self.retransmission_queue.overlapping(here).filter(|original| original.was_sent);
        seq.at_or_after(self.retransmission_queue.una) && left.next().is_some()
    }

    /// Returns whether both ends have closed, with both FINs acknowledged.
    pub(super) fn is_closed(&self) -> bool {
        let ours = self.local.fin_end.is_some_and(|fin| self.local_una.at_or_after(fin));
        let theirs = self.peer.fin_end.is_some_and(|fin| self.local.ack.at_or_after(fin));
        ours && theirs && self.synthetic_acks.is_empty()
    }

    /// Records the state that a segment of the local TCP announces.
    pub(super) fn record_local(&mut self, now: Instant, segment: &Segment) {
        self.last_sent = now;
        if segment.has_flags(TcpFlags::ACK) && !segment.ack.before(self.local.ack) {
            self.local.ack = segment.ack;
            self.local.window = segment.window;
            self.local.ece = segment.has_flags(TcpFlags::ECE);
        }
        if let Some(stamps) = segment.options.timestamps {
            self.record_echo(stamps.echo);
            self.ts_recent = Seq(self.ts_recent).max(Seq(stamps.echo)).0;
            self.clock.on_tsval(now, stamps.value);
        }
        if segment.has_flags(TcpFlags::FIN) {
            self.local.fin_end = Some(segment.range().end);
        }
        // RFC 3168 §6.1.2
        self.echo_congestion &= !segment.has_flags(TcpFlags::CWR);
    }

    /// Records the state that a segment of the peer announces.
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
        // RFC 3168 §6.1.2: one reduction for the data outstanding at the first echo. Echoes until
        // the peer has seen CWR are of the same congestion.
        if self.negotiated.ecn && segment.has_flags(TcpFlags::ECE) {
            let known = self.congestion_until.filter(|point| segment.ack.at_or_before(*point));
            self.congestion_until = known.or(Some(self.retransmission_queue.max));
        }
    }
}
