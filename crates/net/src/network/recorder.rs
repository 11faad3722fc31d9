//! The events that a network has recorded for its driver.

use std::collections::VecDeque;

use crate::event::{Event, Recording};

/// The events recorded so far. Where nothing is recorded, nothing is done or kept.
#[derive(Default)]
pub struct Recorder {
    recording: Recording,
    events: VecDeque<Event>,
}

impl Recorder {
    /// Records events from now on, as far as `recording` says.
    pub fn start(&mut self, recording: Recording) {
        self.recording = recording;
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
