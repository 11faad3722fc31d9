//! Keys with several forms of values: a quantity, a bare number, a word, a table, or a range.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{DeserializeOwned, Error, MapAccess, SeqAccess, Unexpected, Visitor};
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
            fn expecting() -> std::borrow::Cow<'static, str> {
                $expecting.into()
            }
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

        $crate::value_or::by_forms!($name);

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

        $crate::value_or::by_forms!($type);

        impl $crate::value_or::Forms for $type {
            fn expecting() -> std::borrow::Cow<'static, str> {
                concat!($what, " with its unit, such as \"", $example, "\"").into()
            }
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
pub enum Found<'a> {
    /// A text.
    Text(&'a str),
    /// A bare number.
    Number(u64),
    /// A bare number below 0.
    Negative(i64),
    /// A bare number with a fraction.
    Float(f64),
    /// `true` or `false`.
    Flag(bool),
}

impl Found<'_> {
    fn unexpected(&self) -> Unexpected<'_> {
        match *self {
            Self::Text(text) => Unexpected::Str(text),
            Self::Number(number) => Unexpected::Unsigned(number),
            Self::Negative(number) => Unexpected::Signed(number),
            Self::Float(number) => Unexpected::Float(number),
            Self::Flag(yes) => Unexpected::Bool(yes),
        }
    }
}

/// The forms of a key's value, of which the macro `value_or!` declares the usual ones.
pub trait Forms: Sized {
    /// Description of a valid value.
    fn expecting() -> Cow<'static, str>;
    /// The value in the form that was found; `None` if it has no such form.
    fn read(found: Found<'_>) -> Option<Result<Self, String>>;
    /// The value of a table; `None` if it has no such form.
    fn read_table<'de, A: MapAccess<'de>>(_table: A) -> Option<Result<Self, A::Error>> {
        None
    }
    /// The value of an array; `None` if it has no such form.
    fn read_array<'de, A: SeqAccess<'de>>(_array: A) -> Option<Result<Self, A::Error>> {
        None
    }
}

/// Reads a quantity.
pub fn text<T: FromStr<Err = String>>(found: Found<'_>) -> Option<Result<T, String>> {
    match found {
        Found::Text(text) => Some(text.parse()),
        _ => None,
    }
}

/// Reads a bare number.
pub fn number<T: TryFrom<u64>>(found: Found<'_>) -> Option<Result<T, String>> {
    match found {
        Found::Number(number) => T::try_from(number).ok().map(Ok),
        _ => None,
    }
}

/// Reads a table.
pub fn table<'de, T: Deserialize<'de>, A: MapAccess<'de>>(table: A) -> Result<T, A::Error> {
    T::deserialize(MapAccessDeserializer::new(table))
}

/// Reads an array.
pub fn array<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(array: A) -> Result<T, A::Error> {
    T::deserialize(SeqAccessDeserializer::new(array))
}

/// Deserializes a value in one of its forms.
pub fn deserialize<'de, T: Forms, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    from.deserialize_any(FormsVisitor(PhantomData))
}

/// Implements `Deserialize` by the forms of types.
#[doc(hidden)]
#[macro_export]
macro_rules! by_forms {
    ($($type:ty),+) => {$(
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::value_or::deserialize(from)
            }
        }
    )+};
}
pub use by_forms;

struct FormsVisitor<T>(PhantomData<T>);

impl<T: Forms> FormsVisitor<T> {
    fn read<E: Error>(&self, found: Found<'_>) -> Result<T, E> {
        match T::read(found) {
            Some(read) => read.map_err(E::custom),
            None => Err(E::invalid_type(found.unexpected(), self)),
        }
    }
}

impl<'de, T: Forms> Visitor<'de> for FormsVisitor<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&T::expecting())
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        self.read(Found::Text(text))
    }
    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        self.read(Found::Number(number))
    }
    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.read(u64::try_from(number).map_or(Found::Negative(number), Found::Number))
    }
    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        self.read(Found::Float(number))
    }
    fn visit_bool<E: Error>(self, yes: bool) -> Result<T, E> {
        self.read(Found::Flag(yes))
    }
    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<T, A::Error> {
        let wrong = || Err(A::Error::invalid_type(Unexpected::Map, &self));
        T::read_table(table).unwrap_or_else(wrong)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, array: A) -> Result<T, A::Error> {
        let wrong = || Err(A::Error::invalid_type(Unexpected::Seq, &self));
        T::read_array(array).unwrap_or_else(wrong)
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
pub trait TextOrTable: FromStr<Err = String> {
    /// Description of a valid value.
    const EXPECTING: &'static str;
}

/// Deserializes a table, or a text that stands for it.
pub fn text_or_table<'de, T, D>(from: D) -> Result<T, D::Error>
where
    T: TextOrTable + DeserializeOwned,
    D: Deserializer<'de>,
{
    Short::deserialize(from).map(|Short(table)| table)
}

/// A table that was read from a text or a table.
pub struct Short<T>(pub T);

impl<'de, T: TextOrTable + DeserializeOwned> Deserialize<'de> for Short<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        deserialize(from)
    }
}

impl<T: TextOrTable + DeserializeOwned> Forms for Short<T> {
    fn expecting() -> Cow<'static, str> {
        T::EXPECTING.into()
    }
    fn read(found: Found<'_>) -> Option<Result<Self, String>> {
        text(found).map(|read| read.map(Self))
    }
    fn read_table<'de, A: MapAccess<'de>>(found: A) -> Option<Result<Self, A::Error>> {
        Some(table(found).map(Self))
    }
}

/// Schema of a `T`, or of the table `U`.
pub(crate) struct OrTable<T, U>(PhantomData<(T, U)>);

impl<T: JsonSchema, U: JsonSchema> JsonSchema for OrTable<T, U> {
    fn schema_name() -> Cow<'static, str> {
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
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OneOrRange<T>(pub (T, T));

impl<T: DeserializeOwned + FromStr<Err = String> + Copy> Forms for OneOrRange<T> {
    fn expecting() -> Cow<'static, str> {
        "a value with its unit, or an array of two, minimum and maximum".into()
    }
    fn read(found: Found<'_>) -> Option<Result<Self, String>> {
        text(found).map(|read| read.map(|value| Self((value, value))))
    }
    fn read_array<'de, A: SeqAccess<'de>>(mut values: A) -> Option<Result<Self, A::Error>> {
        let wrong = |found| A::Error::invalid_length(found, &&*Self::expecting());
        let mut next = |found| values.next_element()?.ok_or_else(|| wrong(found));
        Some(next(0).and_then(|low| Ok(Self((low, next(1)?)))))
    }
}

impl<'de, T> Deserialize<'de> for OneOrRange<T>
where
    T: DeserializeOwned + FromStr<Err = String> + Copy,
{
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        deserialize(from)
    }
}

impl<T: JsonSchema> JsonSchema for OneOrRange<T> {
    fn schema_name() -> Cow<'static, str> {
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

/// A range of two equal values is written as one value.
impl<T: Serialize + PartialEq> Serialize for OneOrRange<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self((low, high)) = self;
        if low == high { low.serialize(to) } else { self.0.serialize(to) }
    }
}
