//! Values that are a text or, in full, a table.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

/// Reads a text, of which `of_text` makes the value, or a table of the type `K`; `expected` describes both.
pub fn text_or_table<'de, D, K, T>(
    deserializer: D,
    expected: &'static str,
    of_text: fn(&str) -> T,
) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    K: Deserialize<'de>,
    T: From<K>,
{
    deserializer.deserialize_any(Forms::<K, T> { expected, of_text, table: PhantomData })
}

struct Forms<K, T> {
    expected: &'static str,
    of_text: fn(&str) -> T,
    table: PhantomData<K>,
}

impl<'de, K: Deserialize<'de>, T: From<K>> Visitor<'de> for Forms<K, T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok((self.of_text)(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<T, A::Error> {
        K::deserialize(MapAccessDeserializer::new(table)).map(T::from)
    }
}
