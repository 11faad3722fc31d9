//! Studies: file format, planning, execution and results.

pub mod check;
pub mod citations;
pub mod document;
mod files;
mod flow_selector;
pub mod format;
pub mod measure;
pub mod number;
pub mod outcome;
pub mod plan;
mod planned_figure;
pub mod point;
pub mod reference;
mod reference_check;
pub mod results;
pub mod select;
pub mod shard;
pub mod single_reading;
pub mod source;
pub mod statement;
pub mod statement_format;
pub mod stored_results;
mod verdict;
