//! Faults of a path, observed at its ends.

mod common;
#[path = "faults/cuts.rs"]
mod cuts;
#[path = "faults/flows.rs"]
mod flows;
#[path = "faults/foreign.rs"]
mod foreign;
#[path = "faults/order.rs"]
mod order;
