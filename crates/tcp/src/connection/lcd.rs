//! Long connectivity disruptions (TCP-LCD, RFC 6069): an ICMP destination unreachable message shows
//! that a retransmission was lost for lack of a route, not by congestion, so one back-off is
//! reverted.

use driftway_base::{Duration, Instant, Seq};

use super::control_block::{Connection, Event};
use crate::state::{State, Transition};
use crate::timer::Timer;

impl Connection {
    /// Handles an ICMP destination unreachable message. `hard` errors (protocol, port) abort an
    /// attempt to connect; on a synchronized connection all are soft (RFC 9293 §3.9.2.2, RFC 5927
    /// §6.1). `quoted` is the sequence number of the quoted segment for net or host unreachable,
    /// `None` for any other code. The caller has checked that it is within the outstanding data.
    pub fn on_unreachable(&mut self, now: Instant, hard: bool, quoted: Option<Seq>) {
        if hard && self.state == State::SynSent {
            self.apply_transition(Transition::Reset);
            self.terminate(Event::Reset);
        } else if self.config.lcd && quoted == Some(self.snd.send_state.una()) {
            self.revert_back_off(now);
        }
    }

    /// Reverts a back-off (RFC 6069 §4.2, steps 3 to 6). The window stays as the timeout left it.
    fn revert_back_off(&mut self, now: Instant) {
        let runs = self.timers.deadline(Timer::Retransmission).is_some();
        let Some(disruption) = &mut self.snd.disruption else { return };
        if !runs || !self.state.is_synchronized() || !self.snd.rtt.undo_back_off() {
            return;
        }
        disruption.mark_reverted();
        let at = self.config.clock.deadline(disruption.last_timeout(), self.snd.rtt.rto());
        self.stats.back_offs_reverted += 1;
        if at > now {
            self.timers.set(Timer::Retransmission, at);
        } else {
            self.timers.stop(Timer::Retransmission);
            self.retransmission_timeout(now);
        }
    }

    /// True if the connection is to be aborted after the configured number of consecutive timeouts.
    /// As they are faster with reverted back-offs, the time that they would have taken counts (RFC
    /// 1122 §4.2.3.5 permits R2 to be a time).
    pub(super) fn should_give_up(&self, now: Instant, most: u32) -> bool {
        match self.snd.disruption.and_then(|disruption| disruption.reverted_since()) {
            Some(first) => {
                let (base, max) = (self.snd.rtt.base_rto(), self.config.max_rto);
                let doubled = |n: u32| base.times(1 << n.min(32)).min(max);
                let span = (1..=most).fold(Duration::ZERO, |span, n| span + doubled(n));
                now.since(first) >= span
            }
            None => true,
        }
    }
}
