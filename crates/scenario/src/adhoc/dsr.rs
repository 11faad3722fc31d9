//! `routing = { protocol = "dsr", … }`.

use serde::{Deserialize, Serialize};

/// `protocol = "dsr"`: RFC 4728.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table with the keys of DSR")]
pub struct Dsr {
    /// Learn from what is heard for others. Default true.
    pub promiscuous: bool,
    /// Answer requests for others from the own cache. Default true.
    pub reply_from_cache: bool,
    /// What is kept of routes. Default `"path"`.
    pub cache: DsrCache,
}

/// What a node keeps of routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", expecting = "a word")]
pub enum DsrCache {
    /// Whole routes from itself.
    #[default]
    Path,
    /// Links, which it joins to routes.
    Link,
}

impl Default for Dsr {
    fn default() -> Self {
        Self { promiscuous: true, reply_from_cache: true, cache: DsrCache::Path }
    }
}
