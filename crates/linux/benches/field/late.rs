//! Lateness of the emulated paths.

use std::sync::atomic::{AtomicU64, Ordering};

use driftway_linux::EmulationReport;

use crate::shimmed::RunningPath;

static PATHS: AtomicU64 = AtomicU64::new(0);
static LATE_PATHS: AtomicU64 = AtomicU64::new(0);

/// Ends a path, and records whether it kept up.
pub fn end(path: RunningPath) -> EmulationReport {
    let report = path.running.stop().expect("the path fails");
    PATHS.fetch_add(1, Ordering::Relaxed);
    LATE_PATHS.fetch_add(u64::from(!report.measurement_warnings().is_empty()), Ordering::Relaxed);
    report
}

/// Prints a summary of the paths since the last call. None is left out, or slow ones would be.
pub fn print_warning() {
    let (late, paths) = (LATE_PATHS.swap(0, Ordering::Relaxed), PATHS.swap(0, Ordering::Relaxed));
    match late {
        0 => println!("All {paths} paths kept up."),
        _ => println!("{late} of {paths} paths did not keep up: another machine, or a quiet one."),
    }
}
