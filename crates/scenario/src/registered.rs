//! Entries that a scenario names, built in or of a registry, with their options.

use std::fmt;
use std::sync::Arc;

use driftway_base::Entry;
use driftway_base::options::{OptionError, OptionInfo, OptionValue};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::options::WrittenValue;

/// An entry that a scenario names, with its options: `{ TAG = "NAME", … }`.
pub struct Registered<P: 'static, T: 'static> {
    entry: Arc<Entry<P, T>>,
    /// The key of the name.
    tag: &'static str,
    /// The options and their values, including defaults, in the order of the entry.
    options: Vec<(&'static str, OptionValue<'static>)>,
    is_built_in: bool,
}

impl<P, T> Registered<P, T> {
    /// The entry with the options `given`, and defaults for the others.
    pub(crate) fn new(
        entry: &Arc<Entry<P, T>>,
        tag: &'static str,
        given: &[(&'static str, OptionValue<'static>)],
        is_built_in: bool,
    ) -> Self {
        let with_value = |option: &OptionInfo| {
            let set = given.iter().find(|(name, _)| *name == option.name);
            set.map(|(_, value)| *value).or(option.default).map(|value| (option.name, value))
        };
        let options = entry.options().iter().filter_map(with_value).collect();
        Self { entry: Arc::clone(entry), tag, options, is_built_in }
    }

    /// Name in scenarios.
    pub fn name(&self) -> &'static str {
        self.entry.name
    }

    /// Options and their values, including defaults.
    pub fn options(&self) -> &[(&'static str, OptionValue<'static>)] {
        &self.options
    }

    /// Returns whether the entry is built in, rather than one of a [`Registry`](crate::Registry).
    pub const fn is_built_in(&self) -> bool {
        self.is_built_in
    }

    /// Creates what is named.
    ///
    /// # Errors
    ///
    /// None for a loaded scenario, whose options are valid.
    pub fn build(&self, place: &P) -> Result<T, OptionError> {
        self.entry.build(&self.options, place)
    }
}

impl<P, T> Clone for Registered<P, T> {
    fn clone(&self) -> Self {
        Self {
            entry: Arc::clone(&self.entry),
            tag: self.tag,
            options: self.options.clone(),
            is_built_in: self.is_built_in,
        }
    }
}

impl<P, T> PartialEq for Registered<P, T> {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name() && self.options == other.options
    }
}

impl<P, T> fmt::Debug for Registered<P, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(self.name()).field("options", &self.options).finish()
    }
}

impl<P, T> Serialize for Registered<P, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1 + self.options.len()))?;
        map.serialize_entry(self.tag, self.name())?;
        for (name, value) in &self.options {
            map.serialize_entry(name, &WrittenValue(*value))?;
        }
        map.end()
    }
}
