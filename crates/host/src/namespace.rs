//! Network namespaces without a name.

use std::fs::{self, File};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;
use std::{io, panic, thread};

use nix::errno::Errno;
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::netlink;

/// Between two looks at who is still there.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// How often what is inside is killed.
const KILL_ROUNDS_MAX: u32 = 200;

/// A network of its own: interfaces, addresses, routes, sockets and settings that nothing outside
/// sees. It has no name in the file system and dies with this value and the last thread in it,
/// however those end, so that a killed test leaves nothing behind.
#[derive(Debug)]
pub struct Namespace {
    handle: File,
}

impl Namespace {
    /// A new one with its loopback interface up and without IPv6, so that its kernel sends only
    /// what IPv4 needs.
    ///
    /// # Errors
    /// What the kernel says; see [`available`](crate::available) for what it takes.
    pub fn new() -> io::Result<Self> {
        // A namespace belongs to a thread: one that ends at once makes it, so that the caller's
        // thread never leaves the namespace that it is in.
        let made = thread::Builder::new().name("namespace".into()).spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            netlink::loopback_up()?;
            // A kernel without IPv6 lacks this setting, and needs it not.
            match fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1") {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            File::open("/proc/thread-self/ns/net")
        })?;
        let handle = made.join().unwrap_or_else(|panic| panic::resume_unwind(panic))?;
        Ok(Self { handle })
    }

    /// One that there is already: a file of it, `/proc/PID/ns/net` or an open handle of it.
    ///
    /// # Errors
    /// The file can't be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { handle: File::open(path)? })
    }

    /// Runs `work` in a thread inside; what it opens there (sockets, TUN devices) stays inside
    /// when handed out. A panic in there goes on in the caller.
    ///
    /// # Errors
    /// The thread could not start or enter.
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

    /// Moves the calling thread inside, for good.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn enter(&self) -> io::Result<()> {
        Ok(setns(&self.handle, CloneFlags::CLONE_NEWNET)?)
    }

    /// Starts a program inside.
    ///
    /// # Errors
    /// It can't be started.
    pub fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        self.run(|| command.spawn())?
    }

    /// Ends every process that is inside, whoever started it: by SIGTERM, and what is there after
    /// `patience` by SIGKILL. Who waits for its children has to reap those that were its own. Does
    /// nothing if the calling process itself is inside.
    ///
    /// # Errors
    /// `/proc` can't be read, or what is inside can't be ended.
    pub fn end_processes(&self, patience: Duration) -> io::Result<()> {
        let mut left = patience;
        for pid in self.processes()? {
            send(pid, Signal::SIGTERM)?;
        }
        while !self.processes()?.is_empty() && !left.is_zero() {
            let nap = POLL_INTERVAL.min(left);
            thread::sleep(nap);
            left -= nap;
        }
        // One that forks as it is ended leaves another.
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
        Err(io::Error::new(io::ErrorKind::TimedOut, "processes in a namespace can't be ended"))
    }

    /// The processes inside, zombies and this one excepted.
    fn processes(&self) -> io::Result<Vec<Pid>> {
        let own = self.handle.metadata()?;
        let mut inside = Vec::new();
        for entry in fs::read_dir("/proc")? {
            let entry = entry?;
            let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
            let Some(pid) = pid.filter(|pid| *pid != std::process::id() as i32) else { continue };
            // One that has ended since, or is a zombie, has no network any more.
            let Ok(network) = fs::metadata(entry.path().join("ns/net")) else { continue };
            if (network.dev(), network.ino()) == (own.dev(), own.ino()) {
                inside.push(Pid::from_raw(pid));
            }
        }
        Ok(inside)
    }

    /// Sets a kernel setting of this namespace, `net/ipv4/tcp_ecn` for one.
    ///
    /// # Errors
    /// There is no such setting, it is not per namespace, or it does not take this value.
    pub fn set_sysctl(&self, setting: &str, value: &str) -> io::Result<()> {
        let path = format!("/proc/sys/{setting}");
        self.run(|| fs::write(&path, value))?
            .map_err(|error| io::Error::new(error.kind(), format!("{path} = {value}: {error}")))
    }

    /// What a setting stands at.
    ///
    /// # Errors
    /// There is no such setting.
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

/// A signal to a process; to one that is gone, none.
fn send(pid: Pid, signal: Signal) -> io::Result<()> {
    match kill(pid, signal) {
        Err(Errno::ESRCH) | Ok(()) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
