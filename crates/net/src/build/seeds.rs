//! Seeds of a network.

/// The seeds that key the random streams of a network.
#[derive(Clone, Copy, Debug)]
pub struct Seeds {
    /// The seed of the faults.
    pub faults: u64,
    /// The seed of links, radios, movement and routing.
    pub network: u64,
}
