//! Unnamed network namespaces, with further namespaces of their processes.

use std::fs::{self, File};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;
use std::{io, panic, thread};

use nix::errno::Errno;
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;

use crate::isolation::{Isolation, NodeFiles, NodeInit};
use crate::{RealClock, netlink};

/// Interval between checks for remaining processes.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Maximum number of rounds of SIGKILL.
const KILL_ROUNDS_MAX: u32 = 200;

/// An unnamed network namespace: interfaces, addresses, routes, sockets and settings of its own. It
/// ends with this value and the last thread in it, in any case, so that a killed test leaves
/// nothing behind.
///
/// Its programs share the host's files, host name and processes, unless it is
/// [isolated](Self::isolate).
#[derive(Debug)]
pub struct Namespace {
    handle: File,
    isolation: Option<Isolation>,
    /// Keeps the further namespaces alive; `None` if another process does.
    init: Option<NodeInit>,
}

impl Namespace {
    /// A new namespace with its loopback interface up and without IPv6, so that its kernel sends
    /// only packets that IPv4 needs.
    ///
    /// # Errors
    /// Any error of the kernel; see [`check_requirements`](crate::check_requirements) for the requirements.
    pub fn new() -> io::Result<Self> {
        // A namespace belongs to a thread: a temporary thread creates it, so that the caller's
        // thread never leaves its own.
        let made = thread::Builder::new().name("namespace".into()).spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            netlink::loopback_up()?;
            // A kernel without IPv6 lacks this setting.
            match fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1") {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            File::open("/proc/thread-self/ns/net")
        })?;
        let handle = made.join().unwrap_or_else(|panic| panic::resume_unwind(panic))?;
        Ok(Self { handle, isolation: None, init: None })
    }

    /// Opens an existing namespace by a file of it: `/proc/PID/ns/net`, or an open descriptor.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { handle: File::open(path)?, isolation: None, init: None })
    }

    /// Opens the namespaces of a node by its [first process](Self::init).
    ///
    /// # Errors
    /// The process has ended, or may not be inspected.
    pub fn open_isolated(init: u32) -> io::Result<Self> {
        let handle = File::open(format!("/proc/{init}/ns/net"))?;
        Ok(Self { handle, isolation: Some(Isolation::of_process(init)?), init: None })
    }

    /// Gives the programs that are [spawned](Self::spawn) from now on mounts, a host name, processes
    /// and System V IPC of their own: `/proc` and `/sys` of the node, an empty `/run` and `/dev/shm`,
    /// and these files. `command` runs as the node's first process, and has to call
    /// [`run_node_init`](crate::run_node_init).
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn isolate(&mut self, command: &mut Command, files: &NodeFiles) -> io::Result<()> {
        let init = self.run(|| NodeInit::start(command, files))??;
        self.isolation = Some(Isolation::of_process(init.pid())?);
        self.init = Some(init);
        Ok(())
    }

    /// The first process of an isolated node; `None` if it is not isolated, or the process is
    /// another's.
    pub fn init(&self) -> Option<u32> {
        self.init.as_ref().map(NodeInit::pid)
    }

    /// Runs `work` in a thread inside; sockets and TUN devices that it opens stay inside when
    /// returned. A panic continues in the caller.
    ///
    /// # Errors
    /// The thread cannot start or enter.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> io::Result<R> {
        thread::scope(|scope| {
            let inside = thread::Builder::new().name("in namespace".into());
            inside
                .spawn_scoped(scope, || {
                    self.enter()?;
                    Ok(work())
                })?
                .join()
                .unwrap_or_else(|panic| panic::resume_unwind(panic))
        })
    }

    /// Moves the calling thread inside, permanently.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn enter(&self) -> io::Result<()> {
        Ok(setns(&self.handle, CloneFlags::CLONE_NEWNET)?)
    }

    /// Starts a program inside, which blocks no signals: it would inherit those of this process, and a shell that waits
    /// for its children would wait for ever.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        let spawn = |command: &mut Command| {
            // Of the thread that `run` has made, which ends now.
            SigSet::empty().thread_set_mask()?;
            command.spawn()
        };
        let Some(isolation) = &self.isolation else { return self.run(|| spawn(command))? };
        // Entering mounts changes the working directory.
        if command.get_current_dir().is_none() {
            command.current_dir(std::env::current_dir()?);
        }
        self.run(|| {
            isolation.enter()?;
            spawn(command)
        })?
    }

    /// Ends every process inside, regardless of who started it: by SIGTERM, and after `patience` by SIGKILL.
    /// Parents have to reap their own children. Does nothing if the calling process itself is
    /// inside.
    ///
    /// # Errors
    /// `/proc` cannot be read, or processes inside cannot be ended.
    pub fn end_processes(&self, patience: Duration) -> io::Result<()> {
        let clock = RealClock::start();
        for pid in self.processes()? {
            send(pid, Signal::SIGTERM)?;
        }
        // A look at all processes may take longer than the pause between two.
        let is_over = || clock.now().as_nanos() >= patience.as_nanos() as u64;
        while !self.processes()?.is_empty() && !is_over() {
            thread::sleep(POLL_INTERVAL);
        }
        // A process that forks while it is ended leaves another.
        for _ in 0..KILL_ROUNDS_MAX {
            let inside = self.processes()?;
            if inside.is_empty() {
                return Ok(());
            }
            for pid in inside {
                send(pid, Signal::SIGKILL)?;
            }
            thread::sleep(POLL_INTERVAL);
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "processes in a namespace cannot be ended"))
    }

    /// The processes inside, except zombies, this one and a node's first process.
    fn processes(&self) -> io::Result<Vec<Pid>> {
        let own = self.handle.metadata()?;
        let mut inside = Vec::new();
        for entry in fs::read_dir("/proc")? {
            let entry = entry?;
            let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
            let excepted = [Some(std::process::id()), self.init()];
            let is_excepted = |pid: i32| excepted.contains(&u32::try_from(pid).ok());
            let Some(pid) = pid.filter(|pid| !is_excepted(*pid)) else { continue };
            // A process that has ended since, or a zombie, has no network namespace any more.
            let Ok(network) = fs::metadata(entry.path().join("ns/net")) else { continue };
            if (network.dev(), network.ino()) == (own.dev(), own.ino()) {
                inside.push(Pid::from_raw(pid));
            }
        }
        Ok(inside)
    }

    /// Sets a sysctl of this namespace, such as `net/ipv4/tcp_ecn`.
    ///
    /// # Errors
    /// The setting does not exist, is not per namespace, or does not accept the value.
    pub fn set_sysctl(&self, setting: &str, value: &str) -> io::Result<()> {
        let path = format!("/proc/sys/{setting}");
        self.run(|| fs::write(&path, value))?
            .map_err(|error| io::Error::new(error.kind(), format!("{path} = {value}: {error}")))
    }

    /// Value of a sysctl of this namespace.
    ///
    /// # Errors
    /// The setting does not exist.
    pub fn sysctl(&self, setting: &str) -> io::Result<String> {
        let path = format!("/proc/sys/{setting}");
        let value = self.run(|| fs::read_to_string(&path))??;
        Ok(value.trim().to_owned())
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

/// Sends a signal to a process, if it still exists.
fn send(pid: Pid, signal: Signal) -> io::Result<()> {
    match kill(pid, signal) {
        Err(Errno::ESRCH) | Ok(()) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
