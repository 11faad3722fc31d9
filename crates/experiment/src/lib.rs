//! Studies: comparisons of many runs. Campaigns, papers and the validation share these parts: jobs
//! (a scenario with overrides) that one [`runner`] runs with several seeds, caches, and does not
//! repeat; means with intervals, and differences paired by seed ([`summary`], [`study::measure`]);
//! predicates and verdicts.
//!
//! [`study`] is the file format of a study, for campaigns and papers; [`comparison`] compares all aids over all TCPs,
//! [`validation`] runs with other simulators and theory. [`replay`] makes a page of the events of a run. Nothing else here
//! draws, and nothing prints; the command `driftway` does.
//!
//! # Limits
//!
//! | item | here |
//! |---|---|
//! | transfers that do not complete | they count with the time that they had; a result that depends on it is a bound |
//! | tolerance of a number | its 90 % interval lies within ± 10 % of the published value (± 5 points for percentages); no other predicate has one |
//! | recorded verdicts for another number of runs | none |
//! | runs over a kernel | not reproducible, so that no verdict is recorded |
//! | seeds of other simulators | not paired: they draw other random numbers; movement files are paired |

#![forbid(unsafe_code)]

pub mod command;
pub mod comparison;
mod error;
pub mod labels;
pub mod replay;
pub mod rows;
pub mod runner;
pub mod study;
pub mod summary;
pub mod sweep;
pub mod units;
pub mod validation;
pub mod vary;
pub mod words;

pub use error::Error;
