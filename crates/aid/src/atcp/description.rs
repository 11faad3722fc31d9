//! ATCP as one of the aids: its name and its states.

use alloc::boxed::Box;

use driftway_base::Named;

use super::options::AtcpOptions;
use super::{Atcp, State};
use crate::Aid;
use crate::options::AidOptions;

impl AidOptions for AtcpOptions {
    const NAME: &'static str = "atcp";
    const SUMMARY: &'static str =
        "ATCP (Liu & Singh 2001): distinguishes loss, congestion and partition.";
    const STATES: &'static [(&'static str, &'static str)] = State::DESCRIPTIONS;
    const ORDERED_OPTIONS: &'static [(&'static str, &'static str)] =
        &[("persist_min", "persist_max")];

    fn build(self) -> Box<dyn Aid> {
        Box::new(Atcp::new(self))
    }
}
