//! ICMP messages of routers, repeated to the local TCP.
//!
//! Routers limit the rate of ICMP errors (RFC 1812 §4.3.2.8; Linux: one a second after a small
//! burst), and probes draw some of them. Each message that a retransmission does not draw leaves a
//! doubled RTO in place (RFC 6069 §4): the local TCP would retransmit less often than without the
//! shim, and path MTU discovery on a changed path would take longer. So the message is repeated
//! about one retransmission for each probe that may have drawn the original one.

use alloc::vec::Vec;

use driftway_base::{Duration, Instant, Ipv4Addr, Signal, SignalKind, UnreachableScope};
use driftway_wire::{
    Body, IcmpMessage, IpHeader, Packet, Payload, TcpFlags, TcpSegment, UnreachableCode,
};

use super::{Context, Flow, State};
use crate::packet::{PacketDestination, Segment};

/// A router's report of an unreachable destination.
#[derive(Clone, Copy, Debug)]
pub(super) struct IcmpReport {
    reporter: Ipv4Addr,
    scope: UnreachableScope,
    at: Instant,
    /// The shim has sent something since the report was received or repeated.
    probe_sent_since: bool,
}

/// Age from which a report is obsolete: retransmissions draw no message any more. Linux routers
/// repeat theirs once a second.
const REPORT_INTERVAL_MAX: Duration = Duration::from_secs(3);

impl IcmpReport {
    /// Records that the shim sends a segment, which may draw the next message.
    pub fn on_sent(&mut self) {
        self.probe_sent_since = true;
    }
}

impl Flow {
    /// Records a router's report of the outage.
    pub(super) fn record_icmp_report(&mut self, now: Instant, signal: &Signal) {
        let (SignalKind::Unreachable(scope), Some(reporter)) =
            (signal.kind, signal.details.reporter)
        else {
            return;
        };
        if let State::Disconnected(outage) = &mut self.state
            && outage.hold.is_outage
        {
            let probe_sent_since = outage.icmp_report.is_some_and(|report| report.probe_sent_since);
            outage.icmp_report = Some(IcmpReport { reporter, scope, at: now, probe_sent_since });
        }
    }

    /// Requests a repetition of the report about the retransmission `segment`.
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

    /// Writes the repeated message.
    pub(super) fn write_repeated_report(
        &mut self,
        cx: &mut Context<'_>,
        packet: &mut Vec<u8>,
    ) -> Option<PacketDestination> {
        let (seq, len) = self.icmp_repeat.take()?;
        let State::Disconnected(outage) = self.state else { return None };
        let IcmpReport { reporter, scope, .. } = outage.icmp_report?;
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
        let error = Packet::icmp_error(reporter, &lost, message)?;
        packet.clear();
        packet.resize(error.len() as usize, 0);
        error.encode(packet, |_, _| {}).ok()?;
        cx.counts.reports_repeated += 1;
        Some(PacketDestination::LocalTcp)
    }
}
