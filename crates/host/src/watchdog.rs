//! A second process that ends this one if it hangs.
//!
//! What the kernel shows no more (`field/alive.rs`) passes, but packets that wait in the queue of a
//! process that hangs stay there, and Linux sends no segment again whose first copy is still on this
//! host. So the queue has to go, and with it its owner.

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

/// How long it may be silent: so many steps of so many milliseconds each. They are counted and not
/// measured, so that a host that stood still altogether has not been silent.
const MISSED_STEPS_MAX: u32 = 7;
const STEP_MS: u16 = 100;

/// Before another one is started, and each time twice as long, up to a minute.
const RESTART_DELAY: Duration = Duration::from_secs(1);
const RESTART_DELAY_MAX: Duration = Duration::from_secs(60);

/// The daemon's side.
#[derive(Debug)]
pub struct Watchdog {
    command: Command,
    child: Child,
    socket: UnixStream,
}

impl Watchdog {
    /// Starts `command`, which has to call [`watch`]. From now on this process is killed if there is
    /// no [`beat`](Heart::beat) for 0.7 s.
    ///
    /// # Errors
    /// It can't be started.
    pub fn start(mut command: Command) -> io::Result<Self> {
        let (child, pair) = spawn_watchdog(&mut command)?;
        Ok(Self { command, child, socket: pair })
    }

    /// What says that this process works. From a thread of its own, whose privileges are those of the
    /// calling one, another watchdog is started whenever one has ended.
    ///
    /// # Errors
    /// There can be no thread.
    pub fn supervise(self) -> io::Result<Heartbeat> {
        let Self { command, child, socket: pair } = self;
        let heart = Heartbeat(Arc::new(Mutex::new(Some(pair))));
        let watched = heart.clone();
        let work = move || restart_loop(command, child, &watched);
        thread::Builder::new().name("watchdog".into()).spawn(work)?;
        Ok(heart)
    }
}

/// Says that this process works.
#[derive(Clone, Debug)]
pub struct Heartbeat(Arc<Mutex<Option<UnixStream>>>);

impl Heartbeat {
    /// Once more, to the watchdog that there is. Never blocks.
    pub fn beat(&self) {
        // Held only by who puts another one there.
        let Ok(mut pair) = self.0.try_lock() else { return };
        let said = pair.as_mut().map(|pair| pair.write(&[0]));
        // One that can't be written to for now hangs itself, which harms nobody.
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

/// Is the watchdog of the process that started this one, as this user: kills it when it is silent, and
/// comes back when it is gone. Says whether it was killed.
///
/// # Errors
/// What the kernel says.
pub fn run_watchdog(user: Option<DedicatedUser>) -> io::Result<bool> {
    helper_process::detach()?;
    let parent = getppid();
    let number = Pid::from_raw(parent.as_raw()).ok_or(ErrorKind::NotFound)?;
    let process = pidfd_open(number, PidfdFlags::empty())?;
    if getppid() != parent {
        // It is gone, and its number may be another's by now.
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
    // Whoever reads that may hang, too.
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

/// Is the file ready, within so many milliseconds?
fn is_ready(file: &impl AsFd, what: PollFlags, patience: u16) -> io::Result<bool> {
    let mut watched = [PollFd::new(file.as_fd(), what)];
    match poll(&mut watched, PollTimeout::from(patience)) {
        Ok(_) => Ok(watched[0].any().unwrap_or(true)),
        Err(Errno::EINTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}
