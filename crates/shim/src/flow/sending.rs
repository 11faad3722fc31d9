//! Segments sent by the shim.

use alloc::vec::Vec;

use driftway_base::{Duration, FlowKey, Instant, Ipv4Addr, Seq};
use driftway_wire::{
    Body, IpHeader, Packet, Payload, TcpFlags, TcpOptions, TcpSegment, Timestamps,
};

use super::acts::RequestedAcks;
use super::icmp_report::IcmpReport;
use super::{Context, EndpointState, Flow, State, SyntheticAck};
use crate::config::Config;
use crate::pace::pacing_interval;
use crate::packet::{EditableBytes, PacketDestination, Parsed, parse};
use crate::retransmission_queue::OriginalState;

/// A distance outside of any window (RFC 7323 §2.3).
const OUT_OF_WINDOW: u32 = 3 << 29;

impl Flow {
    /// Writes the next due packet into `packet`.
    pub fn poll(
        &mut self,
        cx: &mut Context<'_>,
        packet: &mut Vec<u8>,
    ) -> Option<PacketDestination> {
        if let Some(reply) = self.synthetic_acks.pop_front() {
            self.last_injected = Some(cx.now);
            return self.write_synthetic_ack(reply, packet);
        }
        if self.icmp_repeat.is_some()
            && let Some(to) = self.write_repeated_report(cx, packet)
        {
            return Some(to);
        }
        if let Some(requested) = self.next_requested_ack() {
            cx.counts.acks_sent += 1;
            return self.write_ack(cx, requested, packet);
        }
        if self.announcements_left > 0 {
            cx.counts.announced += 1;
            return self.write_announcement(cx, packet);
        }
        if self.holdback_timeout().is_some_and(|at| cx.now >= at) {
            return self.write_announcement(cx, packet);
        }
        if self.ack_limit_timeout().is_some_and(|at| cx.now >= at) {
            self.end_ack_limit();
            cx.counts.ack_limits_ended += 1;
            return self.write_announcement(cx, packet);
        }
        match self.state {
            State::Disconnected(_) if self.is_probe_due(cx.now) => self.send_probe(cx, packet),
            State::Disconnected(_) if self.must_resend() => {
                let index = self.next_due(cx.now)?;
                self.send_next(cx, index, packet)
            }
            State::Disconnected(_) => None,
            State::Resuming(..) | State::Open => {
                let index = self.next_due(cx.now)?;
                self.send_next(cx, index, packet)
            }
        }
    }

    /// Time of the next [`on_timeout`](Self::on_timeout).
    pub fn next_timeout(&self, config: &Config) -> Option<Instant> {
        let front = self.retransmission_queue.front();
        let forget = front.map(|_| self.forget_at(config));
        let (this, other) = match self.state {
            State::Open => {
                let sends = self.is_queueing && self.retransmission_queue.waiting() > 0;
                (sends.then_some(self.next_send), None)
            }
            State::Disconnected(outage) => {
                let probes = self.can_probe().then_some(outage.probe_at);
                let resends = self.must_resend().then_some(self.next_send);
                let reports = outage.again.then_some(outage.withhold_until);
                (probes, [resends, reports].into_iter().flatten().min())
            }
            State::Resuming(_, repair) => {
                let patience = repair.last_progress + repair.progress_timeout;
                let send = self.next_allowed().map(|_| self.next_send);
                (send, Some(patience.min(repair.withhold_until)))
            }
        };
        let acks = [self.holdback_timeout(), self.ack_limit_timeout()].into_iter().flatten().min();
        [this, other, forget, acks, self.aid.0.next_timeout()].into_iter().flatten().min()
    }

    /// Returns whether a new segment must wait behind others.
    pub(super) fn must_queue(&mut self, now: Instant) -> bool {
        self.is_queueing =
            self.is_queueing && (now < self.pace_until || self.retransmission_queue.waiting() > 0);
        self.is_queueing
    }

    /// Segments waiting to be sent.
    pub(super) fn waiting(&self) -> usize {
        self.retransmission_queue.waiting()
    }

    /// Returns whether it is disconnected, with a stored original to probe with.
    pub fn can_probe(&self) -> bool {
        self.is_disconnected()
            && self.retransmission_queue.front().is_some_and(|front| front.packet.is_some())
    }
    /// Returns whether a probe is due.
    pub fn is_probe_due(&self, now: Instant) -> bool {
        matches!(self.state, State::Disconnected(outage) if now >= outage.probe_at)
            && self.can_probe()
    }
    /// Returns whether retransmissions requested by the aid are pending during a hold.
    fn must_resend(&self) -> bool {
        self.resend_while_held && self.retransmission_queue.lost() > 0
    }

