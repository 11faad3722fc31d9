//! The configuration of a connection: the table of [`options`](crate::options) and the settings
//! that a scenario writes in another form.

use driftway_base::Duration;

use crate::clock::Clock;
use crate::congestion::{ControlKind, ControlOptions, HystartKind};
use crate::options::Options;
use crate::recovery::RecoveryKind;

/// Delayed acknowledgments (RFC 9293 §3.8.6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedAck {
    /// Longest delay of an acknowledgment.
    pub timeout: Duration,
    /// Expires on a tick of that length instead of exactly (BSD's 200 ms fast timer).
    pub on_tick: bool,
}

/// Generates [`Config`] from the table of options.
macro_rules! config {
    ($($(#[$doc:meta])* $name:ident: $kind:ident($($default:tt)+) $([$($rule:tt)*])?,)*) => {
        /// The configuration of one connection. Negotiated options (SACK, timestamps, window scale,
        /// ECN) are used only if the peer offers them, too.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Config {
            /// Loss recovery.
            pub recovery: RecoveryKind,
            /// Congestion control.
            pub growth: ControlKind,
            /// The end of slow start before losses.
            pub hystart: HystartKind,
            /// Largest segment sent and announced: payload before options (bytes; RFC 6691).
            pub mss: u16,
            /// Receive buffer (bytes).
            pub receive_buffer: u32,
            /// Clock of the timers.
            pub clock: Clock,
            /// Delayed acknowledgments; `None`: every segment is acknowledged at once.
            pub delayed_ack: Option<DelayedAck>,
            /// Offers SACK (RFC 2018).
            pub sack: bool,
            $(
                $(#[$doc])*
                #[doc = option_default_doc!($kind $($default)+)]
                pub $name: field!($kind),
            )*
        }

        impl Default for Config {
            fn default() -> Self {
                Self {
                    recovery: RecoveryKind::Sack,
                    growth: ControlKind::Reno,
                    hystart: HystartKind::None,
                    mss: 1460,
                    receive_buffer: 65_535,
                    clock: Clock::uniform(Duration::from_millis(1), Duration::ZERO),
                    delayed_ack: Some(DelayedAck {
                        timeout: Duration::from_millis(200),
                        on_tick: false,
                    }),
                    sack: true,
                    $($name: default!($($default)+),)*
                }
            }
        }

        impl Config {
            /// The options of the table alone, for loss recoveries.
            pub fn options(&self) -> Options {
                Options { $($name: self.$name,)* }
            }
        }
    };
}
options!(config);

impl Config {
    /// The options of the congestion control; `seed` for its random numbers.
    pub fn control_options(&self, seed: u64) -> ControlOptions {
        ControlOptions {
            hystart: self.hystart,
            linux_growth: self.linux_growth,
            pacing: self.pacing,
            seed,
        }
    }

    /// Shift of the announced receive window: the smallest with which the whole buffer fits into 16
    /// bits (RFC 7323 §2.3), at most 14.
    pub fn receive_window_shift(&self) -> u8 {
        let mut shift = 0;
        while shift < 14 && (self.receive_buffer >> shift) > 65_535 {
            shift += 1;
        }
        shift
    }
}
