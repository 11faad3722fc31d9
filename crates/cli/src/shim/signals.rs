//! Signals that end a shim, and those that it ignores.

use std::fs::{self, File};
use std::io;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use tracing::{info, warn};

/// Signals that terminate the shim, with that of a terminal that is closed.
const TERMINATION_SIGNALS: [Signal; 2] = [Signal::SIGINT, Signal::SIGTERM];
/// Signals by which a terminal stops a program; the shim ignores them.
const STOP_SIGNALS: [Signal; 3] = [Signal::SIGTSTP, Signal::SIGTTIN, Signal::SIGTTOU];

/// The signals of a shim, blocked in all its threads.
pub struct Signals {
    /// Readable once a signal has come that ends the shim.
    pub termination: SignalFd,
    /// Those that are ignored.
    pub ignored: SigSet,
}

impl Signals {
    /// Blocks the signals in this thread, and so in all threads that it will start.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn block() -> io::Result<Self> {
        let mut end = SigSet::from_iter(TERMINATION_SIGNALS);
        let mut ignored = SigSet::from_iter(STOP_SIGNALS);
        if hangup_ends()? { &mut end } else { &mut ignored }.add(Signal::SIGHUP);
        end.thread_block()?;
        ignored.thread_block()?;
        let termination =
            SignalFd::with_flags(&end, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
        Ok(Self { termination, ignored })
    }
}

/// Returns whether SIGHUP is the end of this process' terminal, as for a program that is started by
/// hand. A daemon has no terminal, and gets the signal to read its configuration again; under nohup(1)
/// the signal is ignored.
fn hangup_ends() -> io::Result<bool> {
    let has_terminal = File::open("/dev/tty").is_ok();
    Ok(has_terminal && !is_ignored(&fs::read_to_string("/proc/self/status")?, Signal::SIGHUP))
}

/// Returns whether a process ignores a signal, from its `status` (proc(5)).
fn is_ignored(status: &str, signal: Signal) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal as u32 - 1) & 1 == 1)
}

/// Reports each signal that is ignored, and why.
pub fn report_ignored(signals: &SigSet) {
    while let Ok(signal) = signals.wait() {
        match signal {
            Signal::SIGHUP => info!(
                "SIGHUP ignored: there is no configuration file to read again; `driftway shim stop` \
                 ends the shim"
            ),
            // The packets of all connections would wait for a stopped shim.
            signal => warn!(
                %signal,
                "ignored, because every connection would stop too; Ctrl-C or `driftway shim stop` \
                 end the shim, and `driftway shim &` starts it in the background"
            ),
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn ignored_signals_are_those_of_the_mask() {
        let status = "Name:\tdriftway\nSigBlk:\t0000000000000002\nSigIgn:\t0000000000000001\n";
        assert!(is_ignored(status, Signal::SIGHUP));
        assert!(!is_ignored(status, Signal::SIGINT));
        assert!(!is_ignored("Name:\tdriftway\n", Signal::SIGHUP));
    }
}
