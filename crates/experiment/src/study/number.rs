//! Values of `paper.toml` with several notations.

use std::borrow::Cow;
use std::collections::BTreeMap;

use driftway_scenario::value_or::{self, Forms, Found, by_forms};
use driftway_scenario::{Unit, quantity};
use serde::de::{Deserialize, Deserializer, Error, SeqAccess};

/// A number of a paper, or a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperNumber {
    /// Lower end, or the number itself. Percentages are divided by 100.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Unit; `None` for a bare number in its metric's base unit.
    pub unit: Option<NumberUnit>,
}

/// Unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberUnit {
    /// Unit of a quantity.
    Quantity(Unit),
    /// Per cent.
    Percent,
}

impl PaperNumber {
    fn exact(value: f64) -> Self {
        Self { low: value, high: value, unit: None }
    }

    fn parse(text: &str) -> Option<Self> {
        if let Some(percent) = text.strip_suffix('%') {
            let value = percent.trim().parse::<f64>().ok().filter(|value| value.is_finite())?;
            return Some(Self { unit: Some(NumberUnit::Percent), ..Self::exact(value / 100.0) });
        }
        let (value, unit) = quantity(text)?;
        Some(Self { unit: Some(NumberUnit::Quantity(unit)), ..Self::exact(value) })
    }

    /// Returns whether it is a percentage.
    pub fn is_percent(&self) -> bool {
        self.unit == Some(NumberUnit::Percent)
    }
}

impl Forms for PaperNumber {
    fn expecting() -> Cow<'static, str> {
        "a number such as 425, \"425 s\", \"33 %\", or a range such as [2, 3]".into()
    }
    fn read(found: Found<'_>) -> Option<Result<Self, String>> {
        Some(Ok(match found {
            Found::Number(number) => Self::exact(number as f64),
            Found::Negative(number) => Self::exact(number as f64),
            Found::Float(number) => Self::exact(number),
            Found::Text(text) => Self::parse(text)?,
            Found::Flag(_) => return None,
        }))
    }
    fn read_array<'de, A: SeqAccess<'de>>(mut ends: A) -> Option<Result<Self, A::Error>> {
        let mut end = |which: usize| {
            let missing = || A::Error::invalid_length(which, &&*Self::expecting());
            ends.next_element()?.ok_or_else(missing)
        };
        Some(end(0).and_then(|low: Self| {
            let high: Self = end(1)?;
            match low.unit != high.unit || low.low > high.high {
                true => Err(A::Error::custom("a range has the smaller number first, and one unit")),
                false => Ok(Self { high: high.high, ..low }),
            }
        }))
    }
}

/// A value in the syntax of `--set KEY=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SettingValue(pub String);

impl<'de> Deserialize<'de> for SettingValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match toml::Value::deserialize(deserializer)? {
            // A string is quoted only where it would otherwise be parsed as another type.
            toml::Value::String(text) if text.parse::<toml::Value>().is_err() => Self(text),
            other => Self(other.to_string()),
        })
    }
}

impl Forms for OneOrMany {
    fn expecting() -> Cow<'static, str> {
        "a name, or an array of names".into()
    }
    fn read(found: Found<'_>) -> Option<Result<Self, String>> {
        let Found::Text(name) = found else { return None };
        Some(Ok(Self(vec![name.to_owned()])))
    }
    fn read_array<'de, A: SeqAccess<'de>>(names: A) -> Option<Result<Self, A::Error>> {
        Some(value_or::array(names).map(Self))
    }
}

by_forms!(PaperNumber, OneOrMany);

/// Scenario keys and their values, as with `--set KEY=VALUE`:
/// `{ "flow.0.aid" = "atcp", "network.link.queue" = { packets = 50 } }`.
pub type Settings = BTreeMap<String, SettingValue>;

/// One name or several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OneOrMany(pub Vec<String>);

#[cfg(test)]
mod test {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    struct Example {
        #[serde(default)]
        number: Vec<PaperNumber>,
        #[serde(default)]
        set: Vec<SettingValue>,
    }

    fn read(text: &str) -> Result<Example, driftway_scenario::Error> {
        driftway_scenario::TomlFile::parse("a.toml", text.to_owned())?.read()
    }

    #[test]
    fn numbers_are_bare_or_have_a_unit() {
        let numbers =
            read("number = [425, 2.5, '425 s', '20 ms', '33 %', [2, 3], ['10 %', '20 %']]");
        let numbers = numbers.unwrap().number;
        let ends: Vec<_> = numbers.iter().map(|n| (n.low, n.high)).collect();
        assert_eq!(
            ends,
            [
                (425.0, 425.0),
                (2.5, 2.5),
                (425.0, 425.0),
                (0.02, 0.02),
                (0.33, 0.33),
                (2.0, 3.0),
                (0.1, 0.2)
            ]
        );
        let percent: Vec<_> = numbers.iter().map(PaperNumber::is_percent).collect();
        assert_eq!(percent, [false, false, false, false, true, false, true]);
    }

    #[test]
    fn invalid_numbers_are_rejected() {
        for wrong in ["'soon'", "[3, 2]", "['1 s', 2]", "[1]", "[1, 2, 3]", "true", "'nan %'"] {
            assert!(read(&format!("number = [{wrong}]")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_setting_is_written_as_on_a_command_line() {
        let text = "set = ['atcp', '50 ms', 3, 0.5, true, '3', 'true', { packets = 50 }, [1, 2]]";
        let settings: Vec<_> = read(text).unwrap().set.into_iter().map(|s| s.0).collect();
        assert_eq!(
            settings,
            [
                "atcp",
                "50 ms",
                "3",
                "0.5",
                "true",
                "\"3\"",
                "\"true\"",
                "{ packets = 50 }",
                "[1, 2]"
            ]
        );
    }
}
