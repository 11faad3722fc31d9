//! ELFN: explicit link failure notification (Holland & Vaidya, MobiCom 1999), as described in yu-2004 §3.1.
//!
//! A notification that one of its packets could not be sent over a link, or a route discovery of the local
//! node, puts TCP on standby: its retransmission timer is off, and every 2 s it sends the packet of the
//! notification as a probe. The first acknowledgment ends the standby. The crate `route` sends the
//! notifications (`routing.elfn`); ICMP errors and RFNs of other networks count as notifications as well, as
//! Holland & Vaidya intended.
//!
//! Interpretation of what the papers leave open:
//!
//! - *Window and timeout after the standby* ([`AfterStandby`](crate::kit::standby::AfterStandby)): yu-2004 compares both.
//! - *Salvaged packets* ([`FreezeOn`]): §3.2 discusses both and selects route failures.
//! - *Probe for a route discovery*, which refers to no packet: the first unacknowledged segment.
//! - *Further notifications* change nothing (§3.2).
//! - *Repeated notifications*: see [`standby`](crate::kit::standby).

use alloc::boxed::Box;

use driftway_base::{Act, ActResult, Named, PacketDisposition, Signal, SignalKind, named, options};
use driftway_wire::TcpSegment;

use crate::kit::standby::{
    Standby, StandbyOptions, State, Transition, reported_packets, segment_at,
};
use crate::kit::{Context, Machine, Protocol};
use crate::options::AidOptions;
use crate::{Aid, SegmentVerdict};

options! {
    /// Parameters that yu-2004 compares.
    pub struct ElfnOptions {
        ..standby: StandbyOptions,
        /// Link failures that put TCP on standby, in addition to route discoveries of the local node
        /// (yu-2004 §3.2).
        freeze_on: word(FreezeOn::RouteFailure),
    }
}

named! {
    /// Failures that put a sender on standby, in addition to route discovery of the local node.
    pub enum FreezeOn {
        /// Any link failure, including one after which the packet was salvaged.
        RouteFailure = "route-failure",
        /// Only a link failure that caused the loss of a packet.
        PacketLoss = "packet-loss",
    }
}

impl AidOptions for ElfnOptions {
    const NAME: &'static str = "elfn";
    const SUMMARY: &'static str =
        "ELFN (Holland & Vaidya 1999): puts TCP on standby after a link failure notification.";
    const STATES: &'static [(&'static str, &'static str)] = State::DESCRIPTIONS;

    fn build(self) -> Box<dyn Aid> {
        Box::new(Elfn::new(self))
    }
}

/// ELFN for one connection.
#[derive(Clone, Debug)]
pub struct Elfn {
    freeze_on: FreezeOn,
    standby: Standby,
}

impl Elfn {
    /// Creates the aid for a new connection.
    pub fn new(options: ElfnOptions) -> Machine<Self> {
        let ElfnOptions { standby, freeze_on } = options;
        Machine::new(Self { freeze_on, standby: Standby::new(standby) })
    }
}

impl Protocol for Elfn {
    type State = State;
    const NAME: &'static str = ElfnOptions::NAME;

    fn on_transition(&mut self, cx: &mut Context<'_, State>, _: State, transition: Transition) {
        if cx.state() == State::Active && transition == Transition::Ack {
            self.standby.end(cx);
        } else if cx.state() == State::Active {
            *cx.timer = None;
        }
    }

    fn on_up(&mut self, cx: &mut Context<'_, State>, _: &TcpSegment) -> SegmentVerdict {
        self.transition(cx, Transition::Ack);
        SegmentVerdict::Pass
    }

    fn on_processed(&mut self, cx: &mut Context<'_, State>) {
        self.standby.set_window(cx);
    }

    fn wants_taken(&self) -> bool {
        self.standby.is_window_pending()
    }

    fn on_signal(&mut self, cx: &mut Context<'_, State>, signal: &Signal) {
        let transition = match signal.kind {
            SignalKind::RouteDiscovery => Transition::RouteDiscovery,
            SignalKind::PacketLost { disposition: PacketDisposition::Salvaged, .. }
                if self.freeze_on == FreezeOn::PacketLoss =>
            {
                return;
            }
            SignalKind::PacketLost { .. }
            | SignalKind::RouteFailed
            | SignalKind::Unreachable(_) => Transition::Notification,
            _ => return,
        };
        let probe = match transition {
            Transition::RouteDiscovery => segment_at(cx.view, None),
            _ => reported_packets(signal, cx.view).next(),
        };
        if let Some(probe) = probe.filter(|_| cx.state() == State::Active) {
            self.standby.begin(cx, probe);
            self.transition(cx, transition);
        }
    }

    fn on_timeout(&mut self, cx: &mut Context<'_, State>) {
        if cx.take_expired_timer() {
            self.standby.on_probe_timer(cx);
        }
    }

    fn on_done(&mut self, cx: &mut Context<'_, State>, act: &Act, done: ActResult) {
        if matches!((act, done), (Act::Hold { .. }, ActResult::Unsupported)) {
            self.transition(cx, Transition::HoldUnsupported);
        }
    }
}

#[cfg(test)]
mod test;
