//! Which process has the packets of a network namespace, as the kernel knows it.

use std::{fs, io};

use super::rules;

/// The protocol of [`netlink_sys`]'s sockets to nf_tables, as `/proc/net/netlink` says it.
const NETFILTER: &str = "12";

/// The process at work in the calling thread's namespace; `None`: none is.
///
/// # Errors
/// `NotFound`: it is a process that is not seen from here, or one whose files may not be looked at.
/// Otherwise any error of the kernel.
pub fn owner() -> io::Result<Option<u32>> {
    let Some(port) = rules::owner()? else { return Ok(None) };
    let port = port.to_string();
    let sockets = fs::read_to_string("/proc/thread-self/net/netlink")?;
    // sk, protocol, port, …, inode.
    let inode = sockets.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let ours = words.next() == Some(NETFILTER) && words.next() == Some(&port);
        words.last().filter(|_| ours)
    });
    let Some(inode) = inode else { return Err(io::ErrorKind::NotFound.into()) };
    let name = format!("socket:[{inode}]");
    for process in fs::read_dir("/proc")?.flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // One that has ended since has no files, and those of others may not be for us.
        let Ok(files) = fs::read_dir(process.path().join("fd")) else { continue };
        let has = |file: fs::DirEntry| fs::read_link(file.path()).is_ok_and(|to| to == *name);
        if files.flatten().any(has) {
            return Ok(Some(pid));
        }
    }
    Err(io::ErrorKind::NotFound.into())
}
