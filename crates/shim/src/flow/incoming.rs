//! Segments of the peer.

use driftway_aid::SegmentVerdict;
use driftway_base::{Duration, Seq};
use driftway_wire::TcpFlags;

use super::{Context, Flow, State, Step};
use crate::counts::{DiscardReason, PacketAction, UntouchedReason};
use crate::packet::{EditableBytes, Segment};
use crate::retransmission_queue::NewlyAcked;

/// Linux' minimum RTO beyond the RTT (tcp_rto_min).
const MIN_RTO: Duration = Duration::from_millis(200);

/// Maximum distance below SND.UNA of a plausible acknowledgment number.
const MAX_ACK_AGE: u32 = 1 << 30;

impl Flow {
    /// Processes `segment` of the peer, whose bytes are `packet`.
    pub fn on_incoming(
        &mut self,
        cx: &mut Context<'_>,
        segment: &Segment,
        packet: &mut EditableBytes<'_>,
    ) -> Step {
        if segment.has_flags(TcpFlags::RST) {
            return self.on_reset(cx, segment);
        }
        if !self.is_plausible(segment) {
            return Step::Continue(PacketAction::Untouched(UntouchedReason::Implausible));
        }
        // RFC 5961 §4: the local TCP answers a SYN with a challenge ACK; the flow continues.
        if segment.has_flags(TcpFlags::SYN) || !segment.has_flags(TcpFlags::ACK) {
            return Step::Continue(PacketAction::Pass);
        }
        if segment.ack.after(self.retransmission_queue.max) {
            self.skip_unseen(cx, segment.ack);
        }
        let view = self.view();
        self.record_peer(cx.now, segment);
        if cx.is_copy {
            self.local_una = self.local_una.max(segment.ack);
        }
        self.loosen_ack_limit(cx, segment);
        let verdict = self.pass_up_to_aid(cx, segment, &view, packet);
        if let State::Disconnected(outage) = self.state
            && self.ends_hold(cx)
        {
            self.resume(cx, outage.hold.keep_window);
        }
        let action = match self.state {
            State::Resuming(..) => self.on_segment_in_repair(cx, segment, packet),
            // Acknowledgments are withheld from the local TCP, and stay so.
            State::Disconnected(outage) if outage.again => {
                let acked = self.local_una;
                self.process_ack(cx, segment);
                self.report_acks_if_due(cx);
                self.withhold_ack(cx, acked, segment, packet)
            }
            _ if verdict == SegmentVerdict::Drop => {
                self.process_ack(cx, segment);
                self.has_unreported_ack |= self.local_una.before(self.retransmission_queue.una);
                PacketAction::Discarded(DiscardReason::ByAid)
            }
            _ => self.on_segment(cx, segment, packet),
        };
        let action = match action {
            PacketAction::Pass if verdict == SegmentVerdict::Drop => {
                PacketAction::Discarded(DiscardReason::ByAid)
            }
            action => action,
        };
        if self.is_closed() { Step::Closed(action) } else { Step::Continue(action) }
    }

    /// RFC 5961 §3.2: only a reset with exactly the expected sequence number is valid. The local
    /// TCP receives all resets and decides itself; this is the shim's own decision.
    fn on_reset(&mut self, cx: &mut Context<'_>, segment: &Segment) -> Step {
        // With delayed acknowledgments it may expect more than it has acknowledged, up to what was
        // received.
        let expected = segment.seq.at_or_after(self.local.ack)
            && segment.seq.at_or_before(self.peer_max.max(self.local.ack));
        if expected {
            return Step::Closed(PacketAction::Pass);
        }
        cx.counts.resets_rejected += 1;
        Step::Continue(PacketAction::Pass)
    }

    /// Returns whether its numbers are near the flow's windows. An off-path attacker who does not
    /// know them changes nothing (RFC 5961 §5).
    fn is_plausible(&self, segment: &Segment) -> bool {
        let window = (u32::from(self.local.window) << self.negotiated.window_shift).max(65_535);
        let off = segment.seq.distance(self.local.ack).unsigned_abs();
        let max = self.retransmission_queue.max;
        let (ack, max) = (segment.ack, self.unseen.map_or(max, |(until, _)| max.max(until)));
        let acks = !segment.has_flags(TcpFlags::ACK)
            || ack.at_or_before(max) && ack.at_or_after(self.local_una - MAX_ACK_AGE);
        off <= window && acks
    }

