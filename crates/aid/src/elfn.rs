//! ELFN: explicit link failure notification (Holland & Vaidya, MobiCom 1999), as yu-2004 §3.1 has it.
//!
//! A notice that a link did not carry one of its packets, or its own node's search for a route, makes
//! TCP stand by: its retransmission timer is off, and every 2 s it sends the packet that the notice was
//! about. The first acknowledgment ends that. Who sends notices is the crate `route` (`routing.elfn`);
//! the ICMP errors and RFNs of other networks are notices, too, as Holland & Vaidya thought of.
//!
//! What the texts leave open, and how it is read here:
//!
//! - *The window and the timeout after it* ([`After`]): yu-2004 compares both.
//! - *Whether packets that were salvaged count* ([`FreezeOn`]): §3.2 discusses both, and takes route
//!   failures.
//! - *What is sent for a search*, which names no packet: the first unacknowledged segment.
//! - *Further notices* change nothing (§3.2).
//! - *Notices one after the other*: see [`kit`](crate::kit)'s standby.

use alloc::boxed::Box;

use driftway_base::{Act, ActResult, PacketDisposition, Signal, SignalKind};
use driftway_wire::TcpSegment;

use crate::kit::standby::{
    AfterStandby, Standby, StandbyOptions, State, Transition, reported_packets, segment_at,
    standby_options,
};
use crate::kit::{Context, Machine, Protocol};
use crate::options::{AidOption, AidOptions, OptionField};
use crate::{Aid, Verdict};

/// What yu-2004 compares.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ElfnOptions {
    /// How it stands by.
    pub standby: StandbyOptions,
    /// What makes it stand by.
    pub freeze_on: FreezeOn,
}

/// What makes a sender stand by, beside its own node's search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FreezeOn {
    /// Any failure of a link, even if the packet has another way.
    #[default]
    RouteFailure,
    /// A packet that is lost.
    PacketLoss,
}

impl AidOptions for ElfnOptions {
    const NAME: &'static str = "elfn";
    const SUMMARY: &'static str =
        "ELFN (Holland & Vaidya 1999): stands by after a notice, and probes every 2 s";
    const OPTIONS: &'static [AidOption<Self>] = standby_options!(
        standby,
        AidOption {
            name: "freeze_on",
            about: "what makes it stand by: any failure of a link, or a packet that is lost",
            field: OptionField::Choice(&[
                ("route-failure", |o| o.freeze_on = FreezeOn::RouteFailure),
                ("packet-loss", |o| o.freeze_on = FreezeOn::PacketLoss),
            ]),
        },
    );

    fn build(self) -> Box<dyn Aid> {
        Box::new(Elfn::new(self))
    }
}

/// ELFN to one connection.
#[derive(Clone, Debug)]
pub struct Elfn {
    freeze_on: FreezeOn,
    standby: Standby,
}

impl Elfn {
    /// To a new connection.
    pub fn new(options: ElfnOptions) -> Machine<Self> {
        let ElfnOptions { standby, freeze_on } = options;
        Machine::new(Self { freeze_on, standby: Standby::new(standby) })
    }
}

impl Protocol for Elfn {
    type State = State;
    const NAME: &'static str = ElfnOptions::NAME;

    fn on_transition(&mut self, cx: &mut Context<'_, State>, _: State, cause: Transition) {
        if cx.state() == State::Active && cause == Transition::Ack {
            self.standby.end(cx);
        } else if cx.state() == State::Active {
            *cx.timer = None;
        }
    }

    fn on_up(&mut self, cx: &mut Context<'_, State>, _: &TcpSegment) -> Verdict {
        self.transition(cx, Transition::Ack);
        Verdict::Pass
    }

    fn on_processed(&mut self, cx: &mut Context<'_, State>) {
        self.standby.set_window(cx);
    }

    fn wants_taken(&self) -> bool {
        self.standby.is_window_pending()
    }

    fn on_signal(&mut self, cx: &mut Context<'_, State>, signal: &Signal) {
        let cause = match signal.kind {
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
        let probe = match cause {
            Transition::RouteDiscovery => segment_at(cx.view, None),
            _ => reported_packets(signal, cx.view).next(),
        };
        if let Some(probe) = probe.filter(|_| cx.state() == State::Active) {
            self.standby.begin(cx, probe);
            self.transition(cx, cause);
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
