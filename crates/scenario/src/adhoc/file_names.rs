//! Names of the files of a table.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::{Error, SeqAccess};

use crate::value_or::{self, Forms, Found};

/// Names of movement files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum FileNames {
    /// One file.
    One(String),
    /// Several files.
    Several(Vec<String>),
}

impl FileNames {
    /// The names, at least one.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Several(names) => names.as_slice(),
        }
        .iter()
        .map(String::as_str)
    }

    /// The names, for readers.
    pub fn label(&self) -> String {
        self.iter().collect::<Vec<_>>().join(", ")
    }

    /// The result of a change of each name.
    pub(crate) fn map(&self, change: impl Fn(&str) -> String) -> Self {
        match self {
            Self::One(name) => Self::One(change(name)),
            Self::Several(names) => Self::Several(names.iter().map(|name| change(name)).collect()),
        }
    }
}

impl Forms for FileNames {
    fn expecting() -> Cow<'static, str> {
        "the name of a file, or a list of names".into()
    }
    fn read(found: Found<'_>) -> Option<Result<Self, String>> {
        let Found::Text(name) = found else { return None };
        Some(Ok(Self::One(name.to_owned())))
    }
    fn read_array<'de, A: SeqAccess<'de>>(names: A) -> Option<Result<Self, A::Error>> {
        Some(value_or::array(names).and_then(|names: Vec<String>| match names.is_empty() {
            true => Err(A::Error::custom("a list of no files\nname at least one file")),
            false => Ok(Self::Several(names)),
        }))
    }
}

value_or::by_forms!(FileNames);
