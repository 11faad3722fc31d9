//! Segments of the peer.

use driftway_aid::Verdict;
use driftway_base::{Duration, Seq};
use driftway_wire::TcpFlags;

use super::{Context, Flow, State, Step};
use crate::counts::{Fate, Swallowed, Untouched};
use crate::flight::Covered;
use crate::packet::Segment;

/// Linux' minimum RTO beyond the RTT (tcp_rto_min).
const LEAST_TIMEOUT: Duration = Duration::from_millis(200);

/// Maximum distance below SND.UNA of a plausible acknowledgment number.
const OLD: u32 = 1 << 30;

impl Flow {
    /// Processes `segment` of the peer, whose bytes are `packet`.
    pub fn on_incoming(
        &mut self,
        cx: &mut Context<'_>,
        segment: &Segment,
        packet: &mut [u8],
    ) -> Step {
        if segment.has(TcpFlags::RST) {
            return self.on_reset(cx, segment);
        }
        if !self.is_plausible(segment) {
            return Step::On(Fate::Untouched(Untouched::Implausible));
        }
        // RFC 5961 §4: the local TCP answers a SYN with a challenge ACK; the flow continues.
        if segment.has(TcpFlags::SYN) || !segment.has(TcpFlags::ACK) {
            return Step::On(Fate::Pass);
        }
        let view = self.view();
        self.note_theirs(cx.now, segment);
        let verdict = self.show_up(cx, segment, &view, packet);
        if let State::Disconnected(outage) = self.state
            && self.ends_hold(cx)
        {
            self.resume(cx, outage.held.keeps);
        }
        let fate = match self.state {
            State::Resuming(..) => self.on_segment_in_repair(cx, segment, packet),
            // Acknowledgments are withheld from the local TCP, and stay so.
            State::Disconnected(outage) if outage.again => {
                let told = self.told;
                self.take(cx, segment);
                self.release_if_due(cx);
                self.hold(cx, told, segment, packet)
            }
            _ if verdict == Verdict::Drop => {
                self.take(cx, segment);
                self.unsaid |= self.told.before(self.flight.una);
                Fate::Swallowed(Swallowed::ByAid)
            }
            _ => self.on_segment(cx, segment, packet),
        };
        let fate = match fate {
            Fate::Pass if verdict == Verdict::Drop => Fate::Swallowed(Swallowed::ByAid),
            fate => fate,
        };
        if self.is_closed() { Step::Over(fate) } else { Step::On(fate) }
    }

    /// RFC 5961 §3.2: only a reset with exactly the expected sequence number is valid. The local
    /// TCP receives all resets and decides itself; this is the shim's own decision.
    fn on_reset(&mut self, cx: &mut Context<'_>, segment: &Segment) -> Step {
        // With delayed acknowledgments it may expect more than it has acknowledged, up to what was
        // received.
        let expected = segment.seq.at_or_after(self.ours.ack)
            && segment.seq.at_or_before(self.theirs_high.max(self.ours.ack));
        if expected {
            return Step::Over(Fate::Pass);
        }
        cx.counts.resets_not_believed += 1;
        Step::On(Fate::Pass)
    }

    /// Returns whether its numbers are near the flow's windows. An off-path attacker who does not
    /// know them changes nothing (RFC 5961 §5).
    fn is_plausible(&self, segment: &Segment) -> bool {
        let window = (u32::from(self.ours.window) << self.agreed.shift).max(65_535);
        let off = segment.seq.distance(self.ours.ack).unsigned_abs();
        let (ack, max) = (segment.ack, self.flight.max);
        let acks = !segment.has(TcpFlags::ACK)
            || ack.at_or_before(max) && ack.at_or_after(self.told - OLD);
        off <= window && acks
    }

    /// Processes the cumulative and selective acknowledgments of a segment.
    pub(super) fn take(&mut self, cx: &mut Context<'_>, segment: &Segment) -> Covered {
        let mut covered = Covered::default();
        if segment.ack.after(self.flight.una) {
            covered = self.flight.advance(segment.ack, cx.pool);
            self.left_stamp = self.left_stamp.filter(|(_, until)| segment.ack.before(*until));
        }
        if self.agreed.sack {
            for block in segment.options.sack.as_slice() {
                covered.newest = covered.newest.max(self.flight.report(*block));
            }
        }
        covered
    }

    /// Processes an acknowledgment while packets pass.
    fn on_segment(&mut self, cx: &mut Context<'_>, segment: &Segment, packet: &mut [u8]) -> Fate {
        let covered = self.take(cx, segment);
        self.told = self.told.max(segment.ack);
        if self.cuts {
            segment.set_ece(packet, true);
        }
        if covered.numbers == 0 {
            return Fate::Pass;
        }
        if covered.resent.is_none()
            && let Some(at) = covered.sent_once.filter(|at| *at >= self.timed_from)
            && matches!(self.state, State::Open)
            && !self.queueing
        {
            self.round_trip.sample(cx.now.since(at));
        }
        self.rewrite_echo(cx, &covered, segment, packet);
        self.congested = self.congested.filter(|point| self.flight.una.before(*point));
        self.episode = self.episode.filter(|episode| self.told.before(episode.until));
        Fate::Pass
    }

    /// Undoes a loss if the aid requests it: the original's timestamp as TSecr makes the
    /// retransmission spurious for the local TCP (RFC 3522 §3.2, RFC 4015).
    ///
    /// Not after a timeout: TSecr is also an RTT sample (RFC 7323 §4.1), and one as long as an RTO
    /// multiplies the next RTO. Moreover an undo makes the local TCP take all data it considers
    /// lost for delivered, so that it detects further losses only by the next timeout.
    fn rewrite_echo(
        &mut self,
        cx: &mut Context<'_>,
        covered: &Covered,
        segment: &Segment,
        packet: &mut [u8],
    ) {
        let Some((stamp, capable)) = covered.resent else { return };
        let (wanted, kept) = self.episode.map_or((false, false), |e| (e.wanted, e.kept));
        let allowed = self.undoes || self.congested.is_none() && (wanted && capable || kept);
        let Some(stamps) = segment.options.timestamps.filter(|_| allowed) else { return };
        // The original was sent at least an RTO and the RTT of its retransmission ago.
        let timed_out = self.round_trip.smoothed().times(2) + LEAST_TIMEOUT;
        let by_timeout = Seq(stamp).before(Seq(self.clock.at(cx.now - timed_out)));
        if by_timeout || !Seq(stamp).before(Seq(stamps.echo)) {
            return;
        }
        segment.set_echo(packet, stamp);
        cx.counts.echoes_rewritten += 1;
        if let Some(episode) = self.episode.as_mut().filter(|episode| !episode.undone) {
            episode.undone = true;
            self.tally.undone += 1;
            cx.counts.undone += 1;
        }
    }

    /// Edits a segment for the local TCP while acknowledgments are withheld; `local_una` is the
    /// acknowledgment number that it has already received.
    pub(super) fn hold(
        &mut self,
        cx: &mut Context<'_>,
        told: Seq,
        segment: &Segment,
        packet: &mut [u8],
    ) -> Fate {
        // A segment before RCV.NXT requests an answer (a keep-alive, or a window probe).
        let empty = segment.range().is_empty();
        self.unsaid |= empty;
        if empty && !segment.seq.before(self.ours.ack) {
            return Fate::Swallowed(Swallowed::AckHeld);
        }
        if segment.ack.after(told) {
            segment.set_ack(packet, told);
            cx.counts.acks_lowered += 1;
        }
        segment.strip_sack(packet);
        Fate::Pass
    }
}
