//! The extension module of the Python package `driftway`: scenarios, runs, studies and aids of one's own.
//!
//! The package in `python/driftway` is what users import. This module has what only Rust can do, under names that
//! the package wraps: it releases Python's lock while Rust runs, and hands tables over as Arrow.

mod aid;
mod columns;
mod convert;
mod errors;
mod event_table;
mod growth;
mod interrupt;
mod options;
mod registry;
mod replay;
mod results;
mod run_context;
mod runs;
mod scenario;
mod simulation;
mod study;
mod table;
mod worker;

/// Classes and functions that the package `driftway` wraps.
#[pyo3::pymodule]
mod _driftway {
    #[pymodule_export]
    use crate::aid::{Aid, Segment, Signal, View};
    #[pymodule_export]
    use crate::event_table::EventTable;
    #[pymodule_export]
    use crate::growth::{Acked, Growth};
    #[pymodule_export]
    use crate::registry::Registry;
    #[pymodule_export]
    use crate::replay::replay_page;
    #[pymodule_export]
    use crate::results::{Results, estimate};
    #[pymodule_export]
    use crate::scenario::Scenario;
    #[pymodule_export]
    use crate::simulation::Simulation;
    #[pymodule_export]
    use crate::study::{Study, StudyResults, paper_names};
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::worker::{Task, run_task, version};
}
