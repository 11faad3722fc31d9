//! Options that are declared outside of this crate ([`driftway_base::options`]), such as those of aids: their
//! keys and values in the file.

use std::fmt;

use driftway_base::options::{NumberUnit, OptionInfo, OptionKind, OptionValue};
use serde::de::{DeserializeSeed, Error, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{unknown_key, unknown_word};
use crate::{Distance, Speed, Time};

/// A value as the file writes it.
pub(crate) struct WrittenValue(pub OptionValue<'static>);

impl Serialize for WrittenValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            OptionValue::Duration(span) => Time(span).serialize(serializer),
            OptionValue::Count(count) => count.serialize(serializer),
            OptionValue::Number(unit, number) => match unit {
                NumberUnit::One => number.serialize(serializer),
                NumberUnit::Metre => Distance(number).serialize(serializer),
                NumberUnit::MetrePerSecond => Speed(number).serialize(serializer),
            },
            OptionValue::Flag(on) => on.serialize(serializer),
            OptionValue::Choice(word) => word.serialize(serializer),
        }
    }
}

/// Deserializes a table of options.
pub(crate) struct OptionsVisitor(pub &'static [OptionInfo]);

impl<'de> DeserializeSeed<'de> for OptionsVisitor {
    type Value = Vec<(&'static str, OptionValue<'static>)>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for OptionsVisitor {
    type Value = Vec<(&'static str, OptionValue<'static>)>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table with options")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut given = Vec::new();
        while let Some(option) = map.next_key_seed(OptionKeySeed(self.0))? {
            given.push((option.name, map.next_value_seed(OptionValueSeed(option))?));
        }
        Ok(given)
    }
}

/// Deserializes the key of an option.
struct OptionKeySeed(&'static [OptionInfo]);

impl<'de> DeserializeSeed<'de> for OptionKeySeed {
    type Value = &'static OptionInfo;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for OptionKeySeed {
    type Value = &'static OptionInfo;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }
    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        self.0.iter().find(|option| option.name == key).ok_or_else(|| {
            let known: Vec<_> = self.0.iter().map(|option| option.name).collect();
            E::custom(unknown_key(key, &known))
        })
    }
}

/// Deserializes the value of an option.
struct OptionValueSeed(&'static OptionInfo);

impl<'de> DeserializeSeed<'de> for OptionValueSeed {
    type Value = OptionValue<'static>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let name = self.0.name;
        match self.0.kind {
            OptionKind::Duration(least, most) => {
                let found = Time::deserialize(deserializer)?;
                let (least, most) = (Time(least), Time(most));
                let limit = match found {
                    _ if found < least => format!("minimum is {least}"),
                    _ if found > most => format!("maximum is {most}"),
                    Time(span) => return Ok(OptionValue::Duration(span)),
                };
                Err(D::Error::custom(format!("`{name}` of {found}\nthe {limit}")))
            }
            OptionKind::Count(least, most) => {
                let count = deserializer.deserialize_u64(CountVisitor)?;
                let fits = u32::try_from(count).ok().filter(|n| (least..=most).contains(n));
                fits.map(OptionValue::Count).ok_or_else(|| {
                    D::Error::custom(format!("`{name}` of {count} out of range {least}–{most}"))
                })
            }
            OptionKind::Number(unit, least, most) => {
                let number = match unit {
                    NumberUnit::One => f64::deserialize(deserializer)?,
                    NumberUnit::Metre => Distance::deserialize(deserializer)?.0,
                    NumberUnit::MetrePerSecond => Speed::deserialize(deserializer)?.0,
                };
                if (least..=most).contains(&number) {
                    return Ok(OptionValue::Number(unit, number));
                }
                let [found, least, most] = [number, least, most].map(|number| match unit {
                    NumberUnit::One => number.to_string(),
                    NumberUnit::Metre => Distance(number).to_string(),
                    NumberUnit::MetrePerSecond => Speed(number).to_string(),
                });
                Err(D::Error::custom(format!("`{name}` of {found} out of range {least}–{most}")))
            }
            OptionKind::Flag => bool::deserialize(deserializer).map(OptionValue::Flag),
            OptionKind::Choice(words) => {
                deserializer.deserialize_str(ChoiceVisitor(words)).map(OptionValue::Choice)
            }
        }
    }
}

/// Deserializes a whole number.
struct CountVisitor;

impl Visitor<'_> for CountVisitor {
    type Value = u64;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number")
    }
    fn visit_u64<E: Error>(self, count: u64) -> Result<u64, E> {
        Ok(count)
    }
    fn visit_i64<E: Error>(self, count: i64) -> Result<u64, E> {
        count.try_into().map_err(|_| E::invalid_value(Unexpected::Signed(count), &self))
    }
}

/// Deserializes one of the given words.
struct ChoiceVisitor(&'static [(&'static str, &'static str)]);

impl ChoiceVisitor {
    fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|(name, _)| *name).collect()
    }
}

impl Visitor<'_> for ChoiceVisitor {
    type Value = &'static str;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one of \"{}\"", self.names().join("\", \""))
    }
    fn visit_str<E: Error>(self, word: &str) -> Result<&'static str, E> {
        let known = self.0.iter().find(|(name, _)| *name == word);
        let unknown = || E::custom(unknown_word(word, &self.names()));
        known.map(|(name, _)| *name).ok_or_else(unknown)
    }
}
