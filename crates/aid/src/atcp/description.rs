//! ATCP as one of the aids: its name, its states and the keys of its options.

use alloc::boxed::Box;

use super::options::{
    AtcpOptions, CongestedExit, CwndRestoreTime, EchoOrder, LossExit, LossRetransmission,
    QueuePosition, WithheldDuplicates,
};
use super::{Atcp, State};
use crate::Aid;
use crate::kit::Named;
use crate::options::{AidOption, AidOptions, OptionChoice, OptionField};

impl AidOptions for AtcpOptions {
    const NAME: &'static str = "atcp";
    const SUMMARY: &'static str =
        "ATCP (Liu & Singh 2001): distinguishes loss, congestion and partition.";
    const STATES: &'static [(&'static str, &'static str)] = <State as Named>::DESCRIPTIONS;
    const OPTIONS: &'static [AidOption<Self>] = &[
        AidOption {
            name: "tick",
            about: "Interval between checks of TCP's and ATCP's retransmission timers (liu-singh-2001 \
                §IV). A TCP with a shorter retransmission timeout times out between two checks.",
            field: OptionField::Duration {
                min: Self::MIN_TICK,
                max: driftway_base::Duration::MAX,
                field: |o| &mut o.tick,
            },
        },
        AidOption {
            name: "tick_phase",
            about: "Time of the first check of the retransmission timers; the others follow at \
                multiples of `tick`. Default: the first tick of the host's clock.",
            field: OptionField::FirstTick(|o| &mut o.tick_phase),
        },
        AidOption {
            name: "persist_min",
            about: "Time from entering the disconnected state to TCP's first persist probe \
                (liu-singh-2001 §V-C).",
            field: OptionField::Duration {
                min: Self::MIN_TICK,
                max: driftway_base::Duration::MAX,
                field: |o| &mut o.persist_min,
            },
        },
        AidOption {
            name: "persist_max",
            about: "Maximum interval between two persist probes (liu-singh-2001 §V-C).",
            field: OptionField::Duration {
                min: Self::MIN_TICK,
                max: driftway_base::Duration::MAX,
                field: |o| &mut o.persist_max,
            },
        },
        AidOption {
            name: "resend",
            about: "Data that ATCP retransmits when it enters the loss state and when its \
                retransmission timer expires (liu-singh-2001 §III-A, §IV).",
            field: OptionField::Choice(&[
                OptionChoice {
                    name: "first",
                    about: "The first unacknowledged segment.",
                    set: |o| o.resend = LossRetransmission::First,
                },
                OptionChoice {
                    name: "all",
                    about: "All unacknowledged data within ATCP's congestion window.",
                    set: |o| o.resend = LossRetransmission::All,
                },
            ]),
        },
        AidOption {
            name: "retransmission",
            about: "Position of ATCP's retransmissions in the sender's interface queue.",
            field: OptionField::Choice(&[
                OptionChoice {
                    name: "ahead",
                    about: "At the head of the queue, so that a retransmission overtakes the waiting \
                        packets.",
                    set: |o| o.retransmission = QueuePosition::Ahead,
                },
                OptionChoice {
                    name: "behind",
                    about: "At the tail of the queue, as other packets.",
                    set: |o| o.retransmission = QueuePosition::Behind,
                },
            ]),
        },
        AidOption {
            name: "leave_loss",
            about: "Event that ends the loss state.",
            field: OptionField::Choice(&[
                OptionChoice {
                    name: "ack",
                    about: "A new acknowledgment (liu-singh-2001 §III-A).",
                    set: |o| o.leave_loss = LossExit::Ack,
                },
                OptionChoice {
                    name: "ack-or-data",
                    about: "A new acknowledgment, or new data from the peer (liu-singh-2001 §IV).",
                    set: |o| o.leave_loss = LossExit::AckOrData,
                },
            ]),
        },
        AidOption {
            name: "backoff",
            about: "ATCP's retransmission timeout in the loss state is doubled at each expiry, up to \
                64 s (RFC 6298 §5.5).",
            field: OptionField::Flag(|o| &mut o.backoff),
        },
        AidOption {
            name: "congested_until",
            about: "Event that ends the congested state.",
            field: OptionField::Choice(&[
                OptionChoice {
                    name: "segment",
                    about: "Transmission of any segment by TCP, including acknowledgments \
                        (liu-singh-2001 §IV).",
                    set: |o| o.congested_until = CongestedExit::Segment,
                },
                OptionChoice {
                    name: "new-data",
                    about: "Transmission of a segment with new data (liu-singh-2001 §III-A).",
                    set: |o| o.congested_until = CongestedExit::NewData,
                },
            ]),
        },
        AidOption {
            name: "echo",
            about: "Order in which ATCP in the loss state processes an ECN echo and the new \
                acknowledgment that carries it.",
            field: OptionField::Choice(&[
                OptionChoice {
                    name: "first",
                    about: "The echo is processed first; the loss state becomes congested, and the \
                        window is not restored.",
                    set: |o| o.echo = EchoOrder::First,
                },
                OptionChoice {
                    name: "after-ack",
                    about: "The acknowledgment is processed first; it ends the loss state before the \
                        echo is processed.",
                    set: |o| o.echo = EchoOrder::AfterAck,
                },
            ]),
        },
        AidOption {
            name: "restore",
            about: "Time at which TCP's congestion window is restored when the loss state ends.",
            field: OptionField::Choice(&[
                OptionChoice {
                    name: "before",
                    about: "Before TCP processes the acknowledgment that ends the loss state.",
                    set: |o| o.restore = CwndRestoreTime::Before,
                },
                OptionChoice {
                    name: "after",
                    about: "After TCP has processed that acknowledgment, which undoes TCP's response \
                        to an ECN echo in it.",
                    set: |o| o.restore = CwndRestoreTime::After,
                },
            ]),
        },
        AidOption {
            name: "duplicates",
            about: "Duplicate acknowledgments that are withheld from TCP in the loss state.",
            field: OptionField::Choice(&[
                OptionChoice {
                    name: "all",
                    about: "All of them.",
                    set: |o| o.duplicates = WithheldDuplicates::All,
                },
                OptionChoice {
                    name: "third",
                    about: "Only the third one, which begins the loss state.",
                    set: |o| o.duplicates = WithheldDuplicates::Third,
                },
            ]),
        },
        AidOption {
            name: "pull_back",
            about: "SND.NXT is set back to SND.UNA in the disconnected state, as 4.4BSD does when the \
                peer's window closes.",
            field: OptionField::Flag(|o| &mut o.pull_back),
        },
    ];

    const ORDERED_OPTIONS: &'static [(&'static str, &'static str)] =
        &[("persist_min", "persist_max")];

    fn build(self) -> Box<dyn Aid> {
        Box::new(Atcp::new(self))
    }
}
