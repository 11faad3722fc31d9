//! `routing = { protocol = "aodv", … }`.

use serde::{Deserialize, Serialize};

/// `protocol = "aodv"`: RFC 3561.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table with the keys of AODV")]
pub struct Aodv {}
