//! What surrounds an event of an aid.

use driftway_base::{Act, Instant, TcpView};

use super::PendingActs;

/// The time of an event, the connection as it was before, and what [`Machine`](super::Machine) keeps
/// for the aid.
#[derive(Debug)]
pub struct Context<'a, S> {
    /// The time of the event.
    pub now: Instant,
    /// The connection.
    pub view: &'a TcpView,
    /// When the aid wants to be woken.
    pub timer: &'a mut Option<Instant>,
    pub(super) state: &'a mut S,
    pub(super) acts: &'a mut PendingActs,
    pub(super) disabled: &'a mut bool,
}

impl<S: Copy> Context<'_, S> {
    /// The aid's state.
    pub fn state(&self) -> S {
        *self.state
    }

    /// Asks for `act`, in place of an earlier one of its kind that the driver has not taken.
    pub fn request(&mut self, act: Act) {
        self.acts.request(act);
    }

    /// Stops the timer if it is due, and answers whether it was.
    pub fn take_expired_timer(&mut self) -> bool {
        self.timer.take_if(|at| *at <= self.now).is_some()
    }

    /// Leaves TCP on its own for good: stops the timer, and drops what was asked for. An act that is
    /// asked for after that is still done.
    pub fn disable(&mut self) {
        *self.disabled = true;
        self.stop();
    }

    /// Asks for nothing any more, and stops the timer.
    pub(super) fn stop(&mut self) {
        self.acts.clear();
        *self.timer = None;
    }
}
