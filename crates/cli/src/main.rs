//! The driftway command.
fn main() {}
