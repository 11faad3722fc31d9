//! Kinds of faults.

use std::fmt;

/// A kind of fault, the value of the key `kind` of `[[network.fault]]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// Outages of a hop.
    Partition,
    /// Bursts of cross traffic.
    Congestion,
    /// Packets that overtake others.
    Reordering,
    /// Continuous cross traffic.
    Interference,
    /// Changes of a hop's rate or delay.
    Change,
    /// Outages of a radio.
    RadioDown,
    /// False warnings of outages.
    Fading,
}

impl FaultKind {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Partition,
        Self::Congestion,
        Self::Reordering,
        Self::Interference,
        Self::Change,
        Self::RadioDown,
        Self::Fading,
    ];

    /// Name in scenarios and traces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Partition => "partition",
            Self::Congestion => "congestion",
            Self::Reordering => "reordering",
            Self::Interference => "interference",
            Self::Change => "change",
            Self::RadioDown => "radio-down",
            Self::Fading => "fading",
        }
    }

    /// Returns true if such a fault interrupts a hop or a radio.
    pub const fn is_outage(self) -> bool {
        matches!(self, Self::Partition | Self::RadioDown)
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
