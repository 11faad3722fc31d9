//! Recorded verdicts of a paper, with which those of runs are compared: `verdicts.csv`.
//!
//! It has a row for each statement, by its full name, with the verdict of all runs and that of the runs of
//! the quick part.

use std::collections::BTreeMap;

use driftway_sim::columns::{ColumnInfo, Values, names};

use super::files::Source;
use super::recorded_rows::{invalid_row, recorded_rows};
use super::statement_format::Verdict;
use crate::error::Error;

/// Name of the file.
pub const VERDICTS_FILE: &str = "verdicts.csv";

/// Its columns.
pub static VERDICT_COLUMNS: [ColumnInfo; 3] = [
    ColumnInfo::new("statement", Values::Text, "The statement, by its full name."),
    ColumnInfo::new(
        "all",
        Values::Text,
        "Verdict of all runs: `agrees`, `differs` or `undecided`.",
    ),
    ColumnInfo::new(
        "quick",
        Values::Text,
        "Verdict of the runs of the quick part; empty if that does not include the statement.",
    ),
];
const COLUMNS: [&str; 3] = names(&VERDICT_COLUMNS);

/// The recorded verdicts with which runs are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RecordedVerdicts {
    /// Those of all runs at all points.
    All,
    /// Those of the quick part.
    Quick,
    /// No verdicts are recorded for this number of runs.
    None,
}

/// The verdicts of a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerdictPair {
    /// That of all runs.
    pub all: Option<Verdict>,
    /// That of the runs of the quick part.
    pub quick: Option<Verdict>,
}

impl VerdictPair {
    /// The verdict for these runs; for a number of runs without recorded verdicts that of all runs.
    pub const fn of(&self, recorded: RecordedVerdicts) -> Option<Verdict> {
        match recorded {
            RecordedVerdicts::Quick => self.quick,
            RecordedVerdicts::All | RecordedVerdicts::None => self.all,
        }
    }
}

/// All recorded verdicts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredVerdicts(pub BTreeMap<String, VerdictPair>);

impl StoredVerdicts {
    /// Reads those of a study; none if it has no such file.
    ///
    /// # Errors
    ///
    /// The file is invalid.
    pub fn of(source: &Source) -> Result<Self, Error> {
        if !source.has_file(VERDICTS_FILE) {
            return Ok(Self::default());
        }
        Self::read(&source.display_path(VERDICTS_FILE), &source.read_file(VERDICTS_FILE)?)
    }

    /// Parses the file `place`.
    ///
    /// # Errors
    ///
    /// It is invalid.
    pub fn read(place: &str, text: &str) -> Result<Self, Error> {
        let mut all = BTreeMap::new();
        for (line, row) in recorded_rows(place, text, &COLUMNS)? {
            let wrong = |what: &str| invalid_row(place, line, what);
            let verdict = |at: usize| match row.get(at).unwrap_or_default() {
                "" => Ok(None),
                text => match Verdict::ALL.into_iter().find(|verdict| verdict.name() == text) {
                    None => Err(wrong(&format!("`{text}` is not a verdict"))),
                    known => Ok(known),
                },
            };
            let pair = VerdictPair { all: verdict(1)?, quick: verdict(2)? };
            if all.insert(row.get(0).unwrap_or_default().to_owned(), pair).is_some() {
                return Err(wrong("duplicate row"));
            }
        }
        Ok(Self(all))
    }

    /// Formats the file.
    ///
    /// # Errors
    ///
    /// Never, in memory.
    pub fn write(&self) -> Result<String, csv::Error> {
        let mut out = csv::Writer::from_writer(Vec::new());
        out.write_record(COLUMNS)?;
        let name = |verdict: Option<Verdict>| verdict.map_or("", Verdict::name);
        for (statement, pair) in &self.0 {
            out.write_record([statement, name(pair.all), name(pair.quick)])?;
        }
        let bytes = out.into_inner().map_err(|error| error.into_error())?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// These verdicts, and those of `found` in place of the same statements'; `known` are the statements that
    /// the study has.
    #[must_use]
    pub fn replaced_by(mut self, found: Self, known: &[&str]) -> Self {
        self.0.extend(found.0);
        self.0.retain(|id, _| known.contains(&id.as_str()));
        self
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn written_verdicts_are_read() {
        let pair = VerdictPair { all: Some(Verdict::Undecided), quick: None };
        let all = StoredVerdicts([("8-order-text".to_owned(), pair)].into());
        let text = all.write().unwrap();
        assert_eq!(text, "statement,all,quick\n8-order-text,undecided,\n");
        assert_eq!(StoredVerdicts::read("v.csv", &text).unwrap(), all);
    }

    #[test]
    fn invalid_files_are_rejected_with_line() {
        for (text, says) in [
            ("a,b\n", "v.csv:1: the columns are"),
            ("statement,all,quick\ns,maybe,\n", "v.csv:2: `maybe` is not a verdict"),
            ("statement,all,quick\ns,agrees,\ns,agrees,\n", "v.csv:3: duplicate row"),
        ] {
            let error = StoredVerdicts::read("v.csv", text).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
