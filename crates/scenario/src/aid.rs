//! The key `aid`: the aid to a flow's TCP. The list of the crate `aid` defines all aids and their
//! options.

use std::fmt;

use driftway_aid::options::{OptionInfo, OptionKind, OptionValue};
use driftway_aid::registry::{AIDS, AidEntry, find};
use driftway_base::Duration;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Error, MapAccess, Unexpected, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Time;
use crate::error::{unknown_key, unknown_word};
use crate::tagged::{Tagged, read_tagged};

/// No aid.
const NONE: &str = "none";

/// An aid to TCP: its name, `aid = "atcp"`, or a table with options, `{ name = "atcp", … }`;
/// `"none"` is TCP without an aid.
///
/// The names are those of [`AIDS`], the options those of [`AidEntry::options`]. Options that are
/// left out are filled in with the aid's defaults when the scenario is loaded, except the phase of
/// the aid's own clock (ATCP's `tick_phase`), whose default is the phase of the clock of the host.
#[derive(Clone, Debug, PartialEq)]
pub struct Aid {
    /// `None`: no aid.
    name: Option<&'static str>,
    /// The options and their values, in the order of the aid's list.
    options: Vec<(&'static str, OptionValue<'static>)>,
}

impl Default for Aid {
    fn default() -> Self {
        Self::with_options(AidName(None), &[])
    }
}

impl Aid {
    /// Name of the aid, as in the scenario file; `None` for `"none"`.
    pub const fn name(&self) -> Option<&'static str> {
        self.name
    }

    /// Options and their values, including defaults.
    pub fn options(&self) -> &[(&'static str, OptionValue<'static>)] {
        &self.options
    }

    /// Creates the aid of one connection; `None` for `"none"`. `clock_phase` is the phase of the
    /// clock of the connection's host, which an aid with its own clock adopts unless the scenario
    /// sets its phase (ATCP's `tick_phase`).
    pub fn build(&self, clock_phase: Duration) -> Option<Box<dyn driftway_aid::Aid>> {
        let listed = find(self.name?)?;
        // Only the phase of a clock has no value here: all other options have a default.
        let value = |option: &OptionInfo| {
            let set = self.options.iter().find(|(name, _)| *name == option.name);
            set.map_or(OptionValue::Duration(clock_phase), |(_, value)| *value)
        };
        let options = listed.options();
        let settings: Vec<_> = options.iter().map(|option| (option.name, value(option))).collect();
        // Never an error: only valid options are deserialized.
        listed.build(&settings).ok()
    }

    /// Two options whose values violate their order, with their values; the one that must not be
    /// longer comes first. `None` for an aid of a loaded scenario.
    pub fn misordered_options(&self) -> Option<[(&'static str, Time); 2]> {
        let span = |of: &'static str| {
            self.options.iter().find_map(|(name, value)| match value {
                OptionValue::Duration(span) if *name == of => Some((of, Time(*span))),
                _ => None,
            })
        };
        let mut pairs = find(self.name?)?.ordered_options.iter();
        pairs.find_map(|(short, long)| {
            let (short, long) = (span(short)?, span(long)?);
            (short.1 > long.1).then_some([short, long])
        })
    }

    /// The aid `name` with the options `given`, and defaults for the others.
    fn with_options(
        AidName(name): AidName,
        given: &[(&'static str, OptionValue<'static>)],
    ) -> Self {
        let Some(listed) = name else { return Self { name: None, options: Vec::new() } };
        let value = |option: OptionInfo| {
            let set = given.iter().find(|(name, _)| *name == option.name);
            set.map(|(_, value)| *value).or(option.default).map(|value| (option.name, value))
        };
        Self {
            name: Some(listed.name),
            options: listed.options().into_iter().filter_map(value).collect(),
        }
    }
}

impl Serialize for Aid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = self.name.unwrap_or(NONE);
        if self.options.is_empty() {
            return serializer.serialize_str(name);
        }
        let mut map = serializer.serialize_map(Some(1 + self.options.len()))?;
        map.serialize_entry("name", name)?;
        for (name, value) in &self.options {
            match value {
                OptionValue::Duration(span) => map.serialize_entry(name, &Time(*span))?,
                OptionValue::Count(count) => map.serialize_entry(name, count)?,
                OptionValue::Flag(on) => map.serialize_entry(name, on)?,
                OptionValue::Choice(word) => map.serialize_entry(name, word)?,
            }
        }
        map.end()
    }
}

