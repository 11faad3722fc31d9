//! Names of the network namespace: the shim ends when the last one is removed (`ip netns del`), because
//! it would keep alive a namespace that no other process can enter.

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Inode number of the calling thread's network namespace.
pub fn namespace_inode() -> io::Result<u64> {
    Ok(fs::metadata("/proc/thread-self/ns/net")?.ino())
}

/// Bind mounts that are the names of a network namespace (ip-netns(8)).
pub struct NamespaceMounts {
    mounts: File,
    namespace: u64,
}

impl NamespaceMounts {
    /// Names of the calling thread's namespace; `None` if it has none.
    ///
    /// # Errors
    /// A failure to read `/proc`.
    pub fn find() -> io::Result<Option<Self>> {
        let mut names =
            Self { mounts: File::open("/proc/self/mountinfo")?, namespace: namespace_inode()? };
        Ok(names.exist()?.then_some(names))
    }

    fn exist(&mut self) -> io::Result<bool> {
        let mut mounts = String::new();
        self.mounts.rewind()?;
        self.mounts.read_to_string(&mut mounts)?;
        // proc(5): the fourth field is the root of the mount in its file system.
        let name = format!("net:[{}]", self.namespace);
        Ok(mounts.lines().any(|line| line.split(' ').nth(3) == Some(&name)))
    }

    /// Returns when the namespace has no name any more.
    ///
    /// # Errors
    /// A failed system call.
    pub fn wait_until_unmounted(mut self) -> io::Result<()> {
        while self.exist()? {
            let mut watched = [PollFd::new(self.mounts.as_fd(), PollFlags::POLLPRI)];
            match poll(&mut watched, PollTimeout::NONE) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }
}
