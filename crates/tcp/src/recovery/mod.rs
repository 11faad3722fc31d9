//! Loss recovery: the response of a sender to duplicate acknowledgments and timeouts. One file for
//! each, and one line in the list here.

mod contract;
mod newreno;
mod rack;
mod reno;
mod sack;
mod segment_timers;
mod tahoe;
mod tail_loss_probe;

use alloc::boxed::Box;

use crate::congestion::ControlKind;
use crate::options::Options;

pub use contract::{
    AckFeedback, FeedbackResponse, LossRecovery, NewAckResponse, RecoveryDescriptor,
};

/// Generates [`RecoveryKind`] from a list of recoveries.
macro_rules! recoveries {
    ($($(#[$doc:meta])* $kind:ident = $recovery:ty,)*) => {
        /// The available loss recoveries.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum RecoveryKind {
            $($(#[$doc])* $kind,)*
        }

        impl RecoveryKind {
            /// All recoveries, by their names in a scenario.
            pub const ALL: &'static [(&'static str, Self)] =
                &[$((<$recovery>::NAME, Self::$kind),)*];

            /// Name in a scenario.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => <$recovery>::NAME,)* }
            }
            /// Offers and uses selective acknowledgments.
            pub const fn uses_sack(self) -> bool {
                match self { $(Self::$kind => <$recovery>::USES_SACK,)* }
            }
            /// Default of limited transmit (RFC 3042): new data on the first two duplicates.
            pub const fn uses_limited_transmit(self) -> bool {
                match self { $(Self::$kind => <$recovery>::LIMITED_TRANSMIT,)* }
            }
            /// Default of window validation: off for the classic recoveries, as in 4.4BSD and ns-2.
            pub const fn validates_window(self) -> bool {
                !self.is_classic()
            }
            /// Combines with the classic congestion controls only.
            const fn is_classic(self) -> bool {
                match self { $(Self::$kind => <$recovery>::CLASSIC,)* }
            }
        }

        /// A new recovery with the connection's options.
        pub fn new(kind: RecoveryKind, options: &Options) -> Box<dyn LossRecovery> {
            match kind { $(RecoveryKind::$kind => Box::new(<$recovery>::from_options(options)),)* }
        }
    };
}

recoveries! {
    /// Fast retransmit, then slow start (4.3BSD-Tahoe; Fall & Floyd 1996).
    Tahoe = tahoe::Tahoe,
    /// Fast retransmit and fast recovery (RFC 5681 §3.2).
    Reno = reno::Reno,
    /// Fast recovery that continues after partial acknowledgments (RFC 6582).
    NewReno = newreno::NewReno,
    /// Conservative recovery from SACK information (RFC 6675).
    Sack = sack::Sack,
    /// Loss detection by time, and tail loss probes (RFC 8985); without SACK, `NewReno`.
    RackTlp = rack::RackTlp,
    /// One timer per segment as the only loss detection (chandran-1998 §5.2).
    SegmentTimers = segment_timers::SegmentTimers,
}

impl RecoveryKind {
    /// The congestion controls with which this recovery combines.
    pub fn controls(self) -> impl Iterator<Item = ControlKind> {
        let all = ControlKind::ALL.iter().map(|(_, control)| *control);
        all.filter(move |control| {
            let logs = self == Self::RackTlp || !control.needs_log();
            logs && (control.is_classic() || !self.is_classic())
        })
    }
}

impl RecoveryKind {
    /// Returns whether a congestion control from outside combines with this recovery: with one that is not of the
    /// original congestion control; if it has a model
    /// ([`CongestionControl::has_model`](crate::congestion::CongestionControl::has_model)), with one that detects
    /// losses by time only.
    pub fn combines_with_registered(self, has_model: bool) -> bool {
        !self.is_classic() && (self == Self::RackTlp || !has_model)
    }
}

/// All combinations of a recovery and a congestion control.
pub fn recovery_control_pairs() -> impl Iterator<Item = (RecoveryKind, ControlKind)> {
    RecoveryKind::ALL.iter().flat_map(|(_, kind)| kind.controls().map(|control| (*kind, control)))
}
