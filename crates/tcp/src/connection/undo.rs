//! Spurious losses: the original segment arrives after all, and the response to the loss is undone.
//! Eifel (RFC 3522, RFC 4015) detects it by the first timestamp echo, D-SACK (RFC 2883, RFC 3708)
//! by the duplicates that the peer reports; F-RTO has a file of its own.

use driftway_base::{Duration, Instant, Seq};
use driftway_wire::{TcpFlags, TcpSegment};

use super::control_block::Connection;
use crate::growth::Window;
use crate::undo_state::{Remembered, UndoState, duplicate};

impl Connection {
    /// Records a reduction for a loss; `before` is the window that an undo would have restored
    /// until now.
    pub(super) fn begin_undo_state(&mut self, by_timeout: bool, before: Option<Window>) {
        if !(self.config.eifel || self.config.dsack || self.config.f_rto) {
            return;
        }
        let snd = &mut self.snd;
        let una = snd.flight.una();
        if let Some(state) = snd.undo.as_mut().filter(|state| state.begins_at(una)) {
            state.joins(by_timeout);
            snd.flight.keep_before(before);
            return;
        }
        // RFC 4015 §3.2, step 0.
        let granularity = self.config.clock.rtt.times(2);
        let round_trip = snd.rtt.srtt().map(|srtt| (srtt + granularity, snd.rtt.variation()));
        let max = snd.flight.max();
        snd.undo = Some(UndoState::new(by_timeout, una, max, snd.undo, round_trip));
    }

    /// Detects that the first acknowledgment is for the original (Eifel, RFC 3522 §3.2, steps 4 and
    /// 5).
    pub(super) fn detect_by_timestamp(&mut self, now: Instant, segment: &TcpSegment) {
        let Some(stamp) = self.snd.undo.and_then(|state| state.stamp()) else { return };
        if !self.config.eifel || !self.agreed.timestamps || duplicate(segment).is_some() {
            return;
        }
        let echo = segment.options.timestamps.map_or(0, |timestamps| timestamps.echo);
        if echo != 0 && Seq(echo).before(Seq(stamp)) {
            self.take_response_back(now, segment);
        }
    }

    /// Detects that every retransmission was a duplicate (RFC 3708 §2).
    pub(super) fn detect_by_duplicate(&mut self, now: Instant, segment: &TcpSegment) {
        if !self.config.dsack {
            return;
        }
        let Some(mut range) = duplicate(segment) else { return };
        // A FIN is no data (RFC 2883 §4 reports duplicates of data), but some peers count it.
        range.end = self.snd.fin.map_or(range.end, |fin| range.end.min(fin));
        if self.snd.undo.as_mut().is_some_and(|state| state.on_duplicate(range)) {
            self.take_response_back(now, segment);
        }
    }

    /// Undoes the response (RFC 4015 §3.2, steps 8 to 11). As in Linux, the previous window is
    /// restored instead of FlightSize plus a little, since there was no congestion.
    pub(super) fn take_response_back(&mut self, now: Instant, segment: &TcpSegment) {
        let state = self.snd.undo.take();
        let flight = &mut self.snd.flight;
        flight.set_f_rto(None);
        // Step 9: there was congestion.
        let echo = self.snd.ecn.on && segment.flags.contains(TcpFlags::ECE);
        if echo || !flight.undo() {
            return;
        }
        self.snd.recovery.on_undo();
        let flight = &mut self.snd.flight;
        // RFC 5682 §4: later duplicates may start another recovery.
        flight.unbar();
        self.stats.undone += 1;
        let eifel = state.filter(|_| self.config.eifel);
        let before = eifel.and_then(|state| state.round_trip_before_timeout());
        if let Some((srtt, variation)) = before {
            self.snd.remembered = Some(Remembered::new(self.snd.flight.max(), srtt, variation));
        }
        self.restart_retransmission_timer(now);
    }

    /// Combines the estimates from before the timeout with a sample `rtt` of the acknowledgment
    /// `ack` (RFC 4015 §3.2, step 11).
    pub(super) fn remember_round_trip(&mut self, ack: Seq, rtt: Duration) {
        let with = self.snd.remembered.and_then(|remembered| remembered.with(ack, rtt));
        if let Some((srtt, variation)) = with {
            self.snd.remembered = None;
            self.snd.rtt.resume(srtt, variation);
        }
    }
}
