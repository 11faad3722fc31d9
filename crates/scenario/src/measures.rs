//! The table `[measures]`: measures that take time to compute.

use crate::Network;
use crate::keys::keys;

keys! {
    /// Measures that take time to compute: `[measures]`.
    #[derive(Copy, Default)]
    pub struct Measures expecting "a table with the key `shortest_hops`" {
        /// Measures the fewest hops that were possible when each packet was sent, `shortest_hops` of
        /// a flow.
        shortest_hops: Option<bool> => "`true` where no node moves, else `false`",
    }
}

impl Measures {
    /// Returns whether the fewest possible hops are measured.
    pub fn counts_shortest_hops(&self, network: &Network) -> bool {
        self.shortest_hops.unwrap_or_else(|| !network.moves())
    }
}
