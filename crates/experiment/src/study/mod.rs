//! Studies: file format, planning, execution and results.

pub mod check;
pub mod citations;
pub mod document;
pub mod format;
pub mod measure;
pub mod number;
pub mod outcome;
pub mod plan;
pub mod point;
pub mod reference;
pub mod results;
pub mod select;
pub mod single_reading;
pub mod source;
pub mod statement;
pub mod stored_results;
mod verdict;
