//! Window growth: the increase of cwnd without losses, and ssthresh after congestion. One file for
//! each policy, and one line in the list here.

mod contract;
mod cubic;
mod reno;

use alloc::boxed::Box;

use crate::options::Options;
pub use contract::{
    AckedData, CongestionWindow, GrowthDescriptor, MAX_WINDOW, WindowGrowth, slow_start,
};

/// Generates [`GrowthKind`] from a list of policies.
macro_rules! growths {
    ($($(#[$doc:meta])* $kind:ident = $growth:ty,)*) => {
        /// The available window growths.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum GrowthKind {
            $($(#[$doc])* $kind,)*
        }

        impl GrowthKind {
            /// All window growths, by their names in a scenario.
            pub const ALL: &'static [(&'static str, Self)] =
                &[$((<$growth>::NAME, Self::$kind),)*];

            /// Name in a scenario.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => <$growth>::NAME,)* }
            }
            /// Combines with every recovery.
            pub const fn is_classic(self) -> bool {
                match self { $(Self::$kind => <$growth>::CLASSIC,)* }
            }
        }

        /// A new policy with the connection's options.
        pub fn new(kind: GrowthKind, options: &Options) -> Box<dyn WindowGrowth> {
            match kind { $(GrowthKind::$kind => Box::new(<$growth>::from_options(options)),)* }
        }
    };
}

growths! {
    /// Slow start and congestion avoidance (RFC 5681 §3.1).
    Reno = reno::Reno,
    /// CUBIC (RFC 9438).
    Cubic = cubic::Cubic,
}
