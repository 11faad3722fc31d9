//! Who watches a run, and what they are told.

use driftway_base::Instant;

use crate::capture::Capture;
use crate::log::{Entry, Event, EventLog, Layer};
use crate::trace::{SentSegment, Trace};

/// What is to be kept of a run beside its result. Nothing by default, and then it costs nothing.
#[derive(Default)]
pub struct Observers<'a> {
    /// What happens to each flow.
    pub trace: Option<&'a mut Trace>,
    /// What happens, event by event.
    pub log: Option<&'a mut EventLog>,
    /// What is on the air; there is an air in networks of kind `adhoc` alone.
    pub capture: Option<&'a mut Capture>,
}

impl<'a> From<Option<&'a mut Trace>> for Observers<'a> {
    fn from(trace: Option<&'a mut Trace>) -> Self {
        Self { trace, ..Self::default() }
    }
}

/// One end of a flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowContext {
    /// When.
    pub now: Instant,
    /// Where.
    pub node: usize,
    /// The flow's index in the scenario.
    pub flow: usize,
}

impl FlowContext {
    fn entry(self, event: Event) -> Entry {
        let entry = Entry::new(self.now, self.node as u32, Layer::Tcp, event);
        Entry { flow: Some(self.flow as u32), ..entry }
    }
}

impl Observers<'_> {
    /// Does anybody want to know of the network?
    pub const fn wants_network(&self) -> bool {
        self.log.is_some() || self.capture.is_some()
    }

    /// Does anybody want to know of flows?
    pub const fn wants_flows(&self) -> bool {
        self.trace.is_some() || self.log.is_some()
    }

    /// TCP sends a data segment.
    pub fn sent(&mut self, at: FlowContext, segment: SentSegment) {
        if let Some(trace) = &mut self.trace {
            trace.flow(at.flow).sent(at.now, segment);
        }
        if let Some(log) = &mut self.log {
            let event = if segment.retransmission { Event::Retransmitted } else { Event::Sent };
            log.record(Entry {
                bytes: Some(segment.length),
                offset_bytes: Some(segment.offset),
                cwnd_bytes: Some(segment.cwnd),
                ssthresh_bytes: Some(segment.ssthresh),
                rto_s: segment.rto,
                ..at.entry(event)
            });
        }
    }

    /// The sender gets a new cumulative acknowledgment.
    pub fn acked(&mut self, at: FlowContext, offset: u64) {
        if let Some(trace) = &mut self.trace {
            trace.flow(at.flow).acked(at.now, offset);
        }
        if let Some(log) = &mut self.log {
            log.record(Entry { offset_bytes: Some(offset), ..at.entry(Event::Acked) });
        }
    }

    /// The receiving application has everything up to `offset`.
    pub fn delivered(&mut self, at: FlowContext, offset: u64) {
        if let Some(trace) = &mut self.trace {
            trace.flow(at.flow).delivered(at.now, offset);
        }
        if let Some(log) = &mut self.log {
            log.record(Entry { offset_bytes: Some(offset), ..at.entry(Event::Delivered) });
        }
    }

    /// The retransmission timer goes off.
    pub fn timeout(&mut self, at: FlowContext) {
        if let Some(trace) = &mut self.trace {
            trace.flow(at.flow).timeout(at.now);
        }
        if let Some(log) = &mut self.log {
            log.record(at.entry(Event::Timeout));
        }
    }

    /// Loss recovery begins without a timeout.
    pub fn fast_retransmit(&mut self, at: FlowContext) {
        if let Some(trace) = &mut self.trace {
            trace.flow(at.flow).fast_retransmit(at.now);
        }
        if let Some(log) = &mut self.log {
            log.record(at.entry(Event::FastRetransmit));
        }
    }

    /// The sender's host gets the signal that its destination cannot be reached.
    pub fn unreachable(&mut self, at: FlowContext) {
        if let Some(trace) = &mut self.trace {
            trace.flow(at.flow).unreachable(at.now);
        }
        if let Some(log) = &mut self.log {
            log.record(at.entry(Event::Unreachable));
        }
    }

    /// The aid is in `state`, perhaps since before.
    pub fn aid_state(&mut self, at: FlowContext, state: &'static str) {
        if let Some(trace) = &mut self.trace {
            trace.flow(at.flow).aid_state(at.now, state);
        }
        if let Some(log) = &mut self.log {
            log.record_aid_state(at.now, at.node as u32, at.flow, state);
        }
    }

    /// A fault of a path begins or ends, on this hop, from 1.
    pub fn fault(&mut self, now: Instant, kind: &'static str, hop: u32, begins: bool) {
        if let Some(trace) = &mut self.trace {
            trace.fault(now, kind, hop, begins);
        }
        if let Some(log) = &mut self.log {
            let event = if begins { Event::Begins } else { Event::Ends };
            log.record(Entry::new(now, hop, Layer::Fault, event).with_reason(kind));
        }
    }
}
