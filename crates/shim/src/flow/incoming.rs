//! What the peer sends.

use driftway_aid::Verdict;
use driftway_base::{Duration, Seq};
use driftway_wire::TcpFlags;

use super::{Context, Flow, State, Step};
use crate::counts::{PacketDisposition, DiscardReason, UntouchedReason};
use crate::retransmission_queue::NewlyAcked;
use crate::packet::Segment;

/// What Linux's shortest timeout is beyond a round trip (tcp_rto_min).
const MIN_RTO: Duration = Duration::from_millis(200);

/// Acknowledgments from before this are not of this connection.
const MAX_ACK_AGE: u32 = 1 << 30;

impl Flow {
    /// The peer sends `segment`, whose bytes are `packet`.
    pub fn on_incoming(
        &mut self,
        cx: &mut Context<'_>,
        segment: &Segment,
        packet: &mut [u8],
    ) -> Step {
        if segment.has_flags(TcpFlags::RST) {
            return self.on_reset(cx, segment);
        }
        if !self.is_plausible(segment) {
            return Step::Continue(PacketDisposition::Untouched(UntouchedReason::Implausible));
        }
        // RFC 5961 §4: the local TCP challenges a SYN; the flow goes on.
        if segment.has_flags(TcpFlags::SYN) || !segment.has_flags(TcpFlags::ACK) {
            return Step::Continue(PacketDisposition::Pass);
        }
        let view = self.view();
        self.record_peer(cx.now, segment);
        let verdict = self.pass_up_to_aid(cx, segment, &view, packet);
        if let State::Disconnected(outage) = self.state
            && self.ends_hold(cx)
        {
            self.resume(cx, outage.hold.keep_window);
        }
        let fate = match self.state {
            State::Resuming(..) => self.on_segment_in_repair(cx, segment, packet),
            // The local TCP has been told less than the peer has said: that stays so.
            State::Disconnected(outage) if outage.again => {
                let told = self.local_una;
                self.process_ack(cx, segment);
                self.report_acks_if_due(cx);
                self.withhold_ack(cx, told, segment, packet)
            }
            _ if verdict == Verdict::Drop => {
                self.process_ack(cx, segment);
                self.has_unreported_ack |= self.local_una.before(self.retransmission_queue.una);
                PacketDisposition::Discarded(DiscardReason::ByAid)
            }
            _ => self.on_segment(cx, segment, packet),
        };
        let fate = match fate {
            PacketDisposition::Pass if verdict == Verdict::Drop => PacketDisposition::Discarded(DiscardReason::ByAid),
            fate => fate,
        };
        if self.is_closed() { Step::Closed(fate) } else { Step::Continue(fate) }
    }

    /// RFC 5961 §3.2: only a reset with the very number that the local TCP expects is one. It sees
    /// them all and decides itself; this is about what the shim believes.
    fn on_reset(&mut self, cx: &mut Context<'_>, segment: &Segment) -> Step {
        // It may expect more than it has acknowledged (delayed acknowledgments), up to what came.
        let expected = segment.seq.at_or_after(self.local.ack)
            && segment.seq.at_or_before(self.peer_max.max(self.local.ack));
        if expected {
            return Step::Closed(PacketDisposition::Pass);
        }
        cx.counts.resets_not_believed += 1;
        Step::Continue(PacketDisposition::Pass)
    }

    /// Are its numbers near those of the flow? Whoever does not know them learns nothing and moves
    /// nothing (RFC 5961 §5).
    fn is_plausible(&self, segment: &Segment) -> bool {
        let window = (u32::from(self.local.window) << self.negotiated.window_shift).max(65_535);
        let off = segment.seq.distance(self.local.ack).unsigned_abs();
        let (ack, max) = (segment.ack, self.retransmission_queue.max);
        let acks = !segment.has_flags(TcpFlags::ACK)
            || ack.at_or_before(max) && ack.at_or_after(self.local_una - MAX_ACK_AGE);
        off <= window && acks
    }

    /// Takes the acknowledgment and the reports of a segment.
    pub(super) fn process_ack(&mut self, cx: &mut Context<'_>, segment: &Segment) -> NewlyAcked {
        let mut covered = NewlyAcked::default();
        if segment.ack.after(self.retransmission_queue.una) {
            covered = self.retransmission_queue.on_ack(segment.ack, cx.pool);
            self.sent_tsval = self.sent_tsval.filter(|(_, until)| segment.ack.before(*until));
        }
        if self.negotiated.sack {
            for block in segment.options.sack.as_slice() {
                covered.last_sent = covered.last_sent.max(self.retransmission_queue.on_sack_block(*block));
            }
        }
        covered
    }

    /// While everything passes.
    fn on_segment(&mut self, cx: &mut Context<'_>, segment: &Segment, packet: &mut [u8]) -> PacketDisposition {
        let covered = self.process_ack(cx, segment);
        self.local_una = self.local_una.max(segment.ack);
        if self.echo_congestion {
            segment.set_ece(packet, true);
        }
        if covered.sequence_numbers == 0 {
            return PacketDisposition::Pass;
        }
        if covered.first_retransmitted.is_none()
            && let Some(at) = covered.last_sent_once.filter(|at| *at >= self.rtt_valid_from)
            && matches!(self.state, State::Open)
            && !self.is_queueing
        {
            self.rtt.sample(cx.now.since(at));
        }
        self.rewrite_tsecr(cx, &covered, segment, packet);
        self.congestion_until = self.congestion_until.filter(|point| self.retransmission_queue.una.before(*point));
        self.loss_episode = self.loss_episode.filter(|episode| self.local_una.before(episode.until));
        PacketDisposition::Pass
    }

    /// Undoes a loss, if the aid wants that: the peer seems to answer the original, which makes the
    /// retransmission a spurious one for the local TCP (RFC 3522 §3.2, RFC 4015).
    ///
    /// Not after a timeout: the echo is a measurement of the round trip, too (RFC 7323 §4.1), and one
    /// that is as long as a timeout lets the next one be several times as long. And an undo has the
    /// local TCP take for delivered what else it holds for lost, of which it then learns by the next
    /// timeout only.
    fn rewrite_tsecr(
        &mut self,
        cx: &mut Context<'_>,
        covered: &NewlyAcked,
        segment: &Segment,
        packet: &mut [u8],
    ) {
        let Some((stamp, capable)) = covered.first_retransmitted else { return };
        let (wanted, kept) = self.loss_episode.map_or((false, false), |e| (e.undo_wanted, e.keep_window));
        let allowed = self.undo_with_segment || self.congestion_until.is_none() && (wanted && capable || kept);
        let Some(stamps) = segment.options.timestamps.filter(|_| allowed) else { return };
        // It was sent a timeout, and the round trip of what was then sent, ago.
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

    /// What the local TCP gets of a segment while it is not to know what it acknowledges: `told` is
    /// what it has been told before.
    pub(super) fn withhold_ack(
        &mut self,
        cx: &mut Context<'_>,
        told: Seq,
        segment: &Segment,
        packet: &mut [u8],
    ) -> PacketDisposition {
        // What begins before what the local TCP expects asks it for an answer (a keep-alive, or a
        // probe of its window).
        let empty = segment.range().is_empty();
        self.has_unreported_ack |= empty;
        if empty && !segment.seq.before(self.local.ack) {
            return PacketDisposition::Discarded(DiscardReason::AckHeld);
        }
        if segment.ack.after(told) {
            segment.set_ack(packet, told);
            cx.counts.acks_lowered += 1;
        }
        segment.strip_sack(packet);
        PacketDisposition::Pass
    }
}
