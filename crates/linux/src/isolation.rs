//! The namespaces of a node besides its network: mounts, host name, processes, System V IPC.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write, stdin};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, chown, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, sethostname};

use crate::{RealClock, helper_process};

/// The namespaces, by their names in `/proc/PID/ns`.
const NAMESPACES: [(&str, CloneFlags); 4] = [
    ("mnt", CloneFlags::CLONE_NEWNS),
    ("uts", CloneFlags::CLONE_NEWUTS),
    ("ipc", CloneFlags::CLONE_NEWIPC),
    ("pid", CloneFlags::CLONE_NEWPID),
];
/// Directory of a node's own files.
const OWN_FILES: &str = "/run/driftway";
/// Directories of pid files and sockets, of which each node has its own.
const RUN: &str = "/run";
const VAR_RUN: &str = "/var/run";
const SHARED_MEMORY: &str = "/dev/shm";
/// Levels of directories that a node finds below its `/run`: daemons expect them, as they were
/// created when the machine started.
const RUN_DEPTH: u32 = 2;
/// Number of texts of [`NodeFiles`].
const FILES: usize = 4;
/// Interval between checks for remaining processes.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Files and the name that a node has in place of the host's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeFiles {
    /// Name of the host.
    pub host_name: String,
    /// Content of `/etc/hosts`.
    pub hosts: String,
    /// Content of `/etc/resolv.conf`.
    pub resolv_conf: String,
    /// Content of `/etc/gai.conf`.
    pub gai_conf: String,
}

/// The namespaces of a process, for others to enter.
#[derive(Debug)]
pub struct Isolation {
    handles: Vec<(File, CloneFlags)>,
}

impl Isolation {
    /// Opens those of a process.
    pub fn of_process(pid: u32) -> io::Result<Self> {
        let open = |(name, flag)| Ok((File::open(format!("/proc/{pid}/ns/{name}"))?, flag));
        Ok(Self { handles: NAMESPACES.into_iter().map(open).collect::<io::Result<_>>()? })
    }

    /// Moves the calling thread inside, permanently; the processes that it starts are inside its
    /// process namespace.
    pub fn enter(&self) -> io::Result<()> {
        // A thread that shares its working directory cannot change its mounts.
        unshare(CloneFlags::CLONE_FS)?;
        for (handle, flag) in &self.handles {
            setns(handle, *flag)?;
        }
        Ok(())
    }
}

/// The first process of a node. When it is dropped, or its owner ends, all processes of the node end:
/// on SIGTERM, and after some time the kernel kills them.
#[derive(Debug)]
pub struct NodeInit {
    child: Child,
    socket: Option<UnixStream>,
}

