//! Causes of disagreements: `[cause.NAME]`, given once, and the places where a statement names them.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::text_or_table::text_or_table;

/// A cause, and the command that shows it. In both texts `{figure}` and `{reading}` stand for the figure and the reading of
/// the statement, `{ARM}` for the arm that represents ARM in this reading, and `{set ARM}` for its overrides
/// as options `--set` of `driftway run`.
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a cause")]
pub struct Explanation {
    /// The cause in words.
    pub text: String,
    /// The command whose output shows it.
    #[serde(default)]
    #[schemars(extend("x-default" = "the study's"))]
    pub shown_by: String,
    /// Readings in which it is a cause, where a statement names none.
    #[serde(default)]
    #[schemars(extend("x-default" = "all"))]
    pub readings: Vec<String>,
    /// Sources of the numbers in `text`.
    pub sources: Option<String>,
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

/// Reads causes by their names.
pub fn causes<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Explanation>, D::Error> {
    struct Element(Explanation);
    impl From<Explanation> for Element {
        fn from(cause: Explanation) -> Self {
            Self(cause)
        }
    }
    impl<'de> Deserialize<'de> for Element {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let expected = "a text, or a table with the keys of a cause";
            let of_text = |text: &str| {
                Self(Explanation {
                    text: text.to_owned(),
                    shown_by: String::new(),
                    readings: Vec::new(),
                    sources: None,
                })
            };
            text_or_table::<D, Explanation, Self>(deserializer, expected, of_text)
        }
    }
    let all = BTreeMap::<String, Element>::deserialize(deserializer)?;
    Ok(all.into_iter().map(|(name, Element(cause))| (name, cause)).collect())
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

/// A cause of a statement at some of its places.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a cause at its places")]
pub struct PlacedCause {
    /// Name of the cause.
    pub cause: String,
    /// Figures of the statement.
    #[serde(default)]
    #[schemars(extend("x-default" = "all"))]
    pub figures: Vec<String>,
    /// Readings of the statement.
    #[serde(default)]
    #[schemars(extend("x-default" = "those of the cause"))]
    pub readings: Vec<String>,
    /// The numbers that show it here, which follow the text of the cause.
    pub numbers: Option<String>,
    /// Sources of the numbers in `numbers`.
    pub sources: Option<String>,
    /// The command for this place.
    #[schemars(extend("x-default" = "that of the cause"))]
    pub shown_by: Option<String>,
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

impl<'de> Deserialize<'de> for Causes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CausesVisitor;
        impl<'de> Visitor<'de> for CausesVisitor {
            type Value = Causes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a cause, or an array of names and tables")
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<Causes, E> {
                Ok(Causes(vec![PlacedCause::everywhere(name)]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Causes, A::Error> {
                let mut all = Vec::new();
                while let Some(NameOrTable(part)) = parts.next_element()? {
                    all.push(part);
                }
                Ok(Causes(all))
            }
        }
        deserializer.deserialize_any(CausesVisitor)
    }
}

/// An element of the list.
struct NameOrTable(PlacedCause);

impl<'de> Deserialize<'de> for NameOrTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "the name of a cause, or a table with its places";
        let of_name = |name: &str| Self(PlacedCause::everywhere(name));
        text_or_table::<D, PlacedCause, Self>(deserializer, expected, of_name)
    }
}

impl From<PlacedCause> for NameOrTable {
    fn from(placed: PlacedCause) -> Self {
        Self(placed)
    }
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
