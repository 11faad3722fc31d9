//! Segments of the local TCP.

use driftway_base::{Duration, Ecn, Instant, Seq, SeqRange};
use driftway_wire::TcpFlags;

use super::{Context, Episode, Flow, State, Step};
use crate::counts::{Fate, Swallowed, Untouched};
use crate::flight::{Original, Place};
use crate::packet::Segment;
use crate::pool::{Piece, size_for};

/// Time within which the kernel answers an injected segment: it does so at once, but may have to
/// wait for a CPU.
const ANSWERED_WITHIN: Duration = Duration::from_secs(1);
/// Largest window that can be announced (RFC 7323 §2.3).
const WINDOW_MAX: u32 = 1 << 30;

impl Flow {
    /// Processes `segment` of the local TCP, whose bytes are `packet`.
    pub fn on_outgoing(
        &mut self,
        cx: &mut Context<'_>,
        segment: &Segment,
        packet: &mut [u8],
    ) -> Step {
        let view = self.view();
        self.note_ours(cx.now, segment);
        let step = self.look_at(cx, segment, packet);
        let Step::On(fate) = step else { return step };
        let fate = self.show_down(cx, segment, &view, fate, packet);
        if fate == Fate::Pass {
            self.hold_back(cx, segment, packet);
        }
        Step::On(fate)
    }

    /// Updates the state, and decides on the disposition.
    fn look_at(&mut self, cx: &mut Context<'_>, segment: &Segment, packet: &[u8]) -> Step {
        // The local TCP has aborted: stored data are obsolete. In an outage the peer gets a reset
        // when it next sends.
        if segment.has(TcpFlags::RST) {
            return Step::Over(if self.answers_own(cx.now, segment) {
                Fate::Swallowed(Swallowed::ResetOfOwn)
            } else {
                Fate::Pass
            });
        }
        let range = segment.range();
        if range.is_empty() {
            self.on_left(segment);
            return if self.is_closed() { Step::Over(Fate::Pass) } else { Step::On(Fate::Pass) };
        }
        if range.end.at_or_before(self.flight.una) {
            // The peer has it, and the local TCP does not know yet; otherwise it is a keep-alive.
            if !range.end.after(self.told) {
                self.on_left(segment);
                return Step::On(Fate::Pass);
            }
            self.on_sent_again(cx, range, segment);
            // The aid has dropped the acknowledgment, or a part of its content.
            if matches!(self.state, State::Open) {
                self.tell(cx);
            }
            return Step::On(Fate::Swallowed(Swallowed::RetransmissionInRepair));
        }
        if range.start.after(self.flight.max) && !self.skip(cx, range.start) {
            cx.counts.lost_track += 1;
            return Step::Over(Fate::Untouched(Untouched::Older));
        }
        if range.end.at_or_before(self.flight.max) {
            Step::On(self.on_retransmission(cx, range, segment))
        } else {
            Step::On(self.on_new(cx, range, segment, packet))
        }
    }

    /// Returns whether this reset answers an injected segment. A reset that answers a segment
    /// carries no acknowledgment (RFC 9293 §3.10.7.1), unlike one by which an application aborts.
    /// Then no socket has accepted the injected segment: it is closed, or bound to an interface on
    /// which injected segments do not arrive. Such a reset has the sequence number that the peer
    /// expects, and would end the connection. If it answers the peer after all, the peer's next
    /// segment is answered alike.
    fn answers_own(&self, now: Instant, segment: &Segment) -> bool {
        let lately = self.made_up.is_some_and(|at| now.since(at) < ANSWERED_WITHIN);
        lately && !segment.has(TcpFlags::ACK)
    }

    /// Records that data from `max` to `to` were never seen: a queue above the shim has dropped
    /// them, which the local TCP will detect. `false`: it is more than the largest window (RFC 7323
    /// §2.3).
    fn skip(&mut self, cx: &mut Context<'_>, to: Seq) -> bool {
        let range = SeqRange::new(self.flight.max, to);
        if to.since(self.flight.una) > WINDOW_MAX {
            return false;
        }
        let never_seen = Original {
            range,
            stamp: self.clock.at(cx.now),
            capable: false,
            packet: None,
            place: Place::Out(cx.now),
            left: true,
            resent: false,
        };
        self.flight.push(never_seen, cx.pool);
        cx.counts.not_stored += 1;
        true
    }

