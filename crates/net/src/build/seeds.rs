//! Seeds of a network.

/// The seeds that key the random streams of a network.
#[derive(Clone, Copy, Debug)]
pub struct Seeds {
    /// Of the faults.
    pub faults: u64,
    /// Of links, radios, movement and routing.
    pub network: u64,
}
