//! `numbers.toml`: what a paper's texts cite, what gives it, and the tables of its README.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::study::number::SettingValue;

/// What the file is called.
pub const NUMBERS_FILE: &str = "numbers.toml";

/// The file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of numbers.toml")]
pub struct NumbersFile {
    /// Passages whose numbers are no result: the paper's, a standard's, a setting's.
    #[serde(default)]
    pub given: Vec<String>,
    /// Passages with results.
    #[serde(default, rename = "cited")]
    pub cited: Vec<CitedPassage>,
    /// Tables of the README.
    #[serde(default, rename = "table")]
    pub tables: Vec<ReadmeTable>,
}

/// `[[cited]]`: a passage, and what gives its numbers. Without `run` and `command` they are expressions over
/// the kept results ([`super::expression`]).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a cited passage")]
pub struct CitedPassage {
    /// The passage as it stands in README.md or in a cause of paper.toml, the numbers in braces:
    /// `"takes {925} s, with {134} timeouts"`.
    pub text: String,
    /// For each number in turn what gives it: an expression; with `run` a metric.
    #[serde(default)]
    pub gives: Vec<String>,
    /// A scenario of the paper that is run as often as the paper's figures.
    pub run: Option<String>,
    /// What is changed in it.
    #[serde(default)]
    pub set: BTreeMap<String, SettingValue>,
    /// A command whose output is the numbers, in this order and nothing else.
    pub command: Option<String>,
}

fn default_readme() -> String {
    super::README.to_owned()
}

/// `[[table]]`: a table of the README, between `<!-- table NAME -->` and `<!-- end -->`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a table")]
pub struct ReadmeTable {
    /// Its name.
    pub name: String,
    /// The file that it stands in, from the paper's directory. Default: `README.md`.
    #[serde(default = "default_readme")]
    pub file: String,
    /// What stands above the rows' names.
    #[serde(default)]
    pub corner: String,
    /// Its rows: what each is called, and what stands for `{0}`, `{1}` and so on in its cells.
    pub rows: Vec<Vec<String>>,
    /// Its columns: what they are called, and their cells, in which what is left in braces is an expression.
    /// `{8:tcp:10 ms}` has no decimals; `{2 8:tcp:10 ms}` has two; `{± 8:tcp:10 ms}` is half the interval.
    pub columns: Vec<(String, String)>,
}
