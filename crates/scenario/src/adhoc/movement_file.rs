//! Movement files of the table `mobility`.

use std::borrow::Cow;

use driftway_base::Duration;
use driftway_radio::movement::ReadOptions;
use serde::Serialize;
use serde::de::{Error, SeqAccess};

use super::mobility::MovementFile;
use crate::file_value::Keyword;
use crate::value_or::{self, Forms, Found};
use crate::{Angle, Distance, Time};

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

/// The largest coordinate of a movement file (m).
const MAX_COORDINATE_M: f64 = 1e9;

impl MovementFile {
    /// Checks the values of the table; the error is a message for the user.
    pub(crate) fn check(&self) -> Result<(), String> {
        if let Some((Angle(latitude), Angle(longitude))) = self.origin
            && !((-90.0..=90.0).contains(&latitude) && (-180.0..=180.0).contains(&longitude))
        {
            return Err(format!(
                "`origin` is {latitude} deg, {longitude} deg\nthe latitude from -90 deg to 90 deg, \
                 then the longitude from -180 deg to 180 deg"
            ));
        }
        if let Some((Distance(x), Distance(y))) = self.offset
            && !(x.abs() <= MAX_COORDINATE_M && y.abs() <= MAX_COORDINATE_M)
        {
            return Err(format!("`offset` is {x} m, {y} m\nat most 1000000 km"));
        }
        Ok(())
    }

    /// Options of the reader.
    pub(crate) fn options(&self) -> ReadOptions {
        ReadOptions {
            format: self.format.map(|Keyword(format)| format),
            start: self.start.map_or(Duration::ZERO, |Time(start)| start),
            origin: self.origin.map(|(latitude, longitude)| (latitude.0, longitude.0)),
            offset: self.offset.map_or((0.0, 0.0), |(x, y)| (x.0, y.0)),
        }
    }
}
