//! Tables whose keys are the fields of a protocol's configuration.
//!
//! A protocol crate is independent of the file format: it has a configuration struct with the
//! standard's values. [`table!`](crate::table::table) turns the struct into a table of the scenario file, key by field,
//! so that a key without a field, or a field without a key, does not compile.

use std::borrow::Cow;

use driftway_base::{Duration, Named, Rate};
use driftway_link::{DeliveryOrder, Duplex, Priority};
use driftway_radio::PropagationKind;
use driftway_radio::dcf::{CaptureModel, Phy};
use driftway_radio::movement::Format;
use driftway_route::{
    CachePart, ErrorRule, NextHopConfirmation, NonPropagatingRequests, ReplyFromCache,
    RouteRefresh, RouteShortening, SalvageReplies,
};
use driftway_tcp::HystartKind;
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, IntoDeserializer, MapAccess};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Diagnostic, unknown_word};
use crate::value_or::{self, Forms, Found, value_or};
use crate::{BitRate, Decibel, Distance, Frequency, Power, Size, Speed, Time};

/// A value of the file for a configuration field of type `T`.
pub trait FileValue<T>: Sized {
    /// Converts the configuration's value to that of the file.
    fn from_config(value: T) -> Self;
    /// Converts the file's value to that of the configuration.
    fn to_config(&self) -> T;
}

macro_rules! as_it_is {
    ($($type:ty),*) => {$(
        impl FileValue<$type> for $type {
            fn from_config(value: $type) -> Self {
                value
            }
            fn to_config(&self) -> $type {
                *self
            }
        }
    )*};
}
as_it_is!(bool, u8, u16, i16, u32, usize);

impl FileValue<Duration> for Time {
    fn from_config(value: Duration) -> Self {
        Self(value)
    }
    fn to_config(&self) -> Duration {
        self.0
    }
}

impl FileValue<Rate> for BitRate {
    fn from_config(value: Rate) -> Self {
        Self(value)
    }
    fn to_config(&self) -> Rate {
        self.0
    }
}

/// Quantities that a configuration has as a number in this unit.
macro_rules! in_unit {
    ($($type:ident: |$number:ident| $from:expr, |$own:ident| $to:expr;)+) => {$(
        impl FileValue<f64> for $type {
            fn from_config($number: f64) -> Self {
                $from
            }
            fn to_config(&self) -> f64 {
                let $own = *self;
                $to
            }
        }
    )+};
}
in_unit! {
    Distance: |metres| Self(metres), |distance| distance.0;
    Speed: |speed| Self(speed), |speed| speed.0;
    Power: |watts| Self::Watts(watts), |power| power.watts();
    Frequency: |hertz| Self(hertz as u64), |frequency| frequency.0 as f64;
    Decibel: |factor| Self(10.0 * libm::log10(factor)), |ratio| ratio.ratio();
}

impl FileValue<u32> for Size {
    fn from_config(value: u32) -> Self {
        Self(value.into())
    }
    fn to_config(&self) -> u32 {
        u32::try_from(self.0).unwrap_or(u32::MAX)
    }
}

value_or! {
    /// A duration, or `"forever"`.
    #[derive(Eq, PartialOrd, Ord)]
    pub enum Lifetime expecting "a time with its unit, such as \"20 min\", or \"forever\"" {
        /// This duration.
        Limited(time: Time) from text,
        /// Unlimited.
        Forever = "forever",
    }
}

impl FileValue<Duration> for Lifetime {
    fn from_config(value: Duration) -> Self {
        if value == Duration::MAX { Self::Forever } else { Self::Limited(Time(value)) }
    }
    fn to_config(&self) -> Duration {
        match self {
            Self::Limited(Time(time)) => *time,
            Self::Forever => Duration::MAX,
        }
    }
}

/// Conversion for configurations in which `None` means unlimited.
impl FileValue<Option<Duration>> for Lifetime {
    fn from_config(value: Option<Duration>) -> Self {
        value.map_or(Self::Forever, |value| Self::Limited(Time(value)))
    }
    fn to_config(&self) -> Option<Duration> {
        match self {
            Self::Limited(Time(time)) => Some(*time),
            Self::Forever => None,
        }
    }
}

/// Implements [`FileValue`] for an enumeration whose alternatives stand for those of a configuration's. Each side is
/// both a pattern and an expression.
macro_rules! mirrors {
    ($name:ident of $config:ty {$(
        $own:ident $(($($own_value:tt)*))? = $other:ident $(($($other_value:tt)*))? $({$($fields:tt)*})?,
    )+}) => {
        impl $crate::file_value::FileValue<$config> for $name {
            fn from_config(value: $config) -> Self {
                type Config = $config;
                match value {
                    $(Config::$other $(($($other_value)*))? $({$($fields)*})? => {
                        Self::$own $(($($own_value)*))?
                    })+
                }
            }
            fn to_config(&self) -> $config {
                type Config = $config;
                match *self {
                    $(Self::$own $(($($own_value)*))? => {
                        Config::$other $(($($other_value)*))? $({$($fields)*})?
                    })+
                }
            }
        }
    };
}
pub(crate) use mirrors;

