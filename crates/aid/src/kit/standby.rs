//! A sender that stands by: it sends nothing but a probe now and then, until it hears of its peer.

use driftway_base::{Act, Assign, Duration, Release, Seq, SeqRange, Signal, SignalKind, TcpView};

use super::{Context, DEFAULT_MSS, States, named};

/// How a sender stands by (yu-2004 §3.1, after Holland & Vaidya 1999).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandbyOptions {
    /// From its beginning to the first probe, and from one probe to the next. yu-2004 §5.1: 2 s.
    pub probe_interval: Duration,
    /// What the window and the timeout are after it.
    pub after_standby: AfterStandby,
    /// The timeout after it with [`After::Defaults`]. yu-2004 §3.1: 6 s.
    pub default_rto: Duration,
    /// The window after it with [`After::Defaults`] (segments). yu-2004 §3.1: 2.
    pub default_cwnd: u32,
}

/// What the window and the timeout are after a standby.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AfterStandby {
    /// What they were before, a back-off taken back. Default: the other one makes TCP wait for a long
    /// timeout where it has lost more than it may send (yu-2004 §3.1).
    #[default]
    Previous,
    /// What a new connection has.
    Defaults,
}

impl StandbyOptions {
    /// The shortest interval.
    pub const MIN_INTERVAL: Duration = Duration::from_millis(1);
    /// The largest window (segments).
    pub const MAX_CWND: u32 = 1 << 16;
}

impl Default for StandbyOptions {
    fn default() -> Self {
        Self {
            probe_interval: Duration::from_secs(2),
            after_standby: AfterStandby::default(),
            default_rto: Duration::from_secs(6),
            default_cwnd: 2,
        }
    }
}

/// The options of an aid that has [`StandbyOptions`] in its field of this name, and others.
macro_rules! standby_options {
    ($field:ident $(, $other:expr)* $(,)?) => {
        &[
            AidOption {
                name: "probe_interval",
                about: "from the beginning of a standby to its first probe, and between probes",
                set: Set::Duration {
                    at_least: StandbyOptions::LEAST_INTERVAL,
                    at: |o| &mut o.$field.probe_interval,
                },
            },
            AidOption {
                name: "after",
                about: "the window and the timeout after a standby: the old ones, or defaults",
                set: Set::Choice(&[
                    ("old", |o| o.$field.after = After::Old),
                    ("defaults", |o| o.$field.after = After::Defaults),
                ]),
            },
            AidOption {
                name: "default_rto",
                about: "with `after = \"defaults\"`, the timeout",
                set: Set::Duration {
                    at_least: StandbyOptions::LEAST_INTERVAL,
                    at: |o| &mut o.$field.default_rto,
                },
            },
            AidOption {
                name: "default_cwnd",
                about: "with `after = \"defaults\"`, the window in segments",
                set: Set::Count {
                    least: 1,
                    most: StandbyOptions::MOST_CWND,
                    at: |o| &mut o.$field.default_cwnd,
                },
            },
            $($other,)*
        ]
    };
}
pub(crate) use standby_options;

named! {
    /// Where a sender is that can stand by.
    pub enum State {
        /// TCP works as it would by itself.
        Active = "active",
        /// TCP sends nothing, and its retransmission timer is off.
        Standby = "standby",
    }
}

named! {
    /// What moves it.
    pub enum Transition {
        /// A notice that a link did not carry a packet.
        Notification = "notice",
        /// The own node looks for a route.
        RouteDiscovery = "search",
        /// An acknowledgment came, whatever it acknowledges.
        Ack = "ACK",
        /// The driver can't hold TCP.
        HoldUnsupported = "driver refuses",
        /// There is no connection any more.
        Closed = "connection gone",
    }
}

impl States for State {
    type Transition = Transition;
    const INITIAL: Self = Self::Active;
    const CLOSED: Transition = Transition::Closed;

    fn next(self, cause: Transition) -> Self {
        match (self, cause) {
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

/// What a sender keeps while it stands by.
#[derive(Clone, Debug)]
pub(crate) struct Standby {
    options: StandbyOptions,
    /// What the next probe carries.
    probe: SeqRange,
    /// The first unacknowledged number when it last began to stand by.
    una_at_start: Option<Seq>,
    /// It has ended with the acknowledgment that TCP takes now, and the window is still to be set.
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

    /// Where the next probe begins.
    pub const fn probe_start(&self) -> Seq {
        self.probe.start
    }

    /// It begins, and this packet is its probe.
    ///
    /// A notice can be forged. Whoever sent one after the other about a packet that has arrived could
    /// keep TCP at repeating that for ever; so where nothing was acknowledged since the last standby
    /// began, the first unacknowledged segment is the probe. That is ours.
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
            freeze_timers: false,
            cwnd: Assign::Keep,
            release: Release::Resume,
        });
    }

    /// The probe is this packet from now on.
    pub const fn set_probe(&mut self, probe: SeqRange) {
        self.probe = probe;
    }

    /// Sends the probe, without touching the window or taking a round-trip sample.
    pub fn send_probe(&self, cx: &mut Context<'_, State>) {
        cx.request(Act::Resend { range: self.probe, ahead_of_queue: false });
    }

    /// The timer is due: probes, and waits again.
    pub fn on_probe_timer(&mut self, cx: &mut Context<'_, State>) {
        *cx.timer = Some(cx.now + self.options.probe_interval);
        // What is acknowledged can't go again.
        if let Some(una) = cx.view.snd_una.value()
            && self.probe.end.at_or_before(una)
        {
            self.probe = segment_at(cx.view, None).unwrap_or(self.probe);
        }
        self.send_probe(cx);
    }

    /// It ends; TCP goes on with the acknowledgment that has come.
    pub fn end(&mut self, cx: &mut Context<'_, State>) {
        *cx.timer = None;
        self.is_window_pending = self.options.after_standby == AfterStandby::Defaults;
        let rto = match self.options.after_standby {
            AfterStandby::Previous => Assign::Keep,
            AfterStandby::Defaults => Assign::Value(self.options.default_rto),
        };
        cx.request(Act::Resume { cwnd: Assign::Keep, ssthresh: Assign::Keep, rto });
    }

    /// Is the window to be set once TCP has taken the acknowledgment?
    pub const fn is_window_pending(&self) -> bool {
        self.is_window_pending
    }

    /// TCP has taken the acknowledgment. yu-2004 §3.2 sends two packets for it with a window of two, so
    /// the window is set after it has grown.
    pub fn set_window(&mut self, cx: &mut Context<'_, State>) {
        if core::mem::take(&mut self.is_window_pending) {
            let mss = cx.view.mss.value().unwrap_or(DEFAULT_MSS);
            let cwnd = Assign::Value(self.options.default_cwnd.saturating_mul(mss));
            cx.request(Act::Resume { cwnd, ssthresh: Assign::Keep, rto: Assign::Keep });
        }
    }
}

/// The segment from `start` on, or from the first unacknowledged number on; `None`: nothing is
/// outstanding there.
pub(crate) fn segment_at(view: &TcpView, start: Option<Seq>) -> Option<SeqRange> {
    let outstanding = view.outstanding()?;
    let start = start.unwrap_or(outstanding.start);
    let mss = view.mss.value().unwrap_or(DEFAULT_MSS);
    let end = (start + mss).min(outstanding.end);
    outstanding.contains(start).then_some(SeqRange::new(start, end))
}

/// The packets that a notice is about, as far as they are outstanding (yu-2004 algorithm 2: no other
/// packet counts). One that quotes a number only is about the segment there.
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

/// Checks that the arrows are those of the paper.
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
