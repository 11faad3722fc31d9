//! Congestion controls in Python.

mod acked;
mod base;
mod driver;

pub use acked::Acked;
pub use base::Growth;
pub use driver::build;
