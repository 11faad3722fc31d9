//! Keys with several forms of values: a quantity, a bare number, a word, or a range.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::json;

/// Declares the forms of a key's value: how each is read and written, and its schema. An error
/// message says that `expecting` was expected. A form is
///
/// - a word: `Random = "random"`,
/// - a quantity with its unit: `At(time: Time) from text`, or
/// - a bare number: `Number(hop: u32) from number`, followed by its title where it needs one.
macro_rules! value_or {
    (
        $(#[$about:meta])*
        pub enum $name:ident expecting $expecting:literal {$(
            $(#[doc = $doc:literal])+
            $variant:ident $(($value:ident: $type:ty) from $form:ident $($title:literal)?)?
                $(= $word:literal)?,
        )+}
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum $name {
            $($(#[doc = $doc])+ $variant $(($type))?,)+
        }

        impl $crate::value_or::Forms for $name {
            const EXPECTING: &'static str = $expecting;
            fn read(found: $crate::value_or::Found<'_>) -> Option<Result<Self, String>> {
                $($(
                    if found == $crate::value_or::Found::Text($word) {
                        return Some(Ok(Self::$variant));
                    }
                )?)+
                None$($(.or_else(|| {
                    $crate::value_or::$form::<$type>(found).map(|read| read.map(Self::$variant))
                }))?)+
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$variant $(($value))? => {
                        serde::Serialize::serialize(value_or!(written $($value)? $($word)?), to)
                    })+
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::value_or::deserialize(from)
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let values = [$($(
                    (generator.subschema_for::<$type>(), None::<&str>$(.or(Some($title)))?),
                )?)+];
                $crate::value_or::schema(values, &[$($($word,)?)+])
            }
        }
    };
    (written $value:ident) => { $value };
    (written $word:literal) => { $word };
}
pub(crate) use value_or;

/// Implements how the file writes a quantity, which may be negative if it is `$signed`: as a text.
macro_rules! written {
    ($type:ident, $what:literal, $example:literal, $units:expr, $signed:literal) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::value_or::deserialize(deserializer)
            }
        }

        impl $crate::value_or::Forms for $type {
            const EXPECTING: &'static str =
                concat!($what, " with its unit, such as \"", $example, "\"");
            fn read(found: $crate::value_or::Found<'_>) -> Option<Result<Self, String>> {
                $crate::value_or::text(found)
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let units: Vec<_> = $units.iter().map(|unit| unit.0).collect();
                $crate::value_or::quantity_schema($what, $example, $signed, &units)
            }
        }
    };
}
pub(crate) use written;

/// Schema of a string with a number, which may be negative if it is `signed`, and one of these units.
/// Its title is `what` it is, without the article.
pub(crate) fn quantity_schema(what: &str, example: &str, signed: bool, units: &[&str]) -> Schema {
    let title = what.trim_start_matches("an ").trim_start_matches("a ");
    let sign = if signed { "-?" } else { "" };
    let units = units.join("|");
    let pattern = format!(r"^\s*{sign}[0-9][0-9.]*([eE][-+]?[0-9]+)?\s*({units})\s*$");
    json_schema!({ "title": title, "type": "string", "pattern": pattern, "examples": [example] })
}

/// A value of the file.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Found<'a> {
    /// A text.
    Text(&'a str),
    /// A bare number.
    Number(u64),
}

/// The forms of a key's value; see [`value_or!`].
pub(crate) trait Forms: Sized {
    /// Description of a valid value.
    const EXPECTING: &'static str;
    /// The value in the form that was found; `None` if it has no such form.
    fn read(found: Found<'_>) -> Option<Result<Self, String>>;
}

/// Reads a quantity.
pub(crate) fn text<T: FromStr<Err = String>>(found: Found<'_>) -> Option<Result<T, String>> {
    match found {
        Found::Text(text) => Some(text.parse()),
        Found::Number(_) => None,
    }
}

/// Reads a bare number.
pub(crate) fn number<T: TryFrom<u64>>(found: Found<'_>) -> Option<Result<T, String>> {
    match found {
        Found::Text(_) => None,
        Found::Number(number) => T::try_from(number).ok().map(Ok),
    }
}

/// Deserializes a value in one of its forms.
pub(crate) fn deserialize<'de, T: Forms, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    from.deserialize_any(FormsVisitor(PhantomData))
}

