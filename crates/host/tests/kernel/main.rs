//! Against the kernel that this runs on: namespaces, TUN devices, its TCP.

mod echo;
mod loopback;
mod namespaces;
mod ours;
mod peer;

use host::{Namespace, available};

/// A namespace for the test `name`; `None` where the machine does not allow one, which is said with
/// the test's name and the reason, so that `grep -c '^skipped'` counts. Where the means are there,
/// no test is skipped: what goes wrong then fails it.
fn namespace(name: &str) -> Option<Namespace> {
    match available() {
        Ok(()) => Some(Namespace::new().expect("the means are there")),
        Err(missing) => {
            let required = std::env::var_os("DRIFTWAY_REQUIRE_KERNEL").is_some();
            assert!(!required, "{name} would be skipped: {missing}");
            // Past the test harness, which swallows what a passing test prints.
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "skipped {name}: {missing}");
            None
        }
    }
}
