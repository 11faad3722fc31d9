//! The two sides of a gateway.

/// A side of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The side of the air.
    Wireless,
    /// The side of the wires.
    Wired,
}

impl Side {
    /// Both sides.
    pub const BOTH: [Self; 2] = [Self::Wireless, Self::Wired];

    /// Name of the side.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wireless => "wireless",
            Self::Wired => "wired",
        }
    }

    /// Returns the opposite side.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Wireless => Self::Wired,
            Self::Wired => Self::Wireless,
        }
    }
}
