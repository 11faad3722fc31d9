//! Aids and congestion controls of Python for the scenarios that name them.

use driftway::Registry as Entries;
use driftway::aid::registry::{AidEntry, AidPlace};
use driftway::base::options::OptionValue;
use driftway::tcp::congestion::ControlEntry;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::aid::{PythonAid, intern};
use crate::growth;
use crate::options::{DeclaredOption, options};

/// A name, a summary, a class, and the options that this declares.
type Declaration<'py> = (String, String, Py<PyType>, Vec<DeclaredOption<'py>>);

/// The aids and congestion controls that a program has declared.
///
/// Each has a name, a summary, its class, and the options that this declares.
#[pyclass(frozen, module = "driftway._driftway")]
pub struct Registry {
    /// The entries.
    pub entries: Entries,
}

#[pymethods]
impl Registry {
    /// A registry.
    #[new]
    fn new(aids: Vec<Declaration<'_>>, growths: Vec<Declaration<'_>>) -> PyResult<Self> {
        let mut entries = Entries::new();
        for (name, summary, class, declared) in aids {
            let name = intern(&name)?;
            let build = move |place: AidPlace, settings: &[(&str, OptionValue)]| {
                PythonAid::build(name, &class, place, settings)
            };
            let (summary, options) = (intern(&summary)?, options(&declared)?);
            entries = entries.aid(AidEntry::from_fn_with_options(name, summary, options, build));
        }
        for (name, summary, class, declared) in growths {
            let name = intern(&name)?;
            let build = move |settings: &[(&str, OptionValue)], _: &_| {
                growth::build(name, &class, settings)
            };
            let (summary, options) = (intern(&summary)?, options(&declared)?);
            let entry = ControlEntry::from_fn_with_options(name, summary, options, build);
            entries = entries.control(entry);
        }
        Ok(Self { entries })
    }
}
