//! What the local TCP sends.

use driftway_base::{Duration, Ecn, Instant, Seq, SeqRange};
use driftway_wire::TcpFlags;

use super::{Context, LossEpisode, Flow, State, Step};
use crate::counts::{PacketDisposition, DiscardReason, UntouchedReason};
use crate::retransmission_queue::{Original, OriginalState};
use crate::packet::Segment;
use crate::pool::{PoolBuffer, size_class_bytes};

/// The kernel answers at once, but a packet may have to wait for a processor.
const RESET_DELAY_MAX: Duration = Duration::from_secs(1);
/// The largest window that can be announced (RFC 7323 §2.3).
const WINDOW_MAX: u32 = 1 << 30;

impl Flow {
    /// The local TCP sends `segment`, whose bytes are `packet`.
    pub fn on_outgoing(
        &mut self,
        cx: &mut Context<'_>,
        segment: &Segment,
        packet: &mut [u8],
    ) -> Step {
        let view = self.view();
        self.record_local(cx.now, segment);
        let step = self.handle_segment(cx, segment, packet);
        let Step::Continue(fate) = step else { return step };
        let fate = self.pass_down_to_aid(cx, segment, &view, fate, packet);
        if fate == PacketDisposition::Pass {
            self.hold_back(cx, segment, packet);
        }
        Step::Continue(fate)
    }

    /// What becomes of it.
    fn handle_segment(&mut self, cx: &mut Context<'_>, segment: &Segment, packet: &[u8]) -> Step {
        // It is over for the local TCP: what is stored belongs to nobody any more. In an outage the
        // peer learns of it when it sends something itself.
        if segment.has_flags(TcpFlags::RST) {
            return Step::Closed(if self.answers_injected_segment(cx.now, segment) {
                PacketDisposition::Discarded(DiscardReason::ResetOfOwn)
            } else {
                PacketDisposition::Pass
            });
        }
        let range = segment.range();
        if range.is_empty() {
            self.record_sent_tsval(segment);
            return if self.is_closed() { Step::Closed(PacketDisposition::Pass) } else { Step::Continue(PacketDisposition::Pass) };
        }
        if range.end.at_or_before(self.retransmission_queue.una) {
            // The peer has it, and the local TCP does not know yet; else it is a keep-alive.
            if !range.end.after(self.local_una) {
                self.record_sent_tsval(segment);
                return Step::Continue(PacketDisposition::Pass);
            }
            self.on_local_retransmission(cx, range, segment);
            // The aid has kept the acknowledgment from it, or a part of what it said.
            if matches!(self.state, State::Open) {
                self.report_acks(cx);
            }
            return Step::Continue(PacketDisposition::Discarded(DiscardReason::RetransmissionInRepair));
        }
        if range.start.after(self.retransmission_queue.max) && !self.skip_unseen(cx, range.start) {
            cx.counts.lost_track += 1;
            return Step::Closed(PacketDisposition::Untouched(UntouchedReason::Older));
        }
        if range.end.at_or_before(self.retransmission_queue.max) {
            Step::Continue(self.on_retransmission(cx, range, segment))
        } else {
            Step::Continue(self.on_new_data(cx, range, segment, packet))
        }
    }

    /// Does a reset answer what the shim has made up? One that answers a segment has no acknowledgment
    /// (RFC 9293 §3.10.7.1), other than one by which a program ends a connection. Then no socket has taken that
    /// segment: it is gone, or is bound to an interface by which nothing of the shim's comes in. Such a
    /// reset has the number that the peer expects, and would end the connection. If it answers the peer
    /// after all, the peer's next segment is answered alike.
    fn answers_injected_segment(&self, now: Instant, segment: &Segment) -> bool {
        let lately = self.last_injected.is_some_and(|at| now.since(at) < RESET_DELAY_MAX);
        lately && !segment.has_flags(TcpFlags::ACK)
    }

    /// What lies between `max` and `to` was never shown: a queue above the shim has dropped it. The
    /// local TCP will find that out. `false`: it is more than a window can be (RFC 7323 §2.3).
    fn skip_unseen(&mut self, cx: &mut Context<'_>, to: Seq) -> bool {
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

    fn on_retransmission(
        &mut self,
        cx: &mut Context<'_>,
        range: SeqRange,
        segment: &Segment,
    ) -> PacketDisposition {
        self.on_local_retransmission(cx, range, segment);
        match self.state {
            // It looks for a path as well as a probe does, is cut to what the path takes, and goes
            // wherever the local TCP would have it go.
            State::Disconnected(outage) if outage.hold.is_outage => self.request_report_repeat(cx.now, segment),
            State::Disconnected(_) if self.has_stored(range) => {
                return PacketDisposition::Discarded(DiscardReason::RetransmissionInHold);
            }
            State::Resuming(..) if self.has_stored(range) => {
                return PacketDisposition::Discarded(DiscardReason::RetransmissionInRepair);
            }
            State::Open if self.is_queueing && self.all_waiting(range) => {
                return PacketDisposition::Discarded(DiscardReason::RetransmissionInRepair);
            }
            _ => {}
        }
        self.record_sent_tsval(segment);
        PacketDisposition::Pass
    }

    /// Something leaves that begins before what was sent already: a retransmission, a probe, or an
    /// acknowledgment of a TCP that starts over after a timeout.
    fn record_sent_tsval(&mut self, segment: &Segment) {
        if let Some(stamps) =
            segment.options.timestamps.filter(|_| segment.seq.before(self.retransmission_queue.max))
        {
            let highest = self.sent_tsval.map_or(Seq(stamps.value), |(s, _)| Seq(s));
            self.sent_tsval = Some((highest.max(Seq(stamps.value)).0, self.retransmission_queue.max));
        }
    }

    /// Are all bytes from the oldest to the end of `range` stored?
    fn has_stored(&self, range: SeqRange) -> bool {
        range.end.at_or_before(self.retransmission_queue.stored_until())
    }

    /// Do all originals in `range` wait for their turn?
    fn all_waiting(&self, range: SeqRange) -> bool {
        self.retransmission_queue.overlapping(range).all(|original| original.state == OriginalState::Waiting)
    }

    /// Keeps in mind that the local TCP believes `range` lost.
    fn on_local_retransmission(&mut self, cx: &mut Context<'_>, range: SeqRange, segment: &Segment) {
        self.retransmission_queue.on_retransmission(range, segment.total_len, cx.pool);
        // What is too long for the path can't be repaired from the store.
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

    /// Something that was never sent before.
    fn on_new_data(
        &mut self,
        cx: &mut Context<'_>,
        range: SeqRange,
        segment: &Segment,
        packet: &[u8],
    ) -> PacketDisposition {
        let piece = self.store(cx, packet.get(..segment.total_len).unwrap_or(packet));
        // What cannot be kept cannot wait.
        let waits = piece.is_some()
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
        if waits { PacketDisposition::Stored } else { PacketDisposition::Pass }
    }

    fn store(&mut self, cx: &mut Context<'_>, packet: &[u8]) -> Option<PoolBuffer> {
        let size = size_class_bytes(packet.len());
        let fits = self.retransmission_queue.has_room()
            && self.retransmission_queue.stored_bytes.saturating_add(size) <= cx.config.store_per_flow;
        let piece = if fits { cx.pool.store(packet) } else { None };
        cx.counts.not_stored += u64::from(piece.is_none());
        piece
    }
}
