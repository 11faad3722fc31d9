//! A second process that ends this one if it hangs.
//!
//! What the kernel shows no more (`field/alive.rs`) passes, but packets that wait in the queue of a
//! process that hangs stay there, and Linux sends no segment again whose first copy is still on this
//! host. So the queue has to go, and with it its owner.

use std::io::{self, ErrorKind, Write, stderr, stdin};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::{getppid, read};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tracing::warn;

use crate::companion;
use crate::field::{OwnUser, keep_nothing};

/// How long it may be silent: so many steps of so many milliseconds each. They are counted and not
/// measured, so that a host that stood still altogether has not been silent.
const STEPS: u32 = 7;
const STEP_MS: u16 = 100;

/// The daemon's side.
#[derive(Debug)]
pub struct Watchdog {
    /// While it works.
    pair: Option<UnixStream>,
    child: Child,
}

impl Watchdog {
    /// Starts `command`, which has to call [`watch`]. From now on this process is killed if there is
    /// no [`beat`](Self::beat) for 0.7 s.
    ///
    /// # Errors
    /// It can't be started.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let (child, pair) = companion::start(command)?;
        pair.set_nonblocking(true)?;
        let mut watchdog = Self { pair: Some(pair), child };
        watchdog.beat();
        Ok(watchdog)
    }

    /// Says that this process works. Never blocks.
    pub fn beat(&mut self) {
        let Some(pair) = &mut self.pair else { return };
        match pair.write(&[0]) {
            // It hangs itself, which harms nobody.
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => {
                self.pair = None;
                let status = self.child.try_wait().ok().flatten().map(|status| status.to_string());
                warn!(
                    status,
                    "the watchdog has ended; if this process hangs, new packets pass, and \
                      those that it has wait"
                );
            }
            Ok(_) => {}
        }
    }
}

/// Is the watchdog of the process that started this one, as this user: kills it when it is silent, and
/// comes back when it is gone. Says whether it was killed.
///
/// # Errors
/// What the kernel says.
pub fn watch(user: Option<OwnUser>) -> io::Result<bool> {
    companion::set_apart()?;
    let parent = getppid();
    let number = Pid::from_raw(parent.as_raw()).ok_or(ErrorKind::NotFound)?;
    let process = pidfd_open(number, PidfdFlags::empty())?;
    if getppid() != parent {
        // It is gone, and its number may be another's by now.
        return Ok(false);
    }
    keep_nothing(user)?;
    let mut bytes = [0; 64];
    let mut silent = 0;
    while silent < STEPS {
        if !is_ready(&stdin(), PollFlags::POLLIN, STEP_MS)? {
            silent += 1;
        } else if read(stdin(), &mut bytes)? == 0 {
            return Ok(false);
        } else {
            silent = 0;
        }
    }
    pidfd_send_signal(&process, Signal::KILL)?;
    // Whoever reads that may hang, too.
    if is_ready(&stderr(), PollFlags::POLLOUT, 0)? {
        let silence = f64::from(STEPS * u32::from(STEP_MS)) / 1000.0;
        let _ = writeln!(
            stderr(),
            "driftway: the shim (process {parent}) hung for {silence} s and was killed; every \
             connection goes on as plain TCP"
        );
    }
    Ok(true)
}

/// Is the file ready, within so many milliseconds?
fn is_ready(file: &impl AsFd, what: PollFlags, patience: u16) -> io::Result<bool> {
    let mut watched = [PollFd::new(file.as_fd(), what)];
    match poll(&mut watched, PollTimeout::from(patience)) {
        Ok(_) => Ok(watched[0].any().unwrap_or(true)),
        Err(Errno::EINTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}
