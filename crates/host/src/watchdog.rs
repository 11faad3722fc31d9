//! A helper process that kills this one if it hangs.
//!
//! Packets that the kernel no longer intercepts (`shim_daemon/dead_man_switch.rs`) pass, but those
//! in the queue of a hanging process stay there, and Linux retransmits no segment whose first copy
//! is still on this host. Therefore the queue must be removed, and with it its owner.

use std::io::{self, ErrorKind, Write, stderr, stdin};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::{getppid, read};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tracing::{info, warn};

use crate::helper_process;
use crate::shim_daemon::{DedicatedUser, drop_all_privileges};

/// Time without a heartbeat after which the process is killed: a number of steps of so many
/// milliseconds each. They are counted instead of measured, so that a suspended host does not count
/// as a hang.
const MISSED_STEPS_MAX: u32 = 7;
const STEP_MS: u16 = 100;

/// Delay before a new watchdog is started; it doubles each time, up to a minute.
const RESTART_DELAY: Duration = Duration::from_secs(1);
const RESTART_DELAY_MAX: Duration = Duration::from_secs(60);

/// The daemon's handle.
#[derive(Debug)]
pub struct Watchdog {
    command: Command,
    child: Child,
    socket: UnixStream,
}

impl Watchdog {
    /// Starts `command`, which has to call [`run_watchdog`]. From now on this process is killed if
    /// there is no [`beat`](Heartbeat::beat) for 0.7 s.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(mut command: Command) -> io::Result<Self> {
        let (child, pair) = spawn_watchdog(&mut command)?;
        Ok(Self { command, child, socket: pair })
    }

    /// Returns the sender of heartbeats. A thread of its own, with the privileges of the calling
    /// one, starts another watchdog whenever one has ended.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn supervise(self) -> io::Result<Heartbeat> {
        let Self { command, child, socket: pair } = self;
        let heart = Heartbeat(Arc::new(Mutex::new(Some(pair))));
        let watched = heart.clone();
        let work = move || restart_loop(command, child, &watched);
        thread::Builder::new().name("watchdog".into()).spawn(work)?;
        Ok(heart)
    }
}

/// Sender of heartbeats.
#[derive(Clone, Debug)]
pub struct Heartbeat(Arc<Mutex<Option<UnixStream>>>);

impl Heartbeat {
    /// Sends a heartbeat to the present watchdog. Never blocks.
    pub fn beat(&self) {
        // Locked only while the watchdog is replaced.
        let Ok(mut pair) = self.0.try_lock() else { return };
        let said = pair.as_mut().map(|pair| pair.write(&[0]));
        // A watchdog whose socket is full hangs itself, which does no harm.
        if said.is_some_and(|said| said.is_err_and(|e| e.kind() != ErrorKind::WouldBlock)) {
            *pair = None;
        }
    }

    fn attach(&self, pair: UnixStream) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(pair);
    }
}

fn spawn_watchdog(command: &mut Command) -> io::Result<(Child, UnixStream)> {
    let (child, mut pair) = helper_process::spawn(command)?;
    pair.set_nonblocking(true)?;
    pair.write_all(&[0])?;
    Ok((child, pair))
}

fn restart_loop(mut command: Command, mut child: Child, heart: &Heartbeat) {
    let mut rest = RESTART_DELAY;
    loop {
        let status = child.wait().map(|status| status.to_string());
        warn!(
            status = status.ok(),
            "the watchdog has ended; until there is another one, if this process hangs, new packets \
             pass, and those that it has wait"
        );
        loop {
            thread::sleep(rest);
            rest = (rest * 2).min(RESTART_DELAY_MAX);
            match spawn_watchdog(&mut command) {
                Ok((started, pair)) => {
                    info!("there is another watchdog");
                    heart.attach(pair);
                    child = started;
                    break;
                }
                Err(error) => warn!(%error, "there is no other watchdog"),
            }
        }
    }
}

/// Runs as the watchdog of the process that started this one, as this user: kills it if its
/// heartbeats stop, and returns when it has ended. Returns whether it was killed.
///
/// # Errors
/// Any error of the kernel.
pub fn run_watchdog(user: Option<DedicatedUser>) -> io::Result<bool> {
    helper_process::detach()?;
    let parent = getppid();
    let number = Pid::from_raw(parent.as_raw()).ok_or(ErrorKind::NotFound)?;
    let process = pidfd_open(number, PidfdFlags::empty())?;
    if getppid() != parent {
        // The process has ended, and its number may belong to another one by now.
        return Ok(false);
    }
    drop_all_privileges(user)?;
    let mut bytes = [0; 64];
    let mut silent = 0;
    while silent < MISSED_STEPS_MAX {
        if !is_ready(&stdin(), PollFlags::POLLIN, STEP_MS)? {
            silent += 1;
        } else if read(stdin(), &mut bytes)? == 0 {
            return Ok(false);
        } else {
            silent = 0;
        }
    }
    pidfd_send_signal(&process, Signal::KILL)?;
    // The reader of that may hang, too.
    if is_ready(&stderr(), PollFlags::POLLOUT, 0)? {
        let silence = f64::from(MISSED_STEPS_MAX * u32::from(STEP_MS)) / 1000.0;
        let _ = writeln!(
            stderr(),
            "driftway: the shim (process {parent}) hung for {silence} s and was killed; every \
             connection goes on as plain TCP"
        );
    }
    Ok(true)
}

/// Waits for at most so many milliseconds; returns whether the file is ready.
fn is_ready(file: &impl AsFd, what: PollFlags, patience: u16) -> io::Result<bool> {
    let mut watched = [PollFd::new(file.as_fd(), what)];
    match poll(&mut watched, PollTimeout::from(patience)) {
        Ok(_) => Ok(watched[0].any().unwrap_or(true)),
        Err(Errno::EINTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}
