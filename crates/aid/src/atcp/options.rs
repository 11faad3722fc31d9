//! What the paper leaves open about ATCP, and what is taken when nobody says otherwise.

use alloc::boxed::Box;
use driftway_base::Duration;

use super::Atcp;
use crate::Aid;
use crate::options::{AidOption, AidOptions, OptionField};

/// What ATCP retransmits when it enters the loss state, and whenever its own timer goes off there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LossRetransmission {
    /// The first unacknowledged segment.
    #[default]
    First,
    /// Everything unacknowledged, as far as asnd_cwnd allows.
    All,
}

/// Where ATCP's retransmissions enter the sender's own interface queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum QueuePosition {
    /// Before whatever waits there.
    #[default]
    Ahead,
    /// At its end.
    Behind,
}

/// What takes ATCP from the loss state back to normal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LossExit {
    /// A new acknowledgment.
    #[default]
    Ack,
    /// A new acknowledgment, or new data from the peer.
    AckOrData,
}

/// Whether the echo of a congestion mark comes before the acknowledgment that carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum EchoOrder {
    /// It does: a loss state ends as congested, and its window is not given back.
    #[default]
    First,
    /// A new acknowledgment ends the loss state, and then the echo counts.
    AfterAck,
}

/// When the window is given back that TCP had before a loss state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CwndRestoreTime {
    /// Before TCP takes the acknowledgment that ends it.
    #[default]
    Before,
    /// After that: it undoes what TCP does about an echo in the same segment.
    After,
}

/// Which duplicates are kept from TCP in the loss state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WithheldDuplicates {
    /// All.
    #[default]
    All,
    /// The third, which began it.
    Third,
}

/// What takes ATCP from the congested state back to normal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CongestedExit {
    /// Anything that TCP sends, acknowledgments included.
    #[default]
    Segment,
    /// Sequence numbers that TCP never sent before.
    NewData,
}

/// ATCP's options. Where liu-singh-2001 can be read in two ways, both are here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtcpOptions {
    /// From one look at TCP's and ATCP's retransmission timers to the next; at least
    /// [`AtcpOptions::MIN_TICK`]. 500 ms, as liu-singh-2001 §IV says. A TCP whose RTO can be
    /// shorter than this times out between two looks.
    pub tick: Duration,
    /// The first look of all; the others follow at whole ticks from it. A scenario that leaves it
    /// out gets the first tick of the host's clock, so that looks fall together with the ticks of
    /// a coarse TCP clock and come before them. The default is that of a clock without a phase.
    pub tick_phase: Duration,
    /// From a disconnection to TCP's first persist probe. 2 s, as liu-singh-2001 §V-C says; the
    /// 4.4BSD that the authors changed has 5 s.
    pub persist_min: Duration,
    /// The longest gap between two probes. 60 s, as liu-singh-2001 §V-C and 4.4BSD say.
    pub persist_max: Duration,
    /// liu-singh-2001 §III-A lets ATCP transmit the unacknowledged segments, which can mean all of
    /// them; §IV resends the one that timed out, and §V-A speaks of one. The first is
    /// the default: with one lost packet out of thirty most of a window has arrived, and sending
    /// it again costs more than it repairs, which Fig. 8 excludes.
    pub resend: LossRetransmission,
    /// liu-singh-2001 §IV calls tcp_output(), after which a packet would wait behind the sender's
    /// own data in the queue that emulates the link. Ahead of it is the default: only if the
    /// repair does not wait behind the window that is stalled for it does the transfer time stay
    /// flat over the delay, as in Fig. 8.
    pub retransmission: QueuePosition,
    /// liu-singh-2001 §III-A leaves the loss state at a new acknowledgment, §IV at new data too.
    /// In a one-way transfer, all that the paper measures, they are the same. The first is the
    /// default: data of the peer says nothing about the hole, so that in a two-way transfer ATCP
    /// would fall back into loss, and retransmit again, for each segment of the peer's.
    pub leave_loss: LossExit,
    /// Does ATCP's own retransmission timer double at each expiry (up to 64 s)? The text gives
    /// ATCP timers of its own and no rule for them. It does by default: Fig. 4 "adjusts"
    /// the RTO, which in the BSD code around it is the doubling, and RFC 6298 §5.5 asks for it.
    pub backoff: bool,
    /// liu-singh-2001 §III-A leaves the congested state when TCP transmits "a new segment", §IV
    /// when it sends "a packet". The latter is the default because §V measured what §IV
    /// describes, and because a peer repeats its echo until the sender's window is reduced
    /// (RFC 3168 §6.1.3), which takes ATCP back as long as the congestion lasts.
    pub congested_until: CongestedExit,
    /// liu-singh-2001 §IV has atcp_input() look at the ECN bit before all else in the normal state, and says
    /// nothing of that order in the loss state. First is the default: one order for both.
    pub echo: EchoOrder,
    /// liu-singh-2001 §IV sets TCP's window to ATCP's, if that is larger, once TCP is out of persist
    /// mode, which is before or after tcp_input() has the segment. Before is the default: what
    /// TCP does about a mark in it is left alone then, as §III-A asks.
    pub restore: CwndRestoreTime,
    /// liu-singh-2001 §III-A keeps the third duplicate from TCP and does not speak of those that follow.
    /// All is the default: a TCP that is resumed must not find them counted.
    pub duplicates: WithheldDuplicates,
    /// Does TCP go back to SND.UNA when it is disconnected? 4.4BSD does when the peer's window closes,
    /// which is how liu-singh-2001 §IV puts it in persist mode. It does by default.
    pub pull_back: bool,
}

