//! Tables whose keys are the fields of a protocol's configuration.
//!
//! A protocol crate is independent of the file format: it has a configuration struct with the
//! standard's values. [`table!`] turns the struct into a table of the scenario file, key by field,
//! so that a key without a field, or a field without a key, does not compile.

use std::fmt;
use std::marker::PhantomData;

use driftway_base::{Duration, Rate};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Error, IntoDeserializer, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::unknown_word;
use crate::{BitRate, Size, Time};

/// A value of the file for a configuration field of type `T`.
pub trait Setting<T>: Sized {
    /// Converts the configuration's value to that of the file.
    fn of(value: T) -> Self;
    /// Converts the file's value to that of the configuration.
    fn value(&self) -> T;
}

macro_rules! as_it_is {
    ($($type:ty),*) => {$(
        impl Setting<$type> for $type {
            fn of(value: $type) -> Self {
                value
            }
            fn value(&self) -> $type {
                *self
            }
        }
    )*};
}
as_it_is!(bool, u8, u16, i16, u32, usize);

impl Setting<Duration> for Time {
    fn of(value: Duration) -> Self {
        Self(value)
    }
    fn value(&self) -> Duration {
        self.0
    }
}

impl Setting<Rate> for BitRate {
    fn of(value: Rate) -> Self {
        Self(value)
    }
    fn value(&self) -> Rate {
        self.0
    }
}

impl Setting<u32> for Size {
    fn of(value: u32) -> Self {
        Self(value.into())
    }
    fn value(&self) -> u32 {
        u32::try_from(self.0).unwrap_or(u32::MAX)
    }
}

/// A duration, or `"forever"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lifetime {
    /// This duration.
    Limited(Time),
    /// Unlimited.
    Forever,
}

impl Setting<Duration> for Lifetime {
    fn of(value: Duration) -> Self {
        if value == Duration::MAX { Self::Forever } else { Self::Limited(Time(value)) }
    }
    fn value(&self) -> Duration {
        match self {
            Self::Limited(Time(time)) => *time,
            Self::Forever => Duration::MAX,
        }
    }
}

impl Serialize for Lifetime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Limited(time) => time.serialize(serializer),
            Self::Forever => serializer.serialize_str("forever"),
        }
    }
}

impl<'de> Deserialize<'de> for Lifetime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Lifetime;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time with its unit, such as \"20 min\", or \"forever\"")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Lifetime, E> {
                match text {
                    "forever" => Ok(Lifetime::Forever),
                    _ => text.parse().map(Lifetime::Limited).map_err(E::custom),
                }
            }
        }
        deserializer.deserialize_any(Text)
    }
}

/// For configurations in which `None` means unlimited.
impl Setting<Option<Duration>> for Lifetime {
    fn of(value: Option<Duration>) -> Self {
        value.map_or(Self::Forever, |value| Self::Limited(Time(value)))
    }
    fn value(&self) -> Option<Duration> {
        match self {
            Self::Limited(Time(time)) => Some(*time),
            Self::Forever => None,
        }
    }
}

/// A value, or `"none"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrNone<T>(pub Option<T>);

impl<T: Setting<V>, V> Setting<Option<V>> for OrNone<T> {
    fn of(value: Option<V>) -> Self {
        Self(value.map(T::of))
    }
    fn value(&self) -> Option<V> {
        self.0.as_ref().map(T::value)
    }
}

impl<T: Serialize> Serialize for OrNone<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Some(value) => value.serialize(serializer),
            None => serializer.serialize_str("none"),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OrNone<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = OrNone<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value of this key, or \"none\"")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<OrNone<T>, E> {
                match text {
                    "none" => Ok(OrNone(None)),
                    _ => {
                        T::deserialize(StrDeserializer::new(text)).map(|value| OrNone(Some(value)))
                    }
                }
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<OrNone<T>, E> {
                T::deserialize(number.into_deserializer()).map(|value| OrNone(Some(value)))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<OrNone<T>, E> {
                T::deserialize(number.into_deserializer()).map(|value| OrNone(Some(value)))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<OrNone<T>, A::Error> {
                let value = T::deserialize(MapAccessDeserializer::new(map))?;
                Ok(OrNone(Some(value)))
            }
        }
        deserializer.deserialize_any(Either(PhantomData))
    }
}

/// One of a protocol's alternatives, written by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word<T>(pub T);

/// A protocol's alternatives and their names.
pub trait Words: Copy + PartialEq + 'static {
    /// All alternatives.
    const ALL: &'static [(&'static str, Self)];
}

impl<T: Words> Setting<T> for Word<T> {
    fn of(value: T) -> Self {
        Self(value)
    }
    fn value(&self) -> T {
        self.0
    }
}

impl<T: Words> Word<T> {
    /// Its name in the file.
    pub fn name(&self) -> &'static str {
        let name = T::ALL.iter().find(|(_, choice)| *choice == self.0).map(|(name, _)| *name);
        name.unwrap_or_default()
    }
}

impl<T: Words> Serialize for Word<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de, T: Words> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text<T>(PhantomData<T>);
        fn names<T: Words>() -> Vec<&'static str> {
            T::ALL.iter().map(|(name, _)| *name).collect()
        }
        impl<T: Words> Visitor<'_> for Text<T> {
            type Value = Word<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "one of \"{}\"", names::<T>().join("\", \""))
            }
            fn visit_str<E: Error>(self, word: &str) -> Result<Word<T>, E> {
                let choice = T::ALL.iter().find(|(name, _)| *name == word);
                let unknown = || E::custom(unknown_word(word, &names::<T>()));
                choice.map(|(_, choice)| Word(*choice)).ok_or_else(unknown)
            }
            fn visit_bool<E: Error>(self, yes: bool) -> Result<Word<T>, E> {
                Err(E::invalid_type(Unexpected::Bool(yes), &self))
            }
        }
        deserializer.deserialize_any(Text(PhantomData))
    }
}

/// Generates a table of the file from a configuration: each field is a key of the given type, with
/// the value in `$standard` as default. Fields after `given` are not keys; they have the given
/// value.
macro_rules! table {
    (
        $(#[$about:meta])*
        $name:ident of $config:ty = $standard:expr, $expecting:literal;
        $($(#[$doc:meta])* $field:ident: $type:ty,)*
        $(; given $($given:ident = $value:expr,)*)?
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default, expecting = $expecting)]
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl $crate::setting::Setting<$config> for $name {
            fn of(config: $config) -> Self {
                Self { $($field: $crate::setting::Setting::of(config.$field),)* }
            }
            fn value(&self) -> $config {
                type Config = $config;
                Config {
                    $($field: $crate::setting::Setting::value(&self.$field),)*
                    $($($given: $value,)*)?
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                $crate::setting::Setting::of($standard)
            }
        }

        impl $name {
            /// The protocol's configuration.
            pub fn config(&self) -> $config {
                $crate::setting::Setting::value(self)
            }
        }
    };
}
pub(crate) use table;