    /// The next original to send, if the repair's window allows it; at least one segment is always
    /// allowed.
    fn next_allowed(&self) -> Option<usize> {
        let index = self.retransmission_queue.next_to_send()?;
        let State::Resuming(_, repair) = self.state else { return Some(index) };
        let (out, len) = (
            self.retransmission_queue.in_flight(),
            self.retransmission_queue.get(index)?.range.len(),
        );
        (out == 0 || out.saturating_add(len) <= repair.window).then_some(index)
    }

    fn next_due(&self, now: Instant) -> Option<usize> {
        if !self.is_queueing || now < self.next_send {
            return None;
        }
        self.next_allowed()
    }

    fn send_next(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        packet: &mut Vec<u8>,
    ) -> Option<PacketDestination> {
        let original = self.retransmission_queue.get(index)?;
        let (lost, len) = (original.state == OriginalState::Lost, original.range.len());
        let mut gap = pacing_interval(self.rtt.srtt_or_initial(), len, self.pacing_bytes_per_rtt);
        if matches!(self.state, State::Open) {
            // The queue must drain, or it would hide the path's congestion from TCP.
            let left = self.pace_until.since(cx.now);
            gap = gap.min(left.over(self.waiting().max(1) as u64));
        }
        self.next_send = cx.now + gap;
        let sent = self.send_original(cx.now, index, packet);
        if lost {
            cx.counts.repaired += 1;
        } else {
            cx.counts.originals_sent += 1;
        }
        sent
    }

    /// Sends the oldest original as a probe: no packet has to be synthesized, and it is what the
    /// peer needs first. Of several flows to one destination the first probes at the full rate and
    /// the others in turns; when one finds the path restored, all probe.
    fn send_probe(
        &mut self,
        cx: &mut Context<'_>,
        packet: &mut Vec<u8>,
    ) -> Option<PacketDestination> {
        let State::Disconnected(outage) = &mut self.state else { return None };
        let longest = outage.hold.probe_spacing.max;
        let turns = match (cx.probing_before, outage.last_probe) {
            (0, _) => 1,
            (before, None) => before,
            (_, Some(_)) => cx.probing_flows,
        };
        outage.probe_interval =
            outage.probe_interval.times(2).min(longest).max(Duration::from_millis(1));
        outage.probe_at = cx.now + outage.probe_interval.times(turns);
        outage.last_probe = Some(cx.now);
        let sent = self.send_original(cx.now, 0, packet)?;
        cx.counts.probes += 1;
        Some(sent)
    }

    /// Sends an original with the local TCP's present acknowledgment, window, TSecr and ECE. An
    /// acknowledgment older than a window would be rejected (RFC 5961 §5.2).
    fn send_original(
        &mut self,
        now: Instant,
        index: usize,
        packet: &mut Vec<u8>,
    ) -> Option<PacketDestination> {
        let original = self.retransmission_queue.get(index)?;
        packet.clear();
        packet.extend_from_slice(original.packet.as_ref()?.bytes());
        let Ok(Parsed::Tcp(segment)) = parse(packet) else { return None };
        let mut editable = EditableBytes::new(packet);
        let EndpointState { echo, ece, .. } = self.local;
        let ack = self.visible_ack();
        segment.set_ack(&mut editable, ack);
        segment.set_window(&mut editable, self.visible_window());
        segment.set_tsecr(&mut editable, echo);
        segment.set_ece(&mut editable, ece);
        if let Some((left, _)) = self.sent_tsval {
            segment.set_tsval(&mut editable, Seq(original.tsval).max(Seq(left)).0);
        }
        // RFC 3168 §6.1.5: retransmissions are not ECN-capable.
        if original.was_sent {
            segment.set_not_ect(&mut editable);
        }
        self.on_ack_sent(ack);
        self.retransmission_queue.on_sent(index, now);
        // A retransmission requested by the aid serves as a probe.
        if let State::Disconnected(outage) = &mut self.state {
            outage.probe_at = outage.probe_at.max(now + outage.probe_interval);
            outage.icmp_report.iter_mut().for_each(IcmpReport::on_sent);
        }
        Some(PacketDestination::Network)
    }

    /// Writes a synthetic acknowledgment of the peer.
    fn write_synthetic_ack(
        &self,
        reply: SyntheticAck,
        packet: &mut Vec<u8>,
    ) -> Option<PacketDestination> {
        let timestamps = Timestamps { value: self.ts_recent, echo: reply.echo };
        let ece = self.peer.ece || self.echo_congestion;
        let said = EndpointState { ack: reply.ack, ece, ..self.peer };
        let FlowKey { source, destination } = self.key;
        self.write_bare_segment(
            FlowKey { source: destination, destination: source },
            self.local.ack,
            said,
            timestamps,
            packet,
        )?;
        Some(PacketDestination::LocalTcp)
    }