impl AtcpOptions {
    /// The shortest tick.
    pub const MIN_TICK: Duration = Duration::from_millis(1);
}

impl Default for AtcpOptions {
    fn default() -> Self {
        Self {
            tick: Duration::from_millis(500),
            tick_phase: Duration::ZERO,
            persist_min: Duration::from_secs(2),
            persist_max: Duration::from_secs(60),
            resend: LossRetransmission::default(),
            retransmission: QueuePosition::default(),
            leave_loss: LossExit::default(),
            backoff: true,
            congested_until: CongestedExit::default(),
            echo: EchoOrder::default(),
            restore: CwndRestoreTime::default(),
            duplicates: WithheldDuplicates::default(),
            pull_back: true,
        }
    }
}

impl AidOptions for AtcpOptions {
    const NAME: &'static str = "atcp";
    const SUMMARY: &'static str =
        "ATCP (Liu & Singh 2001): tells loss, congestion and partition apart";
    const OPTIONS: &'static [AidOption<Self>] = &[
        AidOption {
            name: "tick",
            about: "from one look at the retransmission timers to the next",
            field: OptionField::Duration { min: Self::MIN_TICK, field: |o| &mut o.tick },
        },
        AidOption {
            name: "tick_phase",
            about: "the first look of all",
            field: OptionField::FirstTick(|o| &mut o.tick_phase),
        },
        AidOption {
            name: "persist_min",
            about: "from a disconnection to the first persist probe",
            field: OptionField::Duration { min: Self::MIN_TICK, field: |o| &mut o.persist_min },
        },
        AidOption {
            name: "persist_max",
            about: "the longest gap between two persist probes",
            field: OptionField::Duration { min: Self::MIN_TICK, field: |o| &mut o.persist_max },
        },
        AidOption {
            name: "resend",
            about: "what is retransmitted in the loss state",
            field: OptionField::Choice(&[
                ("first", |o| o.resend = LossRetransmission::First),
                ("all", |o| o.resend = LossRetransmission::All),
            ]),
        },
        AidOption {
            name: "retransmission",
            about: "before or behind what waits in the sender's own queue",
            field: OptionField::Choice(&[
                ("ahead", |o| o.retransmission = QueuePosition::Ahead),
                ("behind", |o| o.retransmission = QueuePosition::Behind),
            ]),
        },
        AidOption {
            name: "leave_loss",
            about: "what ends the loss state",
            field: OptionField::Choice(&[
                ("ack", |o| o.leave_loss = LossExit::Ack),
                ("ack-or-data", |o| o.leave_loss = LossExit::AckOrData),
            ]),
        },
        AidOption {
            name: "backoff",
            about: "does the timer of the loss state double at each expiry",
            field: OptionField::Flag(|o| &mut o.backoff),
        },
        AidOption {
            name: "congested_until",
            about: "what ends the congested state",
            field: OptionField::Choice(&[
                ("segment", |o| o.congested_until = CongestedExit::Segment),
                ("new-data", |o| o.congested_until = CongestedExit::NewData),
            ]),
        },
        AidOption {
            name: "echo",
            about: "a mark's echo counts before the acknowledgment that carries it, or after",
            field: OptionField::Choice(&[
                ("first", |o| o.echo = EchoOrder::First),
                ("after-ack", |o| o.echo = EchoOrder::AfterAck),
            ]),
        },
        AidOption {
            name: "restore",
            about: "the window of before a loss comes back before TCP takes the segment, or after",
            field: OptionField::Choice(&[
                ("before", |o| o.restore = CwndRestoreTime::Before),
                ("after", |o| o.restore = CwndRestoreTime::After),
            ]),
        },
        AidOption {
            name: "duplicates",
            about: "which duplicates are kept from TCP in the loss state",
            field: OptionField::Choice(&[
                ("all", |o| o.duplicates = WithheldDuplicates::All),
                ("third", |o| o.duplicates = WithheldDuplicates::Third),
            ]),
        },
        AidOption {
            name: "pull_back",
            about: "does TCP go back to SND.UNA when it is disconnected",
            field: OptionField::Flag(|o| &mut o.pull_back),
        },
    ];

    const ORDERED_OPTIONS: &'static [(&'static str, &'static str)] =
        &[("persist_min", "persist_max")];

    fn build(self) -> Box<dyn Aid> {
        Box::new(Atcp::new(self))
    }
}
