//! The list of cases: `cases.toml`, and the scenarios that it names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use scenario::{File, Scenario, nearest};
use serde::Deserialize;

use crate::error::Error;

/// The file that holds the list.
const FILE: &str = "cases.toml";

/// `cases.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    case: Vec<Case>,
    #[serde(default)]
    formula: Vec<Formula>,
}

/// What stands under `points`: a name, and what `{key}` stands for.
pub type Keys = BTreeMap<String, String>;

/// A scenario at several points, held against another simulator.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What it is called on the command line.
    pub name: String,
    /// In words.
    pub title: String,
    /// The file, seen from the list's folder.
    pub scenario: String,
    /// What the points differ in.
    pub axis: String,
    /// Runs a point, unless the command line says otherwise.
    pub seeds: u64,
    /// What counts as agreement.
    pub judge: Judge,
    /// What a reader must know.
    pub note: Option<String>,
    /// The points.
    pub points: Vec<Keys>,
    /// What is changed in the scenario.
    #[serde(default)]
    pub set: Keys,
    /// How ns-2 is told the same.
    pub ns2: Option<Ns2>,
    /// Whose stored numbers these are held against.
    pub against: Against,
}

/// Whose numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, serde::Serialize)]
pub enum Against {
    /// ns-2.35.
    #[serde(rename = "ns-2")]
    Ns2,
    /// ns-3.
    #[serde(rename = "ns-3")]
    Ns3,
}

impl Against {
    /// As people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ns2 => "ns-2.35",
            Self::Ns3 => "ns-3",
        }
    }
}

/// How ns-2 is told what a case is.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ns2 {
    /// With its ARP, as in the stored runs.
    pub arp: bool,
    /// Which layers are traced, and counted.
    pub trace: String,
    /// For `case.tcl`.
    pub arguments: Keys,
}

/// What counts as agreement.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judge {
    /// At each point, the ratio of the mean goodputs is one give or take this.
    Within(f64),
    /// Over the points, the 90 % interval of the mean logarithm of the ratio lies within ± 10 %.
    LogRatio,
    /// It is measured and told.
    Told,
}

/// A scenario at several points, held against a formula.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Formula {
    /// What it is called on the command line.
    pub name: String,
    /// In words.
    pub title: String,
    /// Which formula.
    pub formula: Law,
    /// The file, seen from the list's folder.
    pub scenario: String,
    /// Runs a point, unless the command line says otherwise.
    pub seeds: u64,
    /// What counts as agreement.
    pub judge: Judge,
    /// What a reader must know.
    pub note: Option<String>,
    /// The points.
    pub points: Vec<Keys>,
    /// What is changed in the scenario.
    #[serde(default)]
    pub set: Keys,
}

/// A formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Law {
    /// The throughput of TCP over a path that loses packets.
    Padhye,
    /// The throughput of 802.11 stations that always have something to send.
    Bianchi,
    /// The time that one packet takes over one free hop.
    Exchange,
}

/// The list, and where it stands.
#[derive(Debug)]
pub struct Cases {
    /// Its folder.
    pub dir: PathBuf,
    /// Held against a simulator.
    pub cases: Vec<Case>,
    /// Held against a formula.
    pub formulas: Vec<Formula>,
}

/// A point of either.
#[derive(Clone, Debug)]
pub struct Point {
    /// What it is called.
    pub name: String,
    /// What the scenario is set to, as `--set` has it.
    pub set: Vec<(String, String)>,
    /// The scenario.
    pub scenario: Scenario,
}

impl Cases {
    /// Reads the list in `dir`, of which only those called `names` are kept; all if there are none.
    ///
    /// # Errors
    /// There is none, it is wrong, or there is no case of such a name.
    pub fn load(dir: &Path, names: &[String]) -> Result<Self, Error> {
        let path = dir.join(FILE);
        if !path.is_file() {
            return Err(Error::refused_with(
                format!("{}: there is no such file", path.display()),
                "the cases stand in `validation` in driftway's sources; run this there, or name \
                 that folder with --cases",
            ));
        }
        let text = File::text(&path)?;
        let file = File::parse(&path.display().to_string(), text)?;
        let Written { mut case, mut formula } = file.read()?;
        for (kind, points) in case
            .iter()
            .enumerate()
            .map(|(at, case)| (("case", at), &case.points))
            .chain(formula.iter().enumerate().map(|(at, of)| (("formula", at), &of.points)))
        {
            for (number, point) in points.iter().enumerate() {
                if !point.contains_key("name") {
                    let keys = [kind.0, &kind.1.to_string(), "points", &number.to_string()];
                    return Err(file.error(&keys, "this point has no `name`\nadd one").into());
                }
            }
        }
        let known: Vec<&str> = case
            .iter()
            .map(|case| case.name.as_str())
            .chain(formula.iter().map(|formula| formula.name.as_str()))
            .collect();
        if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
            let near = nearest(name, known.iter().copied());
            let near = near.map_or(String::new(), |near| format!("did you mean `{near}`? "));
            let help = format!("{near}known are {}", known.join(", "));
            return Err(Error::refused_with(format!("there is no case `{name}`"), help));
        }
        let wanted = |name: &String| names.is_empty() || names.contains(name);
        case.retain(|case| wanted(&case.name));
        formula.retain(|formula| wanted(&formula.name));
        Ok(Self { dir: dir.to_owned(), cases: case, formulas: formula })
    }

    /// The points of a case or formula.
    ///
    /// # Errors
    /// What is wrong with its scenario.
    pub fn points(&self, file: &str, set: &Keys, points: &[Keys]) -> Result<Vec<Point>, Error> {
        let path = self.dir.join(file);
        let point = |keys: &Keys| {
            let set: Vec<(String, String)> =
                set.iter().map(|(key, value)| (key.clone(), filled(value, keys))).collect();
            let scenario = Scenario::load(&path, &set)?;
            Ok(Point { name: keys["name"].clone(), set, scenario })
        };
        points.iter().map(point).collect()
    }
}

/// `text` with each `{key}` replaced.
pub fn filled(text: &str, keys: &Keys) -> String {
    keys.iter()
        .fold(text.to_owned(), |text, (key, value)| text.replace(&format!("{{{key}}}"), value))
}

#[cfg(test)]
mod test {
    use super::*;

    fn here() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation")
    }

    #[test]
    fn every_case_can_be_run_and_compared() {
        let cases = Cases::load(&here(), &[]).unwrap();
        for case in &cases.cases {
            let points = cases.points(&case.scenario, &case.set, &case.points).unwrap();
            assert!(!points.is_empty(), "{}", case.name);
            for (point, keys) in points.iter().zip(&case.points) {
                let left = point.set.iter().any(|(_, value)| value.contains('{'));
                assert!(!left, "{}: {:?}", case.name, point.set);
                for value in case.ns2.iter().flat_map(|ns2| ns2.arguments.values()) {
                    assert!(!filled(value, keys).contains('{'), "{}: {value}", case.name);
                }
            }
            assert_eq!(case.against == Against::Ns2, case.ns2.is_some(), "{}", case.name);
        }
        for formula in &cases.formulas {
            cases.points(&formula.scenario, &formula.set, &formula.points).unwrap();
        }
    }

    #[test]
    fn a_case_that_is_not_there_is_told_the_nearest() {
        let error = Cases::load(&here(), &["mobile-aod".to_owned()]).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("did you mean `mobile-aodv`?"), "{message}");
        let message = Cases::load(Path::new("/nowhere"), &[]).unwrap_err().to_string();
        assert!(message.contains("--cases"), "{message}");
    }
}
