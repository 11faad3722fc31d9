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
//! - *Notifications without a packet* (RFN, ICMP) put TCP on standby as with ELFN, without a retransmission.
//! - *Repeated notifications*: see [`standby`](crate::kit::standby).

use alloc::boxed::Box;
use alloc::vec::Vec;

use driftway_base::{Act, Done, LostPacket, Seq, SeqRange, Signal, SignalKind};
use driftway_wire::{TcpFlags, TcpSegment};

use crate::kit::standby::{
    After, Cause, Standby, StandbyOptions, State, noticed, segment_at, standby_options,
};
use crate::kit::{Context, Machine, Protocol};
use crate::options::{AidOption, Configure, Set};
use crate::{Aid, Verdict};

/// Maximum number of recorded lost packets; TCP recovers further ones by itself.
const MOST_LOST: usize = 256;

/// Parameters that yu-2004 compares.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct EplnOptions {
    /// Standby parameters.
    pub standby: StandbyOptions,
}

impl Configure for EplnOptions {
    const NAME: &'static str = "epln";
    const ABOUT: &'static str =
        "EPLN (Yu 2004): standby as in ELFN, and retransmission of packets reported as lost";
    const OPTIONS: &'static [AidOption<Self>] = standby_options!(standby);

    fn build(self) -> Box<dyn Aid> {
        Box::new(Epln::new(self))
    }
}

/// EPLN for one connection.
#[derive(Clone, Debug)]
pub struct Epln {
    standby: Standby,
    /// `lost_pkt`: packets to retransmit with the first acknowledgment.
    lost: Vec<SeqRange>,
    /// Packets to retransmit now, in reverse order.
    due: Vec<SeqRange>,
}

impl Epln {
    /// Creates the aid for a new connection.
    pub fn new(options: EplnOptions) -> Machine<Self> {
        let standby = Standby::new(options.standby);
        Machine::new(Self { standby, lost: Vec::new(), due: Vec::new() })
    }

    /// Algorithm 2 for one packet.
    fn on_packet(&mut self, cx: &mut Context<'_, State>, packet: SeqRange, lost: bool) {
        if cx.state() == State::Active {
            self.standby.begin(cx, packet);
            self.transition(cx, Cause::Notice);
        } else if packet.start.after(self.standby.probe_start()) {
            // A packet is in flight, the probe or a salvaged one, and its acknowledgment is awaited.
            if lost && self.lost.len() < MOST_LOST && !self.lost.contains(&packet) {
                self.lost.push(packet);
            }
            return;
        } else {
            self.standby.set_probe(packet);
        }
        if lost {
            cx.ask(Act::Resend { range: packet, ahead_of_queue: false });
        }
    }

    fn ask_for_due(&mut self, cx: &mut Context<'_, State>) {
        if let Some(range) = self.due.pop() {
            cx.ask(Act::Resend { range, ahead_of_queue: false });
        }
    }
}

impl Protocol for Epln {
    type State = State;
    const NAME: &'static str = EplnOptions::NAME;

    fn on_transition(&mut self, cx: &mut Context<'_, State>, _: State, cause: Cause) {
        if cx.state() == State::Active && cause == Cause::Ack {
            self.standby.end(cx);
        } else if cx.state() == State::Active {
            *cx.timer = None;
            self.lost.clear();
        }
    }

    fn on_up(&mut self, cx: &mut Context<'_, State>, segment: &TcpSegment) -> Verdict {
        if cx.state() == State::Standby {
            self.transition(cx, Cause::Ack);
            let una = cx.view.una.value().unwrap_or(Seq(0));
            let reaches = segment.flags.contains(TcpFlags::ACK)
                && cx.view.max.value().is_some_and(|max| segment.ack.at_or_before(max));
            let una = if reaches { una.max(segment.ack) } else { una };
            self.due.clear();
            self.due.extend(self.lost.drain(..).rev().filter(|lost| lost.end.after(una)));
            self.ask_for_due(cx);
        }
        Verdict::Pass
    }

    fn on_taken(&mut self, cx: &mut Context<'_, State>) {
        self.standby.set_window(cx);
    }

    fn wants_taken(&self) -> bool {
        self.standby.window_is_due()
    }

    fn on_signal(&mut self, cx: &mut Context<'_, State>, signal: &Signal) {
        match signal.kind {
            SignalKind::PacketLost { fate, .. } => {
                let view = cx.view;
                for packet in noticed(signal, view) {
                    self.on_packet(cx, packet, fate == LostPacket::Lost);
                }
            }
            SignalKind::Searching | SignalKind::RouteFailed | SignalKind::Unreachable(_) => {
                let (cause, probe) = match signal.kind {
                    SignalKind::Searching => (Cause::Searching, segment_at(cx.view, None)),
                    _ => (Cause::Notice, noticed(signal, cx.view).next()),
                };
                if let Some(probe) = probe.filter(|_| cx.state() == State::Active) {
                    self.standby.begin(cx, probe);
                    self.transition(cx, cause);
                }
            }
            _ => {}
        }
    }

    fn on_timeout(&mut self, cx: &mut Context<'_, State>) {
        if cx.timer_expires() {
            self.standby.probe(cx);
        }
    }

    fn on_done(&mut self, cx: &mut Context<'_, State>, act: &Act, done: Done) {
        match (act, done) {
            (Act::Hold { .. }, Done::Unsupported) => self.transition(cx, Cause::Refused),
            (Act::Resend { .. }, _) => self.ask_for_due(cx),
            _ => {}
        }
    }

    fn on_closed(&mut self) {
        self.lost.clear();
        self.due.clear();
    }
}

#[cfg(test)]
mod test;
