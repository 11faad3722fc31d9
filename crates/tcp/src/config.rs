//! The configuration of a connection: what a scenario writes otherwise, and the table of
//! [`options`](crate::options).

use driftway_base::Duration;

use crate::clock::Clock;
use crate::growth::GrowthKind;
use crate::options::Options;
use crate::recovery::RecoveryKind;

/// Delayed acknowledgments (RFC 9293 §3.8.6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedAck {
    /// How long an acknowledgment may wait.
    pub timeout: Duration,
    /// Fires on a tick of that length instead of exactly (BSD's 200 ms fast timer).
    pub on_tick: bool,
}

/// Makes [`Config`] of the table of options.
macro_rules! config {
    ($($(#[$doc:meta])* $name:ident: $kind:ident($($default:tt)+),)*) => {
        /// The configuration of one connection. What is negotiated (SACK, timestamps, window scale,
        /// ECN) is used only if the peer offers it, too.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Config {
            /// Loss recovery.
            pub recovery: RecoveryKind,
            /// Window growth.
            pub growth: GrowthKind,
            /// Largest segment we send and announce: payload before options (bytes; RFC 6691).
            pub mss: u16,
            /// Receive buffer (bytes).
            pub receive_buffer: u32,
            /// The timers' clock.
            pub clock: Clock,
            /// Delayed acknowledgments; `None`: every segment is acknowledged at once.
            pub delayed_ack: Option<DelayedAck>,
            /// Offer SACK (RFC 2018).
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
                    growth: GrowthKind::Reno,
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
            /// The options of the table, for what does not know the rest.
            pub fn options(&self) -> Options {
                Options { $($name: self.$name,)* }
            }
        }
    };
}
options!(config);

impl Config {
    /// The shift with which our receive window is announced: the least that lets the whole buffer
    /// show in 16 bits (RFC 7323 §2.3), at most 14.
    pub fn receive_window_shift(&self) -> u8 {
        let mut shift = 0;
        while shift < 14 && (self.receive_buffer >> shift) > 65_535 {
            shift += 1;
        }
        shift
    }
}
