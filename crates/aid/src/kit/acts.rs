//! Acts requested by an aid and not yet polled.

use driftway_base::{Act, Assign, Seq};

/// Pending acts, at most one of each kind: the latest.
///
/// They are polled in this order: changes of windows and timer, hold and resume, transmissions, route probe.
/// Thus a hold or a transmission takes effect after the changes.
#[derive(Clone, Debug, Default)]
pub struct PendingActs {
    undo_or_cut: Option<Act>,
    limit: Option<Act>,
    set_timer: Option<Act>,
    hold: Option<Act>,
    resume: Option<Act>,
    resend: Option<Act>,
    emit: Option<Act>,
    route_probe: Option<Act>,
    /// False only if no act is pending.
    has_any: bool,
}

impl PendingActs {
    /// Requests `act`, replacing a pending act of its kind.
    pub fn request(&mut self, act: Act) {
        let slot = match act {
            Act::Undo | Act::ReduceCwnd => &mut self.undo_or_cut,
            Act::LimitCwnd { .. } => &mut self.limit,
            Act::SetTimeoutResponse { .. } => &mut self.set_timer,
            Act::Hold { .. } => &mut self.hold,
            Act::Resume { .. } => &mut self.resume,
            Act::Resend { .. } => &mut self.resend,
            Act::SendAcks { .. } => &mut self.emit,
            Act::ProbeRoute(_) => &mut self.route_probe,
        };
        *slot = Some(act);
        self.has_any = true;
    }

    /// Next act to apply.
    pub fn poll(&mut self) -> Option<Act> {
        // The common case: polled after every segment.
        if !self.has_any {
            return None;
        }
        let changes = [&mut self.undo_or_cut, &mut self.limit, &mut self.set_timer];
        let others = [&mut self.hold, &mut self.resume, &mut self.resend, &mut self.emit];
        let all = changes.into_iter().chain(others).chain([&mut self.route_probe]);
        let next = all.into_iter().find_map(Option::take);
        self.has_any = next.is_some();
        next
    }

    /// Removes all pending acts.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

/// An act that ends a hold and leaves ssthresh and RTO unchanged.
pub(crate) fn resume(cwnd: Assign<u32>) -> Act {
    Act::Resume { cwnd, ssthresh: Assign::Keep, rto: Assign::Keep }
}

/// Acknowledgments with the window as it is: drivers limit the window to that.
pub(crate) fn send_acks(ack: Seq, copies: u8) -> Act {
    Act::SendAcks { ack, window: u32::MAX, copies }
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_base::{HeldTimers, Release, SeqRange};

    const HOLD: Act = Act::Hold {
        probe: None,
        rewind_snd_nxt: false,
        timers: HeldTimers::Freeze,
        cwnd: Assign::Keep,
        release: Release::Resume,
    };

    fn resend(from: u32) -> Act {
        let range = SeqRange::new(Seq(from), Seq(from + 100));
        Act::Resend { range, ahead_of_queue: true }
    }

    #[test]
    fn changes_precede_holds_and_transmissions() {
        let mut acts = PendingActs::default();
        let resume = resume(Assign::Keep);
        for act in [resend(0), resume, HOLD, Act::Undo, resend(100)] {
            acts.request(act);
        }
        let taken: std::vec::Vec<_> = core::iter::from_fn(|| acts.poll()).collect();
        assert_eq!(taken, [Act::Undo, HOLD, resume, resend(100)]);
    }

    #[test]
    fn clear_removes_all_acts() {
        let mut acts = PendingActs::default();
        acts.request(HOLD);
        acts.clear();
        assert_eq!(acts.poll(), None);
    }
}
