//! What the peer sends.

use driftway_aid::Verdict;
use driftway_base::{Duration, Seq};
use driftway_wire::TcpFlags;

use super::{Context, Flow, State, Step};
use crate::counts::{Fate, Swallowed, Untouched};
use crate::flight::Covered;
use crate::packet::Segment;

/// What Linux's shortest timeout is beyond a round trip (tcp_rto_min).
const LEAST_TIMEOUT: Duration = Duration::from_millis(200);

/// Acknowledgments from before this are not of this connection.
const OLD: u32 = 1 << 30;

impl Flow {
    /// The peer sends `segment`, whose bytes are `packet`.
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
        // RFC 5961 §4: the local TCP challenges a SYN; the flow goes on.
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
            // The local TCP has been told less than the peer has said: that stays so.
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

    /// RFC 5961 §3.2: only a reset with the very number that the local TCP expects is one. It sees
    /// them all and decides itself; this is about what the shim believes.
    fn on_reset(&mut self, cx: &mut Context<'_>, segment: &Segment) -> Step {
        // It may expect more than it has acknowledged (delayed acknowledgments), up to what came.
        let expected = segment.seq.at_or_after(self.ours.ack)
            && segment.seq.at_or_before(self.theirs_high.max(self.ours.ack));
        if expected {
            return Step::Over(Fate::Pass);
        }
        cx.counts.resets_not_believed += 1;
        Step::On(Fate::Pass)
    }

    /// Are its numbers near those of the flow? Whoever does not know them learns nothing and moves
    /// nothing (RFC 5961 §5).
    fn is_plausible(&self, segment: &Segment) -> bool {
        let window = (u32::from(self.ours.window) << self.agreed.shift).max(65_535);
        let off = segment.seq.distance(self.ours.ack).unsigned_abs();
        let (ack, max) = (segment.ack, self.flight.max);
        let acks = !segment.has(TcpFlags::ACK)
            || ack.at_or_before(max) && ack.at_or_after(self.told - OLD);
        off <= window && acks
    }

    /// Takes the acknowledgment and the reports of a segment.
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

    /// While everything passes.
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

    /// Undoes a loss, if the aid wants that: the peer seems to answer the original, which makes the
    /// retransmission a spurious one for the local TCP (RFC 3522 §3.2, RFC 4015).
    ///
    /// Not after a timeout: the echo is a measurement of the round trip, too (RFC 7323 §4.1), and one
    /// that is as long as a timeout lets the next one be several times as long. And an undo has the
    /// local TCP take for delivered what else it holds for lost, of which it then learns by the next
    /// timeout only.
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
        // It was sent a timeout, and the round trip of what was then sent, ago.
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

    /// What the local TCP gets of a segment while it is not to know what it acknowledges: `told` is
    /// what it has been told before.
    pub(super) fn hold(
        &mut self,
        cx: &mut Context<'_>,
        told: Seq,
        segment: &Segment,
        packet: &mut [u8],
    ) -> Fate {
        // What begins before what the local TCP expects asks it for an answer (a keep-alive, or a
        // probe of its window).
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