    fn on_retransmission(
        &mut self,
        cx: &mut Context<'_>,
        range: SeqRange,
        segment: &Segment,
    ) -> Fate {
        self.on_sent_again(cx, range, segment);
        match self.state {
            // It serves as a probe, fits the path MTU, and follows the local TCP's route.
            State::Disconnected(outage) if outage.held.outage => self.wants_report(cx.now, segment),
            State::Disconnected(_) if self.has_stored(range) => {
                return Fate::Swallowed(Swallowed::RetransmissionInHold);
            }
            State::Resuming(..) if self.has_stored(range) => {
                return Fate::Swallowed(Swallowed::RetransmissionInRepair);
            }
            State::Open if self.queueing && self.all_wait(range) => {
                return Fate::Swallowed(Swallowed::RetransmissionInRepair);
            }
            _ => {}
        }
        self.on_left(segment);
        Fate::Pass
    }

    /// Records the TSval of a segment sent from within the outstanding data: a retransmission, a
    /// probe, or an acknowledgment after SND.NXT was pulled back by a timeout.
    fn on_left(&mut self, segment: &Segment) {
        if let Some(stamps) =
            segment.options.timestamps.filter(|_| segment.seq.before(self.flight.max))
        {
            let highest = self.left_stamp.map_or(Seq(stamps.value), |(s, _)| Seq(s));
            self.left_stamp = Some((highest.max(Seq(stamps.value)).0, self.flight.max));
        }
    }

    /// Returns whether everything up to the end of `range` is stored.
    fn has_stored(&self, range: SeqRange) -> bool {
        range.end.at_or_before(self.flight.stored_to())
    }

    /// Returns whether all originals in `range` are waiting.
    fn all_wait(&self, range: SeqRange) -> bool {
        self.flight.overlapping(range).all(|original| original.place == Place::Waiting)
    }

    /// Records that the local TCP considers `range` lost.
    fn on_sent_again(&mut self, cx: &mut Context<'_>, range: SeqRange, segment: &Segment) {
        self.flight.on_sent_again(range, segment.total, cx.pool);
        // Originals larger than the path MTU can't be sent from the store.
        let stored_to = self.flight.stored_to();
        if let State::Resuming(_, repair) = &mut self.state {
            repair.until = repair.until.min(stored_to);
        }
        self.end_repair_when_done(cx);
        let episode = self.episode.get_or_insert_with(|| Episode {
            since: cx.now,
            first: segment
                .options
                .timestamps
                .map_or_else(|| self.clock.at(cx.now), |stamps| stamps.value),
            until: self.flight.max,
            undone: false,
            again: false,
            stays: false,
            wanted: false,
            kept: false,
        });
        episode.again = episode.undone;
    }

    /// Processes new data.
    fn on_new(
        &mut self,
        cx: &mut Context<'_>,
        range: SeqRange,
        segment: &Segment,
        packet: &[u8],
    ) -> Fate {
        let piece = self.store(cx, packet.get(..segment.total).unwrap_or(packet));
        // A segment that can't be stored can't wait.
        let waits = piece.is_some()
            && match self.state {
                State::Open => self.queues(cx.now),
                State::Disconnected(_) | State::Resuming(..) => true,
            };
        let original = Original {
            range: SeqRange::new(range.start.max(self.flight.max), range.end),
            stamp: segment
                .options
                .timestamps
                .map_or_else(|| self.clock.at(cx.now), |stamps| stamps.value),
            capable: segment.ecn != Ecn::NotEct,
            packet: piece,
            place: if waits { Place::Waiting } else { Place::Out(cx.now) },
            left: !waits,
            resent: false,
        };
        self.flight.push(original, cx.pool);
        if waits { Fate::Stored } else { Fate::Pass }
    }

    fn store(&mut self, cx: &mut Context<'_>, packet: &[u8]) -> Option<Piece> {
        let size = size_for(packet.len());
        let fits = self.flight.has_room()
            && self.flight.stored.saturating_add(size) <= cx.config.store_per_flow;
        let piece = if fits { cx.pool.store(packet) } else { None };
        cx.counts.not_stored += u64::from(piece.is_none());
        piece
    }
}
