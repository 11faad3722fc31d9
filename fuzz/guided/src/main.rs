//! The same targets under libFuzzer, which measures coverage. `make fuzz` builds it with the compiler's
//! coverage counters; `FUZZ_TARGET` selects the target.

#![no_main]

use std::sync::OnceLock;

use driftway_fuzz::{TARGETS, Target};
use libfuzzer_sys::fuzz_target;

static CHOSEN: OnceLock<Option<&'static Target>> = OnceLock::new();

fuzz_target!(|input: &[u8]| {
    let chosen = CHOSEN.get_or_init(|| {
        let name = std::env::var("FUZZ_TARGET").ok()?;
        TARGETS.iter().find(|target| target.name == name)
    });
    match chosen {
        Some(target) => (target.run)(input),
        None => panic!("FUZZ_TARGET must name a target"),
    }
});
