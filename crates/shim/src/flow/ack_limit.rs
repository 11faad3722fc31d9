//! An aid's limit on what the peer sees of the local TCP's acknowledgments.
//!
//! An aid may lower the acknowledgment number of an outgoing segment, close its window or drop it,
//! and send an acknowledgment itself later. The local TCP does not repeat what was withheld in this
//! way. So the limit ends without the aid, too: after a time, at a retransmission of the peer that
//! asks for it, and with the flow.

use driftway_base::{Instant, Seq, SignalKind};
use driftway_wire::{TcpFlags, TcpSegment};

use super::{Context, Flow};
use crate::packet::{EditableBytes, Segment};

/// The acknowledgments that the peer has seen, and those that the aid withholds from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckLimit {
    /// The highest acknowledgment number sent.
    pub sent_ack: Seq,
    /// The highest acknowledgment number that the peer may see; `None`: that of the local TCP.
    ack: Option<Seq>,
    /// The peer sees a closed window, and the local TCP's is open.
    closes_window: bool,
    /// Time at which the limit ends without the aid.
    ends_at: Instant,
    /// The peer has retransmitted data before this number after the local TCP had acknowledged
    /// them: they are not withheld again.
    asked_until: Seq,
    /// A closed window was opened without the aid, which may not close it before the next signal.
    keeps_window_open: bool,
    /// Time since which this host's link, or its route, is known to be down: nothing can reach the
    /// peer.
    down_since: Option<Instant>,
    /// The local TCP's last TSecr is from before an outage of the link.
    is_echo_old: bool,
}

impl AckLimit {
    /// Only the peer's SYN is acknowledged.
    pub fn new(ack: Seq) -> Self {
        Self {
            sent_ack: ack,
            ack: None,
            closes_window: false,
            ends_at: Instant::ZERO,
            asked_until: ack,
            keeps_window_open: false,
            down_since: None,
            is_echo_old: false,
        }
    }

    /// Returns whether anything is withheld.
    pub fn is_active(&self) -> bool {
        self.ack.is_some() || self.closes_window
    }

    /// The lowest acknowledgment number that may be sent: those of one end never decrease.
    pub fn lowest_ack(&self) -> Seq {
        self.sent_ack.max(self.asked_until)
    }

    /// Sets what is withheld from now on. The time runs from the first bytes that are withheld, and
    /// again from each advance of the acknowledgment number.
    fn set(&mut self, ack: Option<Seq>, closes_window: bool, ends_at: Instant) {
        let advances = ack.is_some_and(|ack| ack.after(self.sent_ack)) && !self.closes_window;
        if !self.is_active() || advances {
            // A warning has allowed for more time.
            self.ends_at = self.ends_at.max(ends_at);
        }
        (self.ack, self.closes_window) = (ack, closes_window);
    }
}

impl Flow {
    /// Returns whether the aid withholds anything from the peer.
    pub fn withholds_acks(&self) -> bool {
        self.ack_limit.is_active()
    }

    /// The acknowledgment number that the peer may see.
    pub(super) fn visible_ack(&self) -> Seq {
        let limit = self.ack_limit.ack.map(|ack| ack.max(self.ack_limit.lowest_ack()));
        limit.unwrap_or(self.local.ack)
    }

    /// The window field that the peer may see.
    pub(super) fn visible_window(&self) -> u16 {
        if self.ack_limit.closes_window { 0 } else { self.local.window }
    }

    /// Records the TSecr of a segment of the local TCP.
    pub(super) fn record_echo(&mut self, echo: u32) {
        self.ack_limit.is_echo_old &= echo == self.local.echo;
        self.local.echo = echo;
    }

    /// TSecr of an acknowledgment that is sent now, if the local TCP would send `echo`. One from
    /// before an outage would make the peer undo its timeout (RFC 3522), and take an RTT sample as
    /// long as the outage.
    pub(super) fn visible_echo(&self, echo: u32) -> u32 {
        if self.ack_limit.is_echo_old { 0 } else { echo }
    }

    fn limit_ends_at(&self, cx: &Context<'_>) -> Instant {
        cx.now + cx.config.hold_max
    }

