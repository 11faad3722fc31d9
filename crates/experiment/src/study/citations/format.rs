//! `numbers.toml`: the numbers cited in a paper's texts, their derivations, and the tables of its
//! README.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::study::number::SettingValue;

/// The prose that accompanies a paper's file.
pub const README: &str = "README.md";

/// Name of the file.
pub const NUMBERS_FILE: &str = "numbers.toml";

/// The file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of numbers.toml")]
pub struct NumbersFile {
    /// Passages whose numbers are not results: the paper's, a standard's, a parameter's.
    #[serde(default)]
    pub given: Vec<String>,
    /// Passages with results: `[[cited]]`.
    #[serde(default, rename = "cited")]
    pub cited: Vec<CitedPassage>,
    /// Tables of the README: `[[table]]`.
    #[serde(default, rename = "table")]
    pub tables: Vec<ReadmeTable>,
}

/// A passage and the derivation of its numbers, `[[cited]]`. Without `run` and `command` they are
/// expressions over the recorded results ([`super::expression`]).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a cited passage")]
pub struct CitedPassage {
    /// The passage as in README.md or in a cause in paper.toml, with the numbers in braces:
    /// `"takes {925} s, with {134} timeouts"`.
    pub text: String,
    /// The derivation of each number in order: an expression, or with `run` a metric.
    #[serde(default)]
    pub gives: Vec<String>,
    /// A scenario of the paper, run as often as the paper's figures.
    pub run: Option<String>,
    /// Overrides of that scenario.
    #[serde(default)]
    pub set: BTreeMap<String, SettingValue>,
    /// A command that prints exactly these numbers, in this order.
    pub command: Option<String>,
}

fn default_readme() -> String {
    README.to_owned()
}

/// A table of the README, `[[table]]`, between `<!-- table NAME -->` and `<!-- end -->`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a table")]
pub struct ReadmeTable {
    /// Name of the table.
    pub name: String,
    /// File of the table, relative to the paper's directory. Default: `README.md`.
    #[serde(default = "default_readme")]
    pub file: String,
    /// Heading of the column with the rows' names.
    #[serde(default)]
    pub corner: String,
    /// Rows: a name, and the texts for `{0}`, `{1}` and so on in the cells.
    pub rows: Vec<Vec<String>>,
    /// Columns: a heading, and a cell, in which the remaining braces contain expressions.
    /// `{8:tcp:10 ms}` has no decimals; `{2 8:tcp:10 ms}` has two; `{± 8:tcp:10 ms}` is the
    /// half-width of the interval.
    pub columns: Vec<(String, String)>,
}
