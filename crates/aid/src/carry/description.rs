//! carry as one of the aids: its name, its states and the keys of its options.

use alloc::boxed::Box;

use super::options::{CarryOptions, CwndAfterOutage};
use super::{Carry, State};
use crate::Aid;
use crate::kit::Named;
use crate::options::{AidOption, AidOptions, OptionChoice, OptionField};

impl AidOptions for CarryOptions {
    const NAME: &'static str = "carry";
    const SUMMARY: &'static str =
        "Carry (the shim's default): undoes responses to non-congestion losses, bridges outages.";
    const STATES: &'static [(&'static str, &'static str)] = <State as Named>::DESCRIPTIONS;
    const OPTIONS: &'static [AidOption<Self>] = &[
        AidOption {
            name: "undo_losses",
            about: "Reductions of the congestion window for losses are undone unless the network \
                signals congestion; this needs ECN.",
            field: OptionField::Flag(|o| &mut o.undo_losses),
        },
        AidOption {
            name: "queues_mark",
            about: "The routers of the path are known to mark before they drop (ECN): losses without \
                an echo of congestion are undone at once. Without this knowledge a trial has to \
                show first that they are not congestion.",
            field: OptionField::Flag(|o| &mut o.queues_mark),
        },
        AidOption {
            name: "cwnd",
            about: "Congestion window after an outage.",
            field: OptionField::Choice(&[
                OptionChoice {
                    name: "keep",
                    about: "The previous window; ssthresh is kept as well. This is correct if the \
                        path has not changed.",
                    set: |o| o.cwnd = CwndAfterOutage::Keep,
                },
                OptionChoice {
                    name: "reset",
                    about: "The initial window of a new connection, as liu-singh-2001 §III-C requires \
                        for a new route.",
                    set: |o| o.cwnd = CwndAfterOutage::Reset,
                },
            ]),
        },
        AidOption {
            name: "probe_min",
            about: "Minimum interval between two probes of an outage. They are sent every round-trip \
                time unless that is shorter.",
            field: OptionField::Duration {
                min: Self::MIN_SPAN,
                max: driftway_base::Duration::MAX,
                field: |o| &mut o.probe_min,
            },
        },
        AidOption {
            name: "probe_max",
            about: "Interval between two probes of an outage that has lasted longer than `probe_fast`.",
            field: OptionField::Duration {
                min: Self::MIN_SPAN,
                max: driftway_base::Duration::MAX,
                field: |o| &mut o.probe_max,
            },
        },
        AidOption {
            name: "probe_fast",
            about: "Duration of an outage after which probes are sent only every `probe_max`.",
            field: OptionField::Duration {
                min: Self::MIN_SPAN,
                max: driftway_base::Duration::MAX,
                field: |o| &mut o.probe_fast,
            },
        },
        AidOption {
            name: "suspect_after",
            about: "Number of unanswered retransmissions of the oldest segment after which an outage \
                is suspected; more are required if losses are frequent. 255: outages are detected \
                by signals only.",
            field: OptionField::Count { min: 1, max: Self::NEVER, field: |o| &mut o.suspect_after },
        },
    ];

    const ORDERED_OPTIONS: &'static [(&'static str, &'static str)] = &[("probe_min", "probe_max")];

    fn build(self) -> Box<dyn Aid> {
        Box::new(Carry::new(self))
    }
}