    /// Writes a duplicate byte of the peer, which the local TCP acknowledges at once (RFC 9293
    /// §3.10.7.4) and otherwise discards, since it lies before the last acknowledgment. Not the
    /// same byte twice in a row, which Linux takes for lost acknowledgments. Its own acknowledgment
    /// number is ignored then; but if no socket accepts the segment, it becomes the sequence number
    /// of the reset, and that old a number is valid for no peer.
    pub fn write_solicitation(&mut self, now: Instant, packet: &mut Vec<u8>) -> Option<()> {
        self.last_injected = Some(now);
        self.on_solicitation(now);
        self.last_solicitation_was_odd = !self.last_solicitation_was_odd;
        let FlowKey { source, destination } = self.key;
        let segment = TcpSegment {
            source_port: destination.port,
            destination_port: source.port,
            seq: self.local.ack - 2 - u32::from(self.last_solicitation_was_odd),
            ack: self.local_una - OUT_OF_WINDOW,
            flags: TcpFlags::ACK,
            window: self.peer.window,
            options: TcpOptions {
                timestamps: Some(Timestamps {
                    value: self.ts_recent,
                    echo: self.clock.last_tsval(),
                }),
                ..TcpOptions::default()
            },
            payload: Payload::new(0, 0, 1),
            ..TcpSegment::default()
        };
        encode(destination.address, source.address, segment, packet)
    }

    /// Repeats the local TCP's last acknowledgment, with its latest TSval. The first of two leaves
    /// the last byte out, and closes the window. After an outage TSecr is zero: a TSecr from before
    /// the outage would make the peer undo its timeout (RFC 3522) and take an RTT sample as long as
    /// the outage, instead of retransmitting.
    fn write_announcement(
        &mut self,
        cx: &Context<'_>,
        packet: &mut Vec<u8>,
    ) -> Option<PacketDestination> {
        let said = match self.announcements_left {
            0 => EndpointState { echo: self.visible_echo(self.local.echo), ..self.local },
            1 => EndpointState { echo: 0, ..self.local },
            _ => EndpointState { ack: self.local.ack - 1, window: 0, echo: 0, ..self.local },
        };
        self.announcements_left = self.announcements_left.saturating_sub(1);
        self.write_ack(cx, said, packet)
    }

    /// Takes the next acknowledgment that the aid has requested.
    fn next_requested_ack(&mut self) -> Option<EndpointState> {
        let requested = self.requested_acks.front_mut()?;
        let RequestedAcks { ack, window, copies } = *requested;
        requested.copies = copies.saturating_sub(1);
        if requested.copies == 0 {
            self.requested_acks.pop_front();
        }
        let ack = ack.max(self.ack_limit.lowest_ack());
        let echo = self.visible_echo(self.local.echo);
        Some(EndpointState { ack, window, echo, ..self.local })
    }

    /// Writes an acknowledgment for the peer.
    fn write_ack(
        &mut self,
        cx: &Context<'_>,
        said: EndpointState,
        packet: &mut Vec<u8>,
    ) -> Option<PacketDestination> {
        self.on_own_ack_sent(cx, said.ack, said.window);
        let timestamps = Timestamps { value: self.clock.last_tsval(), echo: said.echo };
        self.write_bare_segment(self.key, self.retransmission_queue.max, said, timestamps, packet)?;
        Some(PacketDestination::Network)
    }

    /// Writes a segment without data.
    fn write_bare_segment(
        &self,
        flow: FlowKey,
        seq: Seq,
        said: EndpointState,
        timestamps: Timestamps,
        packet: &mut Vec<u8>,
    ) -> Option<()> {
        let echoes = self.negotiated.ecn && said.ece;
        let segment = TcpSegment {
            source_port: flow.source.port,
            destination_port: flow.destination.port,
            seq,
            ack: said.ack,
            flags: if echoes { TcpFlags::ACK.with(TcpFlags::ECE) } else { TcpFlags::ACK },
            window: said.window,
            options: TcpOptions { timestamps: Some(timestamps), ..TcpOptions::default() },
            ..TcpSegment::default()
        };
        encode(flow.source.address, flow.destination.address, segment, packet)
    }
}

/// Encodes a packet; its data are zeros.
fn encode(
    source: Ipv4Addr,
    destination: Ipv4Addr,
    segment: TcpSegment,
    packet: &mut Vec<u8>,
) -> Option<()> {
    let made_up = Packet { ip: IpHeader::new(source, destination), body: Body::Tcp(segment) };
    packet.clear();
    packet.resize(made_up.len() as usize, 0);
    made_up.encode(packet, |_, _| {}).ok().map(|_| ())
}
