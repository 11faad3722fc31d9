//! Columns of the keys that vary between a study's jobs.

use std::collections::BTreeMap;

use driftway_scenario::Unit;

use super::table::{Column, Values, column_name};
use crate::study::plan::Plan;
use crate::study::select::Selection;
use crate::units;

/// The keys that not all jobs set to the same value, in alphabetical order, each with the value of
/// every job.
pub struct VariedColumns(Vec<(String, Values)>);

impl VariedColumns {
    /// Collects the keys that vary between the selected jobs.
    pub fn new(plan: &Plan, selection: &Selection) -> Self {
        let settings: Vec<BTreeMap<&str, &str>> = plan
            .jobs
            .iter()
            .map(|job| job.set.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect())
            .collect();
        let mut keys: Vec<&str> = settings.iter().flat_map(BTreeMap::keys).copied().collect();
        keys.sort_unstable();
        keys.dedup();
        let of_key = |key: &str| {
            let values: Vec<Option<&str>> =
                settings.iter().map(|set| set.get(key).copied()).collect();
            let mut run = selection.jobs.iter().map(|&job| values[job]);
            let first = run.next()?;
            run.any(|value| value != first).then(|| column(key, &values))
        };
        Self(keys.into_iter().filter_map(of_key).collect())
    }

    /// The columns of rows that belong to these jobs.
    pub fn columns(&self, jobs: impl Iterator<Item = usize> + Clone) -> Vec<Column> {
        let column = |(name, values): &(String, Values)| {
            let jobs = jobs.clone();
            let values = match values {
                Values::Text(of) => Values::Text(jobs.map(|job| of[job].clone()).collect()),
                Values::Int(of) => Values::Int(jobs.map(|job| of[job]).collect()),
                Values::Float(of) => Values::Float(jobs.map(|job| of[job]).collect()),
            };
            Column::new(name, values)
        };
        self.0.iter().map(column).collect()
    }
}

/// The same numbers as integers, if they are.
fn whole_numbers(numbers: &[Option<f64>]) -> Option<Values> {
    // Up to 2⁵³ each integer is a number of its own.
    let whole =
        |number: f64| (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64);
    let read = |number: &Option<f64>| match number {
        None => Some(None),
        Some(number) => whole(*number).map(Some),
    };
    numbers.iter().map(read).collect::<Option<Vec<_>>>().map(Values::Int)
}

/// Numbers, with a unit suffix, if all values are numbers of one unit; otherwise strings.
fn column(key: &str, values: &[Option<&str>]) -> (String, Values) {
    let numbers: Option<Vec<Option<(f64, Unit)>>> = values
        .iter()
        .map(|value| value.map_or(Some(None), |text| units::number(text).map(Some)))
        .collect();
    if let Some(numbers) = numbers {
        let mut units = numbers.iter().flatten().map(|(_, unit)| *unit);
        let unit = units.next().unwrap_or(Unit::One);
        if units.all(|other| other == unit) {
            let name = column_name(key) + units::suffix(unit);
            let numbers = numbers.into_iter().map(|value| value.map(|(number, _)| number));
            let numbers: Vec<Option<f64>> = numbers.collect();
            // Of other units the type of a column does not depend on the values chosen.
            let whole = matches!(unit, Unit::One | Unit::Byte).then(|| whole_numbers(&numbers));
            return (name, whole.flatten().unwrap_or(Values::Float(numbers)));
        }
    }
    (column_name(key), Values::Text(values.iter().map(|value| value.map(str::to_owned)).collect()))
}
