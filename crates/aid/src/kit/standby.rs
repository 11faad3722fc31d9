//! Standby of a sender: it sends only probes until it receives an acknowledgment.

use driftway_base::{
    Act, Assign, Duration, HeldTimers, Release, Seq, SeqRange, Signal, SignalKind, TcpView, named,
    options,
};

use super::{Context, DEFAULT_MSS, States};

options! {
    /// Standby parameters (yu-2004 §3.1, after Holland & Vaidya 1999).
    pub struct StandbyOptions {
        /// Interval between two probes, and between the beginning of a standby and the first probe
        /// (yu-2004 §5.1).
        probe_interval: time(2 s, Self::MIN_INTERVAL..),
        /// Congestion window and retransmission timeout after a standby.
        // The alternative to the default makes TCP wait for a long timeout when more is lost than the window
        // allows to send (yu-2004 §3.1).
        after: word(AfterStandby::Previous),
        /// Retransmission timeout after a standby with `after = "defaults"` (yu-2004 §3.1).
        default_rto: time(6 s, Self::MIN_INTERVAL..),
        /// Congestion window in segments after a standby with `after = "defaults"` (yu-2004 §3.1).
        default_cwnd: count(2, 1..=Self::MAX_CWND),
    }
}

named! {
    /// Window and RTO after a standby.
    pub enum AfterStandby {
        /// The values before the standby, without back-off.
        Previous = "old",
        /// The values of `default_cwnd` and `default_rto`.
        Defaults = "defaults",
    }
}

impl StandbyOptions {
    /// Minimum interval.
    pub const MIN_INTERVAL: Duration = Duration::from_millis(1);
    /// Maximum window (segments).
    pub const MAX_CWND: u32 = 1 << 16;
}

named! {
    /// States of a sender with standby.
    pub enum State {
        /// Normal TCP operation.
        Active = "active",
        /// TCP sends nothing, and its retransmission timer is off.
        Standby = "standby",
    }
}

named! {
    /// Transitions of a sender with standby.
    pub enum Transition {
        /// A link failure notification was received.
        Notification = "link failure notification",
        /// The local node started a route discovery.
        RouteDiscovery = "route discovery",
        /// An acknowledgment was received, new or duplicate.
        Ack = "ACK",
        /// The driver does not support [`Act::Hold`].
        HoldUnsupported = "unsupported by the driver",
        /// The connection is closed.
        Closed = "connection closed",
    }
}

impl States for State {
    type Transition = Transition;
    const INITIAL: Self = Self::Active;
    const CLOSED: Transition = Transition::Closed;
    const DISCONNECTED: &'static [Self] = &[Self::Standby];

    fn next(self, transition: Transition) -> Self {
        match (self, transition) {
            // yu-2004 §3.2
            (Self::Active, Transition::Notification | Transition::RouteDiscovery) => Self::Standby,
            // yu-2004 §3.1, algorithm 2
            (Self::Standby, Transition::Ack) => Self::Active,
            // Not in the paper.
            (Self::Standby, Transition::HoldUnsupported | Transition::Closed) => Self::Active,
            (unmoved, _) => unmoved,
        }
    }
}

/// Variables of a standby.
#[derive(Clone, Debug)]
pub(crate) struct Standby {
    options: StandbyOptions,
    /// Payload of the next probe.
    probe: SeqRange,
    /// SND.UNA when the last standby began.
    una_at_start: Option<Seq>,
    /// The standby has ended, and the window is to be set when TCP has processed the acknowledgment.
    is_window_pending: bool,
}

impl Standby {
    pub fn new(mut options: StandbyOptions) -> Self {
        let least = StandbyOptions::MIN_INTERVAL;
        options.probe_interval = options.probe_interval.max(least);
        options.default_rto = options.default_rto.max(least);
        Self {
            options,
            probe: SeqRange::new(Seq(0), Seq(0)),
            una_at_start: None,
            is_window_pending: false,
        }
    }

    /// First sequence number of the next probe.
    pub const fn probe_start(&self) -> Seq {
        self.probe.start
    }