/// All values of the key `name`.
fn aid_names() -> Vec<&'static str> {
    std::iter::once(NONE).chain(AIDS.iter().map(|listed| listed.name)).collect()
}

/// A value of the key `name`; `None` for `"none"`.
pub(crate) struct AidName(Option<&'static AidEntry>);

impl<'de> Deserialize<'de> for AidName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AidNameVisitor;
        impl Visitor<'_> for AidNameVisitor {
            type Value = AidName;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "the name of an aid ({})", aid_names().join(", "))
            }
            fn visit_str<E: Error>(self, name: &str) -> Result<AidName, E> {
                match find(name) {
                    None if name != NONE => Err(E::custom(unknown_word(name, &aid_names()))),
                    listed => Ok(AidName(listed)),
                }
            }
        }
        deserializer.deserialize_str(AidNameVisitor)
    }
}

impl<'de> Tagged<'de> for Aid {
    const KEY: &'static str = "name";
    type Kind = AidName;
    fn read<A: MapAccess<'de>>(
        name: AidName,
        rest: MapAccessDeserializer<A>,
    ) -> Result<Self, A::Error> {
        let options = name.0.map_or_else(Vec::new, AidEntry::options);
        let given = rest.deserialize_map(OptionsVisitor(&options))?;
        Ok(Self::with_options(name, &given))
    }
}

impl<'de> Deserialize<'de> for Aid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AidVisitor;
        impl<'de> Visitor<'de> for AidVisitor {
            type Value = Aid;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let names = aid_names().join(", ");
                write!(f, "the name of an aid ({names}), or a table with the key `name`")
            }
            fn visit_str<E: Error>(self, name: &str) -> Result<Aid, E> {
                AidName::deserialize(StrDeserializer::new(name))
                    .map(|name| Aid::with_options(name, &[]))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Aid, A::Error> {
                read_tagged(map)
            }
        }
        deserializer.deserialize_any(AidVisitor)
    }
}

/// Deserializes the options of an aid.
struct OptionsVisitor<'a>(&'a [OptionInfo]);

impl<'de> Visitor<'de> for OptionsVisitor<'_> {
    type Value = Vec<(&'static str, OptionValue<'static>)>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table with the options of an aid")
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
struct OptionKeySeed<'a>(&'a [OptionInfo]);

impl<'de, 'a> DeserializeSeed<'de> for OptionKeySeed<'a> {
    type Value = &'a OptionInfo;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<'a> Visitor<'_> for OptionKeySeed<'a> {
    type Value = &'a OptionInfo;
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
struct OptionValueSeed<'a>(&'a OptionInfo);

impl<'de> DeserializeSeed<'de> for OptionValueSeed<'_> {
    type Value = OptionValue<'static>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let name = self.0.name;
        match &self.0.kind {
            OptionKind::Duration(least, most) => {
                let found = Time::deserialize(deserializer)?;
                let (least, most) = (Time(*least), Time(*most));
                let limit = match found {
                    _ if found < least => format!("minimum is {least}"),
                    _ if found > most => format!("maximum is {most}"),
                    Time(span) => return Ok(OptionValue::Duration(span)),
                };
                Err(D::Error::custom(format!("`{name}` of {found}\nthe {limit}")))
            }
            OptionKind::Count(least, most) => {
                let count = deserializer.deserialize_u64(CountVisitor)?;
                let fits = u32::try_from(count).ok().filter(|n| (*least..=*most).contains(n));
                fits.map(OptionValue::Count).ok_or_else(|| {
                    D::Error::custom(format!("`{name}` of {count} out of range {least}–{most}"))
                })
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
struct ChoiceVisitor<'a>(&'a [&'static str]);

impl Visitor<'_> for ChoiceVisitor<'_> {
    type Value = &'static str;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one of \"{}\"", self.0.join("\", \""))
    }
    fn visit_str<E: Error>(self, word: &str) -> Result<&'static str, E> {
        let known = self.0.iter().find(|known| **known == word);
        known.copied().ok_or_else(|| E::custom(unknown_word(word, self.0)))
    }
}
