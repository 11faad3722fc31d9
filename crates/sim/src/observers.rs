//! Observers of a run: trace, samples, event log and capture.

use driftway_base::Instant;
use driftway_net::FaultPlace;
use driftway_scenario::FaultKind;
use driftway_wire::Payload;

use crate::capture::Capture;
use crate::flow_context::FlowContext;
use crate::log::{Entry, Event, EventLog, Layer};
use crate::samples::Samples;
use crate::trace::{SentSegment, Trace};

/// Outputs of a run besides its result. None by default, and then they cost nothing.
#[derive(Default)]
pub struct Observers<'a> {
    /// A trace of each flow.
    pub trace: Option<&'a mut Trace>,
    /// Samples of all links and flows.
    pub samples: Option<&'a mut Samples>,
    /// A log of all events.
    pub log: Option<&'a mut EventLog>,
    /// A capture of the frames of 802.11 and the packets on wires.
    pub capture: Option<&'a mut Capture>,
}

impl<'a> From<Option<&'a mut Trace>> for Observers<'a> {
    fn from(trace: Option<&'a mut Trace>) -> Self {
        Self { trace, ..Self::default() }
    }
}

impl Observers<'_> {
    /// True if an observer records network events.
    pub const fn wants_network(&self) -> bool {
        self.log.is_some() || self.capture.is_some()
    }

    /// True if an observer records flow events.
    pub const fn wants_flows(&self) -> bool {
        self.trace.is_some() || self.log.is_some()
    }

    /// Records a data segment that TCP sends.
    pub fn sent(&mut self, at: FlowContext, segment: SentSegment) {
        if let Some(trace) = &mut self.trace {
            trace.flow(at.flow.index()).sent(at.now, segment);
        }
        if let Some(log) = &mut self.log {
            let event = if segment.retransmission { Event::Retransmitted } else { Event::Sent };
            log.record(Entry {
                bytes: Some(segment.length),
                offset_bytes: Some(segment.offset),
                cwnd_bytes: Some(segment.cwnd),
                ssthresh_bytes: Some(segment.ssthresh),
                rto_s: segment.rto,
                ..Entry::of_flow(at, Layer::Tcp, event)
            });
        }
    }

    /// Records a datagram that an application sends.
    pub fn datagram_sent(&mut self, at: FlowContext, payload: Payload) {
        self.datagram(at, Event::Sent, payload);
    }

    /// Records a datagram that an application receives.
    pub fn datagram_delivered(&mut self, at: FlowContext, payload: Payload) {
        self.datagram(at, Event::Delivered, payload);
    }

    fn datagram(&mut self, at: FlowContext, event: Event, payload: Payload) {
        if let Some(log) = &mut self.log {
            let (bytes, offset_bytes) = (Some(payload.len), Some(payload.offset));
            log.record(Entry { bytes, offset_bytes, ..Entry::of_flow(at, Layer::Udp, event) });
        }
    }

    /// Records a new cumulative acknowledgment at the sender.
    pub fn acked(&mut self, at: FlowContext, offset: u64) {
        if let Some(trace) = &mut self.trace {
            trace.flow(at.flow.index()).acked(at.now, offset);
        }
        if let Some(log) = &mut self.log {
            log.record(Entry {
                offset_bytes: Some(offset),
                ..Entry::of_flow(at, Layer::Tcp, Event::Acked)
            });
        }
    }

    /// Records that the receiving application has read everything up to `offset`.
    pub fn delivered(&mut self, at: FlowContext, offset: u64) {
        if let Some(trace) = &mut self.trace {
            trace.flow(at.flow.index()).delivered(at.now, offset);
        }
        if let Some(log) = &mut self.log {
            log.record(Entry {
                offset_bytes: Some(offset),
                ..Entry::of_flow(at, Layer::Tcp, Event::Delivered)
            });
        }
    }

    /// Records a timeout of the retransmission timer.
    pub fn timeout(&mut self, at: FlowContext) {
        if let Some(trace) = &mut self.trace {
            trace.flow(at.flow.index()).timeout(at.now);
        }
        if let Some(log) = &mut self.log {
            log.record(Entry::of_flow(at, Layer::Tcp, Event::Timeout));
        }
    }

    /// Records the start of a loss recovery without a timeout.
    pub fn fast_retransmit(&mut self, at: FlowContext) {
        if let Some(trace) = &mut self.trace {
            trace.flow(at.flow.index()).fast_retransmit(at.now);
        }
        if let Some(log) = &mut self.log {
            log.record(Entry::of_flow(at, Layer::Tcp, Event::FastRetransmit));
        }
    }

    /// Records a signal of an unreachable destination at the sender's host.
    pub fn unreachable(&mut self, at: FlowContext) {
        if let Some(trace) = &mut self.trace {
            trace.flow(at.flow.index()).unreachable(at.now);
        }
        if let Some(log) = &mut self.log {
            log.record(Entry::of_flow(at, Layer::Tcp, Event::Unreachable));
        }
    }

    /// Records the aid's state, which need not have changed.
    pub fn aid_state(&mut self, at: FlowContext, state: &'static str) {
        if let Some(trace) = &mut self.trace {
            trace.flow(at.flow.index()).aid_state(at.now, state);
        }
        if let Some(log) = &mut self.log {
            log.record_aid_state(at, state);
        }
    }

    /// Records the beginning or end of a fault.
    pub fn fault(&mut self, now: Instant, kind: FaultKind, place: FaultPlace, begins: bool) {
        let place = place.number();
        if let Some(trace) = &mut self.trace {
            trace.fault(now, kind, place, begins);
        }
        if let Some(log) = &mut self.log {
            let event = if begins { Event::Begins } else { Event::Ends };
            log.record(Entry::new(now, place, Layer::Fault, event).with_reason(kind.name()));
        }
    }
}
