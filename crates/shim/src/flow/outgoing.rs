//! Segments of the local TCP.

use driftway_base::{Duration, Ecn, Instant, Known, Seq, SeqRange};
use driftway_wire::TcpFlags;

use super::{Context, Flow, LossEpisode, State, Step};
use crate::counts::{DiscardReason, PacketAction, UntouchedReason};
use crate::packet::{EditableBytes, Segment};
use crate::pool::{PoolBuffer, size_class_bytes};
use crate::retransmission_queue::{Original, OriginalState};

/// Time within which the kernel answers an injected segment: it does so at once, but may have to
/// wait for a CPU.
const RESET_DELAY_MAX: Duration = Duration::from_secs(1);
/// Lateness of a copy within the noise of hosts, and of a clock that ticks in milliseconds.
const LATENESS_MAX: Duration = Duration::from_millis(2);
/// Bytes of the timestamps option, with padding, which the negotiated size already excludes.
const TIMESTAMPS_LEN: u32 = 12;
/// Segment size without an option that says otherwise (RFC 9293 §3.7.1).
const DEFAULT_MSS: u32 = 536;
/// Largest window that can be announced (RFC 7323 §2.3).
const WINDOW_MAX: u32 = 1 << 30;

impl Flow {
    /// Processes `segment` of the local TCP, whose bytes are `packet`.
    pub fn on_outgoing(
        &mut self,
        cx: &mut Context<'_>,
        segment: &Segment,
        packet: &mut EditableBytes<'_>,
    ) -> Step {
        let mut view = self.view();
        self.record_local(cx.now, segment);
        if cx.is_copy && self.is_late(cx.now, segment) {
            // Its send time is not known: it gives no RTT sample, neither here nor to the aid.
            self.rtt_valid_from = cx.now + Duration::from_nanos(1);
            view.snd_max = Known::Unknown;
        }
        // The path is not that narrow, or no longer.
        self.path_payload = self.path_payload.filter(|len| segment.payload_len <= *len);
        let step = self.handle_segment(cx, segment, packet);
        let Step::Continue(action) = step else { return step };
        let action = self.pass_down_to_aid(cx, segment, &view, action, packet);
        if cx.is_copy && segment.has_flags(TcpFlags::ACK) {
            self.on_ack_sent(segment.ack);
        } else if action == PacketAction::Pass {
            self.apply_ack_limit(cx, segment, packet);
        }
        Step::Continue(action)
    }

    /// Returns whether a copy is late: an RTT from it would be too short.
    fn is_late(&self, now: Instant, segment: &Segment) -> bool {
        let stamps = segment.options.timestamps;
        stamps.is_some_and(|stamps| self.clock.lateness(now, stamps.value) > LATENESS_MAX)
    }

    /// Payload of each segment but the last into which `whole`, a packet that is still to be
    /// segmented, will be cut: the negotiated size, less its options beyond the timestamps (RFC
    /// 6691), or less where the path has turned out to be narrower.
    pub fn piece_len(&self, whole: &Segment) -> u32 {
        let negotiated =
            self.negotiated.mss.map_or(DEFAULT_MSS, |mss| u32::from(mss) + TIMESTAMPS_LEN);
        let len = negotiated.saturating_sub(whole.options_len());
        self.path_payload.map_or(len, |path| path.min(len)).max(1)
    }

