//! The mobile host's aid as one of the aids: its name and its states.

use alloc::boxed::Box;

use driftway_base::Named;

use super::options::MobileHostOptions;
use super::{MobileHost, State};
use crate::Aid;
use crate::options::AidOptions;

impl AidOptions for MobileHostOptions {
    const NAME: &'static str = "mobile-host";
    const SUMMARY: &'static str = "ATCP for the mobile host (Singh & Iyer 2002): the host's own \
        TCP stops while it is disconnected, and its acknowledgments restart its peer's TCP.";
    const STATES: &'static [(&'static str, &'static str)] = State::DESCRIPTIONS;
    const ORDERED_OPTIONS: &'static [(&'static str, &'static str)] = &[("probe_min", "probe_max")];

    fn build(self) -> Box<dyn Aid> {
        Box::new(MobileHost::new(self))
    }
}
