//! The key `aid`: the aid to a flow's TCP. The list of the crate `aid` defines all aids and their
//! options.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use driftway_aid::registry::{AIDS, AidEnd, AidEntry, AidPlace, find};
use driftway_base::options::{OptionInfo, OptionValue};
use driftway_base::{Duration, FlowId};
use serde::de::MapAccess;
use serde::de::value::MapAccessDeserializer;
use serde::ser::SerializeMap;
use serde::{Deserializer, Serialize, Serializer};

use crate::Time;
use crate::error::unknown_word;
use crate::options::{OptionsVisitor, WrittenValue};
use crate::tagged::{Tagged, read_tagged};
use crate::value_or::{self, Forms, Found};

/// No aid.
pub(crate) const NONE: &str = "none";

/// An aid to TCP: its name, `aid = "atcp"`, or a table with options, `{ name = "atcp", … }`;
/// `"none"` is TCP without an aid.
///
/// The names are those of [`AIDS`] and of the [`Registry`](crate::Registry) with which the scenario
/// is loaded, the options those of [`AidEntry::options`]. Options that are left out are filled in with the aid's defaults when the scenario is loaded, except the phase of
/// the aid's own clock (ATCP's `tick_phase`), whose default is the phase of the clock of the host.
#[derive(Clone, Debug, PartialEq)]
pub struct Aid {
    /// `None`: no aid.
    listed: Option<ListedAid>,
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
    pub fn name(&self) -> Option<&'static str> {
        self.listed.as_ref().map(|listed| listed.name)
    }

    /// Returns whether the aid comes from a [`Registry`](crate::Registry).
    pub const fn is_registered(&self) -> bool {
        matches!(self.listed, Some(ListedAid::Registered(_)))
    }

    /// Options and their values, including defaults.
    pub fn options(&self) -> &[(&'static str, OptionValue<'static>)] {
        &self.options
    }

    /// Creates the aid of the connection at `place`; `None` for `"none"`. `clock_phase` is the phase of the
    /// clock of the connection's host, which an aid with its own clock adopts unless the scenario
    /// sets its phase (ATCP's `tick_phase`).
    pub fn build_at(
        &self,
        place: AidPlace,
        clock_phase: Duration,
    ) -> Option<Box<dyn driftway_aid::Aid>> {
        let listed = self.listed.as_ref()?;
        // Only the phase of a clock has no value here: all other options have a default.
        let value = |option: &OptionInfo| {
            let set = self.options.iter().find(|(name, _)| *name == option.name);
            set.map_or(OptionValue::Duration(clock_phase), |(_, value)| *value)
        };
        let options = listed.options().iter();
        let settings: Vec<_> = options.map(|option| (option.name, value(option))).collect();
        // Never an error: only valid options are deserialized.
        listed.build_at(place, &settings).ok()
    }

    /// Creates the aid of the sender of the first flow, as [`Aid::build_at`] does.
    pub fn build(&self, clock_phase: Duration) -> Option<Box<dyn driftway_aid::Aid>> {
        self.build_at(AidPlace { flow: FlowId::new(0), end: AidEnd::Sender }, clock_phase)
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
        let mut pairs = self.listed.as_ref()?.ordered_options.iter();
        pairs.find_map(|(short, long)| {
            let (short, long) = (span(short)?, span(long)?);
            (short.1 > long.1).then_some([short, long])
        })
    }

    /// The aid `name` with the options `given`, and defaults for the others.
    pub(crate) fn with_options(
        AidName(name): AidName,
        given: &[(&'static str, OptionValue<'static>)],
    ) -> Self {
        let Some(listed) = name else { return Self { listed: None, options: Vec::new() } };
        let value = |option: &OptionInfo| {
            let set = given.iter().find(|(name, _)| *name == option.name);
            set.map(|(_, value)| *value).or(option.default).map(|value| (option.name, value))
        };
        let options = listed.options().iter().filter_map(value).collect();
        Self { listed: Some(listed), options }
    }
}

impl Serialize for Aid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = self.name().unwrap_or(NONE);
        if self.options.is_empty() {
            return serializer.serialize_str(name);
        }
        let mut map = serializer.serialize_map(Some(1 + self.options.len()))?;
        map.serialize_entry("name", name)?;
        for (name, value) in &self.options {
            map.serialize_entry(name, &WrittenValue(*value))?;
        }
        map.end()
    }
}

/// Name and meaning of each state of the built-in aid with this name, the first one first; none for other names.
pub fn aid_states(name: &str) -> &'static [(&'static str, &'static str)] {
    find(name).map_or(&[], |listed| listed.states)
}

/// An aid of one of the lists.
#[derive(Clone)]
pub(crate) enum ListedAid {
    /// One of [`AIDS`].
    BuiltIn(&'static AidEntry),
    /// One of a [`Registry`](crate::Registry).
    Registered(Arc<AidEntry>),
}

impl Deref for ListedAid {
    type Target = AidEntry;
    fn deref(&self) -> &AidEntry {
        match self {
            Self::BuiltIn(listed) => listed,
            Self::Registered(listed) => listed,
        }
    }
}

impl fmt::Debug for ListedAid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for ListedAid {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// All built-in values of the key `name`.
pub(crate) fn aid_names() -> Vec<&'static str> {
    std::iter::once(NONE).chain(AIDS.iter().map(|listed| listed.name)).collect()
}

/// A value of the key `name`; `None` for `"none"`.
pub(crate) struct AidName(pub Option<ListedAid>);

impl Forms for AidName {
    fn expecting() -> Cow<'static, str> {
        format!("the name of an aid ({})", aid_names().join(", ")).into()
    }
    fn read(found: Found<'_>) -> Option<Result<Self, String>> {
        let Found::Text(name) = found else { return None };
        Some(match find(name) {
            None if name != NONE => Err(unknown_word(name, &aid_names())),
            listed => Ok(Self(listed.map(ListedAid::BuiltIn))),
        })
    }
}

impl<'de> Tagged<'de> for Aid {
    const KEY: &'static str = "name";
    type Kind = AidName;
    fn read<A: MapAccess<'de>>(
        name: AidName,
        rest: MapAccessDeserializer<A>,
    ) -> Result<Self, A::Error> {
        let options = name.0.as_deref().map_or(&[][..], AidEntry::options);
        let given = rest.deserialize_map(OptionsVisitor(options))?;
        Ok(Self::with_options(name, &given))
    }
}

impl Forms for Aid {
    fn expecting() -> Cow<'static, str> {
        let names = aid_names().join(", ");
        format!("the name of an aid ({names}), or a table with the key `name`").into()
    }
    fn read(found: Found<'_>) -> Option<Result<Self, String>> {
        AidName::read(found).map(|name| name.map(|name| Self::with_options(name, &[])))
    }
    fn read_table<'de, A: MapAccess<'de>>(found: A) -> Option<Result<Self, A::Error>> {
        Some(read_tagged(found))
    }
}

value_or::by_forms!(AidName, Aid);