    /// Updates the state, and decides on the action.
    fn handle_segment(&mut self, cx: &mut Context<'_>, segment: &Segment, packet: &[u8]) -> Step {
        // The local TCP has aborted: stored data are obsolete. In an outage the peer gets a reset
        // when it next sends.
        if segment.has_flags(TcpFlags::RST) {
            return Step::Closed(if self.answers_injected_segment(cx.now, segment) {
                PacketAction::Discarded(DiscardReason::ResetOfOwn)
            } else {
                PacketAction::Pass
            });
        }
        let range = segment.range();
        if range.is_empty() {
            self.record_sent_tsval(segment);
            return if self.is_closed() {
                Step::Closed(PacketAction::Pass)
            } else {
                Step::Continue(PacketAction::Pass)
            };
        }
        if range.end.at_or_before(self.retransmission_queue.una) {
            // The peer has it, and the local TCP does not know yet; otherwise it is a keep-alive.
            if !range.end.after(self.local_una) {
                self.record_sent_tsval(segment);
                return Step::Continue(PacketAction::Pass);
            }
            self.on_local_retransmission(cx, range, segment);
            // The aid has dropped the acknowledgment, or a part of its content.
            if matches!(self.state, State::Open) {
                self.report_acks(cx);
            }
            return Step::Continue(PacketAction::Discarded(DiscardReason::RetransmissionInRepair));
        }
        if range.start.after(self.retransmission_queue.max) && !self.skip_unseen(cx, range.start) {
            cx.counts.tracking_lost += 1;
            return Step::Closed(PacketAction::Untouched(UntouchedReason::Preexisting));
        }
        if range.end.at_or_before(self.retransmission_queue.max) {
            Step::Continue(self.on_retransmission(cx, range, segment))
        } else {
            Step::Continue(self.on_new_data(cx, range, segment, packet))
        }
    }

    /// Returns whether this reset answers an injected segment. A reset that answers a segment
    /// carries no acknowledgment (RFC 9293 §3.10.7.1), unlike one by which an application aborts.
    /// Then no socket has accepted the injected segment: it is closed, or bound to an interface on
    /// which injected segments do not arrive. Such a reset has the sequence number that the peer
    /// expects, and would end the connection. If it answers the peer after all, the peer's next
    /// segment is answered alike.
    fn answers_injected_segment(&self, now: Instant, segment: &Segment) -> bool {
        let lately = self.last_injected.is_some_and(|at| now.since(at) < RESET_DELAY_MAX);
        lately && !segment.has_flags(TcpFlags::ACK)
    }

    /// Records that data up to `to` were never seen: they have passed by, or a queue above
    /// the shim has dropped them, which the local TCP will detect. `false`: it is more than the largest window (RFC 7323
    /// §2.3).
    pub(super) fn skip_unseen(&mut self, cx: &mut Context<'_>, to: Seq) -> bool {
        let range = SeqRange::new(self.retransmission_queue.max, to);
        if to.since(self.retransmission_queue.una) > WINDOW_MAX {
            return false;
        }
        let never_seen = Original {
            range,
            tsval: self.clock.tsval_at(cx.now),
            ecn_capable: false,
            packet: None,
            state: OriginalState::InFlight(cx.now),
            was_sent: true,
            retransmitted: false,
        };
        self.retransmission_queue.push(never_seen, cx.pool);
        cx.counts.not_stored += 1;
        true
    }

    /// Forgets the data from SND.NXT on, which the local TCP has not sent. Returns whether there were
    /// any.
    pub fn on_snd_nxt(&mut self, cx: &mut Context<'_>, snd_nxt: Seq) -> bool {
        if !self.retransmission_queue.truncate(snd_nxt, cx.pool) {
            return false;
        }
        cx.counts.not_sent += 1;
        if let State::Resuming(_, repair) = &mut self.state {
            repair.until = repair.until.min(snd_nxt);
        }
        self.end_repair_when_done(cx);
        true
    }

    fn on_retransmission(
        &mut self,
        cx: &mut Context<'_>,
        range: SeqRange,
        segment: &Segment,
    ) -> PacketAction {
        self.on_local_retransmission(cx, range, segment);
        match self.state {
            _ if cx.is_copy => {}
            // It serves as a probe, fits the path MTU, and follows the local TCP's route.
            State::Disconnected(outage) if outage.hold.is_outage => {
                self.request_report_repeat(cx.now, segment)
            }
            State::Disconnected(_) if self.has_stored(range) => {
                return PacketAction::Discarded(DiscardReason::RetransmissionInHold);
            }
            State::Resuming(..) if self.has_stored(range) => {
                return PacketAction::Discarded(DiscardReason::RetransmissionInRepair);
            }
            State::Open if self.is_queueing && self.all_waiting(range) => {
                return PacketAction::Discarded(DiscardReason::RetransmissionInRepair);
            }
            _ => {}
        }
        self.record_sent_tsval(segment);
        PacketAction::Pass
    }

