//! Powers and lengths on which path loss depends, besides the distance.

/// Powers and lengths from which path loss is computed.
#[derive(Clone, Copy, Debug)]
pub struct LinkBudget {
    /// Transmit power (W).
    pub power: f64,
    /// Power that is sent, with the gains of both antennas and the loss of the system (W).
    pub sent: f64,
    /// λ/4π (m).
    pub wavelength_ratio: f64,
    /// Antenna height above the ground (m).
    pub antenna_height: f64,
    /// Receive range (m); 0 if the threshold is a power.
    pub range: f64,
}

impl LinkBudget {
    /// Power received at one metre in free space (W).
    pub fn at_one_metre(&self) -> f64 {
        self.sent * self.wavelength_ratio * self.wavelength_ratio
    }
}
