//! Context of an event.

use driftway_base::{Act, Instant, TcpView};

use super::PendingActs;

/// Time and view of an event, and the state that [`Machine`](super::Machine) holds for the aid.
#[derive(Debug)]
pub struct Context<'a, S> {
    /// Time of the event.
    pub now: Instant,
    /// The connection.
    pub view: &'a TcpView,
    /// Expiry of the aid's timer.
    pub timer: &'a mut Option<Instant>,
    pub(super) state: &'a mut S,
    pub(super) acts: &'a mut PendingActs,
    pub(super) disabled: &'a mut bool,
}

impl<S: Copy> Context<'_, S> {
    /// Present state of the aid.
    pub fn state(&self) -> S {
        *self.state
    }

    /// Requests `act`, replacing a pending act of its kind.
    pub fn request(&mut self, act: Act) {
        self.acts.request(act);
    }

    /// Stops the timer if it has expired, and returns whether it had.
    pub fn take_expired_timer(&mut self) -> bool {
        self.timer.take_if(|at| *at <= self.now).is_some()
    }

    /// Disables the aid permanently; TCP runs unassisted. Stops the timer and removes pending acts. Acts
    /// requested afterwards are still applied.
    pub fn disable(&mut self) {
        *self.disabled = true;
        self.stop();
    }

    /// Removes pending acts and stops the timer.
    pub(super) fn stop(&mut self) {
        self.acts.clear();
        *self.timer = None;
    }
}
