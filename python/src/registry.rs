//! Aids of Python for the scenarios that name them.

use driftway::Registry as Entries;
use driftway::aid::registry::AidEntry;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::aid::{PythonAid, intern};

/// The aids that a program has declared.
#[pyclass(frozen, module = "driftway._driftway")]
pub struct Registry {
    /// The entries.
    pub entries: Entries,
}

#[pymethods]
impl Registry {
    /// A registry of aids: of each the name, a summary, and the class.
    #[new]
    fn new(aids: Vec<(String, String, Py<PyType>)>) -> PyResult<Self> {
        let mut entries = Entries::new();
        for (name, summary, class) in aids {
            let name = intern(&name)?;
            let build = move |place| PythonAid::build(name, &class, place);
            entries = entries.aid(AidEntry::from_fn(name, intern(&summary)?, build));
        }
        Ok(Self { entries })
    }
}
