//! The number of a hop, or one word in its place.

use std::fmt;

use serde::Deserializer;
use serde::de::{Error, Unexpected, Visitor};

/// Deserializes the number of a hop; `None`: `word` stands in its place.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
    word: &'static str,
) -> Result<Option<u32>, D::Error> {
    deserializer.deserialize_any(HopOrWord(word))
}

struct HopOrWord(&'static str);

impl Visitor<'_> for HopOrWord {
    type Value = Option<u32>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the number of a hop, or \"{}\"", self.0)
    }
    fn visit_i64<E: Error>(self, hop: i64) -> Result<Option<u32>, E> {
        let wrong = |_| E::invalid_value(Unexpected::Signed(hop), &self);
        u32::try_from(hop).map(Some).map_err(wrong)
    }
    fn visit_u64<E: Error>(self, hop: u64) -> Result<Option<u32>, E> {
        let wrong = |_| E::invalid_value(Unexpected::Unsigned(hop), &self);
        u32::try_from(hop).map(Some).map_err(wrong)
    }
    fn visit_str<E: Error>(self, word: &str) -> Result<Option<u32>, E> {
        match word == self.0 {
            true => Ok(None),
            false => Err(E::invalid_value(Unexpected::Str(word), &self)),
        }
    }
}
