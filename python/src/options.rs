//! Options of aids and congestion controls: what a class declares as keyword arguments of `__init__`, as a scenario reads it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use driftway::Duration;
use driftway::base::options::{NumberUnit, OptionInfo, OptionKind, OptionValue};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::aid::{intern, seconds};
use crate::errors;

/// An option that a class declares: its name, its kind, its default, and the words of which it is one, if its kind is
/// `choice`.
pub type DeclaredOption<'py> = (String, String, Bound<'py, PyAny>, Vec<String>);

/// The number of lists of options that a process may have, as that of names.
const MAX: usize = 10_000;

/// Lists of options, which last as long as the process, by what declares them.
static LISTS: Mutex<BTreeMap<String, &'static [OptionInfo]>> = Mutex::new(BTreeMap::new());

/// The options that a class declares. Equal declarations share one list.
pub fn options(declared: &[DeclaredOption<'_>]) -> PyResult<&'static [OptionInfo]> {
    if declared.is_empty() {
        return Ok(&[]);
    }
    let key = format!("{declared:?}");
    if let Some(known) = LISTS.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return Ok(known);
    }
    let list: Vec<OptionInfo> = declared.iter().map(option).collect::<PyResult<_>>()?;
    let mut lists = LISTS.lock().unwrap_or_else(PoisonError::into_inner);
    if lists.len() >= MAX {
        return Err(errors::invalid(format!(
            "aids and congestion controls have more than {MAX} lists of options"
        )));
    }
    Ok(lists.entry(key).or_insert_with(|| list.leak()))
}

fn option((name, kind, default, words): &DeclaredOption<'_>) -> PyResult<OptionInfo> {
    let number = |unit| -> PyResult<_> {
        let kind = OptionKind::Number(unit, f64::MIN, f64::MAX);
        Ok((kind, OptionValue::Number(unit, default.extract()?)))
    };
    let (kind, default) = match kind.as_str() {
        "flag" => (OptionKind::Flag, OptionValue::Flag(default.extract()?)),
        "count" => (OptionKind::Count(0, u32::MAX), OptionValue::Count(default.extract()?)),
        "time" => {
            let kind = OptionKind::Duration(Duration::ZERO, Duration::MAX);
            (kind, OptionValue::Duration(seconds(name, default.extract()?)?))
        }
        "distance" => number(NumberUnit::Metre)?,
        "number" => number(NumberUnit::One)?,
        "choice" => {
            let word = |word: &String| Ok((intern(word)?, ""));
            let words: Vec<_> = words.iter().map(word).collect::<PyResult<_>>()?;
            let default = intern(&default.extract::<String>()?)?;
            (OptionKind::Choice(words.leak()), OptionValue::Choice(default))
        }
        other => return Err(errors::bug(&format!("no kind of options is {other}"))),
    };
    Ok(OptionInfo {
        name: intern(name)?,
        about: "An option in Python.",
        kind,
        default: Some(default),
    })
}

/// The settings of a scenario as keyword arguments; times are in seconds.
pub fn keywords<'py>(
    py: Python<'py>,
    settings: &[(&str, OptionValue)],
) -> PyResult<Bound<'py, PyDict>> {
    let keywords = PyDict::new(py);
    for (name, value) in settings {
        match value {
            OptionValue::Duration(span) => keywords.set_item(name, span.as_secs_f64())?,
            OptionValue::Count(count) => keywords.set_item(name, count)?,
            OptionValue::Number(_, number) => keywords.set_item(name, number)?,
            OptionValue::Flag(on) => keywords.set_item(name, on)?,
            OptionValue::Choice(word) => keywords.set_item(name, word)?,
        }
    }
    Ok(keywords)
}
