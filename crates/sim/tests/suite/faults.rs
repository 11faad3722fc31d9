//! Faults of a path, observed at its ends.

mod cuts;
mod flows;
mod foreign;
mod order;
