//! Validation of the simulator against other simulators and theory.

pub mod cases;
pub mod compare;
pub mod document;
mod formula;
mod held;
pub mod ns2;
pub mod record;
pub mod simulate;

pub use held::Held;
