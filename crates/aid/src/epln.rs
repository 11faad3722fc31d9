//! EPLN at the TCP sender: early packet loss notification (yu-2004 §4.3.5, algorithm 2).
//!
//! Like [ELFN](crate::elfn), but notifications list all packets affected by a link failure and whether they
//! are lost, and TCP retransmits lost packets during the standby: the lowest one at once, the others with the
//! first acknowledgment. The crate `route` sends the notifications (`routing.epln`).
//!
//! Interpretation of what the paper leaves open:
//!
//! - *Relevant sequence numbers* are the outstanding ones, fewer than the window allows.
//! - *Data covered by the first acknowledgment* is not retransmitted.
//! - *Further notifications of a standby* ([`RespondTo`]): algorithm 2 answers each that is not about a later
//!   packet at once. Many are about the same failure, or about the retransmission that was sent a moment ago over
//!   the next stale route.
//! - *Notifications without a packet* (RFN, ICMP) put TCP on standby as with ELFN, without a retransmission.
//! - *Repeated notifications*: see [`standby`](crate::kit::standby).

use alloc::boxed::Box;
use alloc::vec::Vec;

use driftway_base::{
    Act, ActResult, Named, PacketDisposition, Seq, SeqRange, Signal, SignalKind, named, options,
};
use driftway_wire::{TcpFlags, TcpSegment};

use crate::kit::standby::{
    Standby, StandbyOptions, State, Transition, reported_packets, segment_at,
};
use crate::kit::{Context, Machine, Protocol};
use crate::options::AidOptions;
use crate::{Aid, SegmentVerdict};

/// Maximum number of recorded lost packets; TCP recovers further ones by itself.
const MAX_LOST_PACKETS: usize = 256;

options! {
    /// Parameters that yu-2004 compares.
    pub struct EplnOptions {
        ..standby: StandbyOptions,
        /// Loss notifications that are answered at once by a retransmission.
        respond_to: word(RespondTo::EachNotice),
    }
}

named! {
    /// Loss notifications that are answered at once by a retransmission.
    pub enum RespondTo {
        /// Each one about the packet of the probe or an earlier one, as in algorithm 2 (yu-2004 §4.3.5).
        EachNotice = "each-notice",
        /// Only the first of a standby. Packets that later ones report as lost are retransmitted with the first
        /// acknowledgment, and the earliest of them as the probe.
        FirstNotice = "first-notice",
    }
}

impl AidOptions for EplnOptions {
    const NAME: &'static str = "epln";
    const SUMMARY: &'static str =
        "EPLN (Yu 2004): like ELFN, and retransmits the packets that are reported as lost.";
    const STATES: &'static [(&'static str, &'static str)] = State::DESCRIPTIONS;

    fn build(self) -> Box<dyn Aid> {
        Box::new(Epln::new(self))
    }
}

/// EPLN for one connection.
#[derive(Clone, Debug)]
pub struct Epln {
    standby: Standby,
    respond_to: RespondTo,
    /// A loss notification of this standby has been answered.
    has_responded: bool,
    /// `lost_pkt`: packets to retransmit with the first acknowledgment.
    lost: Vec<SeqRange>,
    /// Packets to retransmit now, in reverse order.
    resend_queue: Vec<SeqRange>,
}

impl Epln {
    /// Creates the aid for a new connection.
    pub fn new(options: EplnOptions) -> Machine<Self> {
        let EplnOptions { standby, respond_to } = options;
        Machine::new(Self {
            standby: Standby::new(standby),
            respond_to,
            has_responded: false,
            lost: Vec::new(),
            resend_queue: Vec::new(),
        })
    }