impl NodeInit {
    /// Starts `command`, which has to call [`run_node_init`], in new namespaces, and in the network
    /// of the calling thread, which must not be used for anything else. Returns when the node has
    /// its files.
    pub fn start(command: &mut Command, files: &NodeFiles) -> io::Result<Self> {
        unshare(NAMESPACES.iter().fold(CloneFlags::empty(), |all, (_, flag)| all | *flag))?;
        let (child, socket) = helper_process::spawn(command)?;
        let mut init = Self { child, socket: Some(socket) };
        match init.prepare(files)? {
            None => Ok(init),
            Some(why) => Err(io::Error::other(why)),
        }
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends the files; returns an error message, if there is one.
    fn prepare(&mut self, files: &NodeFiles) -> io::Result<Option<String>> {
        let ended = || io::Error::new(io::ErrorKind::BrokenPipe, "a node's first process ended");
        let socket = self.socket.as_mut().ok_or_else(ended)?;
        let NodeFiles { host_name, hosts, resolv_conf, gai_conf } = files;
        for text in [host_name, hosts, resolv_conf, gai_conf] {
            socket.write_all(text.as_bytes())?;
            socket.write_all(&[0])?;
        }
        let mut first = [1];
        match socket.read(&mut first)? {
            0 => Err(ended()),
            _ if first == [0] => Ok(None),
            _ => {
                let mut message = vec![first[0]];
                socket.read_to_end(&mut message)?;
                Ok(Some(String::from_utf8_lossy(&message).into_owned()))
            }
        }
    }
}

impl Drop for NodeInit {
    fn drop(&mut self) {
        self.socket = None;
        // It always ends.
        let _ = self.child.wait();
    }
}

/// Runs as the first process of a node: replaces the host's files, and reaps processes until the owner
/// has ended. The node's processes have `patience` to end by themselves.
///
/// # Errors
/// Any error of the kernel.
pub fn run_node_init(patience: Duration) -> io::Result<()> {
    helper_process::detach()?;
    let mut children = SigSet::empty();
    children.add(Signal::SIGCHLD);
    let child_exited = SignalFd::with_flags(&children, SfdFlags::SFD_NONBLOCK)?;
    let mut socket = UnixStream::from(stdin().as_fd().try_clone_to_owned()?);
    let files = read_files(&mut socket)?;
    if let Err(error) = install(&files) {
        socket.write_all(error.to_string().as_bytes())?;
        return Ok(());
    }
    socket.write_all(&[0])?;
    loop {
        let watch = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let mut watched = [watch(socket.as_fd()), watch(child_exited.as_fd())];
        match poll(&mut watched, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        // The owner writes nothing more; this is end-of-file.
        if watched[0].any().unwrap_or(true) {
            break;
        }
        while child_exited.read_signal()?.is_some() {}
        reap()?;
    }
    end_all(patience)
}

/// Ends all other processes of this process namespace that are left. Those that ignore that are killed
/// by the kernel when its first process ends.
fn end_all(patience: Duration) -> io::Result<()> {
    match kill(Pid::from_raw(-1), Signal::SIGTERM) {
        Ok(()) | Err(Errno::ESRCH) => {}
        Err(errno) => return Err(errno.into()),
    }
    let clock = RealClock::start();
    while reap()? && clock.now().as_nanos() < patience.as_nanos() as u64 {
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// Reaps children that have exited; returns whether there are others.
fn reap() -> io::Result<bool> {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) => return Ok(true),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(Errno::ECHILD) => return Ok(false),
            Err(errno) => return Err(errno.into()),
        }
    }
}

fn read_files(socket: &mut UnixStream) -> io::Result<NodeFiles> {
    let (mut texts, mut buffer) = (vec![Vec::new()], [0; 4096]);
    // The last one is behind the last zero.
    while texts.len() < FILES + 1 {
        let len = match socket.read(&mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            len => len,
        };
        for byte in &buffer[..len] {
            match (byte, texts.last_mut()) {
                (0, _) | (_, None) => texts.push(Vec::new()),
                (byte, Some(text)) => text.push(*byte),
            }
        }
    }
    let mut texts = texts.into_iter().map(|text| String::from_utf8_lossy(&text).into_owned());
    let mut next = || texts.next().unwrap_or_default();
    let (host_name, hosts, resolv_conf) = (next(), next(), next());
    Ok(NodeFiles { host_name, hosts, resolv_conf, gai_conf: next() })
}

/// Gives the calling process's namespaces files, processes and a name of their own.
fn install(files: &NodeFiles) -> io::Result<()> {
    let none = None::<&str>;
    // Mounts of the host still appear here, and none of these there.
    let slave = MsFlags::MS_REC | MsFlags::MS_SLAVE;
    mount(none, "/", none, slave, none).map_err(|errno| named(Path::new("/"), errno.into()))?;
    let runs = [RUN, VAR_RUN].map(Path::new).into_iter();
    for dir in runs.filter(|dir| dir.is_dir() && !dir.is_symlink()) {
        let inside = tree(dir, RUN_DEPTH)?;
        mount_over(dir, "tmpfs", MsFlags::empty(), Some("mode=755"))?;
        inside.iter().try_for_each(Entry::create)?;
    }
    if Path::new(SHARED_MEMORY).is_dir() {
        mount_over(Path::new(SHARED_MEMORY), "tmpfs", MsFlags::empty(), Some("mode=1777"))?;
    }
    mount_over(Path::new("/proc"), "proc", MsFlags::MS_NOEXEC, None)?;
    mount_over(Path::new("/sys"), "sysfs", MsFlags::MS_NOEXEC, None)?;
    replace(Path::new("/etc/hosts"), &files.hosts)?;
    replace(Path::new("/etc/resolv.conf"), &files.resolv_conf)?;
    replace(Path::new("/etc/gai.conf"), &files.gai_conf)?;
    Ok(sethostname(&files.host_name)?)
}

/// Mounts a file system over a directory.
fn mount_over(dir: &Path, kind: &str, flags: MsFlags, data: Option<&str>) -> io::Result<()> {
    let flags = flags | MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some(kind), dir, Some(kind), flags, data).map_err(|errno| named(dir, errno.into()))
}

