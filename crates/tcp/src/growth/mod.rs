//! Window growth: how cwnd grows while nothing is lost, and how far it falls when something is.
//! One file each, and one line in the list here.

mod contract;
mod cubic;
mod reno;

use alloc::boxed::Box;

use crate::options::Options;
pub use contract::{AckedData, WindowGrowth, GrowthDescriptor, MAX_WINDOW, CongestionWindow, slow_start};

/// Makes [`GrowthKind`] of a list of policies.
macro_rules! growths {
    ($($(#[$doc:meta])* $kind:ident = $growth:ty,)*) => {
        /// Which window growth.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum GrowthKind {
            $($(#[$doc])* $kind,)*
        }

        impl GrowthKind {
            /// All of them, by their names in a scenario.
            pub const ALL: &'static [(&'static str, Self)] =
                &[$((<$growth>::NAME, Self::$kind),)*];

            /// Its name in a scenario.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => <$growth>::NAME,)* }
            }
            /// Whether it goes with every recovery.
            pub const fn is_classic(self) -> bool {
                match self { $(Self::$kind => <$growth>::CLASSIC,)* }
            }
        }

        /// A new policy, with the connection's options.
        pub fn new(kind: GrowthKind, options: &Options) -> Box<dyn Growth> {
            match kind { $(GrowthKind::$kind => Box::new(<$growth>::with(options)),)* }
        }
    };
}

growths! {
    /// Slow start and congestion avoidance (RFC 5681 §3.1).
    Reno = reno::Reno,
    /// CUBIC (RFC 9438).
    Cubic = cubic::Cubic,
}
