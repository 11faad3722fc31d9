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
use crate::shim::PacketDestination;

/// Who reported that there is no path, and to what.
#[derive(Clone, Copy, Debug)]
pub(super) struct IcmpReport {
    reporter: Ipv4Addr,
    scope: UnreachableScope,
    at: Instant,
    /// Something of the shim's has left since it was made or repeated.
    probe_sent_since: bool,
}

/// A router that has said nothing for so long says nothing any more: what is sent again draws nothing
/// either. Linux' say it once a second.
const REPORT_INTERVAL_MAX: Duration = Duration::from_secs(3);

impl IcmpReport {
    /// Something of the shim's leaves, which may draw the next one.
    pub fn on_sent(&mut self) {
        self.probe_sent_since = true;
    }
}

impl Flow {
    /// Keeps in mind who has reported the outage, if a router has.
    pub(super) fn record_icmp_report(&mut self, now: Instant, signal: &Signal) {
        let (SignalKind::Unreachable(scope), Some(by)) = (signal.kind, signal.details.reporter)
        else {
            return;
        };
        if let State::Disconnected(outage) = &mut self.state
            && outage.hold.is_outage
        {
            let drawn = outage.icmp_report.is_some_and(|report| report.probe_sent_since);
            outage.icmp_report = Some(IcmpReport { reporter: by, scope, at: now, probe_sent_since: drawn });
        }
    }

    /// The local TCP sends `segment` again while there is no path.
    pub(super) fn request_report_repeat(&mut self, now: Instant, segment: &Segment) {
        if let State::Disconnected(outage) = &mut self.state
            && let Some(report) = &mut outage.icmp_report
            && report.probe_sent_since
            && now.since(report.at) < REPORT_INTERVAL_MAX
        {
            report.probe_sent_since = false;
            self.icmp_repeat = Some((segment.seq, segment.payload_len));
        }
    }

    /// Writes the message that is to be repeated.
    pub(super) fn write_repeated_report(
        &mut self,
        cx: &mut Context<'_>,
        packet: &mut Vec<u8>,
    ) -> Option<PacketDestination> {
        let (seq, len) = self.icmp_repeat.take()?;
        let State::Disconnected(outage) = self.state else { return None };
        let IcmpReport { reporter: by, scope, .. } = outage.icmp_report?;
        let (source, destination) = (self.key.source, self.key.destination);
        let lost = TcpSegment {
            source_port: source.port,
            destination_port: destination.port,
            seq,
            ack: self.local.ack,
            flags: TcpFlags::ACK,
            window: self.local.window,
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
        Some(PacketDestination::LocalTcp)
    }
}
