//! Waiting for children, signals and the time, in one place.

use std::io;
use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// How often a status line changes (ms).
const TICK: u16 = 200;

/// Signals that come as bytes to be read, not as interruptions.
pub struct Signals(SignalFd);

/// Why a wait is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeReason {
    /// A child has ended.
    ChildExited,
    /// We are asked to end.
    Signal(Signal),
    /// Time has passed.
    Timeout,
}

impl Signals {
    /// Takes what ends a program, and the end of children, for the calling thread and those that it
    /// will start. Programs that it starts have none of that.
    pub fn block_termination() -> io::Result<Self> {
        let mut set = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGCHLD] {
            set.add(signal);
        }
        set.thread_block()?;
        Ok(Self(SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?))
    }

    /// Waits for a signal, a little while at most.
    pub fn wait(&mut self) -> io::Result<WakeReason> {
        let mut watched = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        match poll(&mut watched, PollTimeout::from(TICK)) {
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
