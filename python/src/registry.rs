//! Aids and congestion controls of Python for the scenarios that name them.

use driftway::Registry as Entries;
use driftway::aid::registry::AidEntry;
use driftway::tcp::congestion::ControlEntry;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::aid::{PythonAid, intern};
use crate::growth;

/// The aids and congestion controls that a program has declared.
///
/// Each has a name, a summary, and its class.
#[pyclass(frozen, module = "driftway._driftway")]
pub struct Registry {
    /// The entries.
    pub entries: Entries,
}

#[pymethods]
impl Registry {
    /// A registry.
    #[new]
    fn new(
        aids: Vec<(String, String, Py<PyType>)>,
        growths: Vec<(String, String, Py<PyType>)>,
    ) -> PyResult<Self> {
        let mut entries = Entries::new();
        for (name, summary, class) in aids {
            let name = intern(&name)?;
            let build = move |place| PythonAid::build(name, &class, place);
            entries = entries.aid(AidEntry::from_fn(name, intern(&summary)?, build));
        }
        for (name, summary, class) in growths {
            let name = intern(&name)?;
            let build = move |_: &_| growth::build(name, &class);
            entries = entries.control(ControlEntry::from_fn(name, intern(&summary)?, build));
        }
        Ok(Self { entries })
    }
}
