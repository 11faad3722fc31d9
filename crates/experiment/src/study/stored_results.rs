//! Recorded results of a paper: the values that its texts cite, and with which runs are compared.
//!
//! `results.csv` has a row for each arm of each figure at each point, for each metric: the mean of
//! all runs, the half-width of its 90 % interval, and the mean of the runs of the quick part, if
//! that includes the point. So the quick part shows within seconds that the cited values are still
//! those of driftway.

use std::collections::{BTreeMap, BTreeSet};

use driftway_sim::columns::{ColumnInfo, Values, names};

use super::measure::{Measurement, Sample, mean};
use super::outcome::StudyOutcome;
use super::plan::PlannedArm;
use super::recorded_rows::{invalid_row, recorded_rows};
use super::select::{RecordedVerdicts, quick_points};
use super::statement::Cell;
use crate::error::Error;

/// Name of the file.
pub const RESULTS_FILE: &str = "results.csv";

/// Its columns.
pub static STORED_COLUMNS: [ColumnInfo; 7] = [
    ColumnInfo::new("figure", Values::Text, "The figure, by its name in the study's file."),
    ColumnInfo::new("metric", Values::Text, "The metric, in whose base unit the values are."),
    ColumnInfo::new("arm", Values::Text, "The arm."),
    ColumnInfo::new("x", Values::Text, "The point, as in the study's file; empty without an axis."),
    ColumnInfo::new("mean", Values::Number, "Mean of all runs, with six digits."),
    ColumnInfo::new("half", Values::Number, "Half-width of the mean's 90 % confidence interval."),
    ColumnInfo::new(
        "quick",
        Values::Number,
        "Mean of the runs of the quick part; empty if that does not include the point.",
    ),
];

const COLUMNS: [&str; 7] = names(&STORED_COLUMNS);

/// Identity of a value: figure, metric, arm and point, as in the study's file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResultKey {
    /// Figure.
    pub figure: String,
    /// Metric.
    pub metric: String,
    /// Arm.
    pub arm: String,
    /// Point; empty without an axis.
    pub x: String,
}

/// A value in its metric's base unit, with six digits.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct StoredValue {
    /// Mean of all runs.
    pub mean: Option<f64>,
    /// Half-width of its 90 % interval.
    pub ci90_half: Option<f64>,
    /// Mean of the runs of the quick part.
    pub quick: Option<f64>,
}

/// All recorded values.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct StoredResults(pub BTreeMap<ResultKey, StoredValue>);

impl StoredResults {
    /// The results of the figures that were run.
    pub fn from_outcome(outcome: &StudyOutcome<'_>) -> Self {
        let plan = outcome.plan;
        let quick = usize::try_from(plan.study.quick.runs).unwrap_or(usize::MAX);
        let mut kept = Self::default();
        for (figure, planned) in plan.figures.iter().enumerate() {
            let of_quick = quick_points(&plan.study.quick, planned);
            for (measure, y) in planned.figure.y.iter().enumerate() {
                for (row, PlannedArm { arm, .. }) in planned.arms.iter().enumerate() {
                    for &x in outcome.selection.points(planned) {
                        let samples = outcome.samples(Cell { figure, measure, arm: row, x });
                        let first = &samples[..quick.min(samples.len())];
                        let all = outcome.selection.recorded == RecordedVerdicts::All;
                        let number = StoredValue {
                            quick: of_quick.contains(&x).then(|| estimate(first)).flatten(),
                            mean: all.then(|| estimate(&samples)).flatten(),
                            ci90_half: all.then(|| half_width(&samples)).flatten(),
                        };
                        let name = ResultKey {
                            figure: planned.figure.id.clone(),
                            metric: y.name().into_owned(),
                            arm: arm.name.clone(),
                            x: planned.points[x].title().to_owned(),
                        };
                        kept.0.insert(name, number);
                    }
                }
            }
        }
        kept
    }

    /// These results, with those of other figures from `before`; `figures` are all that the study has.
    pub fn with_other_figures(mut self, before: Self, figures: &[&str]) -> Self {
        let own: BTreeSet<String> = self.0.keys().map(|key| key.figure.clone()).collect();
        self.0.extend(before.0.into_iter().filter(|(key, _)| {
            !own.contains(&key.figure) && figures.contains(&key.figure.as_str())
        }));
        self
    }

    /// Parses the file.
    ///
    /// # Errors
    ///
    /// It is invalid; `place` is its name.
    pub fn read(place: &str, text: &str) -> Result<Self, Error> {
        let mut kept = Self::default();
        for (line, row) in recorded_rows(place, text, &COLUMNS)? {
            let wrong = |what: &str| invalid_row(place, line, what);
            let text = |at: usize| row.get(at).unwrap_or_default().to_owned();
            let value = |at: usize| match row.get(at).unwrap_or_default() {
                "" => Ok(None),
                number => match number.parse::<f64>() {
                    Ok(value) if value.is_finite() => Ok(Some(value)),
                    _ => Err(wrong(&format!("`{number}` is not a number"))),
                },
            };
            let name = ResultKey { figure: text(0), metric: text(1), arm: text(2), x: text(3) };
            let found = StoredValue { mean: value(4)?, ci90_half: value(5)?, quick: value(6)? };
            if kept.0.insert(name, found).is_some() {
                return Err(wrong("duplicate row"));
            }
        }
        Ok(kept)
    }

