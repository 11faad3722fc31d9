//! A study: its file, what it asks to be run, and what came out.

pub mod check;
pub mod citations;
pub mod document;
pub mod source;
pub mod format;
pub mod stored_results;
pub mod measure;
pub mod number;
pub mod single_reading;
pub mod outcome;
pub mod plan;
pub mod point;
pub mod reference;
pub mod results;
pub mod select;
pub mod statement;
mod verdict;
