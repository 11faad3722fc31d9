//! Names that last as long as the process, as the simulator needs them.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use pyo3::PyResult;

use crate::errors;

/// The number of names that a process may have: names of aids, their summaries and their states. A program that
/// makes names in a loop is stopped before it has used up the memory.
const MAX: usize = 10_000;

static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// The name, which is kept for the rest of the process.
pub fn intern(name: &str) -> PyResult<&'static str> {
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return Ok(known);
    }
    if names.len() >= MAX {
        let message = format!("{name:?}: aids have more than {MAX} names and states");
        return Err(errors::invalid(message));
    }
    let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(name);
    Ok(name)
}
