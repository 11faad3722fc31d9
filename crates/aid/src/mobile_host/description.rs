//! Description of the mobile host's options, for scenarios and help.

use alloc::boxed::Box;
use driftway_base::Duration;

use super::options::{MobileHostOptions, Resend, SsthreshAfterTimeout};
use super::{MobileHost, State};
use crate::Aid;
use crate::kit::Named;
use crate::options::{AidOption, AidOptions, OptionChoice, OptionField};

impl AidOptions for MobileHostOptions {
    const NAME: &'static str = "mobile-host";
    const SUMMARY: &'static str = "ATCP for the mobile host (Singh & Iyer 2002): the host's own \
        TCP stops while it is disconnected, and its acknowledgments restart its peer's TCP.";
    const STATES: &'static [(&'static str, &'static str)] = <State as Named>::DESCRIPTIONS;
    const ORDERED_OPTIONS: &'static [(&'static str, &'static str)] = &[("probe_min", "probe_max")];
    const OPTIONS: &'static [AidOption<Self>] = &[
        AidOption {
            name: "resend",
            about: "Segment that is sent again after a disconnection, on which the paper's text and \
                its listing differ.",
            field: OptionField::Choice(&[
                OptionChoice {
                    name: "first-unacknowledged",
                    about: "The first unacknowledged segment, and others as after a timeout \
                        (singh-iyer-2002 §III, text: the lost packet).",
                    set: |o| o.resend = Resend::FirstUnacknowledged,
                },
                OptionChoice {
                    name: "last-sent",
                    about: "The last segment that was sent, alone (singh-iyer-2002 §III, listing).",
                    set: |o| o.resend = Resend::LastSent,
                },
            ]),
        },
        AidOption {
            name: "ssthresh",
            about: "Slow-start threshold after a timeout while disconnected, on which the paper's \
                text and its listing differ.",
            field: OptionField::Choice(&[
                OptionChoice {
                    name: "cwnd",
                    about: "The congestion window at the disconnection (text).",
                    set: |o| o.ssthresh = SsthreshAfterTimeout::Cwnd,
                },
                OptionChoice {
                    name: "max",
                    about: "The maximum of ssthresh, congestion window and the peer's window \
                        (listing).",
                    set: |o| o.ssthresh = SsthreshAfterTimeout::Max,
                },
            ]),
        },
        AidOption {
            name: "ack_delay",
            about: "Delay of the acknowledgment of the last two bytes that were received \
                (singh-iyer-2002 §III: d).",
            field: OptionField::Duration {
                min: Self::MIN_ACK_DELAY,
                max: Self::MAX_ACK_DELAY,
                field: |o| &mut o.ack_delay,
            },
        },
        AidOption {
            name: "probe_min",
            about: "Time from the disconnection to the first probe of one byte, in case the connection \
                signal is missing. Not in the paper, which sends nothing while disconnected.",
            field: OptionField::Duration {
                min: Self::MIN_PROBE_INTERVAL,
                max: Duration::MAX,
                field: |o| &mut o.probe_min,
            },
        },
        AidOption {
            name: "probe_max",
            about: "Longest interval between two probes; each is twice as long as the one before.",
            field: OptionField::Duration {
                min: Self::MIN_PROBE_INTERVAL,
                max: Duration::MAX,
                field: |o| &mut o.probe_max,
            },
        },
    ];

    fn build(self) -> Box<dyn Aid> {
        Box::new(MobileHost::new(self))
    }
}