/// Puts a file of this content in place of another. Where there is none, there is none to replace,
/// unless it is a link into a directory that the node has of its own.
fn replace(path: &Path, content: &str) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default();
    let own = Path::new(OWN_FILES).join(name);
    fs::create_dir_all(OWN_FILES).map_err(|error| named(Path::new(OWN_FILES), error))?;
    fs::write(&own, content).map_err(|error| named(&own, error))?;
    if path.exists() {
        let bind = MsFlags::MS_BIND;
        return mount(Some(&own), path, None::<&str>, bind, None::<&str>)
            .map_err(|errno| named(path, errno.into()));
    }
    if let Ok(target) = fs::read_link(path) {
        let target = without_dots(&path.parent().unwrap_or(Path::new("/")).join(target));
        if target.starts_with(RUN) {
            let dir = target.parent().unwrap_or(Path::new(RUN));
            fs::create_dir_all(dir).map_err(|error| named(dir, error))?;
            fs::write(&target, content).map_err(|error| named(&target, error))?;
        }
    }
    Ok(())
}

/// A path without `..`, none of whose parts is a link.
fn without_dots(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut to, part| {
        match part {
            std::path::Component::ParentDir => {
                to.pop();
            }
            other => to.push(other),
        }
        to
    })
}

fn named(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// A directory or a link below `/run`.
enum Entry {
    Dir { path: PathBuf, mode: u32, owner: (u32, u32) },
    Link { path: PathBuf, target: PathBuf },
}

impl Entry {
    fn create(&self) -> io::Result<()> {
        let created = match self {
            Self::Dir { path, mode, owner: (user, group) } => DirBuilder::new()
                .mode(0o700)
                .create(path)
                .and_then(|()| chown(path, Some(*user), Some(*group)))
                .and_then(|()| {
                    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(*mode))
                }),
            Self::Link { path, target } => symlink(target, path),
        };
        let (Self::Dir { path, .. } | Self::Link { path, .. }) = self;
        created.map_err(|error| named(path, error))
    }
}

/// The directories and links inside a directory, outer ones first. What disappears meanwhile is left
/// out.
fn tree(dir: &Path, depth: u32) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    if depth == 0 {
        return Ok(entries);
    }
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        if metadata.is_dir() {
            let inside = tree(&path, depth - 1).unwrap_or_default();
            let owner = (metadata.uid(), metadata.gid());
            entries.push(Entry::Dir { path, mode: metadata.mode() & 0o7777, owner });
            entries.extend(inside);
        } else if let (true, Ok(target)) = (metadata.is_symlink(), fs::read_link(&path)) {
            entries.push(Entry::Link { path, target });
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn dots_are_removed() {
        let path = Path::new("/etc/../run/systemd/resolve/stub-resolv.conf");
        assert_eq!(without_dots(path), Path::new("/run/systemd/resolve/stub-resolv.conf"));
    }

    #[test]
    fn a_tree_has_the_levels_of_its_depth() {
        let dir = tempfile_dir();
        fs::create_dir_all(dir.join("a/b/c")).unwrap();
        fs::write(dir.join("a/file"), "").unwrap();
        symlink("/dev/shm", dir.join("shm")).unwrap();
        let mut found: Vec<PathBuf> = tree(&dir, 2)
            .unwrap()
            .into_iter()
            .map(|(Entry::Dir { path, .. } | Entry::Link { path, .. })| path)
            .collect();
        found.sort();
        assert_eq!(found, ["a", "a/b", "shm"].map(|name| dir.join(name)));
        fs::remove_dir_all(dir).unwrap();
    }

    fn tempfile_dir() -> PathBuf {
        let dir = std::env::temp_dir().join(format!("driftway-tree-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        dir
    }
}