    /// Records the TSval of a segment sent from within the outstanding data: a retransmission, a
    /// probe, or an acknowledgment after SND.NXT was pulled back by a timeout.
    fn record_sent_tsval(&mut self, segment: &Segment) {
        if let Some(stamps) =
            segment.options.timestamps.filter(|_| segment.seq.before(self.retransmission_queue.max))
        {
            let highest = self.sent_tsval.map_or(Seq(stamps.value), |(s, _)| Seq(s));
            self.sent_tsval =
                Some((highest.max(Seq(stamps.value)).0, self.retransmission_queue.max));
        }
    }

    /// Returns whether everything up to the end of `range` is stored.
    fn has_stored(&self, range: SeqRange) -> bool {
        range.end.at_or_before(self.retransmission_queue.stored_until())
    }

    /// Returns whether all originals in `range` are waiting.
    fn all_waiting(&self, range: SeqRange) -> bool {
        self.retransmission_queue
            .overlapping(range)
            .all(|original| original.state == OriginalState::Waiting)
    }

    /// Records that the local TCP considers `range` lost.
    fn on_local_retransmission(
        &mut self,
        cx: &mut Context<'_>,
        range: SeqRange,
        segment: &Segment,
    ) {
        if self.retransmission_queue.on_retransmission(range, segment.total_len, cx.pool) {
            self.path_payload = Some(segment.payload_len);
        }
        // Originals larger than the path MTU cannot be sent from the store.
        let stored_to = self.retransmission_queue.stored_until();
        if let State::Resuming(_, repair) = &mut self.state {
            repair.until = repair.until.min(stored_to);
        }
        self.end_repair_when_done(cx);
        let episode = self.loss_episode.get_or_insert_with(|| LossEpisode {
            since: cx.now,
            first_tsval: segment
                .options
                .timestamps
                .map_or_else(|| self.clock.tsval_at(cx.now), |stamps| stamps.value),
            until: self.retransmission_queue.max,
            undone: false,
            again: false,
            keep_reduction: false,
            undo_wanted: false,
            keep_window: false,
        });
        episode.again = episode.undone;
    }

    /// Processes new data.
    fn on_new_data(
        &mut self,
        cx: &mut Context<'_>,
        range: SeqRange,
        segment: &Segment,
        packet: &[u8],
    ) -> PacketAction {
        let piece = self.store(cx, packet.get(..segment.total_len).unwrap_or(packet));
        // A segment that cannot be stored cannot wait.
        let waits = piece.is_some()
            && !cx.is_copy
            && match self.state {
                State::Open => self.must_queue(cx.now),
                State::Disconnected(_) | State::Resuming(..) => true,
            };
        let original = Original {
            range: SeqRange::new(range.start.max(self.retransmission_queue.max), range.end),
            tsval: segment
                .options
                .timestamps
                .map_or_else(|| self.clock.tsval_at(cx.now), |stamps| stamps.value),
            ecn_capable: segment.ecn != Ecn::NotEct,
            packet: piece,
            state: if waits { OriginalState::Waiting } else { OriginalState::InFlight(cx.now) },
            was_sent: !waits,
            retransmitted: false,
        };
        self.retransmission_queue.push(original, cx.pool);
        if waits { PacketAction::Stored } else { PacketAction::Pass }
    }

    fn store(&mut self, cx: &mut Context<'_>, packet: &[u8]) -> Option<PoolBuffer> {
        let size = size_class_bytes(packet.len());
        let fits = self.retransmission_queue.has_room()
            && self.retransmission_queue.stored_bytes.saturating_add(size)
                <= cx.config.store_per_flow;
        let piece = if fits { cx.pool.store(packet) } else { None };
        cx.counts.not_stored += u64::from(piece.is_none());
        piece
    }
}
