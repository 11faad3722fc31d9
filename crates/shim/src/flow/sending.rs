//! Segments sent by the shim.

use alloc::vec::Vec;

use driftway_base::{Duration, FlowKey, Instant, Ipv4Addr, Seq};
use driftway_wire::{
    Body, IpHeader, Packet, Payload, TcpFlags, TcpOptions, TcpSegment, Timestamps,
};

use super::acts::Emitted;
use super::report::Report;
use super::{Context, Flow, Reply, Said, State};
use crate::config::Config;
use crate::flight::Place;
use crate::pace::spacing;
use crate::packet::{Parsed, parse};
use crate::shim::To;

/// A distance outside of any window (RFC 7323 §2.3).
const LONG_AGO: u32 = 3 << 29;

impl Flow {
    /// Writes the next due packet into `packet`.
    pub fn poll(&mut self, cx: &mut Context<'_>, packet: &mut Vec<u8>) -> Option<To> {
        if let Some(reply) = self.replies.pop_front() {
            self.made_up = Some(cx.now);
            return self.make_up(reply, packet);
        }
        if self.repeats.is_some()
            && let Some(to) = self.repeat_report(cx, packet)
        {
            return Some(to);
        }
        if let Some(Emitted { ack, window, copies }) = self.emits {
            self.emits = (copies > 1).then_some(Emitted { ack, window, copies: copies - 1 });
            cx.counts.emitted += 1;
            return self.say(Said { ack, window, ..self.ours }, packet);
        }
        if self.announces > 0 {
            cx.counts.announced += 1;
            return self.announce(packet);
        }
        if self.gives_all_at().is_some_and(|at| cx.now >= at) {
            return self.announce(packet);
        }
        match self.state {
            State::Disconnected(_) if self.is_to_probe(cx.now) => self.probe(cx, packet),
            State::Disconnected(_) if self.resends_now() => {
                let index = self.next_due(cx.now)?;
                self.send_in_turn(cx, index, packet)
            }
            State::Disconnected(_) => None,
            State::Resuming(..) | State::Open => {
                let index = self.next_due(cx.now)?;
                self.send_in_turn(cx, index, packet)
            }
        }
    }

