//! Interception of a flow's packets, or copies of them while nothing is wrong.
//!
//! A packet in the hands of the shim is late by the time that this takes, which is a disadvantage
//! without any use as long as the shim would let it pass unchanged. So the driver may let packets
//! pass and give the shim copies, from the time at which the flow has been quiet for a while until
//! anything begins that acts on packets. What it begins with is seen in a copy, or comes from
//! elsewhere (a signal, a timer), and what it acts on follows later: the acknowledgment of a
//! retransmission after a round trip, the first packet to hold after the hold.

use driftway_base::{Duration, Instant};

use super::{Flow, State};
use crate::config::Config;

/// Time for which a flow has to be quiet before its packets pass: several round trips.
const QUIET_TIME: Duration = Duration::from_secs(1);
/// The same after a solicitation. It has to be longer than a driver's interval between two looks at the
/// route of a flow that has none.
const SOLICITED_TIME: Duration = Duration::from_secs(2);

/// The way by which a flow's packets reach the shim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capture {
    /// They wait for its action.
    Intercepted,
    /// The same, and the driver may let them pass.
    Quiet,
    /// They pass, and the shim gets copies.
    Watched,
}

impl Flow {
    /// Returns whether the flow's packets have to be intercepted: at present something may act on
    /// them, or did a moment ago.
    pub fn must_be_intercepted(&mut self, now: Instant, config: &Config) -> bool {
        let may_act = self.may_act_on_packets(config);
        if core::mem::replace(&mut self.may_act, may_act) || may_act {
            self.intercept_until = self.intercept_until.max(now + QUIET_TIME);
        }
        now < self.intercept_until
    }

    /// Records that the local TCP is made to send an acknowledgment, which is to be replaced.
    pub fn on_solicitation(&mut self, now: Instant) {
        self.intercept_until = now + SOLICITED_TIME;
    }

    fn may_act_on_packets(&self, config: &Config) -> bool {
        let sends = self.is_queueing
            || self.announcements_left > 0
            || self.icmp_repeat.is_some()
            || !self.synthetic_acks.is_empty()
            || !self.requested_acks.is_empty();
        let limits_acks =
            config.hold_back || self.ack_limit.is_active() || self.holdback_timeout().is_some();
        let undoes = self.loss_episode.is_some_and(|loss| loss.undo_wanted || loss.keep_window);
        !matches!(self.state, State::Open)
            || sends
            || limits_acks
            || undoes
            || self.echo_congestion
            || !self.aid.0.only_watches(&self.view())
    }
}
