//! What the local TCP sends.

use base::{Ecn, Seq, SeqRange};
use wire::TcpFlags;

use super::{Context, Episode, Flow, State, Step};
use crate::counts::{Fate, Swallowed, Untouched};
use crate::flight::{ORIGINALS_MAX, Original, Place};
use crate::packet::Segment;
use crate::pool::{Piece, size_for};

impl Flow {
    /// The local TCP sends `segment`, whose bytes are `packet`.
    pub fn on_outgoing(&mut self, cx: &mut Context<'_>, segment: &Segment, packet: &[u8]) -> Step {
        self.note_ours(cx.now, segment);
        // It is over for the local TCP: what is stored belongs to nobody any more. In an outage the
        // peer learns of it when it sends something itself.
        if segment.has(TcpFlags::RST) {
            return Step::Over(Fate::Pass);
        }
        let range = segment.range();
        if range.is_empty() {
            return if self.is_closed() { Step::Over(Fate::Pass) } else { Step::On(Fate::Pass) };
        }
        if range.end.at_or_before(self.flight.una) {
            // The peer has it, and the local TCP does not know yet; else it is a keep-alive.
            let held = range.end.after(self.told);
            self.on_sent_again(range, segment);
            return Step::On(match held {
                true => Fate::Swallowed(Swallowed::RetransmissionInRepair),
                false => Fate::Pass,
            });
        }
        if range.start.after(self.flight.max) || self.flight.len() >= ORIGINALS_MAX {
            cx.counts.lost_track += 1;
            return Step::Over(Fate::Untouched(Untouched::Older));
        }
        if range.end.at_or_before(self.flight.max) {
            Step::On(self.on_retransmission(cx, range, segment))
        } else {
            Step::On(self.on_new(cx, range, segment, packet))
        }
    }

    fn on_retransmission(
        &mut self,
        cx: &mut Context<'_>,
        range: SeqRange,
        segment: &Segment,
    ) -> Fate {
        self.on_sent_again(range, segment);
        let stored = range.end.at_or_before(self.flight.stored_to());
        match self.state {
            State::Disconnected(_) if stored => {
                return Fate::Swallowed(Swallowed::RetransmissionInOutage);
            }
            State::Resuming(..) if stored => {
                return Fate::Swallowed(Swallowed::RetransmissionInRepair);
            }
            State::Open if self.queueing && self.all_wait(range) => {
                return Fate::Swallowed(Swallowed::RetransmissionInRepair);
            }
            _ => {}
        }
        if let Some(stamps) = segment.stamps {
            let highest = self.left_stamp.map_or(Seq(stamps.value), |s| Seq(s).max(Seq(stamps.value)));
            self.left_stamp = Some(highest.0);
        }
        self.unanswered = self.unanswered.saturating_add(1);
        if cx.config.suspect_after.is_some_and(|count| self.unanswered >= count)
            && matches!(self.state, State::Open)
        {
            self.disconnect(cx, false);
        }
        Fate::Pass
    }

    /// Do all originals in `range` wait for their turn?
    fn all_wait(&self, range: SeqRange) -> bool {
        self.flight.overlapping(range).all(|original| original.place == Place::Waiting)
    }

    /// Keeps in mind that the local TCP believes `range` lost.
    fn on_sent_again(&mut self, range: SeqRange, segment: &Segment) {
        for original in self.flight.overlapping_mut(range) {
            original.resent = true;
        }
        match &mut self.episode {
            Some(episode) => episode.again = episode.undone,
            none => {
                let first = segment.stamps.map(|stamps| stamps.value);
                let until = self.flight.max;
                *none = Some(Episode { first, until, undone: false, again: false });
            }
        }
    }

    /// Something that was never sent before.
    fn on_new(
        &mut self,
        cx: &mut Context<'_>,
        range: SeqRange,
        segment: &Segment,
        packet: &[u8],
    ) -> Fate {
        let piece = self.store(cx, packet.get(..segment.total).unwrap_or(packet));
        // What cannot be kept cannot wait.
        let waits = piece.is_some()
            && match self.state {
                State::Open => self.queues(cx.now),
                State::Disconnected(_) | State::Resuming(..) => true,
            };
        self.flight.push(Original {
            range: SeqRange::new(range.start.max(self.flight.max), range.end),
            stamp: segment.stamps.map(|stamps| stamps.value),
            capable: segment.ecn != Ecn::NotEct,
            packet: piece,
            place: if waits { Place::Waiting } else { Place::Out(cx.now) },
            left: !waits,
            delivered: false,
            resent: false,
        });
        if waits { Fate::Stored } else { Fate::Pass }
    }

    fn store(&mut self, cx: &mut Context<'_>, packet: &[u8]) -> Option<Piece> {
        let size = size_for(packet.len());
        let fits = self.flight.stored.saturating_add(size) <= cx.config.store_per_flow;
        let piece = if fits { cx.pool.store(packet) } else { None };
        cx.counts.not_stored += u64::from(piece.is_none());
        piece
    }
}
