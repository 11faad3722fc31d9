//! Sources of the numbers in a text: a block of lines, in a comment of a README or in the key
//! `sources` of a cause.
//!
//! A line is one of
//!
//! - `given A, B`: numbers that are not results: the paper's, a standard's, a parameter's;
//! - `A = EXPRESSION`: one over the recorded results ([`super::expression`]);
//! - `A, B = $ COMMAND`: a command that prints exactly these numbers;
//! - `A, B = METRIC, METRIC in FILE with { KEY = VALUE }`: runs of a scenario of the paper, as many
//!   as its figures have. Without overrides `with` is omitted.
//!
//! Numbers with a derivation stand in the order of the text.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::text::Occurrence;
use crate::study::number::SettingValue;

/// The sources of the numbers in one text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sources {
    /// Numbers that are not results.
    pub given: Vec<String>,
    /// Numbers with their derivations, in the order of the text.
    pub derived: Vec<DerivedNumbers>,
}

/// Numbers with a common derivation.
#[derive(Clone, Debug, PartialEq)]
pub struct DerivedNumbers {
    /// The numbers as written.
    pub numbers: Vec<String>,
    /// Their derivation.
    pub derivation: Derivation,
}

/// Derivation of numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Derivation {
    /// An expression over the recorded results, of one number.
    Expression(String),
    /// A shell command that prints the numbers.
    Command(String),
    /// Means over runs of a scenario of the paper.
    Runs {
        /// The metric of each number.
        metrics: Vec<String>,
        /// File of the scenario.
        file: String,
        /// Overrides of the scenario.
        set: BTreeMap<String, SettingValue>,
    },
}

impl Sources {
    /// Parses a block.
    ///
    /// # Errors
    ///
    /// A message for the user.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut sources = Self::default();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if let Some(numbers) = line.strip_prefix("given ") {
                sources.given.extend(number_list(numbers)?);
                continue;
            }
            let (numbers, derivation) = line.split_once(" = ").ok_or_else(|| {
                format!("`{line}` is neither `given NUMBERS` nor `NUMBERS = DERIVATION`")
            })?;
            let numbers = number_list(numbers)?;
            let derivation = Derivation::parse(derivation.trim())?;
            let count = derivation.count().unwrap_or(numbers.len());
            if count != numbers.len() {
                return Err(format!("`{line}` has {} numbers, and {count} values", numbers.len()));
            }
            sources.derived.push(DerivedNumbers { numbers, derivation });
        }
        Ok(sources)
    }

    /// Attributes the numbers of a text to these sources.
    pub fn attribute<'a>(&self, occurrences: &'a [Occurrence]) -> Attribution<'a> {
        let mut found = Attribution::default();
        let unsigned = |number: &str| number.trim_start_matches(['−', '-']).to_owned();
        let mut derived = self.derived.iter().flat_map(|of| &of.numbers).peekable();
        let mut unused: Vec<&String> = self.given.iter().collect();
        for occurrence in occurrences {
            if derived.next_if(|number| unsigned(number) == occurrence.number).is_some() {
                found.derived.push(occurrence);
            } else if self.given.contains(&occurrence.number) {
                unused.retain(|given| **given != occurrence.number);
            } else {
                found.uncited.push(occurrence);
            }
        }
        found.missing = derived.chain(unused).cloned().collect();
        found
    }
}

/// The numbers of a text by their sources.
#[derive(Clone, Debug, Default)]
pub struct Attribution<'a> {
    /// The places of the numbers with derivations, in order; complete if nothing is missing.
    pub derived: Vec<&'a Occurrence>,
    /// Numbers of the sources that the text does not have, or has in another order.
    pub missing: Vec<String>,
    /// Numbers of the text without a source.
    pub uncited: Vec<&'a Occurrence>,
}

