//! Compared arms: plain TCP, the kernel's own sysctls, the shim.

use std::path::Path;
use std::thread;

use driftway_linux::{Namespace, ShimSettings};

use crate::estimate::Estimate;
use crate::shimmed::RunningShim;

/// The maximum RTO (Linux 6.15), and the number of timeouts before a connection is given up, of
/// which the default fifteen would be fifteen seconds.
const SYSCTLS: [(&str, &str); 2] =
    [("net/ipv4/tcp_rto_max_ms", "1000"), ("net/ipv4/tcp_retries2", "255")];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    Plain,
    /// `net.ipv4.tcp_rto_max_ms=1000` and `net.ipv4.tcp_retries2=255`.
    Sysctl,
    Shim,
}

const ALL: [Arm; 3] = [Arm::Plain, Arm::Sysctl, Arm::Shim];

/// A result for each arm; `None` if the kernel does not support it.
pub type ByArm<T> = [Option<T>; 3];

impl Arm {
    fn is_available(self) -> bool {
        self != Self::Sysctl || Path::new("/proc/sys").join(SYSCTLS[0].0).exists()
    }

    /// Prepares a namespace before its connections begin.
    pub fn apply(self, namespace: &Namespace) -> Option<RunningShim> {
        if self == Self::Sysctl {
            for (setting, value) in SYSCTLS {
                namespace.set_sysctl(setting, value).expect("the value is accepted");
            }
        }
        (self == Self::Shim).then(|| RunningShim::start(namespace, &ShimSettings::default()))
    }
}

/// Runs all arms at the same time.
pub fn run_all<T: Send>(run: impl Fn(Arm) -> T + Sync) -> ByArm<T> {
    thread::scope(|scope| {
        let run = &run;
        let runs = ALL.map(|arm| arm.is_available().then(|| scope.spawn(move || run(arm))));
        runs.map(|run| run.map(|run| run.join().expect("a run fails")))
    })
}

/// The head of a table of [`row`]s.
pub fn heading(what: &str) {
    let missing = if Arm::Sysctl.is_available() { "" } else { " (none: Linux before 6.15)" };
    println!(
        "{what}\n{:<16}{:>18}{:>18}{:>18}{:>16}{:>16}{missing}",
        "", "plain", "sysctl", "shim", "sysctl/plain", "shim/plain"
    );
}

/// Prints the estimate of each arm, and the ratios of two arms to plain TCP, run by run.
pub fn row<T>(name: &str, runs: &[ByArm<T>], decimals: usize, values: impl Fn(&T) -> Vec<f64>) {
    let of = |arm: usize| -> Option<Vec<f64>> {
        let each = runs.iter().map(|run| run[arm].as_ref().map(&values));
        Some(each.collect::<Option<Vec<_>>>()?.concat())
    };
    let shown = |values: Option<Vec<f64>>, decimals| {
        values.map_or_else(|| "-".to_owned(), |values| Estimate::of(values, decimals).to_string())
    };
    let ratio = |arm| Some(of(arm)?.iter().zip(of(0)?).map(|(one, plain)| one / plain).collect());
    println!(
        "{name:<16}{:>18}{:>18}{:>18}{:>16}{:>16}",
        shown(of(0), decimals),
        shown(of(1), decimals),
        shown(of(2), decimals),
        shown(ratio(1), 2),
        shown(ratio(2), 2),
    );
}
