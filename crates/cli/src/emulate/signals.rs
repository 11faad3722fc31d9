//! Waiting for child processes, signals and timeouts with a signalfd.

use std::io;
use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// Signals read from a file descriptor (signalfd(2)).
pub struct Signals(SignalFd);

/// Reason for the end of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeReason {
    /// A child process has exited.
    ChildExited,
    /// A termination signal has arrived.
    Signal(Signal),
    /// The time has passed.
    Timeout,
}

impl Signals {
    /// Blocks the termination signals and SIGCHLD for the calling thread and the threads that it
    /// will start.
    pub fn block_termination() -> io::Result<Self> {
        let mut set = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGCHLD] {
            set.add(signal);
        }
        set.thread_block()?;
        Ok(Self(SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?))
    }

    /// Waits for a signal, at most for this time (ms).
    pub fn wait(&mut self, at_most_ms: u16) -> io::Result<WakeReason> {
        let mut watched = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        match poll(&mut watched, PollTimeout::from(at_most_ms)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(match self.0.read_signal()? {
            None => WakeReason::Timeout,
            Some(info) => match Signal::try_from(info.ssi_signo as i32) {
                Ok(Signal::SIGCHLD) | Err(_) => WakeReason::ChildExited,
                Ok(signal) => WakeReason::Signal(signal),
            },
        })
    }
}
