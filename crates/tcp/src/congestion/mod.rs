//! Congestion control: the growth of cwnd without losses, and its reduction after congestion. One
//! file for each control, and one line in the list here. [`CongestionState`] has the window and sets it.

mod bbr;
mod bbr3;
mod congestion_state;
mod contract;
mod cubic;
mod hystart;
mod linux_cubic;
mod path;
#[cfg(test)]
mod path_test;
mod reno;
mod whole_segments;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

pub use congestion_state::CongestionState;
pub use contract::{
    AckedData, CongestionControl, CongestionWindow, ControlDescriptor, ControlOptions, Established,
    HystartKind, LostSegment, MAX_WINDOW, PacingRate, SentData, slow_start,
};

/// Generates [`ControlKind`] from a list of controls.
macro_rules! controls {
    ($($(#[$doc:meta])* $kind:ident = $control:ty,)*) => {
        /// The available congestion controls.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ControlKind {
            $($(#[$doc])* $kind,)*
        }

        impl ControlKind {
            /// All congestion controls, by their names in a scenario.
            pub const ALL: &'static [(&'static str, Self)] =
                &[$((<$control>::NAME, Self::$kind),)*];

            /// Name in a scenario.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => <$control>::NAME,)* }
            }
            /// Combines with every recovery.
            pub const fn is_classic(self) -> bool {
                match self { $(Self::$kind => <$control>::CLASSIC,)* }
            }
            /// Combines with recoveries that detect losses by time only.
            pub const fn needs_log(self) -> bool {
                match self { $(Self::$kind => <$control>::NEEDS_LOG,)* }
            }
        }

        /// A new control.
        pub fn new(kind: ControlKind, options: &ControlOptions) -> Box<dyn CongestionControl> {
            match kind {
                $(ControlKind::$kind => Box::new(<$control>::from_options(options)),)*
            }
        }
    };
}

controls! {
    /// Slow start and congestion avoidance (RFC 5681 §3.1).
    Reno = reno::Reno,
    /// CUBIC (RFC 9438).
    Cubic = cubic::Cubic,
    /// BBR, version 1 (Cardwell et al. 2016; as in Linux).
    Bbr = bbr::Bbr,
    /// BBR, version 3 (draft-ietf-ccwg-bbr-04).
    Bbr3 = bbr3::Bbr3,
}

/// A congestion control in a scenario's registry: a name, and how the control is made, of declared options
/// ([`Declared`](driftway_base::Declared)) or by a closure.
pub type ControlEntry = driftway_base::Entry<ControlOptions, Box<dyn CongestionControl>>;

/// The state diagrams of the controls with modes, in the DOT language.
pub fn mode_diagrams() -> Vec<String> {
    vec![bbr::diagram(), bbr3::diagram()]
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::recovery_phase::RecoveryPhase;
    use driftway_base::{Duration, Seq};

    /// An acknowledgment of `bytes` in segments of 1000 bytes, over 100 ms.
    pub(crate) fn acked(bytes: u32) -> AckedData {
        AckedData {
            bytes,
            mss: 1000,
            byte_counting: false,
            srtt: Some(Duration::from_millis(100)),
            cwnd_limited: true,
            rtt: None,
            una: Seq(0),
            max: Seq(0),
            phase: RecoveryPhase::Open,
            prior_in_flight: 0,
            in_flight: 0,
            lost: 0,
            rate: None,
            pacing_wait: Duration::ZERO,
        }
    }
}
