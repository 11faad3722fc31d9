//! Studies: file format, planning, execution and results.

pub mod check;
pub mod cited;
pub mod document;
pub mod find;
pub mod format;
pub mod kept;
pub mod measure;
pub mod number;
pub mod only;
pub mod outcome;
pub mod plan;
pub mod point;
pub mod reference;
pub mod results;
pub mod select;
pub mod statement;
mod verdict;
