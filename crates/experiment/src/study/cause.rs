//! Causes of disagreements: `[cause.NAME]`, given once, and the places where a statement names them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::str::FromStr;

use driftway_scenario::value_or::{self, Forms, Found, Short, TextOrTable, by_forms};
use serde::de::SeqAccess;
use serde::{Deserialize, Deserializer};

use super::table::table;

table! {
    /// A cause, and the command that shows it. In both texts `{figure}` and `{reading}` stand for the figure and the reading of
    /// the statement, `{ARM}` for the arm that represents ARM in this reading, and `{set ARM}` for its overrides
    /// as options `--set` of `driftway run`.
    #[derive(Default)]
    pub struct Explanation expecting "a table with the keys of a cause" {
        /// The cause in words.
        text: String,
        /// The command whose output shows it.
        shown_by: String = default => "the study's",
        /// Readings in which it is a cause, where a statement names none.
        readings: Vec<String> = default => "all",
        /// Sources of the numbers in `text`.
        sources: Option<String>,
    }
}

/// The two forms of an [`Explanation`].
#[derive(schemars::JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "describes the notation")]
pub(super) enum TextOrExplanation {
    /// The cause in words.
    Text(String),
    /// All keys.
    Explanation(Explanation),
}

impl FromStr for Explanation {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Self { text: text.to_owned(), ..Self::default() })
    }
}

impl TextOrTable for Explanation {
    const EXPECTING: &'static str = "a text, or a table with the keys of a cause";
}

/// Reads causes by their names.
pub fn causes<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Explanation>, D::Error> {
    let all = BTreeMap::<String, Short<Explanation>>::deserialize(deserializer)?;
    Ok(all.into_iter().map(|(name, Short(cause))| (name, cause)).collect())
}

/// The causes of a statement: a name, or a list of names and of tables with places; the first one that
/// has the figure and the reading applies.
#[derive(Clone, Debug, Default, PartialEq, schemars::JsonSchema)]
#[schemars(with = "CausesSchema")]
pub struct Causes(pub Vec<PlacedCause>);

/// The two forms of [`Causes`].
#[derive(schemars::JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "describes the notation")]
enum CausesSchema {
    /// A name.
    Name(String),
    /// Several, each at its places.
    Several(Vec<PlacedCauseSchema>),
}

/// The two forms of [`PlacedCause`].
#[derive(schemars::JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "describes the notation")]
enum PlacedCauseSchema {
    /// A name.
    Name(String),
    /// A name and its places.
    Placed(PlacedCause),
}

table! {
    /// A cause of a statement at some of its places.
    #[derive(Default, PartialEq)]
    pub struct PlacedCause expecting "a table with the keys of a cause at its places" {
        /// Name of the cause.
        cause: String,
        /// Figures of the statement.
        figures: Vec<String> = default => "all",
        /// Readings of the statement.
        readings: Vec<String> = default => "those of the cause",
        /// The numbers that show it here, which follow the text of the cause.
        numbers: Option<String>,
        /// Sources of the numbers in `numbers`.
        sources: Option<String>,
        /// The command for this place.
        shown_by: Option<String> => "that of the cause",
    }
}

impl PlacedCause {
    fn everywhere(cause: &str) -> Self {
        Self { cause: cause.to_owned(), ..Self::default() }
    }

    /// Returns whether it applies to this figure and reading.
    pub fn is_at(&self, figure: &str, reading: Option<&str>) -> bool {
        let has = |names: &[String], name: Option<&str>| {
            names.is_empty() || name.is_some_and(|name| names.iter().any(|of| of == name))
        };
        has(&self.figures, Some(figure)) && has(&self.readings, reading)
    }
}

impl Forms for Causes {
    fn expecting() -> Cow<'static, str> {
        "the name of a cause, or an array of names and tables".into()
    }
    fn read(found: Found<'_>) -> Option<Result<Self, String>> {
        let Found::Text(name) = found else { return None };
        Some(Ok(Self(vec![PlacedCause::everywhere(name)])))
    }
    fn read_array<'de, A: SeqAccess<'de>>(parts: A) -> Option<Result<Self, A::Error>> {
        let placed = |parts: Vec<Short<PlacedCause>>| {
            Self(parts.into_iter().map(|Short(part)| part).collect())
        };
        Some(value_or::array(parts).map(placed))
    }
}

by_forms!(Causes);

impl FromStr for PlacedCause {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        Ok(Self::everywhere(name))
    }
}

impl TextOrTable for PlacedCause {
    const EXPECTING: &'static str = "the name of a cause, or a table with its places";
}

/// Replaces `{NAME}` in `text` by what `value` gives for NAME; other braces stay, because commands have them.
pub fn filled_in(text: &str, mut value: impl FnMut(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out += before;
        let replaced = after.split_once('}').and_then(|(name, rest)| Some((value(name)?, rest)));
        (out, rest) = match replaced {
            Some((value, behind)) => (out + &value, behind),
            None => (out + "{", after),
        };
    }
    out + rest
}

#[cfg(test)]
mod test {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Example {
        because: Causes,
    }

    #[test]
    fn a_cause_is_a_name_or_has_places() {
        let read = |text: &str| toml::from_str::<Example>(text).unwrap().because.0;
        assert_eq!(read("because = 'cts'"), [PlacedCause::everywhere("cts")]);
        let of = read("because = [{ cause = 'cts', figures = ['8'] }, 'few']");
        assert!(of[0].is_at("8", Some("text")) && !of[0].is_at("9", None));
        assert!(of[1].is_at("9", None));
        let in_reading = PlacedCause { readings: vec!["text".into()], ..PlacedCause::default() };
        assert!(in_reading.is_at("8", Some("text")) && !in_reading.is_at("8", None));
        assert!(toml::from_str::<Example>("because = [{ course = 'x' }]").is_err());
        assert!(toml::from_str::<Example>("because = 3").is_err());
    }

    #[test]
    fn only_known_names_are_filled_in() {
        let value = |name: &str| (name == "figure").then(|| "8".to_owned());
        let text = "run {figure} --set 'a={ name = \"x\" }' | awk '{ print }' {";
        let expected = "run 8 --set 'a={ name = \"x\" }' | awk '{ print }' {";
        assert_eq!(filled_in(text, value), expected);
    }
}
