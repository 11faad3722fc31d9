//! carry as one of the aids: its name and its states.

use alloc::boxed::Box;

use driftway_base::Named;

use super::options::CarryOptions;
use super::{Carry, State};
use crate::Aid;
use crate::options::AidOptions;

impl AidOptions for CarryOptions {
    const NAME: &'static str = "carry";
    const SUMMARY: &'static str =
        "Carry (the shim's default): undoes responses to non-congestion losses, bridges outages.";
    const STATES: &'static [(&'static str, &'static str)] = State::DESCRIPTIONS;
    const ORDERED_OPTIONS: &'static [(&'static str, &'static str)] = &[("probe_min", "probe_max")];

    fn build(self) -> Box<dyn Aid> {
        Box::new(Carry::new(self))
    }
}
