//! A second process that ends what runs in namespaces when the process that made them is gone, even by
//! SIGKILL.

use std::io::{self, ErrorKind, Read, Write, stdin};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::parent_id;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;

use crate::{Namespace, helper_process};

/// The side of the process that has the namespaces; dropped, or when that process ends, what runs in
/// them is ended.
#[derive(Debug)]
pub struct NamespaceReaper {
    socket: Option<UnixStream>,
    child: Child,
}

impl NamespaceReaper {
    /// Starts `command`, which has to call [`guard`] with the numbers that are added as arguments.
    /// Comes back when it has the namespaces.
    ///
    /// # Errors
    /// It can't be started, or does not get them.
    pub fn start(command: &mut Command, namespaces: &[&Namespace]) -> io::Result<Self> {
        for namespace in namespaces {
            command.arg(namespace.as_fd().as_raw_fd().to_string());
        }
        let (child, pair) = helper_process::spawn(command)?;
        let mut guardian = Self { socket: Some(pair), child };
        match guardian.socket.as_mut().map(|pair| pair.read(&mut [0])) {
            Some(Ok(1)) => Ok(guardian),
            _ => {
                Err(io::Error::new(ErrorKind::BrokenPipe, "the process that would clear up ended"))
            }
        }
    }
}

impl Drop for NamespaceReaper {
    fn drop(&mut self) {
        self.socket = None;
        let _ = self.child.wait();
    }
}

/// Is the guardian of the process that started this one, which has the namespaces open under these
/// numbers. Comes back when that is gone, and all that ran inside; it had `patience` to end by itself.
///
/// # Errors
/// What the kernel says.
pub fn reap_namespaces(handles: &[RawFd], patience: Duration) -> io::Result<()> {
    helper_process::detach()?;
    let parent = parent_id();
    let open = |handle| Namespace::open(&PathBuf::from(format!("/proc/{parent}/fd/{handle}")));
    let namespaces = handles.iter().map(open).collect::<io::Result<Vec<_>>>()?;
    // The files are those of a process that is still there to read this.
    let mut pair = UnixStream::from(stdin().as_fd().try_clone_to_owned()?);
    pair.write_all(&[0])?;
    // It says nothing; this is its end.
    let _ = pair.read(&mut [0]);
    namespaces.iter().try_for_each(|namespace| namespace.end_processes(patience))
}
