//! The name of the network namespace: when it is taken away (`ip netns del`), the shim ends, or it would
//! keep alone what nobody else can reach.

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// The number of the calling thread's network namespace.
pub fn namespace_inode() -> io::Result<u64> {
    Ok(fs::metadata("/proc/thread-self/ns/net")?.ino())
}

/// The mounts that give a namespace its names.
pub struct NamespaceMounts {
    mounts: File,
    namespace: u64,
}

impl NamespaceMounts {
    /// Of the calling thread's namespace; `None` if it has no name.
    ///
    /// # Errors
    /// `/proc` can't be read.
    pub fn find() -> io::Result<Option<Self>> {
        let mut names =
            Self { mounts: File::open("/proc/self/mountinfo")?, namespace: namespace_inode()? };
        Ok(names.exist()?.then_some(names))
    }

    fn exist(&mut self) -> io::Result<bool> {
        let mut mounts = String::new();
        self.mounts.rewind()?;
        self.mounts.read_to_string(&mut mounts)?;
        // proc(5): the fourth word is what is mounted of the file system.
        let name = format!("net:[{}]", self.namespace);
        Ok(mounts.lines().any(|line| line.split(' ').nth(3) == Some(&name)))
    }

    /// Comes back when it has none any more.
    ///
    /// # Errors
    /// What the kernel says.
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