    /// Time of the next [`on_timeout`](Self::on_timeout).
    pub fn next_timeout(&self, config: &Config) -> Option<Instant> {
        let front = self.flight.front();
        let forget = front.map(|_| self.forget_at(config));
        let (this, other) = match self.state {
            State::Open => {
                let sends = self.queueing && self.flight.waiting() > 0;
                (sends.then_some(self.next_send), None)
            }
            State::Disconnected(outage) => {
                let probes = self.is_searching().then_some(outage.probe_at);
                let resends = self.resends_now().then_some(self.next_send);
                let tells = outage.again.then_some(outage.tells_at);
                (probes, [resends, tells].into_iter().flatten().min())
            }
            State::Resuming(_, repair) => {
                let patience = repair.progress + repair.patience;
                let send = self.may_send_next().map(|_| self.next_send);
                (send, Some(patience.min(repair.hold_until)))
            }
        };
        [this, other, forget, self.gives_all_at(), self.aid.0.next_timeout()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Returns whether a new segment must wait behind others.
    pub(super) fn queues(&mut self, now: Instant) -> bool {
        self.queueing = self.queueing && (now < self.spread_until || self.flight.waiting() > 0);
        self.queueing
    }

    /// Segments waiting to be sent.
    pub(super) fn waiting(&self) -> usize {
        self.flight.waiting()
    }

    /// Returns whether it is disconnected, with a stored original to probe with.
    pub fn is_searching(&self) -> bool {
        self.is_disconnected() && self.flight.front().is_some_and(|front| front.packet.is_some())
    }
    /// Returns whether a probe is due.
    pub fn is_to_probe(&self, now: Instant) -> bool {
        matches!(self.state, State::Disconnected(outage) if now >= outage.probe_at)
            && self.is_searching()
    }
    /// Returns whether retransmissions requested by the aid are pending during a hold.
    fn resends_now(&self) -> bool {
        self.resends && self.flight.lost() > 0
    }

    /// The next original to send, if the repair's window allows it; at least one segment is always
    /// allowed.
    fn may_send_next(&self) -> Option<usize> {
        let index = self.flight.next()?;
        let State::Resuming(_, repair) = self.state else { return Some(index) };
        let (out, len) = (self.flight.out(), self.flight.get(index)?.range.len());
        (out == 0 || out.saturating_add(len) <= repair.window).then_some(index)
    }

    fn next_due(&self, now: Instant) -> Option<usize> {
        if !self.queueing || now < self.next_send {
            return None;
        }
        self.may_send_next()
    }

    fn send_in_turn(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        packet: &mut Vec<u8>,
    ) -> Option<To> {
        let original = self.flight.get(index)?;
        let (lost, len) = (original.place == Place::Lost, original.range.len());
        let mut gap = spacing(self.round_trip.smoothed(), len, self.rate);
        if matches!(self.state, State::Open) {
            // The queue must drain, or it would hide the path's congestion from TCP.
            let left = self.spread_until.since(cx.now);
            gap = gap.min(left.over(self.waiting().max(1) as u64));
        }
        self.next_send = cx.now + gap;
        let sent = self.send(cx.now, index, packet);
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
    fn probe(&mut self, cx: &mut Context<'_>, packet: &mut Vec<u8>) -> Option<To> {
        let State::Disconnected(outage) = &mut self.state else { return None };
        let longest = outage.held.probe.max;
        let turns = match (cx.before, outage.probed) {
            (0, _) => 1,
            (before, None) => before,
            (_, Some(_)) => cx.company,
        };
        outage.gap = outage.gap.times(2).min(longest).max(Duration::from_millis(1));
        outage.probe_at = cx.now + outage.gap.times(turns);
        outage.probed = Some(cx.now);
        let sent = self.send(cx.now, 0, packet)?;
        cx.counts.probes += 1;
        Some(sent)
    }

    /// Sends an original with the local TCP's present acknowledgment, window, TSecr and ECE. An
    /// acknowledgment older than a window would be rejected (RFC 5961 §5.2).
    fn send(&mut self, now: Instant, index: usize, packet: &mut Vec<u8>) -> Option<To> {
        let original = self.flight.get(index)?;
        packet.clear();
        packet.extend_from_slice(original.packet.as_ref()?.bytes());
        let Ok(Parsed::Tcp(segment)) = parse(packet) else { return None };
        let Said { ack, window, echo, echoes, .. } = self.ours;
        segment.set_ack(packet, ack);
        segment.set_window(packet, window);
        segment.set_echo(packet, echo);
        segment.set_ece(packet, echoes);
        if let Some((left, _)) = self.left_stamp {
            segment.set_stamp(packet, Seq(original.stamp).max(Seq(left)).0);
        }
        // RFC 3168 §6.1.5: retransmissions are not ECN-capable.
        if original.left {
            segment.set_not_ect(packet);
        }
        self.flight.send(index, now);
        // A retransmission requested by the aid serves as a probe.
        if let State::Disconnected(outage) = &mut self.state {
            outage.probe_at = outage.probe_at.max(now + outage.gap);
            outage.report.iter_mut().for_each(Report::on_sent);
        }
        Some(To::Network)
    }

    /// Writes a synthetic acknowledgment of the peer.
    fn make_up(&self, reply: Reply, packet: &mut Vec<u8>) -> Option<To> {
        let timestamps = Timestamps { value: self.recent, echo: reply.echo };
        let echoes = self.theirs.echoes || self.cuts;
        let said = Said { ack: reply.ack, echoes, ..self.theirs };
        let FlowKey { source, destination } = self.key;
        self.bare(
            FlowKey { source: destination, destination: source },
            self.ours.ack,
            said,
            timestamps,
            packet,
        )?;
        Some(To::Local)
    }

    /// Writes a duplicate byte of the peer, which the local TCP acknowledges at once (RFC 9293
    /// §3.10.7.4) and otherwise discards, since it lies before the last acknowledgment. Not the
    /// same byte twice in a row, which Linux takes for lost acknowledgments. Its own acknowledgment
    /// number is ignored then; but if no socket accepts the segment, it becomes the sequence number
    /// of the reset, and that old a number is valid for no peer.
    pub fn solicit(&mut self, now: Instant, packet: &mut Vec<u8>) -> Option<()> {
        self.made_up = Some(now);
        self.solicited_odd = !self.solicited_odd;
        let FlowKey { source, destination } = self.key;
        let segment = TcpSegment {
            source_port: destination.port,
            destination_port: source.port,
            seq: self.ours.ack - 2 - u32::from(self.solicited_odd),
            ack: self.told - LONG_AGO,
            flags: TcpFlags::ACK,
            window: self.theirs.window,
            options: TcpOptions {
                timestamps: Some(Timestamps { value: self.recent, echo: self.clock.last() }),
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
    fn announce(&mut self, packet: &mut Vec<u8>) -> Option<To> {
        let said = match self.announces {
            0 => self.ours,
            1 => Said { echo: 0, ..self.ours },
            _ => Said { ack: self.ours.ack - 1, window: 0, echo: 0, ..self.ours },
        };
        self.announces = self.announces.saturating_sub(1);
        self.say(said, packet)
    }

    /// Writes an acknowledgment for the peer.
    fn say(&mut self, said: Said, packet: &mut Vec<u8>) -> Option<To> {
        self.given_to(said.ack);
        let timestamps = Timestamps { value: self.clock.last(), echo: said.echo };
        self.bare(self.key, self.flight.max, said, timestamps, packet)?;
        Some(To::Network)
    }

    /// Writes a segment without data.
    fn bare(
        &self,
        flow: FlowKey,
        seq: Seq,
        said: Said,
        timestamps: Timestamps,
        packet: &mut Vec<u8>,
    ) -> Option<()> {
        let echoes = self.agreed.ecn && said.echoes;
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
