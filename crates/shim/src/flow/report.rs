//! ICMP messages of routers, repeated to the local TCP.
//!
//! Routers limit the rate of ICMP errors (RFC 1812 §4.3.2.8; Linux: one a second after a small
//! burst), and probes draw some of them. Each message that a retransmission does not draw leaves a
//! doubled RTO in place (RFC 6069 §4): the local TCP would retransmit less often than without the
//! shim, and path MTU discovery on a changed path would take longer. So the message is repeated
//! about one retransmission for each probe that may have drawn the original one.

use alloc::vec::Vec;

use driftway_base::{Duration, Instant, Ipv4Addr, Scope, Signal, SignalKind};
use driftway_wire::{
    Body, IcmpMessage, IpHeader, Packet, Payload, TcpFlags, TcpSegment, UnreachableCode,
};

use super::{Context, Flow, State};
use crate::packet::Segment;
use crate::shim::To;

/// A router's report of an unreachable destination.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    by: Ipv4Addr,
    scope: Scope,
    at: Instant,
    /// The shim has sent something since the report was received or repeated.
    drawn: bool,
}

/// Age from which a report is obsolete: retransmissions draw no message any more. Linux routers
/// repeat theirs once a second.
const SAYS_IT_AGAIN: Duration = Duration::from_secs(3);

impl Report {
    /// Records that the shim sends a segment, which may draw the next message.
    pub fn on_sent(&mut self) {
        self.drawn = true;
    }
}

impl Flow {
    /// Records a router's report of the outage.
    pub(super) fn note_report(&mut self, now: Instant, signal: &Signal) {
        let (SignalKind::Unreachable(scope), Some(by)) = (signal.kind, signal.about.reporter)
        else {
            return;
        };
        if let State::Disconnected(outage) = &mut self.state
            && outage.held.outage
        {
            let drawn = outage.report.is_some_and(|report| report.drawn);
            outage.report = Some(Report { by, scope, at: now, drawn });
        }
    }

    /// Requests a repetition of the report about the retransmission `segment`.
    pub(super) fn wants_report(&mut self, now: Instant, segment: &Segment) {
        if let State::Disconnected(outage) = &mut self.state
            && let Some(report) = &mut outage.report
            && report.drawn
            && now.since(report.at) < SAYS_IT_AGAIN
        {
            report.drawn = false;
            self.repeats = Some((segment.seq, segment.payload));
        }
    }

    /// Writes the repeated message.
    pub(super) fn repeat_report(
        &mut self,
        cx: &mut Context<'_>,
        packet: &mut Vec<u8>,
    ) -> Option<To> {
        let (seq, len) = self.repeats.take()?;
        let State::Disconnected(outage) = self.state else { return None };
        let Report { by, scope, .. } = outage.report?;
        let (source, destination) = (self.key.source, self.key.destination);
        let lost = TcpSegment {
            source_port: source.port,
            destination_port: destination.port,
            seq,
            ack: self.ours.ack,
            flags: TcpFlags::ACK,
            window: self.ours.window,
            payload: Payload::new(0, 0, len),
            ..TcpSegment::default()
        };
        let ip = IpHeader::new(source.address, destination.address);
        let lost = Packet { ip, body: Body::Tcp(lost) };
        let code = match scope {
            Scope::Net => UnreachableCode::Net,
            Scope::Host => UnreachableCode::Host,
        };
        let message = |quoted| IcmpMessage::Unreachable { code, quoted };
        let error = Packet::icmp_error(by, &lost, message)?;
        packet.clear();
        packet.resize(error.len() as usize, 0);
        error.encode(packet, |_, _| {}).ok()?;
        cx.counts.reports_repeated += 1;
        Some(To::Local)
    }
}
