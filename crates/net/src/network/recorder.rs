//! The events that a network has recorded for its driver.

use std::collections::VecDeque;

use crate::event::{Event, FailedSend, Recording};

/// The events recorded so far. Where nothing is recorded, nothing is done or kept.
#[derive(Default)]
pub struct Recorder {
    recording: Recording,
    events: VecDeque<Event>,
    /// The failed attempt to send that routing is handling.
    failed_send: Option<FailedSend>,
}

impl Recorder {
    /// Records events from now on, as far as `recording` says.
    pub fn start(&mut self, recording: Recording) {
        self.recording = recording;
    }

    /// Sets the failed attempt to send that routing is handling; `None`: there is none any more.
    pub fn set_failed_send(&mut self, failed: Option<FailedSend>) {
        self.failed_send = failed;
    }

    /// Returns the failed attempt to send that routing is handling.
    pub fn failed_send(&self) -> Option<FailedSend> {
        self.failed_send
    }

    /// Returns true if everything is recorded.
    #[inline]
    pub fn records_all(&self) -> bool {
        self.recording == Recording::All
    }

    /// Returns true if the ends of packets are recorded.
    #[inline]
    pub fn records_ends(&self) -> bool {
        self.recording >= Recording::Ends
    }

    /// Records an event that is recorded in any case, or of which the caller knows that it is.
    pub fn push(&mut self, event: Event) {
        self.events.push_back(event);
    }

    /// Records an event if everything is recorded.
    #[inline]
    pub fn record(&mut self, event: impl FnOnce() -> Event) {
        if self.records_all() {
            self.push(event());
        }
    }

    /// Returns true if there are events.
    #[inline]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Returns the next event.
    pub fn poll(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}
