//! Loss recovery: what a sender does about duplicate acknowledgments and timeouts. One file each,
//! and one line in the list here.

mod contract;
mod newreno;
mod rack;
mod reno;
mod sack;
mod segment_timers;
mod sent_log;
mod tahoe;
mod tail_loss_probe;

use alloc::boxed::Box;

use crate::growth::GrowthKind;
use crate::options::Options;

pub use contract::{NewAckResponse, AckFeedback, RecoveryDescriptor, LossRecovery, FeedbackResponse};

/// Makes [`RecoveryKind`] of a list of recoveries.
macro_rules! recoveries {
    ($($(#[$doc:meta])* $kind:ident = $recovery:ty,)*) => {
        /// Which loss recovery.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum RecoveryKind {
            $($(#[$doc])* $kind,)*
        }

        impl RecoveryKind {
            /// All of them, by their names in a scenario.
            pub const ALL: &'static [(&'static str, Self)] =
                &[$((<$recovery>::NAME, Self::$kind),)*];

            /// Its name in a scenario.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => <$recovery>::NAME,)* }
            }
            /// Whether it offers and uses selective acknowledgments.
            pub const fn uses_sack(self) -> bool {
                match self { $(Self::$kind => <$recovery>::USES_SACK,)* }
            }
            /// Whether new data goes on the first two duplicates (RFC 3042) where nobody says
            /// otherwise.
            pub const fn limits_transmit(self) -> bool {
                match self { $(Self::$kind => <$recovery>::LIMITED_TRANSMIT,)* }
            }
            /// Whether the window is validated where nobody says otherwise: the classic ones are
            /// studied as they were, and 4.4BSD and ns-2 did not.
            pub const fn validates_window(self) -> bool {
                !self.is_classic()
            }
            /// Whether it goes with the classic window growth only.
            const fn is_classic(self) -> bool {
                match self { $(Self::$kind => <$recovery>::CLASSIC,)* }
            }
        }

        /// A new recovery, with the connection's options.
        pub fn new(kind: RecoveryKind, options: &Options) -> Box<dyn LossRecovery> {
            match kind { $(RecoveryKind::$kind => Box::new(<$recovery>::with(options)),)* }
        }
    };
}

recoveries! {
    /// Fast retransmit, then slow start (4.3BSD-Tahoe; Fall & Floyd 1996).
    Tahoe = tahoe::Tahoe,
    /// Fast retransmit and fast recovery (RFC 5681 §3.2).
    Reno = reno::Reno,
    /// Partial acknowledgments keep recovery going (RFC 6582).
    NewReno = newreno::NewReno,
    /// Conservative recovery from SACK information (RFC 6675).
    Sack = sack::Sack,
    /// Losses by time, and tail loss probes (RFC 8985); without SACK, as `NewReno`.
    RackTlp = rack::RackTlp,
    /// A timer for each segment and no other sign of a loss (chandran-1998 §5.2).
    SegmentTimers = segment_timers::SegmentTimers,
}

impl RecoveryKind {
    /// The window growths that go with it.
    pub fn growths(self) -> impl Iterator<Item = GrowthKind> {
        let all = GrowthKind::ALL.iter().map(|(_, growth)| *growth);
        all.filter(move |growth| growth.is_classic() || !self.is_classic())
    }
}

/// Each recovery with each growth that goes with it.
pub fn recovery_growth_pairs() -> impl Iterator<Item = (RecoveryKind, GrowthKind)> {
    RecoveryKind::ALL.iter().flat_map(|(_, kind)| kind.growths().map(|growth| (*kind, growth)))
}
