//! What an aid asks for, until its driver takes it.

use driftway_base::{Act, Assign};

/// The acts that are asked for, at most one of a kind: the newest.
///
/// They are taken in this order: what changes the windows and the timer, the hold and its end, what
/// sends, what the node does. So what is frozen, or sent, is so with the changes.
#[derive(Clone, Debug, Default)]
pub struct PendingActs {
    undo_or_cut: Option<Act>,
    limit: Option<Act>,
    set_timer: Option<Act>,
    hold: Option<Act>,
    resume: Option<Act>,
    resend: Option<Act>,
    emit: Option<Act>,
    seek: Option<Act>,
    /// One of them may be there.
    has_any: bool,
}

impl PendingActs {
    /// Asks for `act`, in place of an earlier one of its kind that was not taken.
    pub fn request(&mut self, act: Act) {
        let slot = match act {
            Act::Undo | Act::ReduceCwnd => &mut self.undo_or_cut,
            Act::LimitCwnd { .. } => &mut self.limit,
            Act::SetTimeoutResponse { .. } => &mut self.set_timer,
            Act::Hold { .. } => &mut self.hold,
            Act::Resume { .. } => &mut self.resume,
            Act::Resend { .. } => &mut self.resend,
            Act::SendAcks { .. } => &mut self.emit,
            Act::ProbeRoute(_) => &mut self.seek,
        };
        *slot = Some(act);
        self.has_any = true;
    }

    /// The next that is to be done.
    pub fn poll(&mut self) -> Option<Act> {
        // As nearly always: it is asked after every segment.
        if !self.has_any {
            return None;
        }
        let changes = [&mut self.undo_or_cut, &mut self.limit, &mut self.set_timer];
        let others = [&mut self.hold, &mut self.resume, &mut self.resend, &mut self.emit];
        let all = changes.into_iter().chain(others).chain([&mut self.seek]);
        let next = all.into_iter().find_map(Option::take);
        self.has_any = next.is_some();
        next
    }

    /// Asks for nothing any more.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

/// The end of a hold, after which the threshold and the timeout are what they were.
pub(crate) fn resume(cwnd: Assign<u32>) -> Act {
    Act::Resume { cwnd, ssthresh: Assign::Keep, rto: Assign::Keep }
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_base::{Release, Seq, SeqRange};

    const HOLD: Act = Act::Hold {
        probe: None,
        rewind_snd_nxt: false,
        freeze_timers: true,
        cwnd: Assign::Keep,
        release: Release::Resume,
    };

    fn resend(from: u32) -> Act {
        let range = SeqRange::new(Seq(from), Seq(from + 100));
        Act::Resend { range, ahead_of_queue: true }
    }

    #[test]
    fn what_changes_variables_comes_first_and_what_sends_comes_last() {
        let mut acts = PendingActs::default();
        let resume = resume(Assign::Keep);
        for act in [resend(0), resume, HOLD, Act::Undo, resend(100)] {
            acts.request(act);
        }
        let taken: std::vec::Vec<_> = core::iter::from_fn(|| acts.poll()).collect();
        assert_eq!(taken, [Act::Undo, HOLD, resume, resend(100)]);
    }

    #[test]
    fn nothing_is_left_of_what_was_cleared() {
        let mut acts = PendingActs::default();
        acts.request(HOLD);
        acts.clear();
        assert_eq!(acts.poll(), None);
    }
}
