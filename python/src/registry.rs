//! Aids and congestion controls of Python for the scenarios that name them.

use driftway::Registry as Entries;
use driftway::aid::registry::{AidEntry, AidPlace};
use driftway::base::options::OptionValue;
use driftway::tcp::congestion::ControlEntry;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::aid::{DeclaredOption, PythonAid, intern, options};
use crate::growth;

/// The aids and congestion controls that a program has declared.
///
/// Each has a name, a summary, and its class; an aid also the options that its class declares.
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
        aids: Vec<(String, String, Py<PyType>, Vec<DeclaredOption<'_>>)>,
        growths: Vec<(String, String, Py<PyType>)>,
    ) -> PyResult<Self> {
        let mut entries = Entries::new();
        for (name, summary, class, declared) in aids {
            let name = intern(&name)?;
            let build = move |place: AidPlace, settings: &[(&str, OptionValue)]| {
                PythonAid::build(name, &class, place, settings)
            };
            let (summary, options) = (intern(&summary)?, options(&declared)?);
            entries = entries.aid(AidEntry::from_fn_with_options(name, summary, options, build));
        }
        for (name, summary, class) in growths {
            let name = intern(&name)?;
            let build = move |_: &_| growth::build(name, &class);
            entries = entries.control(ControlEntry::from_fn(name, intern(&summary)?, build));
        }
        Ok(Self { entries })
    }
}
