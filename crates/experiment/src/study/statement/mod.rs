//! Statements of a paper: in each of its figures and readings, a statement is reduced to a mean, a
//! ratio of means, or a sum of paired differences that must be above zero.

mod cases;
mod causes;
mod plan;
mod planned;
#[cfg(test)]
mod test;

pub use super::statement_format as format;
pub use plan::plan;
pub use planned::{Case, Cell, CountedAs, PlannedCause, PlannedStatement, Quantity};