impl Derivation {
    fn parse(text: &str) -> Result<Self, String> {
        if let Some(command) = text.strip_prefix("$ ") {
            return Ok(Self::Command(command.to_owned()));
        }
        let Some((metrics, rest)) = text.split_once(" in ") else {
            return Ok(Self::Expression(text.to_owned()));
        };
        let (file, set) = rest.split_once(" with ").unwrap_or((rest, "{}"));
        #[derive(Deserialize)]
        struct Overrides {
            set: BTreeMap<String, SettingValue>,
        }
        let overrides: Overrides = toml::from_str(&format!("set = {set}"))
            .map_err(|error| format!("`{set}` is not an inline table: {}", error.message()))?;
        Ok(Self::Runs {
            metrics: metrics.split(", ").map(str::to_owned).collect(),
            file: file.to_owned(),
            set: overrides.set,
        })
    }

    /// The count of its numbers; `None`: as many as a command prints.
    fn count(&self) -> Option<usize> {
        match self {
            Self::Expression(_) => Some(1),
            Self::Command(_) => None,
            Self::Runs { metrics, .. } => Some(metrics.len()),
        }
    }
}

fn number_list(text: &str) -> Result<Vec<String>, String> {
    let numbers = text.split(", ").map(|number| {
        let number = number.trim();
        let value = super::text::parse_number(number);
        value.map(|_| number.to_owned()).ok_or_else(|| format!("`{number}` is not a number"))
    });
    numbers.collect()
}

#[cfg(test)]
mod test {
    use super::super::text::numbers_in;
    use super::*;

    #[test]
    fn lines_have_one_of_four_forms() {
        let sources = Sources::parse(
            "given 20, 1,024\n\n  925 = 8:tcp:10 ms\n-3, 4 = $ echo -3 4\n\
             12, 0.5 = completion_s, timeouts in s.toml with { \"flow.0.aid\" = \"none\", a = 1 }\n\
             7 = timeouts in s.toml",
        )
        .unwrap();
        assert_eq!(sources.given, ["20", "1,024"]);
        let derivations: Vec<_> = sources.derived.iter().map(|of| &of.derivation).collect();
        assert_eq!(*derivations[0], Derivation::Expression("8:tcp:10 ms".into()));
        assert_eq!(*derivations[1], Derivation::Command("echo -3 4".into()));
        let Derivation::Runs { metrics, file, set } = derivations[2] else { panic!() };
        assert_eq!((metrics.len(), file.as_str(), set.len()), (2, "s.toml", 2));
        let Derivation::Runs { set, .. } = derivations[3] else { panic!() };
        assert!(set.is_empty());
    }

    #[test]
    fn other_lines_are_rejected() {
        for (text, says) in [
            ("925", "neither `given NUMBERS` nor `NUMBERS = DERIVATION`"),
            ("given soon", "`soon` is not a number"),
            ("1e3 = 8:tcp:", "`1e3` is not a number"),
            ("1, 2 = 8:tcp:", "has 2 numbers, and 1 values"),
            ("1, 2 = timeouts in s.toml", "has 2 numbers, and 1 values"),
            ("1 = timeouts in s.toml with 3", "is not an inline table"),
        ] {
            let error = Sources::parse(text).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn each_number_has_one_source() {
        let sources = Sources::parse("given 10\n925 = 8:a:\n−3 = 8:b:\n4 = 8:c:").unwrap();
        let numbers = numbers_in("It takes 925 s at 10 ms, −3 % less than 17 and 10.");
        let found = sources.attribute(&numbers);
        let texts = |of: &[&Occurrence]| of.iter().map(|o| o.number.clone()).collect::<Vec<_>>();
        assert_eq!(texts(&found.derived), ["925", "3"]);
        assert_eq!(texts(&found.uncited), ["17"]);
        assert_eq!(found.missing, ["4"]);
        let found = Sources::parse("given 10, 11").unwrap();
        assert_eq!(found.attribute(&numbers_in("10")).missing, ["11"]);
    }
}
