//! Requirements of runs with the kernel's TCP, and the number that this machine can have at once.

use std::fs;
use std::num::NonZeroU64;

use driftway_base::Duration;
use driftway_linux::{check_requirements, missing_capability};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::time::{ClockId, clock_getres};

use super::schedule::Limits;
use super::transfer::socket_with;
use crate::failure::Failure;

/// Largest number of parallel runs per processor: one over a slow path, which waits most of the time,
/// needs some thousandths of a processor.
pub const JOBS_PER_PROCESSOR: u64 = 80;
/// Largest number of open files of a run.
pub const MAX_FILES_PER_RUN: u64 = 32;

/// Checks that this process can make namespaces and devices.
///
/// # Errors
/// The list of what it lacks.
pub fn check_machine() -> Result<(), Failure> {
    check_requirements().map_err(|missing| Failure::Input(format!("--kernel: {missing}")))?;
    match missing_capability() {
        Ok(None) => Ok(()),
        Ok(Some(name)) => {
            Err(Failure::Input(format!("--kernel: this process lacks {name}: run it as root")))
        }
        Err(error) => Err(Failure::Failed(format!("cannot read capabilities: {error}"))),
    }
}

/// Checks that the kernel has a congestion control, which `option` asks for.
///
/// # Errors
/// It does not have it.
pub fn check_congestion_control(name: &str, option: &str) -> Result<(), Failure> {
    socket_with(name).map(drop).map_err(|_| {
        let known = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
        let known = known.map_or(String::new(), |known| format!("\nhelp: available: {known}"));
        Failure::Input(format!("{option}: not available in this kernel{known}"))
    })
}

/// Raises the limit on open files to the maximum, and returns it.
///
/// # Errors
/// A failed system call.
pub fn raise_open_file_limit() -> Result<u64, Failure> {
    let failed = |error| Failure::Failed(format!("cannot raise the limit on open files: {error}"));
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(failed)?;
    if soft < hard {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard).map_err(failed)?;
    }
    Ok(hard)
}

/// Number of processors.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Share of parallel runs that a processor carries.
#[derive(Clone, Copy, Debug)]
pub struct ProcessorShare {
    /// Largest number of runs.
    pub jobs: u64,
    /// Largest sum of their throughputs (bit/s).
    pub throughput_bps: f64,
}

/// Limits of runs on this machine, of which `jobs` are asked for at once, until `end`.
///
/// # Errors
/// A failed system call.
pub fn limits(
    jobs: Option<NonZeroU64>,
    share: ProcessorShare,
    end: Duration,
) -> Result<Limits, Failure> {
    let processors = processors() as u64;
    let files = raise_open_file_limit()? / MAX_FILES_PER_RUN;
    let jobs = jobs.map_or(processors * share.jobs, NonZeroU64::get);
    Ok(Limits {
        jobs: jobs.min(files).max(1),
        throughput_bps: processors as f64 * share.throughput_bps,
        end,
    })
}

/// A tick of the kernel's timers, whose length is that of its build (`CONFIG_HZ`): the clock that advances with them
/// has its resolution.
///
/// # Errors
/// A failed system call.
pub fn timer_tick() -> Result<Duration, Failure> {
    let tick = clock_getres(ClockId::CLOCK_MONOTONIC_COARSE)
        .map_err(|error| Failure::Failed(format!("cannot read the kernel's tick: {error}")))?;
    let nanos = std::time::Duration::from(tick).as_nanos();
    Ok(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
}

/// The kernel's release.
pub fn kernel_release() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease");
    release.map_or_else(|_| "unknown".to_owned(), |release| release.trim().to_owned())
}
