//! The part of the configuration that route caches read.

use driftway_base::named;

named! {
    /// A part of a path cache.
    pub enum CachePart {
        /// The cache for discovered routes.
        Primary = "primary",
        /// The cache for observed routes.
        Secondary = "secondary",
    }
}

/// The routes that a cache learns, and the part of the cache in which they are kept. The fields are those of
/// [`DsrConfig`](super::DsrConfig).
#[derive(Clone, Copy, Debug)]
pub(crate) struct CachingRules {
    pub learn_both_ways: bool,
    pub forget_both_ways: bool,
    pub max_nodes: u8,
    pub cache_requests: bool,
    pub cache_source_routes: bool,
    pub cache_received_routes: bool,
    pub cache_forwarded_replies: bool,
    pub overheard_replies: CachePart,
    pub source_routes: CachePart,
    pub route_to_neighbour: bool,
}