struct FormsVisitor<T>(PhantomData<T>);

impl<T: Forms> FormsVisitor<T> {
    fn read<E: Error>(&self, found: Found<'_>, unexpected: Unexpected<'_>) -> Result<T, E> {
        match T::read(found) {
            Some(read) => read.map_err(E::custom),
            None => Err(E::invalid_value(unexpected, self)),
        }
    }
}

impl<T: Forms> Visitor<'_> for FormsVisitor<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTING)
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        self.read(Found::Text(text), Unexpected::Str(text))
    }
    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        self.read(Found::Number(number), Unexpected::Unsigned(number))
    }
}

/// Schema of values with optional titles, or words.
pub(crate) fn schema<'a>(
    values: impl IntoIterator<Item = (Schema, Option<&'a str>)>,
    words: &[&str],
) -> Schema {
    let value = |(mut schema, title): (Schema, Option<&str>)| {
        title.map(|title| schema.insert("title".to_owned(), title.into()));
        schema.to_value()
    };
    let words = words.iter().map(|word| json!({ "const": word }));
    let forms: Vec<_> = values.into_iter().map(value).chain(words).collect();
    json_schema!({ "anyOf": forms })
}

/// A table for which a text can stand.
pub(crate) trait TextOrTable: FromStr<Err = String> {
    /// Description of a valid value.
    const EXPECTING: &'static str;
}

/// Deserializes a table, or a text that stands for it.
pub(crate) fn text_or_table<'de, T, D>(from: D) -> Result<T, D::Error>
where
    T: TextOrTable + Deserialize<'de>,
    D: Deserializer<'de>,
{
    from.deserialize_any(TextOrTableVisitor(PhantomData))
}

struct TextOrTableVisitor<T>(PhantomData<T>);

impl<'de, T: TextOrTable + Deserialize<'de>> Visitor<'de> for TextOrTableVisitor<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTING)
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

/// Schema of a `T`, or of the table `U`.
pub(crate) struct OrTable<T, U>(PhantomData<(T, U)>);

impl<T: JsonSchema, U: JsonSchema> JsonSchema for OrTable<T, U> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("{} or {}", T::schema_name(), U::schema_name()).into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let forms = [generator.subschema_for::<T>(), generator.subschema_for::<U>()];
        json_schema!({ "anyOf": forms })
    }
}

/// One value or a range: `"10 m/s"` or `["9 m/s", "11 m/s"]`.
pub(crate) struct OneOrRange<T>(pub (T, T));

impl<'de, T> Deserialize<'de> for OneOrRange<T>
where
    T: Deserialize<'de> + FromStr<Err = String> + Copy,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RangeVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de> + FromStr<Err = String> + Copy> Visitor<'de> for RangeVisitor<T> {
            type Value = OneOrRange<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value with its unit, or an array of two, minimum and maximum")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<OneOrRange<T>, E> {
                let value = text.parse().map_err(E::custom)?;
                Ok(OneOrRange((value, value)))
            }
            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut values: A,
            ) -> Result<OneOrRange<T>, A::Error> {
                let mut next =
                    |n| values.next_element()?.ok_or_else(|| Error::invalid_length(n, &self));
                Ok(OneOrRange((next(0)?, next(1)?)))
            }
        }
        deserializer.deserialize_any(RangeVisitor(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for OneOrRange<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("{} or range", T::schema_name()).into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let both = generator.subschema_for::<(T, T)>();
        json_schema!({ "anyOf": [generator.subschema_for::<T>(), both] })
    }
}

/// Serializes a range of two equal values as one value.
pub(crate) fn one_or_range<T, S>(span: &(T, T), serializer: S) -> Result<S::Ok, S::Error>
where
    T: Serialize + PartialEq,
    S: Serializer,
{
    if span.0 == span.1 { span.0.serialize(serializer) } else { span.serialize(serializer) }
}