    /// Processes the cumulative and selective acknowledgments of a segment.
    pub(super) fn process_ack(&mut self, cx: &mut Context<'_>, segment: &Segment) -> NewlyAcked {
        let mut covered = NewlyAcked::default();
        if segment.ack.after(self.retransmission_queue.una) {
            covered = self.retransmission_queue.on_ack(segment.ack, cx.pool);
            self.sent_tsval = self.sent_tsval.filter(|(_, until)| segment.ack.before(*until));
        }
        if self.negotiated.sack {
            for block in segment.options.sack.as_slice() {
                covered.last_sent =
                    covered.last_sent.max(self.retransmission_queue.on_sack_block(*block));
            }
        }
        covered
    }

    /// Processes an acknowledgment while packets pass.
    fn on_segment(
        &mut self,
        cx: &mut Context<'_>,
        segment: &Segment,
        packet: &mut EditableBytes<'_>,
    ) -> PacketAction {
        let covered = self.process_ack(cx, segment);
        self.local_una = self.local_una.max(segment.ack);
        if self.echo_congestion {
            segment.set_ece(packet, true);
        }
        if covered.sequence_numbers == 0 {
            return PacketAction::Pass;
        }
        if covered.first_retransmitted.is_none()
            && let Some(at) = covered.last_sent_once.filter(|at| *at >= self.rtt_valid_from)
            && self.answers_seen(segment)
            && matches!(self.state, State::Open)
            && !self.is_queueing
            && !self.rtt.sample(cx.now.since(at))
        {
            self.rtt_valid_from = cx.now;
        }
        self.rewrite_tsecr(cx, &covered, segment, packet);
        self.congestion_until =
            self.congestion_until.filter(|point| self.retransmission_queue.una.before(*point));
        self.loss_episode =
            self.loss_episode.filter(|episode| self.local_una.before(episode.until));
        PacketAction::Pass
    }

    /// Returns whether the acknowledgment answers a segment that was seen: its first copy may have
    /// passed by before (Karn's algorithm).
    fn answers_seen(&self, segment: &Segment) -> bool {
        let Some((_, first)) = self.unseen else { return true };
        segment.options.timestamps.is_some_and(|stamps| Seq(stamps.echo).at_or_after(Seq(first)))
    }

    /// Undoes a loss if the aid requests it: the original's timestamp as TSecr makes the
    /// retransmission spurious for the local TCP (RFC 3522 §3.2, RFC 4015).
    ///
    /// Not after a timeout: TSecr is also an RTT sample (RFC 7323 §4.1), and one as long as an RTO
    /// multiplies the next RTO. Moreover an undo makes the local TCP take all data it considers
    /// lost for delivered, so that it detects further losses only by the next timeout.
    fn rewrite_tsecr(
        &mut self,
        cx: &mut Context<'_>,
        covered: &NewlyAcked,
        segment: &Segment,
        packet: &mut EditableBytes<'_>,
    ) {
        let Some((stamp, capable)) = covered.first_retransmitted else { return };
        let (wanted, kept) =
            self.loss_episode.map_or((false, false), |e| (e.undo_wanted, e.keep_window));
        let allowed = self.undo_with_segment
            || self.congestion_until.is_none() && (wanted && capable || kept);
        let allowed = allowed && !cx.is_copy;
        let Some(stamps) = segment.options.timestamps.filter(|_| allowed) else { return };
        // The original was sent at least an RTO and the RTT of its retransmission ago.
        let timed_out = self.rtt.srtt_or_initial().times(2) + MIN_RTO;
        let by_timeout = Seq(stamp).before(Seq(self.clock.tsval_at(cx.now - timed_out)));
        if by_timeout || !Seq(stamp).before(Seq(stamps.echo)) {
            return;
        }
        segment.set_tsecr(packet, stamp);
        cx.counts.echoes_rewritten += 1;
        if let Some(episode) = self.loss_episode.as_mut().filter(|episode| !episode.undone) {
            episode.undone = true;
            self.counts.undone += 1;
            cx.counts.undone += 1;
        }
    }

    /// Edits a segment for the local TCP while acknowledgments are withheld; `acked` is the
    /// acknowledgment number that it has already received.
    pub(super) fn withhold_ack(
        &mut self,
        cx: &mut Context<'_>,
        acked: Seq,
        segment: &Segment,
        packet: &mut EditableBytes<'_>,
    ) -> PacketAction {
        if cx.is_copy {
            return PacketAction::Pass;
        }
        // A segment before RCV.NXT requests an answer (a keep-alive, or a window probe).
        let empty = segment.range().is_empty();
        self.has_unreported_ack |= empty;
        if empty && !segment.seq.before(self.local.ack) {
            return PacketAction::Discarded(DiscardReason::AckHeld);
        }
        if segment.ack.after(acked) {
            segment.set_ack(packet, acked);
            cx.counts.acks_lowered += 1;
        }
        segment.strip_sack(packet);
        PacketAction::Pass
    }
}
