//! Validation of the simulator against other simulators, theory, and a kernel's TCP.

pub mod cases;
pub mod compare;
mod dcf_formula;
pub mod document;
mod formula;
mod formula_point;
pub mod kernel;
mod link_changes;
pub mod ns2;
pub mod published;
mod response_function;
pub mod run_metrics;
pub mod simulate;

pub use formula_point::FormulaPoint;