/// A value, or `"none"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrNone<T>(pub Option<T>);

impl<T: FileValue<V>, V> FileValue<Option<V>> for OrNone<T> {
    fn from_config(value: Option<V>) -> Self {
        Self(value.map(T::from_config))
    }
    fn to_config(&self) -> Option<V> {
        self.0.as_ref().map(T::to_config)
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

impl<T: DeserializeOwned> Forms for OrNone<T> {
    fn expecting() -> Cow<'static, str> {
        "a value of this key, or \"none\"".into()
    }
    fn read(found: Found<'_>) -> Option<Result<Self, String>> {
        let value = match found {
            Found::Text("none") => return Some(Ok(Self(None))),
            Found::Text(text) => T::deserialize(StrDeserializer::new(text)),
            Found::Number(number) => T::deserialize(number.into_deserializer()),
            Found::Negative(number) => T::deserialize(number.into_deserializer()),
            Found::Float(number) => T::deserialize(number.into_deserializer()),
            Found::Flag(_) => return None,
        };
        Some(value.map(|value| Self(Some(value))).map_err(Diagnostic::into_text))
    }
    fn read_table<'de, A: MapAccess<'de>>(found: A) -> Option<Result<Self, A::Error>> {
        Some(value_or::table(found).map(|value| Self(Some(value))))
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for OrNone<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        value_or::deserialize(from)
    }
}

/// One of a protocol's alternatives, written by its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keyword<T>(pub T);

/// A protocol's alternatives and their names.
pub trait Keywords: Copy + PartialEq + 'static {
    /// All alternatives.
    const ALL: &'static [(&'static str, Self)];
    /// Descriptions of the alternatives, if their names do not say enough.
    const DESCRIPTIONS: &'static [(&'static str, &'static str)] = &[];
}

/// Makes keywords of enumerations that have names of their own. Those that are `described` have their documentation
/// in the reference, too; of the others the key's has what they mean.
macro_rules! named_keywords {
    ($($type:ty),+; described $($described:ty),+) => {
        $(named_keywords!(@ $type, &[]);)+
        $(named_keywords!(@ $described, <Self as Named>::DESCRIPTIONS);)+
    };
    (@ $type:ty, $descriptions:expr) => {
        impl Keywords for $type {
            const ALL: &'static [(&'static str, Self)] = &{
                let mut all = [("", <Self as Named>::ALL[0]); <Self as Named>::ALL.len()];
                let mut at = 0;
                while at < all.len() {
                    all[at] = (<Self as Named>::ALL[at].name(), <Self as Named>::ALL[at]);
                    at += 1;
                }
                all
            };
            const DESCRIPTIONS: &'static [(&'static str, &'static str)] = $descriptions;
        }
    };
}
named_keywords!(
    CachePart, CaptureModel, ErrorRule, HystartKind, NextHopConfirmation, NonPropagatingRequests, Phy,
    ReplyFromCache, RouteRefresh, RouteShortening, SalvageReplies;
    described DeliveryOrder, Duplex, Format, Priority, PropagationKind
);

impl<T: Keywords> FileValue<T> for Keyword<T> {
    fn from_config(value: T) -> Self {
        Self(value)
    }
    fn to_config(&self) -> T {
        self.0
    }
}

impl<T: Keywords> Keyword<T> {
    /// Its name in the file.
    pub fn name(&self) -> &'static str {
        let name = T::ALL.iter().find(|(_, choice)| *choice == self.0).map(|(name, _)| *name);
        name.unwrap_or_default()
    }

    /// All names.
    pub(crate) fn names() -> Vec<&'static str> {
        T::ALL.iter().map(|(name, _)| *name).collect()
    }
}

impl<T: Keywords> Serialize for Keyword<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<T: Keywords> Forms for Keyword<T> {
    fn expecting() -> Cow<'static, str> {
        format!("one of \"{}\"", Self::names().join("\", \"")).into()
    }
    fn read(found: Found<'_>) -> Option<Result<Self, String>> {
        let Found::Text(word) = found else { return None };
        let choice = T::ALL.iter().find(|(name, _)| *name == word);
        Some(choice.map_or_else(
            || Err(unknown_word(word, &Self::names())),
            |(_, choice)| Ok(Self(*choice)),
        ))
    }
}

impl<'de, T: Keywords> Deserialize<'de> for Keyword<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        value_or::deserialize(from)
    }
}
