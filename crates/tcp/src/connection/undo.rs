//! Spurious losses: the original segment arrives after all, and the response to the loss is undone.
//! Eifel (RFC 3522, RFC 4015) detects it by the first timestamp echo, D-SACK (RFC 2883, RFC 3708)
//! by the duplicates that the peer reports; F-RTO has a file of its own.

use driftway_base::{Duration, Instant, Seq};
use driftway_wire::{TcpFlags, TcpSegment};

use super::control_block::Connection;
use crate::congestion::CongestionWindow;
use crate::undo_state::{PriorRtt, UndoState, dsack_block};

impl Connection {
    /// Records a reduction for a loss; `before` is the window that an undo would have restored
    /// until now.
    pub(super) fn begin_undo_state(&mut self, by_timeout: bool, before: Option<CongestionWindow>) {
        if !(self.config.eifel || self.config.dsack || self.config.f_rto) {
            return;
        }
        let snd = &mut self.snd;
        let una = snd.send_state.una();
        if let Some(state) = snd.undo_state.as_mut().filter(|state| state.started_at(una)) {
            state.merge(by_timeout);
            snd.send_state.congestion.keep_prior_window(before);
            return;
        }
        // RFC 4015 §3.2, step 0.
        let granularity = self.config.clock.rtt_tick.times(2);
        let prior_rtt = snd.rtt.srtt().map(|srtt| (srtt + granularity, snd.rtt.rttvar()));
        let max = snd.send_state.max();
        snd.undo_state = Some(UndoState::new(by_timeout, una, max, snd.undo_state, prior_rtt));
    }

    /// Detects that the first acknowledgment is for the original (Eifel, RFC 3522 §3.2, steps 4 and
    /// 5).
    pub(super) fn detect_by_timestamp(&mut self, now: Instant, segment: &TcpSegment) {
        let Some(stamp) = self.snd.undo_state.and_then(|state| state.retransmit_ts()) else {
            return;
        };
        if !self.config.eifel || !self.negotiated.timestamps || dsack_block(segment).is_some() {
            return;
        }
        let echo = segment.options.timestamps.map_or(0, |timestamps| timestamps.echo);
        if echo != 0 && Seq(echo).before(Seq(stamp)) {
            // Linux learns from it how far segments are overtaken.
            if let Some(state) = self.snd.undo_state.filter(|_| self.config.linux_growth) {
                self.snd.recovery.on_overtaken(state.start());
            }
            self.undo_response(now, segment);
        }
    }

    /// Detects that every retransmission was a duplicate (RFC 3708 §2).
    pub(super) fn detect_by_dsack(&mut self, now: Instant, segment: &TcpSegment) {
        if !self.config.dsack {
            return;
        }
        let Some(mut range) = dsack_block(segment) else { return };
        // A FIN is no data (RFC 2883 §4 reports duplicates of data), but some peers count it.
        range.end = self.snd.fin_seq.map_or(range.end, |fin| range.end.min(fin));
        if self.snd.undo_state.as_mut().is_some_and(|state| state.on_dsack(range)) {
            self.undo_response(now, segment);
        }
    }

    /// Undoes the response (RFC 4015 §3.2, steps 8 to 11). As in Linux, the previous window is
    /// restored instead of FlightSize plus a little, since there was no congestion.
    pub(super) fn undo_response(&mut self, now: Instant, segment: &TcpSegment) {
        let state = self.snd.undo_state.take();
        let send = &mut self.snd.send_state;
        send.set_f_rto(None);
        // Step 9: there was congestion.
        let echo = self.snd.ecn.negotiated && segment.flags.contains(TcpFlags::ECE);
        if echo || !send.undo() {
            return;
        }
        let send = &mut self.snd.send_state;
        // RFC 5682 §4: later duplicates may start another recovery.
        send.clear_recover();
        self.stats.responses_undone += 1;
        let eifel = state.filter(|_| self.config.eifel);
        let before = eifel.and_then(|state| state.prior_rtt());
        if let Some((srtt, variation)) = before {
            self.snd.prior_rtt = Some(PriorRtt::new(self.snd.send_state.max(), srtt, variation));
        }
        self.restart_retransmission_timer(now);
    }

    /// Combines the estimates from before the timeout with a sample `rtt` of the acknowledgment
    /// `ack` (RFC 4015 §3.2, step 11).
    pub(super) fn restore_prior_rtt(&mut self, ack: Seq, rtt: Duration) {
        let with = self.snd.prior_rtt.and_then(|remembered| remembered.combined_with(ack, rtt));
        if let Some((srtt, variation)) = with {
            self.snd.prior_rtt = None;
            self.snd.rtt.restore(srtt, variation);
        }
    }
}
