//! Studies: many runs, compared. Campaigns, papers and the validation are made of the same parts: jobs
//! (a scenario with what is set in it) that one [`runner`] runs with several seeds, keeps, and does not run
//! again; means with intervals, and differences that are paired by seed ([`summary`], [`study::measure`]);
//! predicates and verdicts.
//!
//! [`study`] is the one format of a study's file, for campaigns and papers; [`validation`] holds runs
//! against other simulators and theory. Nothing here prints or draws: that is the command's.

#![forbid(unsafe_code)]

pub mod command;
mod error;
pub mod labels;
pub mod rows;
pub mod runner;
pub mod study;
pub mod summary;
pub mod sweep;
pub mod validation;
pub mod words;

pub use error::Error;