    /// Formats the file.
    ///
    /// # Errors
    ///
    /// Never, in memory.
    pub fn write(&self) -> Result<String, csv::Error> {
        let mut out = csv::Writer::from_writer(Vec::new());
        out.write_record(COLUMNS)?;
        let text = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        for (name, number) in &self.0 {
            let ResultKey { figure, metric, arm, x } = name;
            let (mean, half, quick) =
                (text(number.mean), text(number.ci90_half), text(number.quick));
            out.write_record([figure, metric, arm, x, &mean, &half, &quick])?;
        }
        let bytes = out.into_inner().map_err(|error| error.into_error())?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Lists the values in which `found` differs from the recorded ones, as far as it has them.
    pub fn differences(&self, found: &Self) -> Vec<String> {
        let mut parts = Vec::new();
        for (name, number) in &found.0 {
            let known = self.0.get(name).cloned().unwrap_or_default();
            let pairs = [
                ("mean", known.mean, number.mean),
                ("half", known.ci90_half, number.ci90_half),
                ("quick", known.quick, number.quick),
            ];
            for (column, known, found) in pairs {
                if found.is_some() && found != known {
                    let value = |value: Option<f64>| {
                        value.map_or_else(|| "none".to_owned(), |value| value.to_string())
                    };
                    let ResultKey { figure, metric, arm, x } = name;
                    let (known, found) = (value(known), value(found));
                    let at = if x.is_empty() { String::new() } else { format!(" at {x}") };
                    parts.push(format!(
                        "figure {figure}, {metric} of {arm}{at}: {column} {known} is recorded, {found} was measured"
                    ));
                }
            }
        }
        parts
    }
}

fn estimate(samples: &[Sample]) -> Option<f64> {
    mean(samples).map(|Measurement { mean, .. }| six_digits(mean))
}

fn half_width(samples: &[Sample]) -> Option<f64> {
    let [low, high] = mean(samples)?.ci90?;
    Some(six_digits((high - low) / 2.0))
}

/// Sufficient digits, and few enough to hide the order of summation.
fn six_digits(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod test {
    use super::*;

    fn name(arm: &str) -> ResultKey {
        ResultKey {
            figure: "8".into(),
            metric: "completion_s".into(),
            arm: arm.into(),
            x: "10 ms".into(),
        }
    }

    #[test]
    fn written_results_are_read() {
        let number = StoredValue { mean: Some(1198.25), ci90_half: None, quick: Some(0.000123456) };
        let kept = StoredResults([(name("tcp, a"), number)].into());
        let text = kept.write().unwrap();
        assert!(text.contains("8,completion_s,\"tcp, a\",10 ms,1198.25,,0.000123456"), "{text}");
        assert_eq!(StoredResults::read("r.csv", &text).unwrap(), kept);
    }

    #[test]
    fn figures_that_were_not_run_are_kept() {
        let of = |figure: &str, mean: f64| {
            let key = ResultKey { figure: figure.into(), ..name("tcp") };
            (key, StoredValue { mean: Some(mean), ..StoredValue::default() })
        };
        let before = StoredResults([of("7", 1.0), of("8", 2.0), of("gone", 3.0)].into());
        let kept = StoredResults([of("8", 4.0)].into()).with_other_figures(before, &["7", "8"]);
        assert_eq!(kept, StoredResults([of("7", 1.0), of("8", 4.0)].into()));
    }

    #[test]
    fn invalid_files_are_rejected_with_line() {
        for (text, says) in [
            ("a,b\n", "r.csv:1: the columns are"),
            ("figure,metric,arm,x,mean,half,quick\n8,m,a,,soon,,\n", "r.csv:2: `soon` is not"),
            ("figure,metric,arm,x,mean,half,quick\n8,m,a,,inf,,\n", "r.csv:2: `inf` is not"),
            ("figure,metric,arm,x,mean,half,quick\n8,m,a,,1,,\n8,m,a,,1,,\n", "duplicate row"),
        ] {
            let error = StoredResults::read("r.csv", text).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn only_measured_values_are_compared() {
        let of = |mean, quick| StoredValue { mean, ci90_half: None, quick };
        let kept = StoredResults([(name("tcp"), of(Some(2.0), Some(1.0)))].into());
        assert!(
            kept.differences(&StoredResults([(name("tcp"), of(None, Some(1.0)))].into()))
                .is_empty()
        );
        let parts = kept.differences(&StoredResults([(name("tcp"), of(Some(2.5), None))].into()));
        assert_eq!(
            parts,
            ["figure 8, completion_s of tcp at 10 ms: mean 2 is recorded, 2.5 was measured"]
        );
        assert_eq!(
            kept.differences(&StoredResults([(name("atcp"), of(Some(2.5), None))].into())).len(),
            1
        );
    }

    #[test]
    fn six_digits_are_kept() {
        assert_eq!(six_digits(1_234_567.0), 1_234_570.0);
        assert_eq!(six_digits(0.123_456_78), 0.123_457);
    }
}
