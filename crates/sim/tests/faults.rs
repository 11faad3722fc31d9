//! What goes wrong on a path, seen from its ends.

mod common;
#[path = "faults/cuts.rs"]
mod cuts;
#[path = "faults/flows.rs"]
mod flows;
#[path = "faults/foreign.rs"]
mod foreign;
#[path = "faults/order.rs"]
mod order;
