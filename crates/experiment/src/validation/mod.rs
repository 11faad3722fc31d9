//! Validation of the simulator against other simulators, theory, and a kernel's TCP.

pub mod cases;
pub mod compare;
pub mod document;
mod formula;
mod formula_point;
pub mod kernel;
pub mod ns2;
pub mod run_metrics;
pub mod simulate;

pub use formula_point::FormulaPoint;
