//! Steps of F-RTO (RFC 5682).

use driftway_base::Instant;
use driftway_wire::TcpSegment;

use super::control_block::Connection;
use crate::f_rto::FRto;
use crate::flight::Phase;

/// Effect of an acknowledgment on the sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckOutcome {
    /// SND.UNA has advanced.
    pub advanced: bool,
    /// A duplicate; with SACK, with new SACK information.
    pub duplicate: bool,
}

impl Connection {
    /// Starts F-RTO after a timeout (§2.1, step 1). `may`: no loss was being recovered; after a
    /// timeout or in fast recovery, losses are already known.
    pub(super) fn begin_f_rto(&mut self, may: bool) {
        let flight = &mut self.snd.flight;
        let resent = (flight.una() + flight.mss()).min(flight.max());
        flight.set_f_rto((self.config.f_rto && may).then_some(FRto::Waiting { resent }));
    }

    /// Handles an acknowledgment: steps 2 and 3 of §2.1, or of §3.1 with SACK.
    pub(super) fn advance_f_rto(
        &mut self,
        now: Instant,
        segment: &TcpSegment,
        outcome: AckOutcome,
    ) {
        let Some(f_rto) = self.snd.flight.f_rto() else { return };
        let sack = self.agreed.sack;
        let Phase::Loss { point } = self.snd.flight.phase() else {
            self.snd.flight.set_f_rto(None);
            if !sack && outcome.advanced && matches!(f_rto, FRto::Probing { .. }) {
                // Everything has arrived, although only the first segment was retransmitted.
                self.take_response_back(now, segment);
            }
            return;
        };
        match f_rto {
            FRto::Waiting { .. } if !outcome.advanced => {
                // Without SACK, the cause of a duplicate is unknown.
                if outcome.duplicate && !sack {
                    self.snd.flight.set_f_rto(None);
                }
            }
            FRto::Waiting { resent } => {
                let whole = sack || self.snd.flight.una().at_or_after(resent);
                let goes = whole && self.could_go_on();
                let flight = &mut self.snd.flight;
                let left = flight.mss().saturating_mul(2);
                flight.set_f_rto(goes.then_some(FRto::Probing { left }));
                if goes {
                    flight.go_on();
                }
            }
            FRto::Probing { .. } => {
                let flight = &self.snd.flight;
                let above = flight.board().highest().is_some_and(|highest| highest.after(point));
                if sack && above {
                    // §3.1, step 3a: new data arrives, but not the old data.
                    self.go_back();
                } else if outcome.advanced || (sack && outcome.duplicate) {
                    self.take_response_back(now, segment);
                } else if outcome.duplicate {
                    self.go_back();
                }
            }
        }
    }

    /// Ends the detection without a result, so that the loss counts as real.
    pub(super) fn end_f_rto(&mut self) {
        if let Some(FRto::Probing { .. }) = self.snd.flight.f_rto() {
            self.go_back();
        }
        self.snd.flight.set_f_rto(None);
    }

    /// Resumes slow start with the missing data, because the loss was real.
    fn go_back(&mut self) {
        let flight = &mut self.snd.flight;
        flight.set_f_rto(None);
        flight.window.cwnd = flight.window.cwnd.min(flight.mss().saturating_mul(3));
        if self.snd.recovery.goes_back() {
            flight.go_back();
        }
    }

    /// True if a segment of new data is available and fits into the peer's window (§2.1, step 2b).
    fn could_go_on(&self) -> bool {
        let flight = &self.snd.flight;
        let room = self.snd.peer_room_from(flight.max());
        room >= flight.mss() && self.snd.waiting_from(flight.max()) >= u64::from(flight.mss())
    }
}