    /// Algorithm 2 for one packet.
    fn on_reported_packet(&mut self, cx: &mut Context<'_, State>, range: SeqRange, lost: bool) {
        if cx.state() == State::Active {
            self.standby.begin(cx, range);
            self.transition(cx, Transition::Notification);
        } else if range.start.after(self.standby.probe_start()) {
            // A packet is in flight, the probe or a salvaged one, and its acknowledgment is awaited.
            return self.record_lost_packet(range, lost);
        } else {
            self.standby.set_probe(range);
            if self.has_responded && self.respond_to == RespondTo::FirstNotice {
                return self.record_lost_packet(range, lost);
            }
        }
        if lost {
            self.has_responded = true;
            cx.request(Act::Resend { range, ahead_of_queue: false });
        }
    }

    fn record_lost_packet(&mut self, range: SeqRange, lost: bool) {
        if lost && self.lost.len() < MAX_LOST_PACKETS && !self.lost.contains(&range) {
            self.lost.push(range);
        }
    }

    fn request_next_resend(&mut self, cx: &mut Context<'_, State>) {
        if let Some(range) = self.resend_queue.pop() {
            cx.request(Act::Resend { range, ahead_of_queue: false });
        }
    }
}

impl Protocol for Epln {
    type State = State;
    const NAME: &'static str = EplnOptions::NAME;

    fn on_transition(&mut self, cx: &mut Context<'_, State>, _: State, transition: Transition) {
        self.has_responded = false;
        if cx.state() == State::Active && transition == Transition::Ack {
            self.standby.end(cx);
        } else if cx.state() == State::Active {
            *cx.timer = None;
            self.lost.clear();
        }
    }

    fn on_up(&mut self, cx: &mut Context<'_, State>, segment: &TcpSegment) -> SegmentVerdict {
        if cx.state() == State::Standby {
            self.transition(cx, Transition::Ack);
            let una = cx.view.snd_una.value().unwrap_or(Seq(0));
            let reaches = segment.flags.contains(TcpFlags::ACK)
                && cx.view.snd_max.value().is_some_and(|max| segment.ack.at_or_before(max));
            let una = if reaches { una.max(segment.ack) } else { una };
            self.resend_queue.clear();
            self.resend_queue.extend(self.lost.drain(..).rev().filter(|lost| lost.end.after(una)));
            self.request_next_resend(cx);
        }
        SegmentVerdict::Pass
    }

    fn on_processed(&mut self, cx: &mut Context<'_, State>) {
        self.standby.set_window(cx);
    }

    fn wants_taken(&self) -> bool {
        self.standby.is_window_pending()
    }

    fn on_signal(&mut self, cx: &mut Context<'_, State>, signal: &Signal) {
        match signal.kind {
            SignalKind::PacketLost { disposition, .. } => {
                let view = cx.view;
                for packet in reported_packets(signal, view) {
                    self.on_reported_packet(cx, packet, disposition == PacketDisposition::Lost);
                }
            }
            SignalKind::RouteDiscovery | SignalKind::RouteFailed | SignalKind::Unreachable(_) => {
                let (transition, probe) = match signal.kind {
                    SignalKind::RouteDiscovery => {
                        (Transition::RouteDiscovery, segment_at(cx.view, None))
                    }
                    _ => (Transition::Notification, reported_packets(signal, cx.view).next()),
                };
                if let Some(probe) = probe.filter(|_| cx.state() == State::Active) {
                    self.standby.begin(cx, probe);
                    self.transition(cx, transition);
                }
            }
            _ => {}
        }
    }

    fn on_timeout(&mut self, cx: &mut Context<'_, State>) {
        if cx.take_expired_timer() {
            self.standby.on_probe_timer(cx);
        }
    }

    fn on_done(&mut self, cx: &mut Context<'_, State>, act: &Act, done: ActResult) {
        match (act, done) {
            (Act::Hold { .. }, ActResult::Unsupported) => {
                self.transition(cx, Transition::HoldUnsupported)
            }
            (Act::Resend { .. }, _) => self.request_next_resend(cx),
            _ => {}
        }
    }

    fn on_closed(&mut self) {
        self.lost.clear();
        self.resend_queue.clear();
    }
}

#[cfg(test)]
mod test;
