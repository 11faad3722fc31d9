//! A helper process that ends all processes in namespaces when the process that created them has
//! ended, even by SIGKILL.

use std::io::{self, ErrorKind, Read, Write, stdin};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::parent_id;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;

use crate::{Namespace, helper_process};

/// The owner's handle. When it is dropped, or its process ends, the processes in the namespaces are
/// ended.
#[derive(Debug)]
pub struct NamespaceReaper {
    socket: Option<UnixStream>,
    child: Child,
}

impl NamespaceReaper {
    /// Starts `command`, which has to call [`reap_namespaces`] with the file descriptors that are
    /// added as arguments. Returns when it has opened the namespaces.
    ///
    /// # Errors
    /// It cannot be started, or cannot open them.
    pub fn start(command: &mut Command, namespaces: &[&Namespace]) -> io::Result<Self> {
        for namespace in namespaces {
            command.arg(namespace.as_fd().as_raw_fd().to_string());
        }
        let (child, pair) = helper_process::spawn(command)?;
        let mut guardian = Self { socket: Some(pair), child };
        match guardian.socket.as_mut().map(|pair| pair.read(&mut [0])) {
            Some(Ok(1)) => Ok(guardian),
            _ => Err(io::Error::new(ErrorKind::BrokenPipe, "the namespace reaper ended")),
        }
    }
}

impl Drop for NamespaceReaper {
    fn drop(&mut self) {
        self.socket = None;
        let _ = self.child.wait();
    }
}

/// Runs as the reaper of the process that started this one, which has the namespaces open under
/// these descriptors. Returns when that process and all processes inside have ended; they have
/// `patience` to end by themselves.
///
/// # Errors
/// Any error of the kernel.
pub fn reap_namespaces(handles: &[RawFd], patience: Duration) -> io::Result<()> {
    helper_process::detach()?;
    let parent = parent_id();
    let open = |handle| Namespace::open(&PathBuf::from(format!("/proc/{parent}/fd/{handle}")));
    let namespaces = handles.iter().map(open).collect::<io::Result<Vec<_>>>()?;
    // The descriptors belong to a process that is still alive if it reads this.
    let mut pair = UnixStream::from(stdin().as_fd().try_clone_to_owned()?);
    pair.write_all(&[0])?;
    // The owner writes nothing; this is end-of-file.
    let _ = pair.read(&mut [0]);
    namespaces.iter().try_for_each(|namespace| namespace.end_processes(patience))
}
