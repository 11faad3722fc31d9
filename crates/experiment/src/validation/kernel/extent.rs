//! The extent of a validation against the kernel: durations, numbers of runs, and the time for all of them.

use driftway_base::Duration;

/// The extent of a validation against the kernel. Its runs are in real time, and so it is chosen for the time
/// that they take on two processors.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Runs over a path whose slowest link has [`FAST_BPS`] or more; few of them fit on a processor at the
    /// same time.
    pub fast: PathExtent,
    /// Runs over another path; many of them do.
    pub slow: PathExtent,
    /// Time for everything, simulation included. No run starts that would end after it.
    pub limit: Duration,
}

/// The extent of the runs over a path.
#[derive(Clone, Copy, Debug)]
pub struct PathExtent {
    /// Longest duration of a run.
    pub duration: Duration,
    /// Fewest first runs of the kernel, if the study has fewer.
    pub kernel_runs: u64,
    /// Simulated runs.
    pub simulated_runs: u64,
}

/// Rate of the slowest link from which a path is fast (bit/s).
pub const FAST_BPS: u64 = 1_000_000;

/// Largest number of runs of an undecided row, in units of its first ones.
pub const MOST_TIMES_FIRST: u64 = 8;

impl Extent {
    /// All of it: up to 40 minutes.
    pub const FULL: Self = Self {
        fast: PathExtent { duration: Duration::from_secs(40), kernel_runs: 3, simulated_runs: 40 },
        slow: PathExtent {
            duration: Duration::from_secs(480),
            kernel_runs: 8,
            simulated_runs: 120,
        },
        limit: Duration::from_secs(39 * 60),
    };
    /// The quick part: up to 5 minutes.
    pub const QUICK: Self = Self {
        fast: PathExtent { duration: Duration::from_secs(20), kernel_runs: 2, simulated_runs: 40 },
        slow: PathExtent {
            duration: Duration::from_secs(200),
            kernel_runs: 10,
            simulated_runs: 80,
        },
        limit: Duration::from_secs(290),
    };

    /// The full or the quick extent.
    pub const fn of(quick: bool) -> Self {
        if quick { Self::QUICK } else { Self::FULL }
    }
}