    /// Begins a standby with this packet as the probe.
    ///
    /// Notifications can be forged. Repeated notifications about a packet that has arrived would make TCP
    /// retransmit it forever; therefore, if nothing was acknowledged since the last standby began, the probe
    /// is the first unacknowledged segment. This rule is not in the paper.
    pub fn begin(&mut self, cx: &mut Context<'_, State>, probe: SeqRange) {
        self.probe = probe;
        let una = cx.view.snd_una.value();
        if self.una_at_start.is_some() && self.una_at_start == una {
            self.probe = segment_at(cx.view, None).unwrap_or(probe);
        }
        self.una_at_start = una;
        *cx.timer = Some(cx.now + self.options.probe_interval);
        cx.request(Act::Hold {
            probe: None,
            rewind_snd_nxt: false,
            timers: HeldTimers::Stop,
            cwnd: Assign::Keep,
            release: Release::Resume,
        });
    }

    /// Replaces the packet of the probe.
    pub const fn set_probe(&mut self, probe: SeqRange) {
        self.probe = probe;
    }

    /// Sends the probe without changing the window or taking an RTT sample.
    pub fn send_probe(&self, cx: &mut Context<'_, State>) {
        cx.request(Act::Resend { range: self.probe, ahead_of_queue: false });
    }

    /// Sends a probe on timer expiry, and restarts the timer.
    pub fn on_probe_timer(&mut self, cx: &mut Context<'_, State>) {
        *cx.timer = Some(cx.now + self.options.probe_interval);
        // Acknowledged data cannot be retransmitted.
        if let Some(una) = cx.view.snd_una.value()
            && self.probe.end.at_or_before(una)
        {
            self.probe = segment_at(cx.view, None).unwrap_or(self.probe);
        }
        self.send_probe(cx);
    }

    /// Ends the standby; TCP resumes with the acknowledgment being delivered.
    pub fn end(&mut self, cx: &mut Context<'_, State>) {
        *cx.timer = None;
        self.is_window_pending = self.options.after == AfterStandby::Defaults;
        let rto = match self.options.after {
            AfterStandby::Previous => Assign::Keep,
            AfterStandby::Defaults => Assign::Value(self.options.default_rto),
        };
        cx.request(Act::Resume { cwnd: Assign::Keep, ssthresh: Assign::Keep, rto });
    }

    /// Returns true if the window is to be set when TCP has processed the acknowledgment.
    pub const fn is_window_pending(&self) -> bool {
        self.is_window_pending
    }

    /// Sets the window after TCP has processed the acknowledgment. In yu-2004 §3.2 a window of two sends two
    /// packets for it, so the window is set after TCP has increased it.
    pub fn set_window(&mut self, cx: &mut Context<'_, State>) {
        if core::mem::take(&mut self.is_window_pending) {
            let mss = cx.view.mss.value().unwrap_or(DEFAULT_MSS);
            let cwnd = Assign::Value(self.options.default_cwnd.saturating_mul(mss));
            cx.request(Act::Resume { cwnd, ssthresh: Assign::Keep, rto: Assign::Keep });
        }
    }
}

/// The segment at `start`, or the first unacknowledged segment; `None` if there is no outstanding data at
/// that number.
pub(crate) fn segment_at(view: &TcpView, start: Option<Seq>) -> Option<SeqRange> {
    let outstanding = view.outstanding()?;
    let start = start.unwrap_or(outstanding.start);
    let mss = view.mss.value().unwrap_or(DEFAULT_MSS);
    let end = (start + mss).min(outstanding.end);
    outstanding.contains(start).then_some(SeqRange::new(start, end))
}

/// The packets of a notification that are outstanding (yu-2004 algorithm 2: other packets are ignored). A
/// notification with only a sequence number refers to the segment at that number.
pub(crate) fn reported_packets<'a>(
    signal: &'a Signal,
    view: &'a TcpView,
) -> impl Iterator<Item = SeqRange> + 'a {
    let (ranges, quoted) = match &signal.kind {
        SignalKind::PacketLost { ranges, .. } => (ranges.as_slice(), None),
        _ => (&[][..], segment_at(view, signal.details.seq)),
    };
    let outstanding = view.outstanding();
    let there = move |range: &SeqRange| {
        outstanding.is_some_and(|all| all.contains(range.start)) && !range.is_empty()
    };
    ranges.iter().copied().chain(quoted).filter(there)
}

/// Asserts that the transitions are those of the paper.
#[cfg(test)]
pub(crate) fn assert_standby_transitions() {
    use Transition::{Ack, Notification, RouteDiscovery};
    let arrows = [
        (State::Active, Notification, State::Standby),
        (State::Active, RouteDiscovery, State::Standby),
        (State::Standby, Ack, State::Active),
    ];
    super::assert_transitions(&arrows, &[Transition::HoldUnsupported, Transition::Closed]);
}