    /// Limits the local TCP's segment `seen` to this acknowledgment number and window field. Returns
    /// the window field to send. Exempt are the peer's FIN, which is no byte, and a window that the
    /// local TCP itself has closed: its right edge would shrink.
    pub(super) fn limit_ack(
        &mut self,
        cx: &Context<'_>,
        seen: &TcpSegment,
        ack: Seq,
        window: u16,
    ) -> u16 {
        let has_fin = self.peer.fin_end.is_some_and(|fin| seen.ack.at_or_after(fin));
        let exempt = has_fin || seen.window == 0 || !seen.flags.contains(TcpFlags::ACK);
        let ack = ack.max(self.ack_limit.lowest_ack());
        let limit = Some(ack).filter(|ack| ack.before(seen.ack) && !exempt);
        let closes = window == 0 && seen.window > 0 && !self.ack_limit.keeps_window_open;
        let window = if window == 0 && !closes { seen.window } else { window };
        let ends_at = self.limit_ends_at(cx);
        self.ack_limit.set(limit, closes, ends_at);
        window
    }

    /// Lets the peer see everything.
    pub(super) fn lift_ack_limit(&mut self) {
        (self.ack_limit.ack, self.ack_limit.closes_window) = (None, false);
    }

    /// Applies the limit to the local TCP's `segment`, whose bytes are `packet`, as it leaves.
    pub(super) fn apply_ack_limit(
        &mut self,
        cx: &mut Context<'_>,
        segment: &Segment,
        packet: &mut EditableBytes<'_>,
    ) {
        if !self.ack_limit.is_active() || !segment.has_flags(TcpFlags::ACK) {
            return self.hold_back(cx, segment, packet);
        }
        if self.ack_limit.closes_window {
            segment.set_window(packet, 0);
        }
        let ack = segment.ack.min(self.visible_ack());
        if ack.before(segment.ack) {
            segment.set_ack(packet, ack);
            cx.counts.held_back += 1;
        }
        self.on_ack_sent(ack);
    }

    /// Records that `ack` was sent to the peer.
    pub(super) fn on_ack_sent(&mut self, ack: Seq) {
        self.ack_limit.sent_ack = self.ack_limit.sent_ack.max(ack);
    }

    /// Records that the shim has sent this acknowledgment number and window field in a segment of
    /// its own: what it lacks is withheld.
    pub(super) fn on_own_ack_sent(&mut self, cx: &Context<'_>, ack: Seq, window: u16) {
        let limit = Some(ack).filter(|ack| ack.before(self.local.ack));
        let closes = window == 0 && self.local.window > 0;
        let ends_at = self.limit_ends_at(cx);
        self.ack_limit.set(limit, closes, ends_at);
        self.on_ack_sent(ack);
    }

    /// Records a segment of the peer. One that was not in flight when the link went down shows that
    /// it is up. A retransmission of data that the local TCP has acknowledged asks for the
    /// acknowledgment, which the local TCP repeats.
    pub(super) fn loosen_ack_limit(&mut self, cx: &Context<'_>, segment: &Segment) {
        let late = self.rtt.response_timeout();
        if self.ack_limit.down_since.is_some_and(|since| cx.now >= since + late) {
            self.ack_limit.down_since = None;
            self.ack_limit.ends_at = self.limit_ends_at(cx);
        }
        let range = segment.range();
        let asks = range.start.before(self.local.ack) && range.end.after(self.ack_limit.sent_ack);
        if self.ack_limit.ack.is_some() && asks {
            self.ack_limit.asked_until = self.local.ack;
        }
    }

    /// Records a signal about this host's link or route. While it is down, acknowledgments are
    /// withheld without a limit in time: they could not reach the peer.
    pub(super) fn record_link_signal(&mut self, cx: &Context<'_>, kind: SignalKind) {
        let ends_at = self.limit_ends_at(cx);
        let limit = &mut self.ack_limit;
        match kind {
            SignalKind::RouteFailed | SignalKind::LinkDown => {
                limit.down_since = limit.down_since.or(Some(cx.now));
                limit.keeps_window_open = false;
            }
            SignalKind::RouteRestored | SignalKind::LinkUp => {
                limit.is_echo_old |= limit.down_since.is_some();
                (limit.down_since, limit.keeps_window_open) = (None, false);
                limit.ends_at = ends_at;
            }
            SignalKind::LinkFading { expected_lifetime } => {
                limit.keeps_window_open = false;
                limit.ends_at = ends_at + expected_lifetime.times(2);
            }
            _ => {}
        }
    }

    /// Time at which the limit ends without the aid.
    pub(super) fn ack_limit_timeout(&self) -> Option<Instant> {
        let runs = self.ack_limit.is_active() && self.ack_limit.down_since.is_none();
        runs.then_some(self.ack_limit.ends_at)
    }

    /// Ends the limit without the aid; everything is to be sent.
    pub(super) fn end_ack_limit(&mut self) {
        self.ack_limit.keeps_window_open |= self.ack_limit.closes_window;
        self.lift_ack_limit();
    }
}
