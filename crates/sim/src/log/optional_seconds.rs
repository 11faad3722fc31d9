//! Durations that may be absent, in the format of times.

use std::borrow::Cow;

use driftway_base::{Duration, Instant};
use serde::{Deserialize, Deserializer, Serializer, de};

use super::seconds;
use crate::trace;

pub fn serialize<S: Serializer>(span: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    match span {
        Some(span) => seconds::serialize(&(Instant::ZERO + *span), to),
        None => to.serialize_none(),
    }
}

pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    let text = Cow::<str>::deserialize(from)?;
    if text.is_empty() {
        return Ok(None);
    }
    let at = trace::parse_seconds(&text);
    at.map(|at| Some(at.since(Instant::ZERO)))
        .ok_or_else(|| de::Error::custom("a time has nine decimals"))
}
