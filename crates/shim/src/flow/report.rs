//! What a router has reported, repeated to the local TCP.
//!
//! Routers send few ICMP errors to one host (RFC 1812 §4.3.2.8; Linux: one a second after a burst of
//! a few), and probes draw some of them. For each that a retransmission does not draw, a doubling of
//! the timeout stands (RFC 6069 §4): the local TCP would look for a path less often than alone, and
//! search longer for what length a changed path takes. So the message is repeated about a retransmission
//! for each probe that may have drawn the real one, and not more often.

use alloc::vec::Vec;

use driftway_base::{Duration, Instant, Ipv4Addr, UnreachableScope, Signal, SignalKind};
use driftway_wire::{
    Body, IcmpMessage, IpHeader, Packet, Payload, TcpFlags, TcpSegment, UnreachableCode,
};

use super::{Context, Flow, State};
use crate::packet::Segment;
use crate::shim::To;

/// Who reported that there is no path, and to what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    by: Ipv4Addr,
    scope: UnreachableScope,
    at: Instant,
    /// Something of the shim's has left since it was made or repeated.
    drawn: bool,
}

/// A router that has said nothing for so long says nothing any more: what is sent again draws nothing
/// either. Linux' say it once a second.
const SAYS_IT_AGAIN: Duration = Duration::from_secs(3);

impl Report {
    /// Something of the shim's leaves, which may draw the next one.
    pub fn on_sent(&mut self) {
        self.drawn = true;
    }
}

impl Flow {
    /// Keeps in mind who has reported the outage, if a router has.
    pub(super) fn note_report(&mut self, now: Instant, signal: &Signal) {
        let (SignalKind::Unreachable(scope), Some(by)) = (signal.kind, signal.details.reporter)
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

    /// The local TCP sends `segment` again while there is no path.
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

    /// Writes the message that is to be repeated.
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
            UnreachableScope::Net => UnreachableCode::Net,
            UnreachableScope::Host => UnreachableCode::Host,
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
