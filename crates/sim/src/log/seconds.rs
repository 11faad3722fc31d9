//! Times in seconds with nine decimals, as in traces.

use std::borrow::Cow;

use driftway_base::Instant;
use serde::{Deserialize, Deserializer, Serializer, de};

use crate::trace;

pub fn serialize<S: Serializer>(at: &Instant, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&trace::format_seconds(*at))
}

pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Instant, D::Error> {
    let text = Cow::<str>::deserialize(from)?;
    trace::parse_seconds(&text).ok_or_else(|| de::Error::custom("a time has nine decimals"))
}
