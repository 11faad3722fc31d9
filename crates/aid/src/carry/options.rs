//! What can be set about carry.

use alloc::boxed::Box;
use driftway_base::Duration;

use super::Carry;
use crate::Aid;
use crate::options::{AidOption, AidOptions, OptionField};

/// What becomes of TCP's congestion window after an outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CwndAfterOutage {
    /// Window and threshold are what they were. Right where the path is the same one.
    #[default]
    Keep,
    /// TCP begins as on a new connection; liu-singh-2001 §III-C wants that on a new route.
    Reset,
}

/// carry's options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarryOptions {
    /// Undo what losses did, where ECN is in use.
    pub undo_losses: bool,
    /// After an outage.
    pub cwnd: CwndAfterOutage,
    /// Least time between probes; they come every round trip.
    pub probe_min: Duration,
    /// The time between probes once the outage has lasted for `probe_fast`.
    pub probe_max: Duration,
    /// For so long probes come every round trip.
    pub probe_fast: Duration,
    /// Suspect that there is no path after so many retransmissions of the oldest segment without a
    /// sign of the peer, or after more where losses are frequent; [`CarryOptions::NEVER`]: only
    /// signals say so.
    pub suspect_after: u32,
}

impl CarryOptions {
    /// The shortest span between probes.
    pub const MIN_SPAN: Duration = Duration::from_millis(1);
    /// More than any TCP repeats one segment before it gives up (RFC 9293 §3.8.3; Linux: 15).
    pub const NEVER: u32 = 255;
    /// One that is lost again may be chance, on any path.
    pub const SUSPECT_AFTER: u32 = 2;
}

impl Default for CarryOptions {
    fn default() -> Self {
        Self {
            undo_losses: true,
            cwnd: CwndAfterOutage::Keep,
            probe_min: Duration::from_millis(50),
            probe_max: Duration::from_secs(1),
            probe_fast: Duration::from_secs(120),
            suspect_after: Self::SUSPECT_AFTER,
        }
    }
}

impl AidOptions for CarryOptions {
    const NAME: &'static str = "carry";
    const SUMMARY: &'static str =
        "carry (the shim's own): undoes losses that are no congestion, carries TCP over outages";
    const OPTIONS: &'static [AidOption<Self>] = &[
        AidOption {
            name: "undo_losses",
            about: "undo what losses did, where ECN is in use",
            field: OptionField::Flag(|o| &mut o.undo_losses),
        },
        AidOption {
            name: "cwnd",
            about: "the congestion window after an outage: what it was, or that of a new connection",
            field: OptionField::Choice(&[
                ("keep", |o| o.cwnd = CwndAfterOutage::Keep),
                ("reset", |o| o.cwnd = CwndAfterOutage::Reset),
            ]),
        },
        AidOption {
            name: "probe_min",
            about: "least time between probes for a path, which come every round trip",
            field: OptionField::Duration { min: Self::MIN_SPAN, field: |o| &mut o.probe_min },
        },
        AidOption {
            name: "probe_max",
            about: "time between probes in a long outage",
            field: OptionField::Duration { min: Self::MIN_SPAN, field: |o| &mut o.probe_max },
        },
        AidOption {
            name: "probe_fast",
            about: "how long an outage lasts until it is a long one",
            field: OptionField::Duration { min: Self::MIN_SPAN, field: |o| &mut o.probe_fast },
        },
        AidOption {
            name: "suspect_after",
            about: "least retransmissions of one segment without an answer to suspect an outage; 255: never",
            field: OptionField::Count { min: 1, max: Self::NEVER, field: |o| &mut o.suspect_after },
        },
    ];

    const ORDERED_OPTIONS: &'static [(&'static str, &'static str)] = &[("probe_min", "probe_max")];

    fn build(self) -> Box<dyn Aid> {
        Box::new(Carry::new(self))
    }
}
