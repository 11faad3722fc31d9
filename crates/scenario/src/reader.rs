//! A serde deserializer over the tree of a file: errors get the origin of the key or value in which
//! they occur.

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use crate::error::Diagnostic;
use crate::tree::{Entry, Node, Value};

/// Deserializes a `T` from `node`.
pub(crate) fn read<'de, T: Deserialize<'de>>(node: &Node) -> Result<T, Diagnostic> {
    T::deserialize(Reader(node))
}

/// Errors that are detected after the value itself was read get its origin as well.
pub(crate) fn read_at<'de, T: DeserializeSeed<'de>>(
    node: &Node,
    seed: T,
) -> Result<T::Value, Diagnostic> {
    seed.deserialize(Reader(node)).map_err(|fault| fault.at(node.origin))
}

#[derive(Clone, Copy)]
struct Reader<'a>(&'a Node);

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = Diagnostic;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Diagnostic> {
        let value = match &self.0.value {
            Value::String(text) => visitor.visit_str(text),
            Value::Integer(number) => match (u64::try_from(*number), i64::try_from(*number)) {
                (Ok(number), _) => visitor.visit_u64(number),
                (_, Ok(number)) => visitor.visit_i64(number),
                _ => Err(Diagnostic::new("this number is too large")),
            },
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Boolean(yes) => visitor.visit_bool(*yes),
            Value::Datetime => Err(Diagnostic::invalid_type(Unexpected::Other("a date"), &visitor)),
            Value::Array(nodes) => {
                let mut elements = Elements(nodes);
                visitor.visit_seq(&mut elements).and_then(|value| match elements.0 {
                    [] => Ok(value),
                    [first, ..] => {
                        let fits = nodes.len() - elements.0.len();
                        let message = format!("too many values: expected {fits}");
                        Err(Diagnostic::new(&message).at(first.origin))
                    }
                })
            }
            Value::Table(entries) => visitor.visit_map(Keys::of(entries)),
        };
        value.map_err(|fault| fault.at(self.0.origin))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Diagnostic> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Diagnostic> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Diagnostic> {
        let value = match &self.0.value {
            Value::String(name) => visitor.visit_enum(VariantReader { name, entry: None }),
            Value::Table(entries) => match entries.as_slice() {
                [entry] => {
                    visitor.visit_enum(VariantReader { name: &entry.key, entry: Some(entry) })
                }
                _ => Err(Diagnostic::custom(format_args!(
                    "expected one of {}, found {} keys",
                    known.join(", "),
                    entries.len()
                ))),
            },
            _ => return self.deserialize_any(visitor),
        };
        value.map_err(|fault| fault.at(self.0.origin))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// The elements of an array.
struct Elements<'a>(&'a [Node]);

impl<'de> SeqAccess<'de> for &mut Elements<'_> {
    type Error = Diagnostic;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Diagnostic> {
        let Some((first, rest)) = self.0.split_first() else { return Ok(None) };
        self.0 = rest;
        read_at(first, seed).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// The keys of a table; the tag that selects the variant (see [`crate::tagged`]) comes first.
struct Keys<'a> {
    rest: std::vec::IntoIter<&'a Entry>,
    current: Option<&'a Entry>,
}

impl<'a> Keys<'a> {
    fn of(entries: &'a [Entry]) -> Self {
        let mut entries: Vec<_> = entries.iter().collect();
        entries.sort_by_key(|entry| !matches!(entry.key.as_str(), "kind" | "name" | "protocol"));
        Self { rest: entries.into_iter(), current: None }
    }
}

impl<'de> MapAccess<'de> for Keys<'_> {
    type Error = Diagnostic;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Diagnostic> {
        self.current = self.rest.next();
        let Some(entry) = self.current else { return Ok(None) };
        let key = seed.deserialize(entry.key.as_str().into_deserializer());
        key.map(Some).map_err(|fault: Diagnostic| fault.at(entry.origin))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, Diagnostic> {
        match self.current {
            Some(entry) => read_at(&entry.node, seed),
            None => Err(Diagnostic::new("a value was requested before its key")),
        }
    }
}

/// A variant: `"word"`, or `{ word = … }`.
struct VariantReader<'a> {
    name: &'a str,
    entry: Option<&'a Entry>,
}

impl<'de> EnumAccess<'de> for VariantReader<'_> {
    type Error = Diagnostic;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Self), Diagnostic> {
        let name = seed.deserialize(self.name.into_deserializer());
        match (name, self.entry) {
            (Err(fault), Some(entry)) => Err(Diagnostic::at(fault, entry.origin)),
            (name, _) => Ok((name?, self)),
        }
    }
}

impl VariantReader<'_> {
    fn wrong_form<T>(&self) -> Result<T, Diagnostic> {
        let name = self.name;
        Err(Diagnostic::new(&match self.entry {
            Some(_) => format!("`{name}` has no value\nwrite \"{name}\""),
            None => format!("`{name}` needs a value\nwrite {{ {name} = … }}"),
        }))
    }
}

impl<'de> VariantAccess<'de> for VariantReader<'_> {
    type Error = Diagnostic;

    fn unit_variant(self) -> Result<(), Diagnostic> {
        self.entry.map_or(Ok(()), |_| self.wrong_form())
    }
    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, Diagnostic> {
        self.entry.map_or_else(|| self.wrong_form(), |entry| read_at(&entry.node, seed))
    }
    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Diagnostic> {
        self.wrong_form()
    }
    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Diagnostic> {
        self.wrong_form()
    }
}
